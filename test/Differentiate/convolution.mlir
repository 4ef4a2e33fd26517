// The derivative of causal convolutions by input, weight and bias, also of the
// reversed one, which is the derivative's own.
// RUN: tp-verify %s --derivative | FileCheck %s
// RUN: tp-verify %s --derivative --seed 2 | FileCheck %s
// CHECK: derivative: equal, gradients of 6 parameters compared
// CHECK-NOT: cannot judge

func.func @main(%r: tensor<30xf32>) -> (tensor<f32> {tp.loss}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %x = tp.parameter "x" : tensor<2x5x3xf32>
  %w = tp.parameter "w" : tensor<3x1x4xf32>
  %b = tp.parameter "b" : tensor<3xf32>
  %y = nn.causal_conv %x, %w bias %b : (tensor<2x5x3xf32>, tensor<3x1x4xf32>, tensor<3xf32>) -> tensor<2x5x3xf32>
  %f0 = tensor.collapse_shape %y [[0, 1, 2]] : tensor<2x5x3xf32> into tensor<30xf32>
  %l0 = linalg.dot ins(%f0, %r : tensor<30xf32>, tensor<30xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %u = tp.parameter "u" : tensor<2x5x3xf32>
  %v = tp.parameter "v" : tensor<3x1x2xf32>
  %z = nn.causal_conv %u, %v {reversed} : (tensor<2x5x3xf32>, tensor<3x1x2xf32>) -> tensor<2x5x3xf32>
  %f1 = tensor.collapse_shape %z [[0, 1, 2]] : tensor<2x5x3xf32> into tensor<30xf32>
  %l1 = linalg.dot ins(%f1, %r : tensor<30xf32>, tensor<30xf32>) outs(%l0 : tensor<f32>) -> tensor<f32>
  // More entries than there are positions.
  %t = tp.parameter "t" : tensor<3x1x7xf32>
  %s = nn.causal_conv %x, %t : (tensor<2x5x3xf32>, tensor<3x1x7xf32>) -> tensor<2x5x3xf32>
  %f2 = tensor.collapse_shape %s [[0, 1, 2]] : tensor<2x5x3xf32> into tensor<30xf32>
  %l2 = linalg.dot ins(%f2, %r : tensor<30xf32>, tensor<30xf32>) outs(%l1 : tensor<f32>) -> tensor<f32>
  return %l2 : tensor<f32>
}
