// RUN: tp-opt %s -split-input-file -verify-diagnostics --tp-annotate="mesh=tp=4"

func.func @few(%x: tensor<3x96xf32>) -> tensor<3x6xf32> {
  %q = tp.parameter "down_proj.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<6x96xi4>
  %s = tp.parameter "down_proj.weight_scale" storage <"F16"> : tensor<6x3xf16>
  // expected-error-re @below {{{{.*}}degree 4 does not fit 96 inputs in groups of 32, which share a scale: there are 3 groups; degrees that fit: 1, 2, 3, 6}}
  %w = nn.dequantize %q, %s {group = array<i64: 1, 32>} : (tensor<6x96xi4>, tensor<6x3xf16>) -> tensor<6x96xf32>
  %y = nn.linear %x, %w : (tensor<3x96xf32>, tensor<6x96xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// -----

func.func @ordered(%x: tensor<3x90xf32>) -> tensor<3x6xf32> {
  %q = tp.parameter "down_proj.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<6x90xi4>
  %s = tp.parameter "down_proj.weight_scale" storage <"F16"> : tensor<6x3xf16>
  %g = tp.parameter "down_proj.weight_g_idx" storage <"I32"> : tensor<90xi32>
  // expected-error-re @below {{{{.*}}degree 4 does not divide 90 inputs whose groups are in an order of their own; degrees that fit: 1, 2, 3, 5, 6, 9, 10, 15, 18, 30, 45}}
  %w = nn.dequantize %q, %s groups %g {group = array<i64: 1, 0>} : (tensor<6x90xi4>, tensor<6x3xf16>, tensor<90xi32>) -> tensor<6x90xf32>
  %y = nn.linear %x, %w : (tensor<3x90xf32>, tensor<6x90xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// -----

func.func @short(%x: tensor<3x40xf32>) -> tensor<3x6xf32> {
  %q = tp.parameter "down_proj.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<6x40xi4>
  %s = tp.parameter "down_proj.weight_scale" storage <"F16"> : tensor<6x5xf16>
  // expected-error-re @below {{{{.*}}degree 4 does not fit 40 inputs in groups of 9, the last of which has 4; degrees that fit: 1}}
  %w = nn.dequantize %q, %s {group = array<i64: 1, 9>} : (tensor<6x40xi4>, tensor<6x5xf16>) -> tensor<6x40xf32>
  %y = nn.linear %x, %w : (tensor<3x40xf32>, tensor<6x40xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// -----

// Heads of 8 that 4 ranks share unevenly, in groups of 16.
func.func @heads(%x: tensor<1x2x16xf32>) -> tensor<1x2x16xf32> {
  %wq = tp.parameter "q_proj.weight" : tensor<48x16xf32>
  %q = tp.parameter "o_proj.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<16x48xi4>
  %s = tp.parameter "o_proj.weight_scale" storage <"F16"> : tensor<16x3xf16>
  %q0 = nn.linear %x, %wq : (tensor<1x2x16xf32>, tensor<48x16xf32>) -> tensor<1x2x48xf32>
  %q1 = tensor.expand_shape %q0 [[0], [1], [2, 3]] output_shape [1, 2, 6, 8] : tensor<1x2x48xf32> into tensor<1x2x6x8xf32>
  // expected-remark @below {{6 query heads and 6 key/value heads over 4 ranks: 4 x 1, 2 query heads and 2 KV heads a rank, 2 of 8 query heads padding}}
  %o = nn.attention %q1, %q1, %q1 {causal, scale = 0.35 : f64} : (tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) -> tensor<1x2x6x8xf32>
  %c = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<1x2x6x8xf32> into tensor<1x2x48xf32>
  // expected-error-re @below {{{{.*}}degree 4 cuts heads unevenly, 8 inputs at a time, and groups of 16, which share a scale, are no parts of that: expected a degree that cuts the heads evenly}}
  %w = nn.dequantize %q, %s {group = array<i64: 1, 16>} : (tensor<16x48xi4>, tensor<16x3xf16>) -> tensor<16x48xf32>
  %y = nn.linear %c, %w : (tensor<1x2x48xf32>, tensor<16x48xf32>) -> tensor<1x2x16xf32>
  return %y : tensor<1x2x16xf32>
}
