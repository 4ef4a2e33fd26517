// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=16' | FileCheck %s
// RUN: tp-verify %s --mesh tp=16 --stages partition | FileCheck %s --check-prefix=VERIFY

// VERIFY: partition @main: equal

// One KV head of two elements serves sixteen ranks: the projections of keys and
// values are narrower than the degree, which the head counts allow, so every
// rank holds them whole. That of the keys is found behind a product with a table
// of positions, as a rotation that is written out has.

// CHECK-LABEL: @main
// CHECK: "model.layers.0.self_attn.q_proj.weight"{{.*}}[{"tp"}, {}]
// CHECK: "model.layers.0.self_attn.k_proj.weight"{{.*}}[{}, {}]
// CHECK: "model.layers.0.self_attn.v_proj.weight"{{.*}}[{}, {}]
// CHECK: "model.layers.0.self_attn.o_proj.weight"{{.*}}[{}, {"tp"}]
func.func @main(%x: tensor<1x4x32xf32> {tp.name = "x"}) -> tensor<1x4x32xf32> {
  %qw = tp.parameter "model.layers.0.self_attn.q_proj.weight" : tensor<32x32xf32>
  %kw = tp.parameter "model.layers.0.self_attn.k_proj.weight" : tensor<2x32xf32>
  %vw = tp.parameter "model.layers.0.self_attn.v_proj.weight" : tensor<2x32xf32>
  %ow = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<32x32xf32>
  %q = nn.linear %x, %qw : (tensor<1x4x32xf32>, tensor<32x32xf32>) -> tensor<1x4x32xf32>
  %k = nn.linear %x, %kw : (tensor<1x4x32xf32>, tensor<2x32xf32>) -> tensor<1x4x2xf32>
  %v = nn.linear %x, %vw : (tensor<1x4x32xf32>, tensor<2x32xf32>) -> tensor<1x4x2xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [1, 4, 16, 2] : tensor<1x4x32xf32> into tensor<1x4x16x2xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [1, 4, 1, 2] : tensor<1x4x2xf32> into tensor<1x4x1x2xf32>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [1, 4, 1, 2] : tensor<1x4x2xf32> into tensor<1x4x1x2xf32>
  %table = arith.constant dense<[[1.0, 0.5], [0.25, -1.0], [2.0, 0.5], [-0.5, 1.0]]> : tensor<4x2xf32>
  %empty = tensor.empty() : tensor<1x4x1x2xf32>
  %kr = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d3)>,
                       affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>,
                       affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%table, %kh : tensor<4x2xf32>, tensor<1x4x1x2xf32>)
      outs(%empty : tensor<1x4x1x2xf32>) {
  ^bb0(%angle: f32, %element: f32, %out: f32):
    %product = arith.mulf %angle, %element : f32
    linalg.yield %product : f32
  } -> tensor<1x4x1x2xf32>
  %a = nn.attention %qh, %kr, %vh {causal, scale = 0.5 : f64} : (tensor<1x4x16x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>) -> tensor<1x4x16x2xf32>
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x4x16x2xf32> into tensor<1x4x32xf32>
  %o = nn.linear %c, %ow : (tensor<1x4x32xf32>, tensor<32x32xf32>) -> tensor<1x4x32xf32>
  return %o : tensor<1x4x32xf32>
}
