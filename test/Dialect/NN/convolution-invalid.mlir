// Refusals of causal convolutions, and of their places in a step.
// RUN: tp-opt %s -split-input-file -verify-diagnostics

func.func @rank(%x: tensor<8x64xf32>, %w: tensor<64x1x3xf32>) {
  // expected-error @below {{'nn.causal_conv' op expected input of rank 3, got rank 2}}
  %0 = nn.causal_conv %x, %w : (tensor<8x64xf32>, tensor<64x1x3xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @grouped(%x: tensor<1x8x64xf32>, %w: tensor<64x2x3xf32>) {
  // expected-error @below {{'nn.causal_conv' op expected weight of shape [64, 1, 3], got [64, 2, 3]}}
  %0 = nn.causal_conv %x, %w : (tensor<1x8x64xf32>, tensor<64x2x3xf32>) -> tensor<1x8x64xf32>
  return
}

// -----

func.func @bias(%x: tensor<1x8x64xf32>, %w: tensor<64x1x3xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'nn.causal_conv' op expected bias of shape [64], got [3]}}
  %0 = nn.causal_conv %x, %w bias %b : (tensor<1x8x64xf32>, tensor<64x1x3xf32>, tensor<3xf32>) -> tensor<1x8x64xf32>
  return
}

// -----

func.func @element(%x: tensor<1x8x64xf32>, %w: tensor<64x1x3xbf16>) {
  // expected-error @below {{'nn.causal_conv' op expected weight of element type 'f32', got 'bf16'}}
  %0 = nn.causal_conv %x, %w : (tensor<1x8x64xf32>, tensor<64x1x3xbf16>) -> tensor<1x8x64xf32>
  return
}

// -----

func.func @places(%r: tensor<16xi32>, %p: tensor<15xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.conv_places' op expected positions of shape [16], got [15]}}
  %0:2 = nn.conv_places %r, %p, %r, %t {page = 32 : i64} : (tensor<16xi32>, tensor<15xi32>, tensor<16xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16x2xi32>)
  return
}

// -----

func.func @nothing_earlier(%r: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.conv_places' op expected sources of 1 or more earlier positions}}
  %0:2 = nn.conv_places %r, %r, %r, %t {page = 32 : i64} : (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16x0xi32>)
  return
}

// -----

func.func @sources(%x: tensor<1x16x64xf32>, %w: tensor<64x1x3xf32>, %p: tensor<32x64x1xf32>, %s: tensor<16x3xi32>) {
  // expected-error @below {{'nn.paged_conv' op expected sources of shape [16, 2], got [16, 3]}}
  %0 = nn.paged_conv %x, %w, %p, %s : (tensor<1x16x64xf32>, tensor<64x1x3xf32>, tensor<32x64x1xf32>, tensor<16x3xi32>) -> tensor<1x16x64xf32>
  return
}

// -----

func.func @pool(%x: tensor<1x16x64xf32>, %w: tensor<64x1x3xf32>, %p: tensor<32x1x64xf32>, %s: tensor<16x2xi32>) {
  // expected-error @below {{'nn.paged_conv' op expected pool of shape [32, 64, 1], got [32, 1, 64]}}
  %0 = nn.paged_conv %x, %w, %p, %s : (tensor<1x16x64xf32>, tensor<64x1x3xf32>, tensor<32x1x64xf32>, tensor<16x2xi32>) -> tensor<1x16x64xf32>
  return
}

// -----

func.func @batch(%x: tensor<2x16x64xf32>, %w: tensor<64x1x3xf32>, %p: tensor<32x64x1xf32>, %s: tensor<16x2xi32>) {
  // expected-error @below {{'nn.paged_conv' op expected input of shape [1, 16, 64], got [2, 16, 64]}}
  %0 = nn.paged_conv %x, %w, %p, %s : (tensor<2x16x64xf32>, tensor<64x1x3xf32>, tensor<32x64x1xf32>, tensor<16x2xi32>) -> tensor<2x16x64xf32>
  return
}
