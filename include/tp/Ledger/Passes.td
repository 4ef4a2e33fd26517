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

    Before:
    ```mlir
    #rep = #tp.sharding<@mesh, [{}, {} ]>
    #col = #tp.sharding<@mesh, [{}, {"tp"} ]>
    #part = #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
    #linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col})
        -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
      %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
      %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
      %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "partial sum of nn.linear over factor k", annotation = "w dim 1 on \22tp\22", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
      return %r : tensor<8x16xf32>
    }
    ```
    Output:
    ```
    mesh tp=2, 2 ranks

    @main
       id  kind                axis          count       bytes     traffic  type
        0  all_reduce          tp                1       512 B       512 B  tensor<8x16xf32>
           cause: partial sum of nn.linear over factor k
           annotation: w dim 1 on "tp"; at ...; placed by tp-insert-reshards

    totals of one run     count       bytes     traffic       bound
    all_reduce                1       512 B       512 B       512 B
    all                       1       512 B       512 B       512 B

    parameters per rank: 2.0 KiB, even share 2.0 KiB of 4.0 KiB
    ```
  }];
  let options = [
    Option<"json", "json", "bool", "false", "print one JSON object instead">
  ];
}

#endif // TP_LEDGER_PASSES_TD
