//===- Passes.td - Passes for math without a library ----- -*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the lower stage: functions as arithmetic, on scalars and vectors.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_MATH_PASSES_TD
#define TP_CONVERSION_MATH_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"tp-expand-math"> {
  let summary = "replace math functions by arithmetic";
  let description = [{
    exp, log, tanh, erf, sin, cos, rsqrt and their kin become polynomials and
    arithmetic on scalars and vectors alike: compiled code calls no library.
    Sine and cosine are right to 2 units in the last place, of every number;
    vectors with a lane beyond 2^20 take a branch for it, in which a loop sees to
    the lanes (on a device, whose registers cannot be counted, one after the
    other). Fails on a function that has no expansion.

    Before:
    ```mlir
    func.func @main(%x: vector<8xf32>) -> vector<8xf32> {
      %0 = math.rsqrt %x : vector<8xf32>
      return %0 : vector<8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: vector<8xf32>) -> vector<8xf32> {
      %one = arith.constant dense<1.000000e+00> : vector<8xf32>
      %0 = math.sqrt %x : vector<8xf32>
      %1 = arith.divf %one, %0 : vector<8xf32>
      return %1 : vector<8xf32>
    }
    ```
  }];
  let options = [Option<"loopsOverLanes", "loops-over-lanes", "bool", "true",
    "see to large angles in a loop over the lanes, which are written out otherwise">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // TP_CONVERSION_MATH_PASSES_TD
