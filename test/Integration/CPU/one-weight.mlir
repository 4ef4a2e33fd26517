// A weight that several products read is held once, whatever they do with their
// results, how many rows they have, and in which entry they are: of the two entries'
// four products of w there is one template.

// RUN: tp-compile %s --plan replicated -o %t.tpa 2> %t.log
// RUN: tp-opt %s --tp-schedule-pipeline --tp-lower-step | FileCheck %s
// RUN: tp-run %t.tpa --weights random:1 --entry main,few --stats=json | FileCheck %s --check-prefix=STATS
// RUN: tp-verify %s --stages lower | FileCheck %s --check-prefix=VERIFY

// Three descriptions, one template.
// CHECK: \22activation\22:\22none\22
// CHECK-SAME: \22activation\22:\22silu\22
// CHECK-SAME: \22parameters\22:[
// CHECK-SAME: \22names\22:[\22w\22]
// CHECK-NOT: \22names\22:[\22w\22]

// w, and a page for b.
// STATS: "parameter_bytes": 20480

// VERIFY: lower @main: equal
// VERIFY: lower @few: equal

func.func @main() -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %x = arith.constant dense<0.5> : tensor<32x64xf32>
  %w = tp.parameter "w" : tensor<64x64xf32>
  %0 = nn.linear %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = nn.linear %0, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %2 = nn.silu %1 : tensor<32x64xf32>
  return %0, %2 : tensor<32x64xf32>, tensor<32x64xf32>
}
func.func @few() -> (tensor<2x64xf32>, tensor<2x64xf32>) {
  %y = arith.constant dense<0.25> : tensor<2x64xf32>
  %w = tp.parameter "w" : tensor<64x64xf32>
  %b = tp.parameter "b" : tensor<64xf32>
  %0 = nn.linear %y, %w bias %b : (tensor<2x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %1 = nn.linear %0, %w : (tensor<2x64xf32>, tensor<64x64xf32>) -> tensor<2x64xf32>
  return %0, %1 : tensor<2x64xf32>, tensor<2x64xf32>
}
