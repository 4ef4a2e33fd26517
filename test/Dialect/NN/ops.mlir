// RUN: tp-opt %s | tp-opt | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s
// RUN: tp-opt %s --emit-bytecode | tp-opt | FileCheck %s

// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<1x8x64xf32>, %w: tensor<256x64xf32>, %b: tensor<256xf32>, %xn: tensor<8x64xbf16>, %wn: tensor<256x64xbf16>) {
  // CHECK: nn.linear %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<8x64xbf16>, tensor<256x64xbf16>, tensor<256xf32>) -> tensor<8x256xf32>
  %n = nn.linear %xn, %wn bias %b : (tensor<8x64xbf16>, tensor<256x64xbf16>, tensor<256xf32>) -> tensor<8x256xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<1x8x64xf32>, tensor<256x64xf32>) -> tensor<1x8x256xf32>
  %0 = nn.linear %x, %w : (tensor<1x8x64xf32>, tensor<256x64xf32>) -> tensor<1x8x256xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<1x8x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x8x256xf32>
  %1 = nn.linear %x, %w bias %b : (tensor<1x8x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x8x256xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<1x8x4x64xbf16>, %k: tensor<1x8x2x64xbf16>, %m: tensor<1x8xi64>) {
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, scale = 1.250000e-01 : f64, window = 4 : i64} : (tensor<1x8x4x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>) -> tensor<1x8x4x64xbf16>
  %0 = nn.attention %q, %k, %k {causal, window = 4 : i64, scale = 0.125 : f64} : (tensor<1x8x4x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>) -> tensor<1x8x4x64xbf16>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} {scale = 1.250000e-01 : f64} : (tensor<1x8x4x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8xi64>) -> (tensor<1x8x4x64xbf16>, tensor<1x8x4xf32>)
  %1:2 = nn.attention %q, %k, %k mask %m {scale = 0.125 : f64} : (tensor<1x8x4x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8xi64>) -> (tensor<1x8x4x64xbf16>, tensor<1x8x4xf32>)
  %v = arith.constant dense<1.0> : tensor<1x8x2x32xbf16>
  %bias = arith.constant dense<1.0> : tensor<4x8x8xf32>
  %sinks = arith.constant dense<1.0> : tensor<4xf32>
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} bias %{{.*}} sinks %{{.*}} {scale = 1.250000e-01 : f64, soft_cap = 5.000000e+01 : f64, window = 3 : i64} : (tensor<1x8x4x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x32xbf16>, tensor<1x8xi64>, tensor<4x8x8xf32>, tensor<4xf32>) -> tensor<1x8x4x32xbf16>
  %2 = nn.attention %q, %k, %v mask %m bias %bias sinks %sinks {soft_cap = 50.0 : f64, window = 3 : i64, scale = 0.125 : f64} : (tensor<1x8x4x64xbf16>, tensor<1x8x2x64xbf16>, tensor<1x8x2x32xbf16>, tensor<1x8xi64>, tensor<4x8x8xf32>, tensor<4xf32>) -> tensor<1x8x4x32xbf16>
  return
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<1x8x64xf16>, %w: tensor<64xf16>) {
  // CHECK: nn.rms_norm %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<1x8x64xf16>, tensor<64xf16>) -> tensor<1x8x64xf16>
  %0 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<1x8x64xf16>, tensor<64xf16>) -> tensor<1x8x64xf16>
  // CHECK: nn.rms_norm {{.*}} -> (tensor<1x8x64xf16>, tensor<1x8xf32>)
  %1:2 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<1x8x64xf16>, tensor<64xf16>) -> (tensor<1x8x64xf16>, tensor<1x8xf32>)
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<1x8x64xf16>, tensor<64xf16>) -> tensor<1x8x64xf16>
  %2 = nn.layer_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<1x8x64xf16>, tensor<64xf16>) -> tensor<1x8x64xf16>
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}} bias %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<1x8x64xf16>, tensor<64xf16>, tensor<64xf16>) -> (tensor<1x8x64xf16>, tensor<1x8xf32>, tensor<1x8xf32>)
  %3:3 = nn.layer_norm %x, %w bias %w {epsilon = 1.0e-5 : f64} : (tensor<1x8x64xf16>, tensor<64xf16>, tensor<64xf16>) -> (tensor<1x8x64xf16>, tensor<1x8xf32>, tensor<1x8xf32>)
  // CHECK: nn.softmax %{{.*}} : tensor<1x8x64xf16>
  %4 = nn.softmax %x : tensor<1x8x64xf16>
  return
}

