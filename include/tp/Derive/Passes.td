//===- Passes.td - Passes that derive programs ------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that derive other programs from a forward program: steps of
// generation, and training.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DERIVE_PASSES_TD
#define TP_DERIVE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DeriveSteps : Pass<"tp-derive-steps", "::mlir::ModuleOp"> {
  let summary = "add steps of generation to a forward program";
  let description = [{
    @main is a causal language model on one device, `ids [B, S] -> logits
    [B, S, V]`. Adds a function @step_T for T tokens of any mixture of texts,
    T = 1, 2, 4, ... and `chunk`, on a cache of pages (docs/Generation.md). Which
    dimensions are batch and sequence follows from the ids, through the rules of
    operations. What does to each token the same is written on [1, T]; what
    depends on a position (rows of a table, rotations, linalg.index, constants)
    reads the token's; nn.attention, nn.causal_conv and nn.gated_delta_rule read
    and write states; behind the last of these only the last token of each row is
    computed. Everything else that combines positions is an error that names the
    operation. Names, roles and architectures are not looked at.

    Precondition: no shardings yet, calls are inlined.

    Before:
    ```mlir
    func.func @main(%ids: tensor<1x8xi64> {tp.name = "input_ids"}) -> (tensor<1x8x16xf32> {tp.name = "logits"}) {
      %words = tp.parameter "words" : tensor<16x4xf32>
      %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
      %heads = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
      %a = nn.attention %heads, %heads, %heads {causal, scale = 0.5 : f64} : (tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>) -> tensor<1x8x1x4xf32>
      %h = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
      %logits = nn.linear %h, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
      return %logits : tensor<1x8x16xf32>
    }
    ```
    After, with `context=64 rows=2 chunk=2`:
    ```mlir
    module attributes {tp.generation = {cells = 128 : i64, chunk = 2 : i64, context = 64 : i64, page = 32 : i64, rows = 2 : i64, ...}} {
      tp.state @values : tensor<128x1x4xf32>
      tp.state @keys : tensor<128x1x4xf32>
      ...
      func.func @step_2(%ids: tensor<1x2xi32> {...}, %starts: tensor<3xi32> {...}, %context: tensor<2xi32> {...}, %table: tensor<2x2xi32> {...},
                        %keys: tensor<128x1x4xf32> {tp.state = @keys}, %values: tensor<128x1x4xf32> {tp.state = @values}, ...) -> (...) {
        %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 32 : i64} : (tensor<3xi32>, tensor<2xi32>, tensor<2x2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
        %words = tp.parameter "words" : tensor<16x4xf32>
        %x = nn.embedding %ids, %words : (tensor<1x2xi32>, tensor<16x4xf32>) -> tensor<1x2x4xf32>
        %heads = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 2, 1, 4] : tensor<1x2x4xf32> into tensor<1x2x1x4xf32>
        %k = tensor.collapse_shape %heads [[0, 1], [2], [3]] : tensor<1x2x1x4xf32> into tensor<2x1x4xf32>
        %nextKeys = nn.cache_write %k, %cells, %keys : (tensor<2x1x4xf32>, tensor<2xi32>, tensor<128x1x4xf32>) -> tensor<128x1x4xf32>
        ...
        %a = nn.paged_attention %heads, %nextKeys, %nextValues, %rows, %positions, %table {page = 32 : i64, scale = 5.000000e-01 : f64} : ...
        ...
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::tp::nn::NNDialect", "::tp::TPDialect"];
  let options = [
    Option<"context", "context", "int64_t", /*default=*/"0",
           "most positions of a text (4096, or what the program's tables have)">,
    Option<"rows", "rows", "int64_t", /*default=*/"16", "texts of a step">,
    Option<"chunk", "chunk", "int64_t", /*default=*/"0",
           "tokens of the largest step (512, or the context)">,
    Option<"page", "page", "int64_t", /*default=*/"0",
           "tokens of a page (32, or more for the states of linear attention)">,
    Option<"cells", "cells", "int64_t", /*default=*/"0",
           "tokens of the cache (as many as the rows have)">,
    Option<"kvDtype", "kv-dtype", "std::string", /*default=*/"\"\"",
           "f32, bf16, f16, fp8 or int8: what the cache holds keys and values in"
           " (the type in which attention has them)">
  ];
}

def DeriveTraining : Pass<"tp-derive-training", "::mlir::ModuleOp"> {
  let summary = "add a loss to a forward program, and ask for a training step";
  let description = [{
    @main of one device returns logits [..., classes], alone or named "logits", or
    a loss f32[] alone. It gets a result `loss_sum`, which is differentiated, and
    one `tokens` by which it is divided. The loss of logits is their cross-entropy
    with a new argument `targets`; targets that are no class do not count. A loss
    of the program's own counts as one token. `tp.training` asks
    tp-make-training-step for the rest.

    Precondition: no shardings yet.

    Before:
    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x3xf32> {tp.name = "logits"}) {
      %w = tp.parameter "w" : tensor<3x8xf32>
      %logits = nn.linear %x, %w : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
      return %logits : tensor<4x3xf32>
    }
    ```
    After:
    ```mlir
    module attributes {tp.training = {optimizer = "adamw"}} {
      func.func @main(%x: tensor<4x8xf32>, %targets: tensor<4xi64> {tp.name = "targets", ...}) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}) {
        %w = tp.parameter "w" : tensor<3x8xf32>
        %logits = nn.linear %x, %w : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
        %losses = nn.cross_entropy %logits, %targets : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
        ...
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::tp::nn::NNDialect", "::tp::TPDialect"];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"adamw\"",
           "adamw or sgd">,
    Option<"clip", "clip", "double", /*default=*/"0",
           "the most that the gradient's norm may be (any)">,
    Option<"momentum", "momentum", "bool", /*default=*/"false",
           "sgd has momentum">,
    Option<"shardOptimizer", "shard-optimizer", "std::string", /*default=*/"\"\"",
           "the mesh axis that cuts what the optimizer keeps (none)">
  ];
}

#endif // TP_DERIVE_PASSES_TD
