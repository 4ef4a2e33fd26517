//===- Passes.td - Passes of the lower stage --------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the scheduled program to the LLVM dialect. Target (lib/Target) makes
// machine code and the artifact of it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_PASSES_TD
#define TP_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"
include "tp/Target/TargetOption.td"

def GenerateKernels : Pass<"tp-generate-kernels", "::mlir::ModuleOp"> {
  let summary = "write the loops of every row kernel";
  let description = [{
    Each function with `tp.kernel = "rows"` gets a function of the runtime's
    `tprt_body` form beside it: a loop over the rows it is given, and for each
    row loops over the columns in vectors of the target's width, with smaller
    vectors for what is left over. Reductions use several vector accumulators
    and are finished by halves, so their order does not depend on the number of
    threads. bf16 and f16 are widened to f32 and rounded once per operation of
    that type. The kernel keeps its definition on tensors, with the attributes
    that the step needs to call it.

    Upstream's tiling and vectorisation need a schedule per shape and masks for
    lengths that the vector does not divide; the shapes of row kernels are known
    well enough to write the loops directly.

    Before:
    ```mlir
    #row = affine_map<(i, j) -> (i, j)>
    func.func private @rows_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<8x64xf32>
      %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        %n = arith.negf %in : f32
        linalg.yield %n : f32
      } -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
    After, with `vector-bits=256`:
    ```mlir
    func.func private @rows_0.body(%context: !llvm.ptr, %begin: i64, %end: i64, %worker: i64) attributes {tp.kernel = "body"} {
      ...
      scf.for %i = %b to %e step %one {
        ...
        scf.for %j = %c0 to %c64 step %c8 {
          ...
          %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
          ...
          %n = arith.negf %v : vector<8xf32>
          ...
          llvm.store %n, %q {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
        }
      }
      return
    }
    func.func private @rows_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.body = @rows_0.body, ..., tp.row_count = 8 : i64, tp.row_dims = 1 : i64, tp.scratch_bytes = 0 : i64} {
    ```
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", "512",
                        "width of the target's vector registers">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def GenerateGpuKernels : Pass<"tp-generate-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "write every row kernel for a device";
  let description = [{
    Each function with `tp.kernel = "rows"` gets a `gpu.func` of its name in
    `gpu.module @kernels`. Its parameters are eight bytes each: one per operand
    (a tensor's address, an index as i64), one address per result, then, if
    `tp.scratch_bytes` of the function is not zero, the address of the scratch.
    On the `gpu.func`, `tp.grid`, `tp.block` and `tp.shared_bytes` say how it is
    started.

    A kernel without reductions over a row is shared among threads by vectors of
    16 bytes; otherwise a warp or a block makes a row, and what a later loop
    needs stays in its registers. Reductions go through shuffles and, between
    warps, shared memory; their order is fixed. bf16 and f16 are computed in f32
    and rounded once per operation of that type.

    Before:
    ```mlir
    #row = affine_map<(i, j) -> (i, j)>
    func.func private @rows_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
      %e = tensor.empty() : tensor<8x64xf32>
      %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        %n = arith.negf %in : f32
        linalg.yield %n : f32
      } -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
    After:
    ```mlir
    gpu.module @kernels {
      gpu.func @rows_0(%x: !llvm.ptr {...}, %y: !llvm.ptr {...}) kernel attributes {..., tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 4, 1, 1>, tp.shared_bytes = 0 : i64} {
        ...
        %t = gpu.thread_id x
        ...
        %v = llvm.load %p {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
        ...
        %n = arith.negf %v : vector<4xf32>
        ...
        llvm.store %n, %q {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
        gpu.return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ExpandGpuMath : Pass<"tp-expand-gpu-math"> {
  let summary = "replace math functions by a GPU's instructions";
  let description = [{
    exp of f32 becomes a reduction of its argument and the instruction for 2^x,
    rsqrt the instruction for it, within 2 units in the last place or so.
    Quotients of f32 are products with the reciprocal and a correction, square
    roots products with rsqrt and a correction, or the instruction that is within
    2 units in the last place where the operands are extreme, or where only 16
    bits are made of the result. Divisions of indices
    that round to one side become those that the hardware has. What is left is
    the work of `tp-expand-math`.

    Before:
    ```mlir
    func.func @main(%x: f32) -> f32 {
      %0 = math.exp %x : f32
      return %0 : f32
    }
    ```
    After (x is n log 2 + r; the instruction makes 2^(r / log 2), integers make 2^n):
    ```mlir
    func.func @main(%x: f32) -> f32 {
      ...
      %r = llvm.intr.fma(%n, %log2low, %high) : (f32, f32, f32) -> f32
      %s = arith.mulf %r, %inverse : f32
      %p = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%s) : (f32) -> f32
      ...
      %e = arith.mulf %two_n, %p : f32
      return %e : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def MathToIntrinsics : Pass<"tp-math-to-intrinsics"> {
  let summary = "call LLVM's intrinsics for math that is an instruction";
  let description = [{
    Square roots, rounding, signs, minima and counts of bits, on scalars and vectors,
    become LLVM's intrinsics of the same meaning (upstream's conversion to NVVM
    would call a device library). Quotients inside the approximations that
    `tp-expand-math` makes, before this pass, use the instruction for a
    reciprocal; `tp-expand-gpu-math` has expanded those of the program.

    Before:
    ```mlir
    func.func @main(%x: vector<4xf32>) -> vector<4xf32> {
      %0 = math.absf %x : vector<4xf32>
      %1 = math.sqrt %0 : vector<4xf32>
      return %1 : vector<4xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: vector<4xf32>) -> vector<4xf32> {
      %0 = llvm.call_intrinsic "llvm.fabs"(%x) : (vector<4xf32>) -> vector<4xf32>
      %1 = llvm.call_intrinsic "llvm.sqrt"(%0) : (vector<4xf32>) -> vector<4xf32>
      return %1 : vector<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::vector::VectorDialect"];
}

def GenerateGpuAttention : Pass<"tp-generate-gpu-attention", "::mlir::ModuleOp"> {
  let summary = "write the attention kernels for a device";
  let description = [{
    Every distinct `nn.attention` gets a `gpu.func @attention_<i>` in
    `gpu.module @kernels` and names it in `tp.kernel`. Its parameters are the
    arguments of the runtime's `attention` after `id`, in that order. Lengths,
    offsets and strides are the call's; sizes, type, masks and scale are the
    operation's. How it works is in `lib/Conversion/Gpu/AttentionKernel.h`.

    Few rows over many keys are split: then the kernel has a last parameter,
    scratch of `tp.scratch_bytes` bytes, and `tp.combine` names a second kernel
    (scratch, out, out_stride, lse) that runs behind it
    (`lib/Conversion/Gpu/AttentionSplits.h`).

    Refused are heads of more than 256 elements, elements other than f32, bf16
    and f16, and more batch entries or KV heads than a grid has room for.

    Before:
    ```mlir
    func.func @main(%q: tensor<1x128x4x64xbf16>, %k: tensor<1x128x2x64xbf16>, %v: tensor<1x128x2x64xbf16>) -> tensor<1x128x4x64xbf16> {
      %y = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<1x128x4x64xbf16>, tensor<1x128x2x64xbf16>, tensor<1x128x2x64xbf16>) -> tensor<1x128x4x64xbf16>
      return %y : tensor<1x128x4x64xbf16>
    }
    ```
    After (a block makes 8 queries of the two heads that share a KV head):
    ```mlir
    func.func @main(%q: tensor<1x128x4x64xbf16>, %k: tensor<1x128x2x64xbf16>, %v: tensor<1x128x2x64xbf16>) -> tensor<1x128x4x64xbf16> {
      %y = nn.attention %q, %k, %v {causal, scale = 1.250000e-01 : f64, tp.kernel = @attention_0} : ...
      return %y : tensor<1x128x4x64xbf16>
    }
    gpu.module @kernels {
      ...
      gpu.func @attention_0(%q: !llvm.ptr, %q_stride: i64, ...) kernel attributes {..., tp.block = array<i64: 128, 1, 1>, tp.grid = array<i64: 16, 2, 1>, tp.shared_bytes = 39168 : i64} {
        ...
        %s = nvvm.mma.sync ...
        ...
        gpu.return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def LowerStep : Pass<"tp-lower-step", "::mlir::ModuleOp"> {
  let summary = "turn entry functions into steps that call the runtime";
  let description = [{
    An entry function on tensors becomes `tprt_step` (runtime/include/tprt/abi.h):
    addresses are computed from the places that `tp-plan-buffers` chose, GEMMs,
    attention and collectives are calls through the function table, row kernels
    calls of `parallel_for`, `tp.repeat` is a loop over the layer index. Every
    call's status is checked and returned.

    The manifest that belongs to the code is written to `tp.manifest`, the
    bytes of dense constants to `tp.constants`, the entries to `tp.entries`.

    For a device, row kernels are started by `launch` with the addresses in the
    order of their parameters, `tp.await` is a call of `wait`, and the manifest
    says how each kernel is started.

    Precondition: tp-plan-buffers, tp-generate-kernels; for a device
    tp-generate-gpu-kernels and tp-generate-gpu-attention.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
      %y = call @rows_0(%x) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    func.func private @rows_0.body(!llvm.ptr, i64, i64, i64) attributes {tp.kernel = "body"}
    func.func private @rows_0(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.body = @rows_0.body, tp.grain = 127 : i64, tp.kernel = "rows", tp.row_count = 8 : i64, tp.row_dims = 1 : i64, tp.scratch_bytes = 0 : i64}
    ```
    After:
    ```mlir
    module attributes {tp.constants = "", tp.entries = [@main.step], tp.manifest = "{...}"} {
      func.func private @main.step(%runtime: !llvm.ptr, %rank: !llvm.ptr, %step: !llvm.ptr) -> i32 {
        ...
        %body = constant @rows_0.body : (!llvm.ptr, i64, i64, i64) -> ()
        %b = builtin.unrealized_conversion_cast %body : (!llvm.ptr, i64, i64, i64) -> () to !llvm.ptr
        ...
        %status = llvm.call %parallel_for(%rank, %b, %context, %rows, %grain) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
        ...
        %failed = arith.cmpi ne, %status, %ok : i32
        cf.cond_br %failed, ^exit(%status : i32), ^next
        ...
    ```
  }];
  let options = [TP_TargetOption];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::arith::ArithDialect"];
}

def ExpandMath : Pass<"tp-expand-math"> {
  let summary = "replace math functions by arithmetic";
  let description = [{
    exp, log, tanh, erf, sin, cos, rsqrt and their kin become polynomials and
    arithmetic on scalars and vectors alike: compiled code calls no library.
    Sine and cosine are right to 2 units in the last place, of every number;
    vectors with a lane beyond 2^20 take a branch for it, in which a loop sees to
    the lanes (on a device, whose registers cannot be counted, one after the
    other). Fails on a function that has no expansion.

    Before:
    ```mlir
    func.func @main(%x: vector<8xf32>) -> vector<8xf32> {
      %0 = math.rsqrt %x : vector<8xf32>
      return %0 : vector<8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: vector<8xf32>) -> vector<8xf32> {
      %one = arith.constant dense<1.000000e+00> : vector<8xf32>
      %0 = math.sqrt %x : vector<8xf32>
      %1 = arith.divf %one, %0 : vector<8xf32>
      return %1 : vector<8xf32>
    }
    ```
  }];
  let options = [Option<"target", "target", "::tp::Device", "::tp::Device::Cpu",
    "what runs it: cpu or cuda",
    [{::llvm::cl::values(clEnumValN(::tp::Device::Cpu, "cpu", "the host"),
                         clEnumValN(::tp::Device::Cuda, "cuda", "a GPU"))}]>];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // TP_CONVERSION_PASSES_TD
