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

    ```mlir
    %a = tp.all_gather %x dim 1 over @mesh ["tp"] ...
    %b = tp.all_gather %x dim 1 over @mesh ["tp"] ...
    %c = tp.slice %b dim 1 over @mesh ["tp"] ...
    // becomes: %b is %a, %c is %x
    %a = tp.all_gather %x dim 1 over @mesh ["tp"] ...
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
    states it.

    ```mlir
    %r = tp.all_reduce sum %y over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
    %n = arith.truncf %r : tensor<8x64xf32> to tensor<8x64xbf16>
    // becomes
    %n = arith.truncf %y : tensor<8x64xf32> to tensor<8x64xbf16>
    %r = tp.all_reduce sum %n over @mesh ["tp"] : tensor<8x64xbf16> -> tensor<8x64xbf16>
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
    entry has both causes.

    ```mlir
    %a1 = tp.all_reduce sum %a over @mesh ["tp"] ...
    %b1 = tp.all_reduce sum %b over @mesh ["tp"] ...
    %s = arith.addf %a1, %b1 : tensor<8x64xf32>
    // becomes
    %p = arith.addf %a, %b : tensor<8x64xf32>
    %s = tp.all_reduce sum %p over @mesh ["tp"] ...
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "Reductions that became part of another">
  ];
}

def FuseSlices : CollectivesPass<"tp-fuse-slices"> {
  let summary = "make all_reduce + slice a reduce_scatter, all_gather + slice an all_to_all";
  let description = [{
    Of any dimension, where nobody else reads the whole value.

    ```mlir
    %r = tp.all_reduce sum %y over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
    %s = tp.slice %r dim 1 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x32xf32>
    // becomes
    %s = tp.reduce_scatter sum %y dim 1 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x32xf32>
    ```
  }];
  let statistics = [
    Statistic<"numFused", "fused", "Slices taken into a collective">
  ];
}

def NumberCollectives : CollectivesPass<"tp-number-collectives"> {
  let summary = "give ledger entries their final ids";
  let description = [{
    Ids in program order from zero, without the gaps that dropped and merged
    collectives left. The artifact's tables number collectives by position; so
    the id in `--explain`, in the timeline and in an error at run time is one.

    ```mlir
    %a = tp.all_gather %x ... {ledger = #tp.ledger<0, ...>}
    %b = tp.all_reduce sum %a ... {ledger = #tp.ledger<3, ...>}
    // becomes
    %a = tp.all_gather %x ... {ledger = #tp.ledger<0, ...>}
    %b = tp.all_reduce sum %a ... {ledger = #tp.ledger<1, ...>}
    ```
  }];
}

def VerifyCollectives : Pass<"tp-verify-collectives", "::mlir::ModuleOp"> {
  let summary = "check the contract of the stage collectives";
  let description = [{
    What `tp-verify-partitioned` checks, and every `tp.comm_budget` on functions
    and repeated layers. A budget that is exceeded is an error at the first
    collective that exceeds it, which names the kind, the count or bytes, the
    cause, and the annotation that led to it.

    ```mlir
    func.func @main(...) attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 1, all_gather none>}
    ```
  }];
}

#endif // TP_COLLECTIVES_PASSES_TD