// CHECK-LABEL: func.func @positions
func.func @positions(%x: tensor<1x8x4x64xf32>, %i: tensor<1x8xi32>, %t: tensor<100x64xf32>, %o: index) {
  // CHECK: nn.rotary_table {inv_freq = dense<[1.000000e+00, 1.000000e-01]> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  %c, %s = nn.rotary_table {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: nn.rotary_table offset %{{.*}} {attention_scaling = 1.500000e+00 : f64, inv_freq = dense<1.000000e+00> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  %c1, %s1 = nn.rotary_table offset %o {attention_scaling = 1.5 : f64, inv_freq = dense<1.0> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: nn.rotary %{{.*}}, %{{.*}}, %{{.*}} : (tensor<1x8x4x64xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<1x8x4x64xf32>
  %0 = nn.rotary %x, %c, %s : (tensor<1x8x4x64xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<1x8x4x64xf32>
  // CHECK: nn.embedding %{{.*}}, %{{.*}} : (tensor<1x8xi32>, tensor<100x64xf32>) -> tensor<1x8x64xf32>
  %1 = nn.embedding %i, %t : (tensor<1x8xi32>, tensor<100x64xf32>) -> tensor<1x8x64xf32>
  // CHECK: nn.embedding %{{.*}}, %{{.*}} offset %{{.*}} : (tensor<1x8xi32>, tensor<100x64xf32>, index) -> tensor<1x8x64xf32>
  %2 = nn.embedding %i, %t offset %o : (tensor<1x8xi32>, tensor<100x64xf32>, index) -> tensor<1x8x64xf32>
  // CHECK: nn.embedding %{{.*}}, %{{.*}} {padding_row = 99 : i64} : (tensor<1x8xi32>, tensor<100x64xf32>) -> tensor<1x8x64xf32>
  %3 = nn.embedding %i, %t {padding_row = 99 : i64} : (tensor<1x8xi32>, tensor<100x64xf32>) -> tensor<1x8x64xf32>
  // CHECK: nn.embedding_backward %{{.*}}, %{{.*}} offset %{{.*}} {padding_row = 120 : i64} : (tensor<1x8xi32>, tensor<1x8x64xf32>, index) -> tensor<100x64xf32>
  %4 = nn.embedding_backward %i, %3 offset %o {padding_row = 120 : i64} : (tensor<1x8xi32>, tensor<1x8x64xf32>, index) -> tensor<100x64xf32>
  return
}

// CHECK-LABEL: func.func @rest
func.func @rest(%x: tensor<1x8x64xf32>, %l: tensor<1x8xi64>, %seed: tensor<i64>, %layer: index) {
  // CHECK: nn.cross_entropy %{{.*}}, %{{.*}} : (tensor<1x8x64xf32>, tensor<1x8xi64>) -> tensor<1x8xf32>
  %0 = nn.cross_entropy %x, %l : (tensor<1x8x64xf32>, tensor<1x8xi64>) -> tensor<1x8xf32>
  // CHECK: nn.gelu erf %{{.*}} : tensor<1x8x64xf32>
  %1 = nn.gelu erf %x : tensor<1x8x64xf32>
  // CHECK: nn.gelu tanh %{{.*}} : tensor<1x8x64xf32>
  %2 = nn.gelu tanh %x : tensor<1x8x64xf32>
  // CHECK: nn.silu %{{.*}} : tensor<1x8x64xf32>
  %3 = nn.silu %x : tensor<1x8x64xf32>
  // CHECK: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} {op_id = 3 : i64, probability = 1.000000e-01 : f64} : tensor<1x8x64xf32>
  %4 = nn.dropout %x, %seed, %seed {op_id = 3 : i64, probability = 0.1 : f64} : tensor<1x8x64xf32>
  // CHECK: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} layer %{{.*}} offsets %{{.*}}, %{{.*}}, %{{.*}} {global_shape = array<i64: 1, 16, 64>, op_id = 3 : i64, probability = 1.000000e-01 : f64} : tensor<1x8x64xf32>
  %5 = nn.dropout %x, %seed, %seed layer %layer offsets %layer, %layer, %layer {global_shape = array<i64: 1, 16, 64>, op_id = 3 : i64, probability = 0.1 : f64} : tensor<1x8x64xf32>
  return
}

// CHECK-LABEL: func.func @generation
func.func @generation(%starts: tensor<5xi32>, %context: tensor<4xi32>, %table: tensor<4x8xi32>, %q: tensor<1x16x4x64xf32>, %new: tensor<16x2x64xbf16>, %pool: tensor<96x2x64xbf16>) {
  // CHECK: nn.token_places %{{.*}}, %{{.*}}, %{{.*}} {page = 32 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 32 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  // CHECK: nn.cache_write %{{.*}}, %{{.*}}, %{{.*}} : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<96x2x64xbf16>) -> tensor<96x2x64xbf16>
  %keys = nn.cache_write %new, %cells, %pool : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<96x2x64xbf16>) -> tensor<96x2x64xbf16>
  // CHECK: nn.paged_attention %{{.*}} {page = 32 : i64, scale = 1.250000e-01 : f64, window = 4 : i64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xbf16>, tensor<96x2x64xbf16>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  %0 = nn.paged_attention %q, %keys, %pool, %rows, %positions, %table {page = 32 : i64, scale = 0.125 : f64, window = 4 : i64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xbf16>, tensor<96x2x64xbf16>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  // CHECK: nn.rotary_table positions %{{.*}} : tensor<16xi32> {inv_freq = dense<1.000000e+00> : tensor<2xf32>} : tensor<16x2xf32>, tensor<16x2xf32>
  %c, %s = nn.rotary_table positions %positions : tensor<16xi32> {inv_freq = dense<1.0> : tensor<2xf32>} : tensor<16x2xf32>, tensor<16x2xf32>
  return
}

