//===- Passes.td - Passes of the stage partition ----------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a program with a sharding on every value to the program of one rank:
// reshards where shardings meet, then local types and collectives, then the
// check of the stage's contract.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PARTITION_PASSES_TD
#define TP_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def MarkExperts : Pass<"tp-mark-experts", "::mlir::ModuleOp"> {
  let summary = "tell experts what of their width is padding";
  let description = [{
    Experts sum over their width, and zeros of the matrices do not make its padding
    harmless: zero times an infinity of the input is no number. Nor is there an
    operand to mask, for what is summed is made inside of the operation. Where the width
    of an `nn.experts` or `nn.experts_backward` is cut unevenly it is therefore given
    `inside`, a one for each position. The padding of that is masked as any other is, and
    a zero leaves the position out.

    Precondition: the output of `tp-propagate`.

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #inner = #tp.sharding<@mesh, [{}, {"tp"}, {} ]>
    tp.mesh @mesh <["tp"=4]>
    func.func @main(%x: tensor<6x16xf32> {tp.sharding = #rep}, %r: tensor<6x8xf32> {tp.sharding = #rep}) -> (tensor<6x16xf32> {tp.sharding = #rep}) {
      %gate = tp.parameter "gate" {tp.shardings = [#inner]} : tensor<8x42x16xf32>
      %up = tp.parameter "up" {tp.shardings = [#inner]} : tensor<8x42x16xf32>
      %down = tp.parameter "down" {tp.shardings = [#tp.sharding<@mesh, [{}, {}, {"tp"} ]>]} : tensor<8x16x42xf32>
      %y = nn.experts %x, %r, %gate, %up, %down {activation = "silu", tp.shardings = [#tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>]} : (tensor<6x16xf32>, tensor<6x8xf32>, tensor<8x42x16xf32>, tensor<8x42x16xf32>, tensor<8x16x42xf32>) -> tensor<6x16xf32>
      %s = nn.silu %y {tp.shardings = [#rep]} : tensor<6x16xf32>
      return %s : tensor<6x16xf32>
    }
    ```
    After:
    ```mlir
    %ones = arith.constant {tp.shardings = [#tp.sharding<@mesh, [{"tp"} ]>]} dense<1> : tensor<42xi32>
    %y = nn.experts %x, %r, %gate, %up, %down inside %ones {...} : (..., tensor<42xi32>) -> tensor<6x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tp::nn::NNDialect"];
}

def InsertReshards : Pass<"tp-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "insert tp.reshard where a use needs another sharding";
  let description = [{
    Compares what each operation needs of its operands (from its sharding rule
    and the shardings of its results) with what they are, and inserts
    `tp.reshard` where the two differ: for results of functions, for the initial
    and yielded values of `tp.repeat`, and for values that count once beside a
    partial sum as well. There is one reshard per value and target, placed
    before the first use, outside of repeated layers where the value is: the
    projections to queries, keys and values share one gather. A partial value
    that some uses need complete and others split is reduced once: the cheapest
    tree of reshards over all its uses is taken.

    Each reshard carries the first half of its ledger entry: the cause (the
    contraction whose partial sum it finishes, the boundary of sequence
    parallelism, or the two shardings in conflict) and the annotation behind it.

    Precondition: the output of `tp-propagate`: one mesh, a closed sharding on
    every tensor, each that which the operation gives.

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #part = #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x64xf32> {tp.sharding = #col}) -> (tensor<8x16xf32> {tp.sharding = #rep}) {
      %w = tp.parameter "w" {tp.shardings = [#col]} : tensor<16x64xf32>
      %y = nn.linear %x, %w {tp.shardings = [#part]} : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
      %s = nn.silu %y {tp.shardings = [#rep]} : tensor<8x16xf32>
      return %s : tensor<8x16xf32>
    }
    ```
    After:
    ```mlir
    %y = nn.linear %x, %w {...} : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
    %r = tp.reshard %y from <@mesh, [{}, {} ], partial sum {"tp"}> to <@mesh, [{}, {} ]> {ledger = #tp.ledger<0, cause = "partial sum of nn.linear over factor k", ..., pass = "tp-insert-reshards">, ...} : tensor<8x16xf32>
    %s = nn.silu %r {...} : tensor<8x16xf32>
    ```
  }];
  let statistics = [
    Statistic<"numReshards", "reshards", "Reshards inserted">,
    Statistic<"numShared", "shared", "Uses that share another use's reshard">
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

def Partition : Pass<"tp-partition", "::mlir::ModuleOp"> {
  let summary = "make the program of one rank";
  let description = [{
    Gives every tensor its local type (sizes that do not divide are rounded up),
    every operation its per-rank form, and turns each `tp.reshard` into the
    minimal sequence of the reshard table. Collectives carry the shardings they
    lead from and to and their ledger entry; operations keep `tp.shardings` and
    the rule they follow (`tp.rule`), from which `tp-verify-partitioned` derives
    everything again. Arguments, results and parameters record the global
    type (`tp.global_type`).

    Padding: what the elements past the logical end hold is followed through the
    program (zero in parameters and arguments, by agreement with the loader).
    Where a reduction would count padding that is not neutral, it is masked: a
    `linalg.generic` that selects by the global position, so that not even a NaN
    leaks. What no mask can repair is refused with the degrees that divide.

    Precondition: the output of `tp-insert-reshards`: every operand has the
    sharding that its operation needs. That is checked.

    Before:
    ```mlir
    #rows = #tp.sharding<@mesh, [{"tp"}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #part = #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x64xf32> {tp.sharding = #col}) -> (tensor<8x16xf32> {tp.sharding = #rows}) {
      %w = tp.parameter "w" {tp.shardings = [#col]} : tensor<16x64xf32>
      %y = nn.linear %x, %w {tp.shardings = [#part]} : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
      %r = tp.reshard %y from <@mesh, [{}, {} ], partial sum {"tp"}> to <@mesh, [{"tp"}, {} ]> {ledger = #tp.ledger<0, cause = "partial sum of nn.linear over factor k", annotation = "w dim 1 on \22tp\22", pass = "tp-insert-reshards">, tp.shardings = [#rows]} : tensor<8x16xf32>
      return %r : tensor<8x16xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, ...}) -> (tensor<4x16xf32> {tp.global_type = tensor<8x16xf32>, ...}) {
      %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, ...} : tensor<16x32xf32>
      %y = nn.linear %x, %w {tp.rule = ..., tp.shardings = ...} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
      %r = tp.reduce_scatter sum %y dim 0 over @mesh ["tp"] {from = ..., ledger = ..., to = ...} : tensor<8x16xf32> -> tensor<4x16xf32>
      return %r : tensor<4x16xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numCollectives", "collectives", "Collectives placed">,
    Statistic<"numMasks", "masks", "Masks of padding placed">
  ];
  let dependentDialects = [
    "::tp::TPDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def VerifyPartitioned
    : Pass<"tp-verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "check the contract of the stage partition";
  let description = [{
    Derives again, from arguments, parameters and rules alone, whether each
    local value is replicated, split or partial, and compares with what is
    written. Rejected are: a collective whose operand is not what it starts
    from, or that is not its row of the reshard table (dropped, doubled, on the
    wrong axis or dimension); a partial value where the operation is not linear;
    an addition of a partial and a complete value (a bias that would count once per
    rank); operands that disagree over a factor; a local type that is not the
    local shape; a result that is not what the function promises; a value that
    depends on `tp.rank` in another way than as the exact offset of its part; a
    `tp.rule` that is not the operation's own; a collective without its ledger
    entry, or two with one id.

    Before (the product is a partial sum, which nothing reduces):
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #part = #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
    #linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
    #add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep})
        -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
      %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
      %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
      %r = arith.addf %h, %y {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
      return %r : tensor<8x16xf32>
    }
    ```
    Error:
    ```
    error: 'arith.addf' op operand 1: expected a complete value as operand 0 is,
      because a complete value added to a partial one would count once per rank,
      got [{}, {} ], partial sum {"tp"}
    ```
  }];
}

#endif // TP_PARTITION_PASSES_TD
