// Where schedule refuses a program, the ledger stands: it is true whatever comes after it. A value
// without a size has no memory, and lower says so.
// RUN: not tp-compile %s --explain 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERROR < %t.err
// CHECK: parameters per rank: 40 B
// CHECK-NOT: memory per rank
// ERROR: error: 'tp.parameter' op expected tensors of f64, f32, bf16, f16, i64, i32, i16, i8 or i1 in memory, got 'tensor<4xf80>'
// RUN: sed 's/f80/complex<f32>/g; /addf/d; /tp.param/d; s/%z/%x/g' %s | tp-compile - --explain | FileCheck %s --check-prefix=COMPLEX
// COMPLEX: totals of one run
// COMPLEX-NOT: memory per rank

func.func @main(%x: tensor<4xf80>) -> tensor<4xf80> {
  %w = tp.parameter "w" : tensor<4xf80>
  %z = arith.addf %x, %w : tensor<4xf80>
  return %z : tensor<4xf80>
}
