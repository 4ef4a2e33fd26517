// RUN: tp-opt %s --tp-join-collectives | FileCheck %s

// Collectives under one id are one, in place if they reduce states that lie one behind the other.

tp.mesh @mesh <["tp"=2]>
tp.state @a : tensor<4xf32>
tp.state @c : tensor<f32>
tp.state @b : tensor<4xf32>

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[J:.*]] = tp.join %arg0, %arg1, %arg2 : tensor<4xf32>, tensor<2x3xf32>, tensor<f32> -> tensor<129xf32>
// CHECK-NEXT: %[[R:.*]] = tp.all_reduce sum %[[J]] over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "of a; and of b", annotation = "x", pass = "p">} : tensor<129xf32> -> tensor<129xf32>
// CHECK-NEXT: %[[A:.*]] = tensor.extract_slice %[[R]][0] [4] [1]
// CHECK-NEXT: %[[F:.*]] = tensor.extract_slice %[[R]][64] [6] [1]
// CHECK-NEXT: %[[B:.*]] = tensor.expand_shape %[[F]] {{\[}}[0, 1]] output_shape [2, 3]
// CHECK-NEXT: %[[G:.*]] = tensor.extract_slice %[[R]][128] [1] [1]
// CHECK-NEXT: %[[C:.*]] = tensor.collapse_shape %[[G]] []
// CHECK-NEXT: %[[S:.*]] = tp.all_reduce sum %[[A]]
// CHECK-NEXT: return %[[S]], %[[B]], %[[C]]
func.func @main(%a: tensor<4xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) -> (tensor<4xf32>, tensor<2x3xf32>, tensor<f32>) {
  %r = tp.all_reduce sum %a over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "of a", annotation = "x", pass = "p">} : tensor<4xf32> -> tensor<4xf32>
  %s = tp.all_reduce sum %b over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "of b", annotation = "x", pass = "p">} : tensor<2x3xf32> -> tensor<2x3xf32>
  %t = tp.all_reduce sum %c over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "of a", annotation = "x", pass = "p">} : tensor<f32> -> tensor<f32>
  %u = tp.all_reduce sum %r over @mesh ["tp"] {ledger = #tp.ledger<1, cause = "of c", annotation = "x", pass = "p">} : tensor<4xf32> -> tensor<4xf32>
  return %u, %s, %t : tensor<4xf32>, tensor<2x3xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @states
// CHECK: tp.join in_place %arg0, %arg1 : tensor<4xf32>, tensor<f32> -> tensor<65xf32>
// CHECK-NEXT: tp.all_reduce
func.func @states(%a: tensor<4xf32> {tp.state = @a}, %c: tensor<f32> {tp.state = @c}, %x: tensor<4xf32>, %y: tensor<f32>)
    -> (tensor<4xf32> {tp.state = @a}, tensor<f32> {tp.state = @c}, tensor<4xf32>, tensor<f32>) {
  %r = tp.all_reduce sum %a over @mesh ["tp"] {ledger = #tp.ledger<2, cause = "of a", annotation = "x", pass = "p">} : tensor<4xf32> -> tensor<4xf32>
  %s = tp.all_reduce sum %c over @mesh ["tp"] {ledger = #tp.ledger<2, cause = "of c", annotation = "x", pass = "p">} : tensor<f32> -> tensor<f32>
  return %x, %y, %r, %s : tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<f32>
}

// Not neighbours.
// CHECK-LABEL: func.func @apart
// CHECK: tp.join %arg0, %arg1 :
func.func @apart(%a: tensor<4xf32> {tp.state = @a}, %b: tensor<4xf32> {tp.state = @b}, %x: tensor<4xf32>)
    -> (tensor<4xf32> {tp.state = @a}, tensor<4xf32> {tp.state = @b}, tensor<4xf32>, tensor<4xf32>) {
  %r = tp.all_reduce sum %a over @mesh ["tp"] {ledger = #tp.ledger<4, cause = "of a", annotation = "x", pass = "p">} : tensor<4xf32> -> tensor<4xf32>
  %s = tp.all_reduce sum %b over @mesh ["tp"] {ledger = #tp.ledger<4, cause = "of b", annotation = "x", pass = "p">} : tensor<4xf32> -> tensor<4xf32>
  return %x, %x, %r, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Kept, not replaced: not in its memory.
// CHECK-LABEL: func.func @kept
// CHECK: tp.join %arg0, %arg1 :
func.func @kept(%a: tensor<4xf32> {tp.state = @a}, %c: tensor<f32> {tp.state = @c}, %x: tensor<4xf32>)
    -> (tensor<4xf32> {tp.state = @a}, tensor<4xf32>, tensor<f32>) {
  %r = tp.all_reduce sum %a over @mesh ["tp"] {ledger = #tp.ledger<3, cause = "of a", annotation = "x", pass = "p">} : tensor<4xf32> -> tensor<4xf32>
  %s = tp.all_reduce sum %c over @mesh ["tp"] {ledger = #tp.ledger<3, cause = "of b", annotation = "x", pass = "p">} : tensor<f32> -> tensor<f32>
  return %x, %r, %s : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}
