// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=16' | FileCheck %s
// RUN: tp-verify %s --mesh tp=16 --stages partition | FileCheck %s --check-prefix=VERIFY

// VERIFY: partition @main: equal

// One KV head of two elements serves sixteen ranks: the projections of keys and
// values are narrower than the degree, which the head counts allow, so every
// rank holds them whole.

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
  %a = nn.attention %qh, %kh, %vh {causal, scale = 0.5 : f64} : (tensor<1x4x16x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>) -> tensor<1x4x16x2xf32>
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x4x16x2xf32> into tensor<1x4x32xf32>
  %o = nn.linear %c, %ow : (tensor<1x4x32xf32>, tensor<32x32xf32>) -> tensor<1x4x32xf32>
  return %o : tensor<1x4x32xf32>
}
