// RUN: tp-opt --tp-merge-bodies %s | FileCheck %s

// Two of three kernels have the same code, but for names and locations.

// CHECK-LABEL: func.func @step
// CHECK: constant @first
// CHECK: constant @first
// CHECK: constant @other
// CHECK: func.func private @first
// CHECK-NOT: @second
// CHECK: func.func private @other
func.func @step() {
  %0 = func.constant @first : (i64, i64) -> i64
  %1 = func.constant @second : (i64, i64) -> i64
  %2 = func.constant @other : (i64, i64) -> i64
  return
}
func.func private @first(%a: i64, %b: i64) -> i64 {
  %0 = arith.addi %a, %b : i64 loc("x")
  return %0 : i64
}
func.func private @second(%c: i64, %d: i64) -> i64 {
  %1 = arith.addi %c, %d : i64 loc("y")
  return %1 : i64
}
func.func private @other(%a: i64, %b: i64) -> i64 {
  %0 = arith.addi %b, %a : i64
  return %0 : i64
}
