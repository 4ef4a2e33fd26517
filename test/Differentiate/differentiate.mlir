// What the pass makes: results for each parameter in their order, contributions that
// are added, and of a layer a second loop in reverse, which reads what the first keeps.
// RUN: tp-opt %s --split-input-file --tp-differentiate=recompute=none --canonicalize | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-differentiate=recompute=none --tp-differentiate | tp-opt --split-input-file --canonicalize | FileCheck %s

// A tied table: one result, two contributions. The unread parameter has zeros, the
// integer one nothing.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func @gradient
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32> {tp.name = "x"}) -> (tensor<4xf32>, tensor<f32> {tp.loss}, tensor<4xf32> {tp.gradient = #tp.gradient<"w">}, tensor<2xf32> {tp.gradient = #tp.gradient<"unread" source <shape = [4], offsets = [2], permutation = [0]>>})
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK: return %{{.*}}, %{{.*}}, %[[SUM]], %{{.*}} : tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<2xf32>
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<4xf32>, tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<4xf32>
  %again = tp.parameter "w" : tensor<4xf32>
  %unread = tp.parameter "unread" source <shape = [4], offsets = [2], permutation = [0]> : tensor<2xbf16>
  %integers = tp.parameter "integers" : tensor<4xi32>
  %0 = arith.mulf %w, %x : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.dot ins(%0, %again : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %0, %loss : tensor<4xf32>, tensor<f32>
}

// -----

// The forward loop keeps what the derivative reads (the layer's input and the sine's)
// and no more; the reverse one reads the parameter again, by its own index.
// Computed again, the sine's operand follows from the layer's input.
// RUN: tp-opt %s --split-input-file --tp-differentiate --canonicalize | FileCheck %s --check-prefix=AGAIN
// RUN: tp-opt %s --split-input-file --tp-differentiate=recompute=full --canonicalize | FileCheck %s --check-prefix=AGAIN
// AGAIN: %[[FORWARD:.*]]:2 = tp.repeat 3 times from 2 iter
// AGAIN: tp.repeat 3 times reverse from 2 iter(%{{.*}}) stacked(%[[FORWARD]]#1)
// AGAIN-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: tensor<4xf32>, %[[INPUT:.*]]: tensor<4xf32>):
// AGAIN: %[[PRODUCT:.*]] = arith.mulf %[[INPUT]], %{{.*}}
// AGAIN: math.cos %[[PRODUCT]]
// CHECK-LABEL: func.func @gradient
// CHECK-SAME: tensor<3x4xf32> {tp.gradient = #tp.gradient<"layers.{i}.w" from 2>}
// CHECK: %[[FORWARD:.*]]:3 = tp.repeat 3 times from 2 iter(%{{.*}}) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
// CHECK: %[[REVERSE:.*]]:2 = tp.repeat 3 times reverse from 2 iter(%{{.*}}) stacked(%[[FORWARD]]#1, %[[FORWARD]]#2) : (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>)
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[D:.*]]: tensor<4xf32>, %[[KEPT:.*]]: tensor<4xf32>, %[[INPUT:.*]]: tensor<4xf32>):
// CHECK-DAG: %[[W:.*]] = tp.parameter "layers.{i}.w"
// CHECK-DAG: %[[COS:.*]] = math.cos %[[KEPT]]
// CHECK: %[[DS:.*]] = arith.mulf %[[D]], %[[COS]]
// CHECK: %[[DH:.*]] = arith.mulf %[[DS]], %[[W]]
// CHECK: %[[DW:.*]] = arith.mulf %[[DS]], %[[INPUT]]
// CHECK: tp.yield %[[DH]], %[[DW]]
// CHECK: return %{{.*}}, %[[REVERSE]]#1
func.func @main(%x: tensor<4xf32>) -> (tensor<f32> {tp.loss}) {
  %first = tp.parameter "x" : tensor<4xf32>
  %h = tp.repeat 3 times from 2 iter(%first) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %h: tensor<4xf32>):
    %w = tp.parameter "layers.{i}.w" : tensor<4xf32>
    %0 = arith.mulf %h, %w : tensor<4xf32>
    %1 = math.sin %0 : tensor<4xf32>
    tp.yield %1 : tensor<4xf32>
  }
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.dot ins(%h, %x : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// No loss, nothing to do.
// CHECK-LABEL: func.func @main
// CHECK-NOT: @gradient
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
