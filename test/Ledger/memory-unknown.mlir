// Where schedule refuses a program, the ledger stands: it is true whatever comes after it. A value
// without a size has no memory, and lower says so.
// RUN: not tp-compile %s --explain 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR < %t.err
// CHECK: parameters per rank: 40 B
// CHECK-NOT: memory per rank
// ERROR: error: 'tp.parameter' op expected tensors of f64, f32, bf16, f16, i64, i32, i16, i8 or i1 in memory, got 'tensor<4xf80>'

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = tp.parameter "w" : tensor<4xf80>
  %e = arith.extf %x : tensor<4xf32> to tensor<4xf80>
  %z = arith.addf %e, %w : tensor<4xf80>
  %y = arith.truncf %z : tensor<4xf80> to tensor<4xf32>
  return %y : tensor<4xf32>
}
