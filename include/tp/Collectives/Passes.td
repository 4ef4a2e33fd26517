//===- Passes.td - Passes of the stage collectives --------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fewer and cheaper collectives with the same values: reductions as late as
// helps, sums merged, duplicates dropped, slices taken into the collective
// before them; then the stage's contract.
//
//===----------------------------------------------------------------------===//

#ifndef TP_COLLECTIVES_PASSES_TD
#define TP_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

class CollectivesPass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::tp::TPDialect"];
}

def DropCollectives : CollectivesPass<"tp-drop-collectives"> {
  let summary = "drop collectives that do nothing, twice the same, or undo each other";
  let description = [{
    Drops a collective over axes of size one, one whose result nobody reads, a
    second one of the same kind on the same value, a slice of what was just
    gathered and a gather of what was just sliced. A collective in a repeated
    layer on a value from outside is moved before the layers. Upstream's CSE
    would do part of this, but must not run before the stage lower: it knows
    nothing of the ledger.

    Precondition of all passes here: IR that `tp-verify-partitioned` accepts;
    they keep it so.

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #add = #tp.rule<["a" 8, "b" 64], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col})
        -> (tensor<8x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #rep}, tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}) {
      %a = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep} : tensor<8x32xf32> -> tensor<8x64xf32>
      %b = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep} : tensor<8x32xf32> -> tensor<8x64xf32>
      %c = tp.slice %b dim 1 over @mesh ["tp"] {from = #rep, to = #col} : tensor<8x64xf32> -> tensor<8x32xf32>
      %d = arith.addf %a, %b {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x64xf32>
      return %d, %c : tensor<8x64xf32>, tensor<8x32xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x32xf32> {...}) -> (...) {
      %a = tp.all_gather %x dim 1 over @mesh ["tp"] {...} : tensor<8x32xf32> -> tensor<8x64xf32>
      %d = arith.addf %a, %a {...} : tensor<8x64xf32>
      return %d, %x : tensor<8x64xf32>, tensor<8x32xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numDropped", "dropped", "Collectives and slices dropped">,
    Statistic<"numHoisted", "hoisted", "Collectives moved out of layers">
  ];
}

def DelayReductions : CollectivesPass<"tp-delay-reductions"> {
  let summary = "reduce after linear operations, where that is less or merges";
  let description = [{
    A sum may be finished after any linear operation: a narrowing cast, a scale,
    a transposition, a slice of columns. The reduction moves down a chain of
    such operations, each the only use, to the point with the fewest bytes, or
    to where it meets another reduction that it can be merged with
    (`tp-merge-reductions`) or a slice (`tp-fuse-slices`) at no more bytes.
    After a narrowing cast the reduction moves the narrow type: the ledger
    states it. What layers only stack (the gradients of norms, with the sequence
    split) is reduced behind them, in one call instead of one a layer.

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #part = #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
    #linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
    #cast = #tp.rule<["a" 8, "b" 16], ([0], [1]) multilinear -> ([0], [1])>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col})
        -> (tensor<8x16xbf16> {tp.global_type = tensor<8x16xbf16>, tp.sharding = #rep}) {
      %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
      %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
      %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "of y", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
      %n = arith.truncf %r {tp.rule = #cast, tp.shardings = [#rep]} : tensor<8x16xf32> to tensor<8x16xbf16>
      return %n : tensor<8x16xbf16>
    }
    ```
    After:
    ```mlir
    %y = nn.linear %x, %w {...} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    %n = arith.truncf %y {tp.rule = ..., tp.shardings = [#tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>]} : tensor<8x16xf32> to tensor<8x16xbf16>
    %r = tp.all_reduce sum %n over @mesh ["tp"] {... pass = "tp-delay-reductions">, ...} : tensor<8x16xbf16> -> tensor<8x16xbf16>
    return %r : tensor<8x16xbf16>
    ```
  }];
  let statistics = [
    Statistic<"numDelayed", "delayed", "Operations that a reduction was moved past">
  ];
}

def MergeReductions : CollectivesPass<"tp-merge-reductions"> {
  let summary = "add partial sums, then reduce once";
  let description = [{
    `AR(a) + AR(b)` is `AR(a + b)`; the same for reduce_scatter. The ledger
    entry has both causes. An all-reduce over a part of the other's axes is
    first made as wide: of the copies of its operand one counts
    (tp.keep_first).

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #part = #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
    #linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
    #add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col})
        -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
      %v = tp.parameter "v" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
      %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
      %a = nn.linear %x, %v {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
      %b = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
      %r = tp.all_reduce sum %a over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "of a", annotation = "v", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
      %s = tp.all_reduce sum %b over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "of b", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
      %t = arith.addf %r, %s {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
      return %t : tensor<8x16xf32>
    }
    ```
    After:
    ```mlir
    %a = nn.linear %x, %v {...} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    %b = nn.linear %x, %w {...} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    %s = arith.addf %a, %b {tp.rule = ..., tp.shardings = [#tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>]} : tensor<8x16xf32>
    %r = tp.all_reduce sum %s over @mesh ["tp"] {..., ledger = #tp.ledger<0, cause = "of a; and of b", annotation = "v; and w", pass = "tp-merge-reductions">, ...} : tensor<8x16xf32> -> tensor<8x16xf32>
    return %r : tensor<8x16xf32>
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "Reductions that became part of another">
  ];
}

def FuseSlices : CollectivesPass<"tp-fuse-slices"> {
  let summary = "make all_reduce + slice a reduce_scatter, all_gather + slice an all_to_all";
  let description = [{
    Of any dimension, where nobody else reads what is reduced or gathered.

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #part = #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
    #linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col})
        -> (tensor<8x8xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #col}) {
      %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
      %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
      %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "of y", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
      %s = tp.slice %r dim 1 over @mesh ["tp"] {from = #rep, to = #col} : tensor<8x16xf32> -> tensor<8x8xf32>
      return %s : tensor<8x8xf32>
    }
    ```
    After:
    ```mlir
    %y = nn.linear %x, %w {...} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    %s = tp.reduce_scatter sum %y dim 1 over @mesh ["tp"] {..., to = #tp.sharding<@mesh, [{}, {"tp"} ]>} : tensor<8x16xf32> -> tensor<8x8xf32>
    return %s : tensor<8x8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numFused", "fused", "Slices taken into a collective">
  ];
}

def CoalesceReductions : CollectivesPass<"tp-coalesce-reductions"> {
  let summary = "make one call of all-reduces that do not need each other";
  let description = [{
    All-reduces of one reduction over the same axes and of one element type, in
    one block, none of which needs another's result, become one call: they are
    put next to each other under one id in the ledger. Each keeps its own cause.
    Schedule gives them one buffer, so that nothing but the number of calls
    changes: the bytes are the same.

    A call's operands are in memory together, so not everything is taken: operands of
    up to 1 MiB; what layers stack (the gradients of all layers), which is in
    memory as a whole anyway; of others as many bytes as a call has of such
    stacks. So a call never doubles what a program holds. States that a function
    reads here alone and replaces are reduced where they lie, in calls of their
    own, whatever their size; they are declared one behind the other then, as the
    runtime lays them out.

    Gathers and scatters stay as they are: one for two would leave the parts of
    each rank together, and those of each tensor would have to be copied out.

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{} ]>
    #part = #tp.sharding<@mesh, [{} ], partial sum {"tp"}>
    #cut = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #sum = #tp.rule<["a" 8, "b" 16 sum], ([0], [1]) additive, ([0]) additive -> ([0])>
    #zero = #tp.rule<["a" 8], (), ([0]) -> ([0])>
    #empty = #tp.rule<["a" 8], -> ([0])>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x8xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #cut}, %y: tensor<8x8xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #cut})
        -> (tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #rep}, tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #rep}) {
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() {tp.rule = #empty, tp.shardings = [#rep]} : tensor<8xf32>
      %fill = linalg.fill {tp.rule = #zero, tp.shardings = [#rep]} ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
      %a = linalg.reduce { arith.addf } ins(%x : tensor<8x8xf32>) outs(%fill : tensor<8xf32>) dimensions = [1] {tp.rule = #sum, tp.shardings = [#part]}
      %r = tp.all_reduce sum %a over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "of a", annotation = "x", pass = "tp-insert-reshards">} : tensor<8xf32> -> tensor<8xf32>
      %b = linalg.reduce { arith.addf } ins(%y : tensor<8x8xf32>) outs(%fill : tensor<8xf32>) dimensions = [1] {tp.rule = #sum, tp.shardings = [#part]}
      %s = tp.all_reduce sum %b over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "of b", annotation = "y", pass = "tp-insert-reshards">} : tensor<8xf32> -> tensor<8xf32>
      return %r, %s : tensor<8xf32>, tensor<8xf32>
    }
    ```
    After:
    ```mlir
    %a = linalg.reduce ...
    %b = linalg.reduce ...
    %r = tp.all_reduce sum %a over @mesh ["tp"] {..., ledger = #tp.ledger<0, cause = "of a", annotation = "x", pass = "tp-coalesce-reductions">, ...} : tensor<8xf32> -> tensor<8xf32>
    %s = tp.all_reduce sum %b over @mesh ["tp"] {..., ledger = #tp.ledger<0, cause = "of b", annotation = "y", pass = "tp-coalesce-reductions">, ...} : tensor<8xf32> -> tensor<8xf32>
    return %r, %s : tensor<8xf32>, tensor<8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numCoalesced", "coalesced", "All-reduces that became part of another call">
  ];
}

def NumberCollectives : CollectivesPass<"tp-number-collectives"> {
  let summary = "give ledger entries their final ids";
  let description = [{
    Ids in program order from zero, without the gaps that dropped and merged
    collectives left. The artifact's tables number collectives by position; so
    the id in `--explain`, in the timeline and in an error at run time is one.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x32xf32>) -> tensor<8x64xf32> {
      %a = tp.all_gather %x dim 1 over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "first", annotation = "x", pass = "tp-insert-reshards">} : tensor<8x32xf32> -> tensor<8x64xf32>
      %b = tp.all_reduce sum %a over @mesh ["tp"] {ledger = #tp.ledger<3, cause = "second", annotation = "y", pass = "tp-merge-reductions">} : tensor<8x64xf32> -> tensor<8x64xf32>
      return %b : tensor<8x64xf32>
    }
    ```
    After:
    ```mlir
    %a = tp.all_gather %x dim 1 over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "first", ...>} : tensor<8x32xf32> -> tensor<8x64xf32>
    %b = tp.all_reduce sum %a over @mesh ["tp"] {ledger = #tp.ledger<1, cause = "second", ...>} : tensor<8x64xf32> -> tensor<8x64xf32>
    ```
  }];
}

def VerifyCollectives : Pass<"tp-verify-collectives", "::mlir::ModuleOp"> {
  let summary = "check the contract of the stage collectives";
  let description = [{
    What `tp-verify-partitioned` checks, and every `tp.comm_budget` on functions
    and repeated layers. A budget that is exceeded is an error at the first
    collective that exceeds it, which names the kind, the count or bytes, the
    cause, and the annotation that led to it. A budget forbids the kinds that it
    does not list, unless it has a limit for `any`.

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col})
        -> (tensor<8x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #rep})
        attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 1>} {
      %a = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep, ledger = #tp.ledger<0, cause = "result 0 is replicated", annotation = "x dim 1 on \22tp\22", pass = "tp-insert-reshards">} : tensor<8x32xf32> -> tensor<8x64xf32>
      return %a : tensor<8x64xf32>
    }
    ```
    Error:
    ```
    error: 'tp.all_gather' op exceeds the communication budget: expected no tp.all_gather, got 1 call of tp.all_gather and 2048 bytes;
      its cause is: result 0 is replicated; without the annotation 'x dim 1 on "tp"' it is not needed
    note: the budget of this function is #tp.comm_budget<all_reduce count 1>, which forbids what it does not list;
      'all_gather unlimited' in it, or 'any unlimited' for all others, allows it
    ```
  }];
}

#endif // TP_COLLECTIVES_PASSES_TD
