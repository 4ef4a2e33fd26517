// The derivative by a bias that is no parameter (slopes of positions, say) is not
// computed; that by one that is, of each sequence, is summed.
// RUN: tp-opt %s --split-input-file --tp-differentiate | FileCheck %s

// CHECK-LABEL: func.func @gradient
// CHECK: nn.attention_backward {{.*}} bias {{.*}} -> (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>){{$}}
func.func @main(%b: tensor<2x3x3xf32>) -> (tensor<f32> {tp.loss}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %q = tp.parameter "q" : tensor<2x3x2x4xf32>
  %o = nn.attention %q, %q, %q bias %b {scale = 0.5 : f64} : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x3xf32>) -> tensor<2x3x2x4xf32>
  %f = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<2x3x2x4xf32> into tensor<48xf32>
  %l = linalg.dot ins(%f, %f : tensor<48xf32>, tensor<48xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @gradient
// CHECK: %[[G:[a-z_]+]] = nn.attention_backward {{.*}} bias {{.*}} tensor<2x2x3x3xf32>)
// CHECK: linalg.generic {{.*}}ins(%[[G]] : tensor<2x2x3x3xf32>) outs(%{{.*}} : tensor<2x3x3xf32>)
func.func @main() -> (tensor<f32> {tp.loss}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %b = tp.parameter "b" : tensor<2x3x3xf32>
  %q = tp.parameter "q" : tensor<2x3x2x4xf32>
  %o = nn.attention %q, %q, %q bias %b {scale = 0.5 : f64} : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x3xf32>) -> tensor<2x3x2x4xf32>
  %f = tensor.collapse_shape %o [[0, 1, 2, 3]] : tensor<2x3x2x4xf32> into tensor<48xf32>
  %l = linalg.dot ins(%f, %f : tensor<48xf32>, tensor<48xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
