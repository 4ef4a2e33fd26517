//===- Passes.td - The propagate stage --------------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a few annotated values to a sharding on every value.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PROPAGATE_PASSES_TD
#define TP_PROPAGATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Propagate : Pass<"tp-propagate", "::mlir::ModuleOp"> {
  let summary = "give every value a sharding, partial sums included";
  let description = [{
    Spreads the annotations through the sharding rules of all operations,
    forwards, backwards and sideways, through tp.repeat and calls, to a
    deterministic fixpoint; then settles every operation in program order, so
    that each value has exactly the sharding that its operation gives it. No
    collective is placed: a use that needs another sharding is partition's
    business (tp/Resolve/Resolve.h says what it needs).

    Why not upstream's `sharding-propagation`: it has no partial values, no open
    and closed dimensions, no sub-axes, no uneven sizes and no regions.

    Conflicts: closed dimensions never change; of two factors of one operation
    that want one axis, the one that a parameter's annotation asked for gets it
    (weights do not move), then the one that leaves fewer bytes to receive, then
    the lower-numbered. What nothing reaches is replicated.

    Each value also gets `tp.because`: for each axis the annotation that led to
    it and the operation that brought it (tp/Resolve/Provenance.h).

    Precondition: one tp.mesh; functions of one block; no collectives.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=4]>
    func.func @main(%x: tensor<8x256xf32>) -> tensor<8x64xf32> {
      %w = tp.parameter "down.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"} ]>]} : tensor<64x256xf32>
      %y = nn.linear %x, %w : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
    After (x is split along its last dimension, y is a partial sum, which the result
    is not: partition will place a reshard):
    ```mlir
    func.func @main(%x: tensor<8x256xf32> {tp.because = ..., tp.sharding = #tp.sharding<@mesh, [{}, {"tp"} ]>}) -> (tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {} ]>}) {
      %w = tp.parameter "down.weight" {tp.because = ..., tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"} ]>]} : tensor<64x256xf32>
      %y = nn.linear %x, %w {tp.because = [[{annotation = "down.weight dim 1 on \22tp\22", axis = "tp", partial, via = "nn.linear over k at ..."} ]], tp.shardings = [#tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>]} : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numVisits", "visits", "operations visited until the fixpoint">,
    Statistic<"numSplit", "split", "values that are split or partial">
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

def SplitNorms : Pass<"tp-split-norms", "::mlir::ModuleOp"> {
  let summary = "exchange the statistics of rows that are cut, not the rows";
  let description = [{
    nn.rms_norm, nn.layer_norm and nn.softmax need rows whole as one operation
    each. Where shardings would have rows cut in front of one and behind it, it
    is decomposed, so that each reduction has a rule of its own: its partial
    sums are a number a row. A copy of the program is propagated to see where;
    norms of rows that are whole, or are gathered behind them anyway, stay as
    they are.

    Precondition: one tp.mesh, annotations of values as tp-annotate leaves them.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
      %wq = tp.parameter "q" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {} ]>]} : tensor<64x64xf32>
      %wn = tp.parameter "norm" : tensor<64xf32>
      %wo = tp.parameter "o" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"} ]>]} : tensor<64x64xf32>
      %q = nn.linear %x, %wq : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
      %n = nn.rms_norm %q, %wn {epsilon = 1.0e-5 : f64} : (tensor<16x64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
      %o = nn.linear %n, %wo : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
      return %o : tensor<16x64xf32>
    }
    ```
    After:
    ```mlir
    %q = nn.linear %x, %wq : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    ...
    %squares = linalg.generic {..., iterator_types = ["parallel", "reduction"]} ins(%q : tensor<16x64xf32>) outs(...) {
    ...
    %n = linalg.generic {...} ins(%q, %rstd, %wn : tensor<16x64xf32>, tensor<16xf32>, tensor<64xf32>) outs(...) {
    ...
    %o = nn.linear %n, %wo : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    ...
    ```
  }];
  let statistics = [
    Statistic<"numSplit", "split", "norms done in parts">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def SplitSampling : Pass<"tp-split-sampling", "::mlir::ModuleOp"> {
  let summary = "sample from records of the shards of the vocabulary";
  let description = [{
    As one operation nn.sample needs its logits whole. It becomes nn.sample_records,
    with a block for each shard that the vocabulary is cut into, and
    nn.sample_pick, which needs the records of all: one all-gather of 532 bytes
    per row and rank. How many shards there are is known once shardings are
    propagated; the new values are given theirs here.

    Before (as tp-propagate leaves it):
    ```mlir
    #rows = #tp.sharding<@mesh, [{} ]>
    tp.mesh @mesh <["tp"=3]>
    func.func @main(%logits: tensor<4x131xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"} ]>}, %positions: tensor<4xi32> {tp.sharding = #rows}, %seed: tensor<4xi64> {tp.sharding = #rows}, %temperature: tensor<4xf32> {tp.sharding = #rows}, %top_k: tensor<4xi32> {tp.sharding = #rows}, %top_p: tensor<4xf32> {tp.sharding = #rows}, %min_p: tensor<4xf32> {tp.sharding = #rows}) -> (tensor<4xi32> {tp.sharding = #rows}) {
      %token, %logprob = nn.sample %logits, %positions, %seed, %temperature, %top_k, %top_p, %min_p {tp.shardings = [#rows, #rows]} : (tensor<4x131xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
      return %token : tensor<4xi32>
    }
    ```
    After:
    ```mlir
    ...
    %blocks = arith.constant {tp.shardings = [#tp.sharding<@mesh, [{"tp"} ]>]} dense<[0, 1, 2]> : tensor<3xi32>
    %records = nn.sample_records %logits, %blocks, ... {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {} ]>], vocabulary = 131 : i64} : ... -> tensor<3x4x133xf32>
    %token, %logprob = nn.sample_pick %records, ... {tp.shardings = [...]} : ... -> (tensor<4xi32>, tensor<4xf32>)
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tp::nn::NNDialect"];
}

def VerifyPropagated : Pass<"tp-verify-propagated", "::mlir::ModuleOp"> {
  let summary = "the contract at the end of propagate";
  let description = [{
    Every ranked tensor value carries a closed sharding on one mesh; function
    arguments and results and carried values are not partial; an operation's
    results have the sharding that its rule gives them; there are no
    collectives and no tp.reshard. An error names the likely cause.

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{} ]>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<4xf32> {tp.sharding = #rep}) -> (tensor<4xf32> {tp.sharding = #rep}) {
      %0 = nn.silu %x {tp.shardings = [#tp.sharding<@mesh, [{?} ]>]} : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    Error:
    ```
    error: result 0: expected closed dimensions, got dimension 0 open: tp-propagate did not run after it was annotated
    ```
  }];
}

def ExplainShardings : Pass<"tp-explain-shardings", "::mlir::ModuleOp"> {
  let summary = "print why each value is spread as it is";
  let description = [{
    One line per split or partial value: its sharding and, for each axis, the
    annotation it comes from and the operation that brought it. Values are named
    by location (for imported models the module's path).

    Before (as tp-propagate leaves it):
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {} ]>}) -> (tensor<8x16xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"} ]>}) {
      %w = tp.parameter "up.weight" {tp.because = [[{annotation = "up.weight dim 0 on \22tp\22", axis = "tp", dim = 0 : i64} ]], tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {} ]>]} : tensor<16x64xf32>
      %y = nn.linear %x, %w {tp.because = [[{annotation = "up.weight dim 0 on \22tp\22", axis = "tp", dim = 1 : i64, via = "nn.linear over n at up"} ]], tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"} ]>]} : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32> loc("up")
      return %y : tensor<8x16xf32>
    }
    ```
    Output:
    ```
    tp.parameter up.weight: [{"tp"}, {} ]
      dim 0 on "tp": up.weight dim 0 on "tp"
    nn.linear at up: [{}, {"tp"} ]
      dim 1 on "tp": up.weight dim 0 on "tp", by nn.linear over n at up
    ```
  }];
}

#endif // TP_PROPAGATE_PASSES_TD
