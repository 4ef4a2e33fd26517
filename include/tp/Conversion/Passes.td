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
  }];
  let options = [Option<"target", "target", "::tp::Device", "::tp::Device::Cpu",
    "where tensors are: cpu or cuda",
    [{::llvm::cl::values(clEnumValN(::tp::Device::Cpu, "cpu", "the host"),
                         clEnumValN(::tp::Device::Cuda, "cuda", "a GPU"))}]>];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::arith::ArithDialect"];
}

def ExpandMath : Pass<"tp-expand-math"> {
  let summary = "replace math functions by arithmetic";
  let description = [{
    exp, log, tanh, erf, sin, cos, rsqrt and their kin become polynomials and
    arithmetic on scalars and vectors alike: compiled code calls no library.
    Sine and cosine are right to 2 units in the last place, of every number;
    vectors with a lane beyond 2^20 take a branch for it. Fails on a function
    that has no expansion.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // TP_CONVERSION_PASSES_TD
