//===- Passes.td - Passes of the ledger -------------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Printing the ledger from tp-opt.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LEDGER_PASSES_TD
#define TP_LEDGER_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExplainLedger : Pass<"tp-explain", "::mlir::ModuleOp"> {
  let summary = "print every collective with its reason, and the totals";
  let description = [{
    Prints the ledger of a per-rank program to standard output: each collective
    with its axis, type, bytes and traffic, its cause, the annotation behind it
    and its place in the source, by layer; totals per kind against the analytic
    lower bound; each rank's share of parameters and arithmetic against an even
    one. The module is unchanged. `docs/Ledger.md` defines the figures.

    Precondition: the output of `tp-partition` or of the passes of the stage
    collectives.
  }];
  let options = [
    Option<"json", "json", "bool", "false", "print one JSON object instead">
  ];
}

#endif // TP_LEDGER_PASSES_TD
