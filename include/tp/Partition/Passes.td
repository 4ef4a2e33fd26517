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
    that some uses need whole and others split is reduced once: the cheapest
    tree of reshards over all its uses is taken.

    Each reshard carries the first half of its ledger entry: the cause (the
    contraction whose partial sum it finishes, the boundary of sequence
    parallelism, or the two shardings in conflict) and the annotation behind it.

    Precondition: the output of `tp-propagate`: one mesh, a closed sharding on
    every tensor, each that which the operation gives.

    ```mlir
    %y = nn.linear %x, %w {tp.shardings = [#tp.sharding<@mesh, [{}, {}, {} ], partial sum {"tp"}>]} : ...
    %n = nn.rms_norm %y, %g ...
    // becomes
    %y = nn.linear %x, %w {...} : ...
    %r = tp.reshard %y from <@mesh, [{}, {}, {} ], partial sum {"tp"}> to <@mesh, [{}, {}, {} ]> {ledger = #tp.ledger<0, cause = "partial sum of nn.linear over factor k", ...>, ...}
    %n = nn.rms_norm %r, %g ...
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
    everything again. Arguments, results and parameters record the type of the
    whole (`tp.global_type`).

    Padding: what the lanes past the logical end hold is followed through the
    program (zero in parameters and arguments, by agreement with the loader).
    Where a reduction would count lanes that are not neutral, they are masked: a
    `linalg.generic` that selects by the global position, so that not even a NaN
    leaks. What no mask can repair is refused with the degrees that divide.

    Precondition: the output of `tp-insert-reshards`.

    ```mlir
    %r = tp.reshard %y from <@mesh, [{}, {} ], partial sum {"tp"}> to <@mesh, [{"tp"}, {} ]> : tensor<8x64xf32>
    // becomes
    %r = tp.reduce_scatter sum %y dim 0 over @mesh ["tp"] {from = ..., ledger = ..., to = ...} : tensor<8x64xf32> -> tensor<4x64xf32>
    ```
  }];
  let statistics = [
    Statistic<"numCollectives", "collectives", "Collectives placed">,
    Statistic<"numMasks", "masks", "Masks of padding lanes placed">
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
    an addition of a partial and a whole value (a bias that would count once per
    rank); operands that disagree over a factor; a local type that is not the
    local shape; a result that is not what the function promises; a value that
    depends on `tp.rank` in another way than as the exact offset of its part; a
    `tp.rule` that is not the operation's own; a collective without its ledger
    entry, or two with one id.
  }];
}

#endif // TP_PARTITION_PASSES_TD
