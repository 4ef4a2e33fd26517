// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-start-collectives))' --split-input-file | FileCheck %s

tp.mesh @mesh <["tp"=2]>

// The work that needs no result stands between start and await, and views of
// the result follow the await.
// CHECK-LABEL: func.func @overlap
// CHECK:      %[[P:.*]] = call @produce
// CHECK-NEXT: %[[S:.*]] = tp.all_reduce sum %[[P]]
// CHECK-NEXT: %[[O:.*]] = call @produce
// CHECK-NEXT: %[[A:.*]] = tp.await %[[S]]
// CHECK-NEXT: %[[V:.*]] = tensor.collapse_shape %[[A]]
// CHECK-NEXT: call @both(%[[V]], %[[O]])
func.func @overlap(%x: tensor<2x4xf32>) -> tensor<8xf32> {
  %p = call @produce(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %o = call @produce(%p) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %r = tp.all_reduce sum %p over @mesh ["tp"] : tensor<2x4xf32> -> tensor<2x4xf32>
  %v = tensor.collapse_shape %r [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %y = call @both(%v, %o) : (tensor<8xf32>, tensor<2x4xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @produce(%x: tensor<2x4xf32>) -> tensor<2x4xf32>
func.func private @both(%a: tensor<8xf32>, %b: tensor<2x4xf32>) -> tensor<8xf32>

// -----

tp.mesh @mesh <["tp"=2]>

// Collectives keep their order; one that nobody reads is awaited too.
// CHECK-LABEL: func.func @order
// CHECK:      %[[A:.*]] = tp.all_reduce sum %arg1
// CHECK-NEXT: tp.await %[[A]]
// CHECK-NEXT: %[[B:.*]] = tp.all_gather %arg0 dim 0
// CHECK-NEXT: %[[W:.*]] = tp.await %[[B]]
// CHECK-NEXT: return %[[W]]
func.func @order(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> tensor<4x4xf32> {
  %a = tp.all_reduce sum %y over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
  %b = tp.all_gather %x dim 0 over @mesh ["tp"] : tensor<2x4xf32> -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

// Inside a layer the await is in the layer.
// CHECK-LABEL: func.func @layers
// CHECK:      tp.repeat
// CHECK:        %[[A:.*]] = tp.all_reduce
// CHECK-NEXT:   %[[W:.*]] = tp.await %[[A]]
// CHECK-NEXT:   tp.yield %[[W]]
func.func @layers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tp.repeat 3 times iter(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %h: tensor<4xf32>):
    %a = tp.all_reduce sum %h over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
    tp.yield %a : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
