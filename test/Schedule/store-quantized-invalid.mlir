// RUN: tp-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(func.func(tp-store-quantized))'

func.func @argument(%q: tensor<4x8xi4>, %s: tensor<4x1xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expected a parameter of this rank as values: bytes that a step makes or moves are not supported}}
  %w = nn.dequantize %q, %s {group = array<i64: 1, 0>} : (tensor<4x8xi4>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %w : tensor<4x8xf32>
}

// -----

func.func @other(%x: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  %q = tp.parameter "o.weight" storage <"F8_E4M3"> : tensor<4x8xf8E4M3FN>
  %s = tp.parameter "o.weight_scale" storage <"F32"> : tensor<1x1xf32>
  // expected-warning @below {{unpacks all of the weight in each step: expected nothing but linear layers and look-ups to read it}}
  %w = nn.dequantize %q, %s {group = array<i64: 0, 0>} : (tensor<4x8xf8E4M3FN>, tensor<1x1xf32>) -> tensor<4x8xf32>
  %e = tensor.empty() : tensor<8xf32>
  // expected-note @below {{it is read here}}
  return %w, %e : tensor<4x8xf32>, tensor<8xf32>
}

// -----

func.func @left() -> tensor<4x8xi4> {
  // expected-error @below {{expected elements of at least eight bits, or floats of more, once quantised weights are stored, got 'tensor<4x8xi4>'}}
  %q = tp.parameter "o.weight" storage <"I32", bits = 4, dim = 1> : tensor<4x8xi4>
  return %q : tensor<4x8xi4>
}

// -----

func.func @scales(%x: tensor<8x64xf32>, %other: tensor<8x1xf32>) -> tensor<8x64xf32> {
  %s = nn.activation_scales %x {element = i8, group = 0} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %q = nn.quantize %x, %s {group = array<i64: 1, 0>} : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xi8>
  // expected-error @below {{expected the scales and groups of the nn.quantize that makes its values}}
  %y = nn.dequantize %q, %other {group = array<i64: 1, 0>} : (tensor<8x64xi8>, tensor<8x1xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
