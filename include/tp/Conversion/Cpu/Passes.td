//===- Passes.td - Passes for row kernels for the host --- -*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the lower stage: kernels as functions beside the step.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_CPU_PASSES_TD
#define TP_CONVERSION_CPU_PASSES_TD

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

#endif // TP_CONVERSION_CPU_PASSES_TD