// CHECK-LABEL: func.func @quantized_cache
func.func @quantized_cache(%q: tensor<1x16x4x64xf32>, %new: tensor<16x2x64xbf16>, %cells: tensor<16xi32>, %table: tensor<4x8xi32>, %pool: tensor<96x2x64xi8>, %scales: tensor<96x2xf32>, %one: tensor<1x1xf32>) {
  // CHECK: nn.quantized_cache_write %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {element = i8} : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<96x2xf32>) -> (tensor<96x2x64xi8>, tensor<96x2xf32>)
  %0, %s = nn.quantized_cache_write %new, %cells, %pool, %scales {element = i8} : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<96x2xf32>) -> (tensor<96x2x64xi8>, tensor<96x2xf32>)
  // CHECK: nn.quantized_cache_write %{{.*}} {element = f8E4M3FN} : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<1x1xf32>) -> tensor<96x2x64xi8>
  %1 = nn.quantized_cache_write %new, %cells, %pool, %one {element = f8E4M3FN} : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<1x1xf32>) -> tensor<96x2x64xi8>
  // CHECK: nn.paged_attention %{{.*}} scales %{{.*}}, %{{.*}} {element = i8, page = 32 : i64, scale = 1.250000e-01 : f64}
  %2 = nn.paged_attention %q, %0, %0, %cells, %cells, %table scales %s, %s {page = 32 : i64, scale = 0.125 : f64, element = i8} : (tensor<1x16x4x64xf32>, tensor<96x2x64xi8>, tensor<96x2x64xi8>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>, tensor<96x2xf32>, tensor<96x2xf32>) -> tensor<1x16x4x64xf32>
  return
}

