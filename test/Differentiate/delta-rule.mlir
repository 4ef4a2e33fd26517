// The derivative of the gated delta rule by all of its operands, with value heads that
// share key heads, and without a beta.
// RUN: tp-verify %s --derivative | FileCheck %s
// RUN: tp-verify %s --derivative --seed 2 | FileCheck %s
// CHECK: derivative: equal, gradients of 6 parameters compared
// CHECK-NOT: cannot judge

func.func @main(%r: tensor<96xf32>) -> (tensor<f32> {tp.loss}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %q = tp.parameter "q" : tensor<2x4x2x3xf32>
  %k = tp.parameter "k" : tensor<2x4x2x3xf32>
  %v = tp.parameter "v" : tensor<2x4x4x3xf32>
  %g = tp.parameter "g" : tensor<2x4x4xf32>
  %b = tp.parameter "b" : tensor<2x4x4xf32>
  %y = nn.gated_delta_rule %q, %k, %v, %g beta %b : (tensor<2x4x2x3xf32>, tensor<2x4x2x3xf32>, tensor<2x4x4x3xf32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4x3xf32>
  %f0 = tensor.collapse_shape %y [[0, 1, 2, 3]] : tensor<2x4x4x3xf32> into tensor<96xf32>
  %l0 = linalg.dot ins(%f0, %r : tensor<96xf32>, tensor<96xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %w = tp.parameter "w" : tensor<2x4x4x3xf32>
  %z = nn.gated_delta_rule %q, %k, %w, %g : (tensor<2x4x2x3xf32>, tensor<2x4x2x3xf32>, tensor<2x4x4x3xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4x3xf32>
  %f1 = tensor.collapse_shape %z [[0, 1, 2, 3]] : tensor<2x4x4x3xf32> into tensor<96xf32>
  %l1 = linalg.dot ins(%f1, %r : tensor<96xf32>, tensor<96xf32>) outs(%l0 : tensor<f32>) -> tensor<f32>
  return %l1 : tensor<f32>
}
