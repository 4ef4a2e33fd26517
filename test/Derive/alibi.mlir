// RUN: tp-opt %s --tp-derive-steps="rows=2 chunk=2 context=40" | FileCheck %s
// RUN: tp-verify %s --generate --context 4 --page 2 --rows 2 --chunk 2 | FileCheck %s --check-prefix=SAME
// SAME: @step_2{{.*}} 16 steps: equal

// A bias by the distance of key and query is one by the key's position: what the
// query's adds is the same for all keys. Behind the query nothing is looked at.

// CHECK: context = 40
// CHECK: func.func @step_2(
// CHECK: arith.constant dense<[5.000000e-01, 3.000000e-01]> : tensor<2xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x64xf32>)
// CHECK: linalg.index 1
// CHECK: nn.paged_attention {{.*}} bias
// So is one that begins at another number, as MPT counts keys from the last one
// on, but for roundings.
// CHECK: arith.constant dense<[5.000000e-01, 3.000000e-01]> : tensor<2xf32>
// CHECK: nn.paged_attention {{.*}} bias
func.func @main(%ids: tensor<1x4xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 16>}) -> (tensor<1x4x16xf32> {tp.name = "logits"}) {
  %words = tp.parameter "words" : tensor<16x8xf32>
  %x = nn.embedding %ids, %words : (tensor<1x4xi64>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 4, 2, 4] : tensor<1x4x8xf32> into tensor<1x4x2x4xf32>
  %bias = arith.constant dense<[
    [[0.0, 7.0, 7.0, 7.0], [-0.5, 0.0, 7.0, 7.0], [-1.0, -0.5, 0.0, 7.0], [-1.5, -1.0, -0.5, 0.0]],
    [[0.0, 0.3, 0.6, 0.9], [-0.3, 0.0, 0.3, 0.6], [-0.6, -0.3, 0.0, 0.3], [-0.90000004, -0.6, -0.3, 0.0]]]> : tensor<2x4x4xf32>
  %a = nn.attention %q, %q, %q bias %bias {causal, scale = 0.5 : f64} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<2x4x4xf32>) -> tensor<1x4x2x4xf32>
  %backwards = arith.constant dense<[
    [[-1.5, -1.0, -0.5, 0.0], [-1.5, -1.0, -0.5, 0.0], [-1.5, -1.0, -0.5, 0.0], [-1.5, -1.0, -0.5, 0.0]],
    [[-0.90000004, -0.6, -0.3, 0.0], [-0.90000004, -0.6, -0.3, 0.0], [-0.90000004, -0.6, -0.3, 0.0], [-0.90000004, -0.6, -0.3, 0.0]]]> : tensor<2x4x4xf32>
  %b = nn.attention %q, %q, %a bias %backwards {causal, scale = 0.5 : f64} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<2x4x4xf32>) -> tensor<1x4x2x4xf32>
  %m = tensor.collapse_shape %b [[0], [1], [2, 3]] : tensor<1x4x2x4xf32> into tensor<1x4x8xf32>
  %l = nn.linear %m, %words : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  return %l : tensor<1x4x16xf32>
}
