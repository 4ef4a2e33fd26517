//===- Passes.td - Passes of the nn dialect ---------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decomposition of nn operations to linalg: all of them for the interpreter
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

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
      %0 = nn.silu %x : tensor<8x64xbf16>
      return %0 : tensor<8x64xbf16>
    }
    ```
    After (x / (1 + exp(-x)) in f32, rounded once):
    ```mlir
    func.func @main(%x: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
      %e = tensor.empty() : tensor<8x64xbf16>
      %0 = linalg.generic {...} ins(%x : tensor<8x64xbf16>) outs(%e : tensor<8x64xbf16>) {
      ^bb0(%in: bf16, %out: bf16):
        %1 = arith.extf %in : bf16 to f32
        %2 = arith.negf %1 : f32
        %3 = math.exp %2 : f32
        %one = arith.constant 1.000000e+00 : f32
        %4 = arith.addf %3, %one : f32
        %5 = arith.divf %1, %4 : f32
        %6 = arith.truncf %5 : f32 to bf16
        linalg.yield %6 : bf16
      } -> tensor<8x64xbf16>
      return %0 : tensor<8x64xbf16>
    }
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

    Before:
    ```mlir
    func.func @main(%logits: tensor<8x100xf32>, %labels: tensor<8xi64>) -> tensor<8xf32> {
      %loss = nn.cross_entropy %logits, %labels : (tensor<8x100xf32>, tensor<8xi64>) -> tensor<8xf32>
      return %loss : tensor<8xf32>
    }
    ```
    After:
    ```mlir
    %max = linalg.generic {..., iterator_types = ["parallel", "reduction"]} ins(%logits : tensor<8x100xf32>) ... {
      ...
      %0 = arith.maximumf %out, %in : f32
      ...
    } -> tensor<8xf32>
    ...
    %sum = linalg.generic {..., iterator_types = ["parallel", "reduction"]} ins(%logits, %max : tensor<8x100xf32>, tensor<8xf32>) ... {
      ...
      %0 = arith.subf %in, %max_in : f32
      %1 = math.exp %0 : f32
      ...
    } -> tensor<8xf32>
    ...
    %lse = linalg.generic {..., iterator_types = ["parallel"]} ins(%max, %sum : tensor<8xf32>, tensor<8xf32>) ...
    ...
    %own = linalg.generic {..., iterator_types = ["parallel", "reduction"]} ins(%logits, %labels : tensor<8x100xf32>, tensor<8xi64>) ... {
      ...
      %0 = linalg.index 1 : index
      ...
      %3 = arith.select %is_label, %in, %zero : f32
      ...
    } -> tensor<8xf32>
    ...
    %loss = linalg.generic {..., iterator_types = ["parallel"]} ins(%lse, %own, %labels : tensor<8xf32>, tensor<8xf32>, tensor<8xi64>) ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def DecomposeUpstream : Pass<"tp-decompose-upstream"> {
  let summary = "Replace named operations of linalg that are nn operations";
  let description = [{
    `linalg.softmax` has no indexing maps, from which its sharding rule and its
    loops would follow, and upstream's own decomposition sums in the element type.
    It becomes `nn.softmax`, between transpositions where its dimension is not the
    last. Other operations of linalg stay.

    Precondition: none.

    Before:
    ```mlir
    func.func @main(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
      %e = tensor.empty() : tensor<4x16xf32>
      %y = linalg.softmax dimension(1) ins(%x : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
      return %y : tensor<4x16xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
      %0 = tensor.empty() : tensor<4x16xf32>
      %1 = nn.softmax %x : tensor<4x16xf32>
      return %1 : tensor<4x16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::tp::nn::NNDialect"];
}

#endif // TP_DIALECT_NN_TRANSFORMS_PASSES_TD
