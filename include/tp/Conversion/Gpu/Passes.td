//===- Passes.td - Passes for kernels for a device ------- -*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the lower stage: kernels in a module of their own, to NVVM.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_GPU_PASSES_TD
#define TP_CONVERSION_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def GenerateGpuAttention : Pass<"tp-generate-gpu-attention", "::mlir::ModuleOp"> {
  let summary = "write the attention kernels for a device";
  let description = [{
    Every distinct `nn.attention` gets a `gpu.func @attention_<i>` in
    `gpu.module @kernels` and names it in `tp.kernel`; every distinct
    `nn.paged_attention` a `@paged_attention_<i>`; every distinct
    `nn.attention_backward` an `@attention_backward_<i>`, which makes the derivative
    by queries, and `@attention_backward_<i>_keys`, named in `tp.then`, which makes
    those by keys and values (`lib/Conversion/Gpu/AttentionBackwardKernel.h`). Their
    parameters are the arguments of the runtime's function of that name after `id`, in
    that order. Lengths, offsets and strides are the call's; sizes, type, masks
    and scale are the operation's. Over pages, tokens' rows and positions and the
    table are read when the kernel runs, and the grid is the same whatever they
    are. How it works is in `lib/Conversion/Gpu/AttentionKernel.h`.

    Few rows over many keys are split: then the kernel has a last parameter,
    scratch of `tp.scratch_bytes` bytes, and `tp.then` names a second kernel
    of the same parameters that runs behind it
    (`lib/Conversion/Gpu/AttentionSplits.h`).

    Refused are heads of more than 256 elements, elements other than f32, bf16
    and f16, and more batch entries, KV heads or rows than a grid has room for.

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
      %y = nn.attention %q, %k, %v {causal, scale = 1.250000e-01 : f64, tp.kernel = @attention_0, tp.scratch_bytes = 50688 : i64} : ...
      return %y : tensor<1x128x4x64xbf16>
    }
    gpu.module @kernels {
      ...
      gpu.func @attention_0(%q: !llvm.ptr, %q_stride: i64, ...) kernel attributes {..., tp.block = array<i64: 128, 1, 1>, tp.grid = array<i64: 32, 1, 1>, tp.images = {...}, tp.shared_bytes = 39168 : i64} {
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

def BindGpuKernels : Pass<"tp-bind-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "name the kernels in CUDA C++ that operations have on a device";
  let description = [{
    Operations of a kernel family (`lib/Conversion/Gpu/Families`: writes to a
    cache, the derivative of an embedding, sampling) are computed by entry points
    of `kernels/device`. Each distinct one is declared in `gpu.module @kernels`,
    with its launch and, in `tp.device_entry`, the numbers that are bound into
    the source when the kernels are compiled; the operation names it in
    `tp.kernel`, and those that run behind it in `tp.then`. Parameters are the
    arguments of the runtime's function of that name after `id`, and the address
    of the scratch if `tp.scratch_bytes` of the operation is not zero. Why these
    are not generated as row kernels are: one algorithm whose shape varies is
    read, changed and debugged as source (`docs/Kernels.md`).

    `tp.images` of a kernel has what an architecture runs in its place, with a
    launch of its own and the same parameters. An operation that names a kernel
    already keeps it.

    Refused are shapes that a grid has no room for, and element types without an
    entry point.

    Before:
    ```mlir
    func.func @main(%k: tensor<16x2x64xbf16>, %cells: tensor<16xi32>, %pool: tensor<1024x2x64xbf16>) -> tensor<1024x2x64xbf16> {
      %new = nn.cache_write %k, %cells, %pool : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<1024x2x64xbf16>) -> tensor<1024x2x64xbf16>
      return %new : tensor<1024x2x64xbf16>
    }
    ```
    After:
    ```mlir
    func.func @main(%k: tensor<16x2x64xbf16>, %cells: tensor<16xi32>, %pool: tensor<1024x2x64xbf16>) -> tensor<1024x2x64xbf16> {
      %new = nn.cache_write %k, %cells, %pool {tp.kernel = @cache_write_0} : ...
      return %new : tensor<1024x2x64xbf16>
    }
    gpu.module @kernels {
      llvm.func @cache_write_0(i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tp.block = array<i64: 32, 1, 1>, tp.device_entry = {entry = "cache_write_2_16", shape = {cells = 1024 : i64, parts = 1 : i64, rowBytes = 256 : i64}, source = "cache_write"}, tp.grid = array<i64: 16, 1, 1>, tp.shared_bytes = 0 : i64}
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect"];
}

def GenerateGpuExperts : Pass<"tp-generate-gpu-experts", "::mlir::ModuleOp"> {
  let summary = "write the kernels of mixtures of experts for a device";
  let description = [{
    Every distinct `nn.experts` gets five kernels in `gpu.module @kernels`:
    `@experts_<i>`, named in `tp.kernel`, and those in `tp.then`, which run behind
    it in order. They find the rows of each expert, multiply these with its
    matrices by tiles, and add up what each row has from its experts, in their
    order. Their parameters are the arguments of the runtime's `experts` after
    `id`, and scratch of `tp.scratch_bytes` bytes, which has room for `top_k`
    experts of each row. Who has how many rows is found when they run: grids are
    the same for any routing (`lib/Conversion/Gpu/ExpertKernels.h`).

    Every distinct `nn.experts_backward` gets eight, from `@experts_backward_<i>`
    on: the same rows, then the derivatives by what is inside an expert, by a row's
    weight, by the rows, and by the matrices, each a sum over the expert's rows.

    Refused are elements other than f32, bf16 and f16, and more rows than a grid
    has room for.

    Before:
    ```mlir
    func.func @main(%x: tensor<64x128xbf16>, %r: tensor<64x8xf32>, %g: tensor<8x256x128xbf16>, %u: tensor<8x256x128xbf16>, %d: tensor<8x128x256xbf16>) -> tensor<64x128xbf16> {
      %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.25 : f64, top_k = 2 : i64} : (tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xbf16>, tensor<8x256x128xbf16>, tensor<8x128x256xbf16>) -> tensor<64x128xbf16>
      return %y : tensor<64x128xbf16>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<64x128xbf16>, %r: tensor<64x8xf32>, %g: tensor<8x256x128xbf16>, %u: tensor<8x256x128xbf16>, %d: tensor<8x128x256xbf16>) -> tensor<64x128xbf16> {
      %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 2.500000e-01 : f64, top_k = 2 : i64, tp.kernel = @experts_0, tp.scratch_bytes = 133504 : i64, tp.then = [@experts_0_place, @experts_0_gate, @experts_0_down, @experts_0_combine]} : ...
      return %y : tensor<64x128xbf16>
    }
    gpu.module @kernels {
      ...
      gpu.func @experts_0(%rows: i64, %x: !llvm.ptr, %routing: !llvm.ptr, ...) kernel attributes {..., tp.block = array<i64: 256, 1, 1>, tp.grid = array<i64: 8, 1, 1>, tp.shared_bytes = 0 : i64} {
        ...
        gpu.return
      }
      ...
      gpu.func @experts_0_gate(%rows: i64, %x: !llvm.ptr, %routing: !llvm.ptr, ...) kernel attributes {..., tp.block = array<i64: 128, 1, 1>, tp.grid = array<i64: 12, 4, 1>, tp.shared_bytes = 46080 : i64} {
        ...
        %s = nvvm.mma.sync ...
        ...
        gpu.return
      }
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
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

def MergeGpuKernels : Pass<"tp-merge-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "let kernels of a device that differ in a few numbers share their code";
  let description = [{
    A program has a step for each power of two of tokens, and most kernels of these
    steps differ in their grid alone, or in how many tokens there are. Such kernels
    become one: the numbers in which they differ are its last parameters
    (`tp.numbers`, in the order of the parameters), and each other one is left as a
    declaration with its own launch, its own numbers and, in `tp.code`, the kernel
    whose code it runs. Operations and calls name their kernels as before.

    A number becomes a parameter only where a kernel is as fast with it: if it is
    compared with, added to or multiplied by what is known only as the kernel runs.
    A loop's bound and a divisor stay constants, and kernels that differ in them
    stay apart, as do kernels with images (`tp.images`).

    Before:
    ```mlir
    gpu.module @kernels {
      gpu.func @rows_0(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>, tp.shared_bytes = 0 : i64} {
        %i = nvvm.read.ptx.sreg.tid.x : i32
        %n = arith.constant 8 : i32
        %is = arith.cmpi ult, %i, %n : i32
        scf.if %is {
          llvm.store %i, %x : i32, !llvm.ptr
        }
        gpu.return
      }
      gpu.func @rows_1(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 2, 1, 1>, tp.shared_bytes = 0 : i64} {
        %i = nvvm.read.ptx.sreg.tid.x : i32
        %n = arith.constant 16 : i32
        %is = arith.cmpi ult, %i, %n : i32
        scf.if %is {
          llvm.store %i, %x : i32, !llvm.ptr
        }
        gpu.return
      }
    }
    ```
    After:
    ```mlir
    gpu.module @kernels {
      gpu.func @rows_0(%x: !llvm.ptr, %tokens: i64) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>, tp.numbers = array<i64: 8>, tp.shared_bytes = 0 : i64} {
        %n = arith.trunci %tokens : i64 to i32
        %i = nvvm.read.ptx.sreg.tid.x : i32
        %is = arith.cmpi ult, %i, %n : i32
        scf.if %is {
          llvm.store %i, %x : i32, !llvm.ptr
        }
        gpu.return
      }
      llvm.func @rows_1(!llvm.ptr, i64) attributes {tp.block = array<i64: 32, 1, 1>, tp.code = @rows_0, tp.grid = array<i64: 2, 1, 1>, tp.numbers = array<i64: 16>, tp.shared_bytes = 0 : i64}
    }
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numMerged", "num-merged", "Kernels that run another one's code">];
}

#endif // TP_CONVERSION_GPU_PASSES_TD
