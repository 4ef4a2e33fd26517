//===- Passes.td - Passes of the nn dialect ---------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decomposition of nn operations to linalg: whole programs for the interpreter
// and the reference, single operations where their pieces shard better.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_TRANSFORMS_PASSES_TD
#define TP_DIALECT_NN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeNN : Pass<"tp-decompose-nn"> {
  let summary = "Replace nn operations by their definition in linalg";
  let description = [{
    Every operation that implements DecomposeOpInterface is replaced by what it
    means in linalg, tensor, arith and math: on global types this is the
    reference of the one-device program, on local types the code that lower
    fuses and vectorises. Upstream has no counterpart, because the operations
    are ours.

    Precondition: none; the result holds no nn operation but those in `keep`.

    ```mlir
    %1 = nn.silu %0 : tensor<8x64xbf16>
    // becomes
    %e = tensor.empty() : tensor<8x64xbf16>
    %1 = linalg.generic {...} ins(%0 : tensor<8x64xbf16>) outs(%e : tensor<8x64xbf16>) {
    ^bb0(%x: bf16, %out: bf16):
      // x / (1 + exp(-x)) in f32, rounded once
    } -> tensor<8x64xbf16>
    ```
  }];
  let options = [
    ListOption<"keep", "keep", "std::string",
      "Operations that stay, by full name (nn.linear,nn.attention)">
  ];
  let statistics = [
    Statistic<"numDecomposed", "operations-decomposed",
      "Operations replaced by their decomposition">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def DecomposeCrossEntropy : Pass<"tp-decompose-cross-entropy"> {
  let summary = "Split nn.cross_entropy into its reductions over the vocabulary";
  let description = [{
    As one operation nn.cross_entropy needs its logits whole, and gathering
    logits is what sharded vocabularies are to avoid. Its pieces (the maximum,
    the sum of exponentials, the label's logit) are reductions over the
    vocabulary whose rules follow from their indexing maps, so that split logits
    cost all-reduces of one value per row each. Runs before shardings are
    propagated.

    ```mlir
    %loss = nn.cross_entropy %logits, %labels : (tensor<1x8x100xf32>, tensor<1x8xi64>) -> tensor<1x8xf32>
    // becomes linalg.generic operations: max, sum of exp(logit - max), sum of
    // (position == label ? logit : 0), and log and difference per row
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // TP_DIALECT_NN_TRANSFORMS_PASSES_TD
