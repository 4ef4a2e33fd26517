// A call has no sharding rule of its own: the import stage ends without calls.
// RUN: tp-opt %s --tp-import-pipeline | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: nn.silu
// CHECK: tp.parameter
// CHECK-NOT: call
// CHECK-NOT: @block
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @block(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @block(%0) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @block(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.silu %x : tensor<8xf32>
  %w = tp.parameter "w" : tensor<8xf32>
  %1 = tp.repeat 2 times iter(%0) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    %2 = arith.addf %c, %w : tensor<8xf32>
    tp.yield %2 : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}
