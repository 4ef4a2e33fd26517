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
