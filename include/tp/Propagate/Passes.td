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
