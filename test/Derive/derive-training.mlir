// RUN: tp-opt %s --tp-derive-training="optimizer=sgd clip=1.5 momentum=true" --split-input-file | FileCheck %s

// Of logits the loss is their cross-entropy, and targets that are no class do not count.

// CHECK: module attributes {tp.training = {clip = 1.500000e+00 : f64, momentum, optimizer = "sgd"}}
// CHECK: func.func @main(%[[IDS:.*]]: tensor<2x8xi64>, %[[TARGETS:.*]]: tensor<2x8xi64> {tp.name = "targets", tp.range = array<i64: -100, 16>, tp.unshifted = "labels"}) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"})
// CHECK: %[[LOGITS:.*]] = nn.linear
// CHECK: %[[LOSSES:.*]] = nn.cross_entropy %[[LOGITS]], %[[TARGETS]]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[LOSSES]]
// CHECK: %[[COUNT:.*]] = linalg.generic {{.*}} ins(%[[TARGETS]]
// CHECK: arith.cmpi ult
// CHECK: return %[[SUM]], %[[COUNT]]
func.func @main(%ids: tensor<2x8xi64>) -> (tensor<2x8x4xf32> {tp.name = "hidden"}, tensor<2x8x16xf32> {tp.name = "logits"}) {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %l = nn.linear %x, %words : (tensor<2x8x4xf32>, tensor<16x4xf32>) -> tensor<2x8x16xf32>
  return %x, %l : tensor<2x8x4xf32>, tensor<2x8x16xf32>
}

// -----

// Classes of whole rows: targets have no order in which they could be shifted.

// CHECK: func.func @main(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<4xi64> {tp.name = "targets", tp.range = array<i64: -100, 3>})
// CHECK: nn.cross_entropy {{.*}} -> tensor<4xf32>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %w = tp.parameter "w" : tensor<3x8xf32>
  %l = nn.linear %x, %w : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x3xf32>
  return %l : tensor<4x3xf32>
}

// -----

// A loss of the program's own is one token.

// CHECK: func.func @main(%{{.*}}: tensor<8xf32>) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"})
// CHECK: %[[LOSS:.*]] = linalg.dot
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK: return %[[LOSS]], %[[ONE]]
func.func @main(%x: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %w = tp.parameter "w" : tensor<8xf32>
  %loss = linalg.dot ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