// CHECK-LABEL: func.func @experts
func.func @experts(%i: tensor<32xi32>, %bias: tensor<6x32xf32>, %x: tensor<2x8x64xbf16>, %l: tensor<2x8x6xf32>, %b: tensor<6xf32>, %g: tensor<6x32x64xbf16>, %d: tensor<6x48x32xbf16>) {
  // CHECK: nn.router %{{.*}} {normalized, top_k = 2 : i64} : (tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  %0 = nn.router %l {normalized, top_k = 2 : i64} : (tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  // CHECK: nn.router %{{.*}} bias %{{.*}} {epsilon = 9.9{{.*}}E-7 : f64, scale = 2.500000e+00 : f64, sigmoid, top_k = 2 : i64} : (tensor<2x8x6xf32>, tensor<6xf32>) -> tensor<2x8x6xf32>
  %1 = nn.router %l bias %b {epsilon = 1.0e-6 : f64, scale = 2.5 : f64, sigmoid, top_k = 2 : i64} : (tensor<2x8x6xf32>, tensor<6xf32>) -> tensor<2x8x6xf32>
  // CHECK: nn.router %{{.*}} {group_best = 2 : i64, groups = 3 : i64, top_groups = 2 : i64, top_k = 2 : i64} : (tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  %3 = nn.router %l {group_best = 2 : i64, groups = 3 : i64, top_groups = 2 : i64, top_k = 2 : i64} : (tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  // CHECK: nn.experts %{{.*}} {activation = "silu", active = 2.500000e-01 : f64} : (tensor<2x8x64xbf16>, tensor<2x8x6xf32>, tensor<6x32x64xbf16>, tensor<6x32x64xbf16>, tensor<6x48x32xbf16>) -> tensor<2x8x48xbf16>
  %2 = nn.experts %x, %0, %g, %g, %d {activation = "silu", active = 0.25 : f64} : (tensor<2x8x64xbf16>, tensor<2x8x6xf32>, tensor<6x32x64xbf16>, tensor<6x32x64xbf16>, tensor<6x48x32xbf16>) -> tensor<2x8x48xbf16>
  // CHECK: nn.experts %{{.*}} biases %{{.*}}, %{{.*}} inside %arg0 {activation = "silu", alpha = 1.702000e+00 : f64, limit = 7.000000e+00 : f64, up_offset = 1.000000e+00 : f64}
  %5 = nn.experts %x, %0, %g, %g, %d biases %bias, %bias inside %i {activation = "silu", alpha = 1.702 : f64, limit = 7.0 : f64, up_offset = 1.0 : f64} : (tensor<2x8x64xbf16>, tensor<2x8x6xf32>, tensor<6x32x64xbf16>, tensor<6x32x64xbf16>, tensor<6x48x32xbf16>, tensor<6x32xf32>, tensor<6x32xf32>, tensor<32xi32>) -> tensor<2x8x48xbf16>
  // CHECK: nn.experts %{{.*}} {activation = "silu", scales_input} : (tensor<2x8x64xbf16>
  %6 = nn.experts %x, %0, %g, %g, %d {activation = "silu", scales_input} : (tensor<2x8x64xbf16>, tensor<2x8x6xf32>, tensor<6x32x64xbf16>, tensor<6x32x64xbf16>, tensor<6x48x32xbf16>) -> tensor<2x8x48xbf16>
  // CHECK: nn.experts %{{.*}} inside %arg0 {activation = "relu"} : (tensor<2x8x64xbf16>, tensor<2x8x6xf32>, tensor<6x32x64xbf16>, tensor<6x32x64xbf16>, tensor<6x48x32xbf16>, tensor<32xi32>) -> tensor<2x8x48xbf16>
  %4 = nn.experts %x, %0, %g, %g, %d inside %i {activation = "relu"} : (tensor<2x8x64xbf16>, tensor<2x8x6xf32>, tensor<6x32x64xbf16>, tensor<6x32x64xbf16>, tensor<6x48x32xbf16>, tensor<32xi32>) -> tensor<2x8x48xbf16>
  return
}

// Calls of functions with nn operations inline.
// CHECK-LABEL: func.func @sampling
func.func @sampling(%l: tensor<4x131xf32>, %k: tensor<3xi32>, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>) -> tensor<4xi32> {
  // CHECK: nn.sample_records %arg0, %arg1, %arg2, %arg3, %arg4 {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
  %r = nn.sample_records %l, %k, %p, %i, %t {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
  // CHECK: nn.sample_pick
  %0:2 = nn.sample_pick %r, %p, %i, %t, %p, %t, %t : (tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  // CHECK: nn.sample %arg0, %arg2, %arg3, %arg4, %arg2, %arg4, %arg4
  %1:2 = nn.sample %l, %p, %i, %t, %p, %t, %t : (tensor<4x131xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %1#0 : tensor<4xi32>
}

// RUN: tp-opt %s --inline | FileCheck %s --check-prefix=INLINE
// INLINE-LABEL: func.func @caller
// INLINE: nn.silu
// INLINE-NOT: call
func.func @caller(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @callee(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @callee(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.silu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
