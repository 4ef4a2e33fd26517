// Refusals of the gated delta rule.
// RUN: tp-opt %s -split-input-file -verify-diagnostics

func.func @heads(%k: tensor<1x8x3x4xf32>, %v: tensor<1x8x4x6xf32>, %g: tensor<1x8x4xf32>) {
  // expected-error @below {{'nn.gated_delta_rule' op expected value heads in groups of key heads, got 4 and 3}}
  %0 = nn.gated_delta_rule %k, %k, %v, %g : (tensor<1x8x3x4xf32>, tensor<1x8x3x4xf32>, tensor<1x8x4x6xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4x6xf32>
  return
}

// -----

func.func @decay(%k: tensor<1x8x2x4xf32>, %v: tensor<1x8x4x6xf32>, %g: tensor<1x8x2xf32>) {
  // expected-error @below {{'nn.gated_delta_rule' op expected decay of shape [1, 8, 4], got [1, 8, 2]}}
  %0 = nn.gated_delta_rule %k, %k, %v, %g : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x4x6xf32>, tensor<1x8x2xf32>) -> tensor<1x8x4x6xf32>
  return
}

// -----

func.func @element(%k: tensor<1x8x2x4xbf16>, %v: tensor<1x8x4x6xf32>, %g: tensor<1x8x4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of 32-bit float values, but got 'tensor<1x8x2x4xbf16>'}}
  %0 = nn.gated_delta_rule %k, %k, %v, %g : (tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x4x6xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4x6xf32>
  return
}

// -----

func.func @beta(%k: tensor<1x8x2x4xf32>, %v: tensor<1x8x4x6xf32>, %g: tensor<1x8x4xf32>) {
  // expected-error @below {{'nn.gated_delta_rule_backward' op expected a d_beta if there is a beta, and none if there is not}}
  %0:5 = nn.gated_delta_rule_backward %v, %k, %k, %v, %g : (tensor<1x8x4x6xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x4x6xf32>, tensor<1x8x4xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>, tensor<1x8x4x6xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
  return
}

// -----

func.func @pool(%k: tensor<1x8x2x4xf32>, %v: tensor<1x8x4x6xf32>, %g: tensor<1x8x4xf32>, %pool: tensor<5x4x20xf32>, %slots: tensor<8xi32>, %sources: tensor<8x1xi32>) {
  // expected-error @below {{'nn.paged_gated_delta_rule' op expected pool of shape [5, 4, 24], got [5, 4, 20]}}
  %0:2 = nn.paged_gated_delta_rule %k, %k, %v, %g, %pool, %slots, %sources : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x4x6xf32>, tensor<1x8x4xf32>, tensor<5x4x20xf32>, tensor<8xi32>, tensor<8x1xi32>) -> (tensor<1x8x4x6xf32>, tensor<5x4x20xf32>)
  return
}
