// RUN: tp-opt %s --split-input-file --verify-diagnostics

func.func @router(%l: tensor<8x6xf32>, %b: tensor<6xf32>) {
  // expected-error @below {{'nn.router' op expected top_k to be from 1 to the 6 experts, got 7}}
  %0 = nn.router %l {top_k = 7 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @router(%l: tensor<8x6xf32>, %b: tensor<6xf32>) {
  // expected-error @below {{'nn.router' op expected result of element type 'f32', got 'bf16'}}
  %0 = nn.router %l {top_k = 2 : i64} : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  return
}

// -----

func.func @router(%l: tensor<8x6xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'nn.router' op expected bias of shape [6], got [5]}}
  %0 = nn.router %l bias %b {top_k = 2 : i64} : (tensor<8x6xf32>, tensor<5xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @router(%l: tensor<8x6xf32>, %b: tensor<6xf32>) {
  // expected-error @below {{'nn.router' op expected scale to be a finite number}}
  %0 = nn.router %l {scale = 0x7FF0000000000000 : f64, top_k = 2 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @router(%l: tensor<8x6xf32>) {
  // expected-error @below {{'nn.router' op expected groups to divide the 6 experts, got 4}}
  %0 = nn.router %l {groups = 4 : i64, top_k = 2 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @router(%l: tensor<8x6xf32>) {
  // expected-error @below {{'nn.router' op expected top_groups to be from 1 to the 3 groups, got 4}}
  %0 = nn.router %l {groups = 3 : i64, top_groups = 4 : i64, top_k = 2 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @router(%l: tensor<8x6xf32>) {
  // expected-error @below {{'nn.router' op expected group_best to be from 1 to the 2 experts of a group, got 3}}
  %0 = nn.router %l {group_best = 3 : i64, groups = 3 : i64, top_groups = 2 : i64, top_k = 2 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @router(%l: tensor<8x6xf32>) {
  // expected-error @below {{'nn.router' op expected top_groups to have at least the 3 experts of top_k, got 1 groups of 2}}
  %0 = nn.router %l {groups = 3 : i64, top_groups = 1 : i64, top_k = 3 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @router(%l: tensor<8x6xf32>) {
  // expected-error @below {{'nn.router' op expected epsilon to be a number from 0 on}}
  %0 = nn.router %l {epsilon = -1.0 : f64, normalized, sigmoid, top_k = 2 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @experts(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<32x64xf32>, %u: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected gate of rank 3, got rank 2}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "silu"} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %u: tensor<6x30x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected up of shape [6, 32, 64], got [6, 30, 64]}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "silu"} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x30x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %u: tensor<6x32x64xf32>, %d: tensor<5x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected down of shape [6, 48, 32], got [5, 48, 32]}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "silu"} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<5x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts(%x: tensor<8x64xf32>, %r: tensor<8x5xf32>, %g: tensor<6x32x64xf32>, %u: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected routing of shape [8, 6], got [8, 5]}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "silu"} : (tensor<8x64xf32>, tensor<8x5xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts(%x: tensor<8x64xf32>, %r: tensor<8x6xbf16>, %g: tensor<6x32x64xf32>, %u: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected routing of element type 'f32', got 'bf16'}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "silu"} : (tensor<8x64xf32>, tensor<8x6xbf16>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %u: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected result of shape [8, 48], got [8, 64]}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "silu"} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @experts(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %u: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected activation to be relu, silu, gelu_erf or gelu_tanh, got 'tanh'}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "tanh"} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %u: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected active to be more than 0 and at most 1, got 0.000000e+00}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.0 : f64} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts_top_k(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %u: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) -> tensor<8x48xf32> {
  // expected-error @below {{expected top_k to be at least 1, got 0}}
  %0 = nn.experts %x, %r, %g, %u, %d {activation = "silu", top_k = 0 : i64} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return %0 : tensor<8x48xf32>
}

// -----

func.func @experts_inside(%i: tensor<48xi32>, %x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts' op expected inside of shape [32], got [48]}}
  %0 = nn.experts %x, %r, %g, %g, %d inside %i {activation = "silu"} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<48xi32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts_backward(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-error @below {{'nn.experts_backward' op expected cotangent of shape [8, 48], got [8, 64]}}
  %0:5 = nn.experts_backward %x, %x, %r, %g, %g, %d {activation = "silu"} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>)
  return
}

// -----

func.func @experts_backward(%y: tensor<8x48xbf16>, %x: tensor<8x64xbf16>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xbf16>, %d: tensor<6x48x32xbf16>) {
  // expected-error @below {{'nn.experts_backward' op expected d_down of element type 'f32', got 'bf16'}}
  %0:5 = nn.experts_backward %y, %x, %r, %g, %g, %d {activation = "silu"} : (tensor<8x48xbf16>, tensor<8x64xbf16>, tensor<8x6xf32>, tensor<6x32x64xbf16>, tensor<6x32x64xbf16>, tensor<6x48x32xbf16>) -> (tensor<8x64xbf16>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xbf16>)
  return
}

// -----

func.func @experts_gating(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>, %b: tensor<6x32xf32>) {
  // expected-error @below {{'nn.experts' op expected alpha to be a finite number above 0, got 0.000000e+00}}
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "silu", alpha = 0.0 : f64} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts_gating(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>, %b: tensor<6x32xf32>) {
  // expected-error @below {{'nn.experts' op expected alpha beside the activation silu, got 'relu'}}
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "relu", alpha = 2.0 : f64} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts_gating(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>, %b: tensor<6x32xf32>) {
  // expected-error @below {{'nn.experts' op expected limit to be a finite number above 0, got -1.000000e+00}}
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "silu", limit = -1.0 : f64} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts_gating(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>, %b: tensor<6x32xf32>) {
  // expected-error @below {{'nn.experts' op expected up_offset to be a finite number}}
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "silu", up_offset = 0x7FF0000000000000 : f64} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts_gating(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>, %b: tensor<6x32xf32>) {
  // expected-error @below {{'nn.experts' op expected biases of gate and of up, or none, got 1}}
  %0 = nn.experts %x, %r, %g, %g, %d biases %b {activation = "silu"} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<6x32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts_biases(%x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>, %b: tensor<32xf32>) {
  // expected-error @below {{'nn.experts' op expected biases of shape [6, 32], got [32]}}
  %0 = nn.experts %x, %r, %g, %g, %d biases %b, %b {activation = "silu"} : (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<8x48xf32>
  return
}

// -----

func.func @experts_backward_biases(%y: tensor<8x48xf32>, %x: tensor<8x64xf32>, %r: tensor<8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>, %b: tensor<6x32xf32>) {
  // expected-error @below {{'nn.experts_backward' op expected as many d_biases as biases, 2, got 0}}
  %0:5 = nn.experts_backward %y, %x, %r, %g, %g, %d biases %b, %b {activation = "silu"} : (tensor<8x48xf32>, tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<6x32xf32>, tensor<6x32xf32>) -> (tensor<8x64xf32>, tensor<8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>)
  return
}
