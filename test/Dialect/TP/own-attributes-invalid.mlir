// RUN: tp-opt %s --split-input-file --verify-diagnostics --tp-annotate="mesh=tp=1 plan=replicated"

// MLIR keeps attributes that no operation has; the first pass that takes the
// whole program refuses them.

func.func @causal(%q: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> {
  // expected-error@+1 {{'nn.attention' op unknown attribute causl, which nothing would read; the nearest that it may have is causal}}
  %0 = nn.attention %q, %q, %q {causl, scale = 1.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}

// -----

func.func @none() -> tensor<4xf32> {
  // expected-error@+1 {{'tp.parameter' op unknown attribute surprise, which nothing would read}}
  %0 = tp.parameter "w" {surprise} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What other dialects have is theirs.
func.func @others(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x {note = "kept"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
