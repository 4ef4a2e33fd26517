// Two products that are the same, as keys and values of one projection, are computed
// once: a kernel that gave one value twice would leave a result unwritten.
// RUN: tp-verify %s --mesh tp=2 --plan replicated --stages lower | FileCheck %s
// RUN: tp-compile %s --compile-to=schedule | FileCheck %s --check-prefix=ONCE
// CHECK: lower @main: equal
// ONCE: call @gemm_0({{.*}}) {{.*}} -> tensor<1x8x4xf32>
// ONCE-NOT: call @gemm
// ONCE: nn.attention

func.func @main(%q: tensor<1x8x4x2xf32> {tp.name = "q"}, %x: tensor<1x8x8xf32> {tp.name = "x"}) -> (tensor<1x8x4x2xf32> {tp.name = "y"}) {
  %w = tp.parameter "w" : tensor<4x8xf32>
  %0 = nn.linear %x, %w : (tensor<1x8x8xf32>, tensor<4x8xf32>) -> tensor<1x8x4xf32>
  %k = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [1, 8, 2, 2] : tensor<1x8x4xf32> into tensor<1x8x2x2xf32>
  %1 = nn.linear %x, %w : (tensor<1x8x8xf32>, tensor<4x8xf32>) -> tensor<1x8x4xf32>
  %v = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [1, 8, 2, 2] : tensor<1x8x4xf32> into tensor<1x8x2x2xf32>
  %y = nn.attention %q, %k, %v {causal, scale = 0.7 : f64} : (tensor<1x8x4x2xf32>, tensor<1x8x2x2xf32>, tensor<1x8x2x2xf32>) -> tensor<1x8x4x2xf32>
  return %y : tensor<1x8x4x2xf32>
}
