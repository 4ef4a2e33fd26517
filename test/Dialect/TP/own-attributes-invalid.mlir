// RUN: tp-opt %s --split-input-file --verify-diagnostics

// MLIR keeps attributes that no operation has; those of tp and nn refuse them.

func.func @causal(%q: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> {
  // expected-error@+1 {{'nn.attention' op unknown attribute 'casual', which nothing would read; did you mean 'causal'?}}
  %0 = nn.attention %q, %q, %q {casual, scale = 1.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

func.func @none() -> tensor<4xf32> {
  // expected-error@+1 {{'tp.parameter' op unknown attribute 'surprise', which nothing would read}}
  %0 = tp.parameter "w" {surprise} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The dialect has no attributes that stand beside an operation's own.
func.func @prefixed(%q: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> {
  // expected-error@+1 {{'nn.attention' op unknown attribute 'nn.causal', which nothing would read; did you mean 'causal'?}}
  %0 = nn.attention %q, %q, %q {nn.causal, scale = 1.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

// expected-error@+1 {{'func.func' op argument 0: unknown attribute 'nn.name', which nothing would read}}
func.func @argument(%x: tensor<4xf32> {nn.name = "x"}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op result 0: unknown attribute 'nn.name', which nothing would read}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.name = "x"}) {
  return %x : tensor<4xf32>
}

// -----

// What other dialects have is theirs.
func.func @others(%q: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = arith.addf %q, %q {note = "kept"} : tensor<4x8xf32>
  %1 = nn.silu %0 {mine.note = "kept"} : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
