//===- Passes.td - Passes that serve verification ---------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tp-verify needs the program to carry through the stages.
//
//===----------------------------------------------------------------------===//

#ifndef TP_VERIFY_PASSES_TD
#define TP_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignValueIds : Pass<"tp-assign-value-ids", "::mlir::ModuleOp"> {
  let summary = "number the operations, so that their values can be compared";
  let description = [{
    Gives every operation with results, and every function, a `tp.value_id`: a
    number that the stages carry along, so that tp-verify can find the value of
    the one-device program that a per-rank value is a part of. Operations that
    have one keep it; running the pass again changes nothing.

    Before:
    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
      %0 = nn.silu %x : tensor<2x8xf32>
      return %0 : tensor<2x8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {tp.value_id = 0 : i64} {
      %0 = nn.silu %x {tp.value_id = 1 : i64} : tensor<2x8xf32>
      return %0 : tensor<2x8xf32>
    }
    ```
  }];
}

def WidenFloats : Pass<"tp-widen-floats", "::mlir::ModuleOp"> {
  let summary = "compute in f64 whatever the program computes in";
  let description = [{
    Turns every float type into f64, so that differences of the program's
    results are exact enough to judge its derivative by. Casts between floats
    go, constants are widened as they are. No pass for lower: it changes what a
    program means by its roundings alone, but those it all changes.

    Precondition: no nn operations, whose statistics are f32
    (tp-decompose-nn).

    Before:
    ```mlir
    func.func @main(%x: tensor<8xbf16>) -> tensor<8xf32> {
      %0 = arith.extf %x : tensor<8xbf16> to tensor<8xf32>
      %1 = math.exp %0 : tensor<8xf32>
      return %1 : tensor<8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8xf64>) -> tensor<8xf64> {
      %0 = math.exp %x : tensor<8xf64>
      return %0 : tensor<8xf64>
    }
    ```
  }];
}

#endif // TP_VERIFY_PASSES_TD
