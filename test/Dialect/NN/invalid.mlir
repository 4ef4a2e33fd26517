// RUN: tp-opt %s --split-input-file --verify-diagnostics

func.func @linear(%x: tensor<1x8x64xf32>, %w: tensor<256x32xf32>) {
  // expected-error @below {{'nn.linear' op expected weight of shape [256, 64], got [256, 32]}}
  %0 = nn.linear %x, %w : (tensor<1x8x64xf32>, tensor<256x32xf32>) -> tensor<1x8x256xf32>
  return
}

// -----

func.func @linear(%x: tensor<f32>, %w: tensor<256x32xf32>) {
  // expected-error @below {{'nn.linear' op expected input of rank 1 or more, got rank 0}}
  %0 = nn.linear %x, %w : (tensor<f32>, tensor<256x32xf32>) -> tensor<256xf32>
  return
}

// -----

func.func @linear(%x: tensor<8x64xf32>, %w: tensor<256x64xf32>) {
  // expected-error @below {{'nn.linear' op expected result of shape [8, 256], got [4, 256]}}
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<4x256xf32>
  return
}

// -----

func.func @linear(%x: tensor<8x64xf32>, %w: tensor<256x64xbf16>) {
  // expected-error @below {{'nn.linear' op expected weight of element type 'f32', got 'bf16'}}
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<256x64xbf16>) -> tensor<8x256xf32>
  return
}

// -----

func.func @linear(%x: tensor<8x64xbf16>, %w: tensor<256x64xbf16>, %b: tensor<256xf16>) {
  // expected-error @below {{'nn.linear' op expected bias of the operands' element type, 'bf16', or the result's, 'f32', got 'f16'}}
  %0 = nn.linear %x, %w bias %b : (tensor<8x64xbf16>, tensor<256x64xbf16>, tensor<256xf16>) -> tensor<8x256xf32>
  return
}

// -----

func.func @linear(%x: tensor<8x64xf32>, %w: tensor<256x64xf32>, %b: tensor<64xf32>) {
  // expected-error @below {{'nn.linear' op expected bias of shape [256], got [64]}}
  %0 = nn.linear %x, %w bias %b : (tensor<8x64xf32>, tensor<256x64xf32>, tensor<64xf32>) -> tensor<8x256xf32>
  return
}

// -----

func.func @attention(%q: tensor<8x4x64xf32>, %k: tensor<1x8x2x64xf32>) {
  // expected-error @below {{'nn.attention' op expected query of rank 4, got rank 3}}
  %0 = nn.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<8x4x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x2x64xf32>) -> tensor<8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %k: tensor<1x8x3x64xf32>) {
  // expected-error @below {{'nn.attention' op expected the query heads to be a multiple of the 3 KV heads, got 4}}
  %0 = nn.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x3x64xf32>, tensor<1x8x3x64xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %k: tensor<1x8x2x32xf32>) {
  // expected-error @below {{'nn.attention' op expected key of shape [1, 8, 2, 64], got [1, 8, 2, 32]}}
  %0 = nn.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %k: tensor<1x8x2x64xf32>, %v: tensor<1x9x2x64xf32>) {
  // expected-error @below {{'nn.attention' op expected value of shape [1, 8, 2, 64], got [1, 9, 2, 64]}}
  %0 = nn.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x2x64xf32>, tensor<1x9x2x64xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %m: tensor<1x4xi1>) {
  // expected-error @below {{'nn.attention' op expected mask of shape [1, 8], got [1, 4]}}
  %0 = nn.attention %q, %q, %q mask %m {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x4xi1>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %m: tensor<1x8xf32>) {
  // expected-error @below {{'nn.attention' op expected mask of an integer element type, got 'f32'}}
  %0 = nn.attention %q, %q, %q mask %m {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>) {
  // expected-error @below {{'nn.attention' op expected a soft cap above 0, got -5}}
  %0 = nn.attention %q, %q, %q {scale = 1.0 : f64, soft_cap = -5.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>) {
  // expected-error @below {{'nn.attention' op expected a window of 1 or more keys, got 0}}
  %0 = nn.attention %q, %q, %q {causal, scale = 1.0 : f64, window = 0 : i64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %x: tensor<8x8xf32>) {
  // expected-error @below {{'nn.attention' op expected bias of rank 3, got rank 2}}
  %0 = nn.attention %q, %q, %q bias %x {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<8x8xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %x: tensor<2x8x8xf32>) {
  // expected-error @below {{'nn.attention' op expected bias of shape [4, 8, 8], got [2, 8, 8]}}
  %0 = nn.attention %q, %q, %q bias %x {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<2x8x8xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %x: tensor<2xf32>) {
  // expected-error @below {{'nn.attention' op expected sinks of shape [4], got [2]}}
  %0 = nn.attention %q, %q, %q sinks %x {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<2xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xf32>, %v: tensor<1x8x4x32xf32>) {
  // expected-error @below {{'nn.attention' op expected result of shape [1, 8, 4, 32], got [1, 8, 4, 64]}}
  %0 = nn.attention %q, %q, %v {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x32xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

func.func @attention(%q: tensor<1x8x4x64xbf16>) {
  // expected-error @below {{'nn.attention' op expected lse of element type 'f32', got 'bf16'}}
  %0:2 = nn.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>, tensor<1x8x4x64xbf16>) -> (tensor<1x8x4x64xbf16>, tensor<1x8x4xbf16>)
  return
}

// -----

func.func @rms_norm(%x: tensor<8x64xf32>, %w: tensor<32xf32>) {
  // expected-error @below {{'nn.rms_norm' op expected weight of shape [64], got [32]}}
  %0 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<32xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @rms_norm(%x: tensor<8x64xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{'nn.rms_norm' op expected an epsilon of 0 or more, got -1}}
  %0 = nn.rms_norm %x, %w {epsilon = -1.0 : f64} : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @rms_norm(%x: tensor<8x64xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{'nn.rms_norm' op expected rstd of shape [8], got [4]}}
  %0:2 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm(%x: tensor<8x64xf32>, %w: tensor<64xf32>) {
  // expected-error @below {{'nn.layer_norm' op expected no statistics or two (mean and reciprocal standard deviation), got 1}}
  %0:2 = nn.layer_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm(%x: tensor<8x64xf32>, %w: tensor<64xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'nn.layer_norm' op expected bias of shape [64], got [8]}}
  %0 = nn.layer_norm %x, %w bias %b {epsilon = 1.0e-5 : f64} : (tensor<8x64xf32>, tensor<64xf32>, tensor<8xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @rotary_table() {
  // expected-error @below {{'nn.rotary_table' op expected inv_freq of rank 1 and element type f32, got 'tensor<2xf64>'}}
  %c, %s = nn.rotary_table {inv_freq = dense<1.0> : tensor<2xf64>} : tensor<8x2xf32>, tensor<8x2xf32>
  return
}

// -----

func.func @rotary_table() {
  // expected-error @below {{'nn.rotary_table' op expected sin of shape [8, 2], got [8, 4]}}
  %c, %s = nn.rotary_table {inv_freq = dense<1.0> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @rotary(%x: tensor<1x8x4x6xf32>, %c: tensor<8x4xf32>) {
  // expected-error @below {{'nn.rotary' op expected between 1 and 3 frequencies for a head size of 6, got 4}}
  %0 = nn.rotary %x, %c, %c : (tensor<1x8x4x6xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<1x8x4x6xf32>
  return
}

// -----

func.func @rotary(%x: tensor<1x8x4x6xf32>, %c: tensor<4x3xf32>) {
  // expected-error @below {{'nn.rotary' op expected cos of shape [8, 3], got [4, 3]}}
  %0 = nn.rotary %x, %c, %c : (tensor<1x8x4x6xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<1x8x4x6xf32>
  return
}

// -----

func.func @embedding(%i: tensor<1x8xi64>, %t: tensor<100x64xf32>) {
  // expected-error @below {{'nn.embedding' op expected result of shape [1, 8, 64], got [1, 8, 32]}}
  %0 = nn.embedding %i, %t : (tensor<1x8xi64>, tensor<100x64xf32>) -> tensor<1x8x32xf32>
  return
}

// -----

func.func @embedding(%i: tensor<1x8xi64>, %t: tensor<100xf32>) {
  // expected-error @below {{'nn.embedding' op expected table of rank 2, got rank 1}}
  %0 = nn.embedding %i, %t : (tensor<1x8xi64>, tensor<100xf32>) -> tensor<1x8x32xf32>
  return
}

// -----

func.func @cross_entropy(%l: tensor<1x8x100xf32>, %i: tensor<8xi64>) {
  // expected-error @below {{'nn.cross_entropy' op expected labels of shape [1, 8], got [8]}}
  %0 = nn.cross_entropy %l, %i : (tensor<1x8x100xf32>, tensor<8xi64>) -> tensor<1x8xf32>
  return
}

// -----

func.func @cross_entropy(%l: tensor<1x8x100xbf16>, %i: tensor<1x8xi64>) {
  // expected-error @below {{'nn.cross_entropy' op expected loss of element type 'f32', got 'bf16'}}
  %0 = nn.cross_entropy %l, %i : (tensor<1x8x100xbf16>, tensor<1x8xi64>) -> tensor<1x8xbf16>
  return
}

// -----

func.func @softmax(%x: tensor<f32>) {
  // expected-error @below {{'nn.softmax' op expected input of rank 1 or more, got rank 0}}
  %0 = nn.softmax %x : tensor<f32>
  return
}

// -----

func.func @dropout(%x: tensor<8x4xf32>, %s: tensor<i64>) {
  // expected-error @below {{'nn.dropout' op expected a probability of at least 0 and less than 1, got 1.000000e+00}}
  %0 = nn.dropout %x, %s, %s {op_id = 0 : i64, probability = 1.0 : f64} : tensor<8x4xf32>
  return
}

// -----

func.func @dropout(%x: tensor<8x4xf32>, %s: tensor<i64>, %o: index) {
  // expected-error @below {{'nn.dropout' op expected 2 offsets, one per dimension, got 1}}
  %0 = nn.dropout %x, %s, %s offsets %o {global_shape = array<i64: 8, 4>, op_id = 0 : i64, probability = 0.5 : f64} : tensor<8x4xf32>
  return
}

// -----

func.func @dropout(%x: tensor<8xf32>, %s: tensor<i64>, %o: index) {
  // expected-error @below {{'nn.dropout' op expected 'offsets' and 'global_shape' together}}
  %0 = nn.dropout %x, %s, %s offsets %o {op_id = 0 : i64, probability = 0.5 : f64} : tensor<8xf32>
  return
}

// -----

func.func @dropout(%x: tensor<8xf32>, %s: tensor<i64>, %o: index) {
  // expected-error @below {{'nn.dropout' op expected global_shape of rank 1, got rank 2}}
  %0 = nn.dropout %x, %s, %s offsets %o {global_shape = array<i64: 8, 4>, op_id = 0 : i64, probability = 0.5 : f64} : tensor<8xf32>
  return
}

// -----

func.func @made(%x: tensor<8x64xf32>, %y: tensor<64x256xf32>) {
  // expected-note @below {{weight is made here}}
  %w = arith.negf %y : tensor<64x256xf32>
  // expected-error @below {{'nn.linear' op expected weight of shape [256, 64], got [64, 256]}}
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
  return
}

// -----

func.func @token_places(%s: tensor<4xi32>, %c: tensor<4xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.token_places' op expected starts of shape [5], got [4]}}
  %0:3 = nn.token_places %s, %c, %t {page = 32 : i64} : (tensor<4xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  return
}

// -----

func.func @token_places(%s: tensor<5xi32>, %c: tensor<5xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.token_places' op expected context of shape [4], got [5]}}
  %0:3 = nn.token_places %s, %c, %t {page = 32 : i64} : (tensor<5xi32>, tensor<5xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  return
}

// -----

func.func @token_places(%s: tensor<5xi32>, %c: tensor<4xi32>, %t: tensor<4xi32>) {
  // expected-error @below {{'nn.token_places' op expected table of rank 2, got rank 1}}
  %0:3 = nn.token_places %s, %c, %t {page = 32 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  return
}

// -----

func.func @token_places(%s: tensor<5xi32>, %c: tensor<4xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.token_places' op expected a page of 1 or more cells, got 0}}
  %0:3 = nn.token_places %s, %c, %t {page = 0 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  return
}

// -----

func.func @token_places(%s: tensor<5xi32>, %c: tensor<4xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.token_places' op expected rows of rank 1, got rank 2}}
  %0:3 = nn.token_places %s, %c, %t {page = 32 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<1x16xi32>, tensor<16xi32>, tensor<16xi32>)
  return
}

// -----

func.func @token_places(%s: tensor<5xi32>, %c: tensor<4xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.token_places' op expected positions of shape [16], got [15]}}
  %0:3 = nn.token_places %s, %c, %t {page = 32 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<15xi32>, tensor<16xi32>)
  return
}

// -----

func.func @token_places(%s: tensor<5xi32>, %c: tensor<4xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.token_places' op expected cells of shape [16], got [17]}}
  %0:3 = nn.token_places %s, %c, %t {page = 32 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<17xi32>)
  return
}

// -----

func.func @token_places(%s: tensor<5xi32>, %c: tensor<4xi64>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.token_places' op operand #1 must be statically shaped tensor of 32-bit signless integer values, but got 'tensor<4xi64>'}}
  %0:3 = nn.token_places %s, %c, %t {page = 32 : i64} : (tensor<5xi32>, tensor<4xi64>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  return
}

// -----

func.func @cache_write(%i: tensor<16x4x64xf32>, %c: tensor<16xi32>, %p: tensor<96x2x64xf32>) {
  // expected-error @below {{'nn.cache_write' op expected input of shape [16, 2, 64], got [16, 4, 64]}}
  %0 = nn.cache_write %i, %c, %p : (tensor<16x4x64xf32>, tensor<16xi32>, tensor<96x2x64xf32>) -> tensor<96x2x64xf32>
  return
}

// -----

func.func @cache_write(%i: tensor<16x2x64xbf16>, %c: tensor<16xi32>, %p: tensor<96x2x64xf32>) {
  // expected-error @below {{'nn.cache_write' op expected input of element type 'f32', got 'bf16'}}
  %0 = nn.cache_write %i, %c, %p : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<96x2x64xf32>) -> tensor<96x2x64xf32>
  return
}

// -----

func.func @cache_write(%i: tensor<16x128xf32>, %c: tensor<16xi32>, %p: tensor<96x2x64xf32>) {
  // expected-error @below {{'nn.cache_write' op expected input of rank 3, got rank 2}}
  %0 = nn.cache_write %i, %c, %p : (tensor<16x128xf32>, tensor<16xi32>, tensor<96x2x64xf32>) -> tensor<96x2x64xf32>
  return
}

// -----

func.func @cache_write(%i: tensor<16x2x64xf32>, %c: tensor<16xi32>, %p: tensor<3x32x2x64xf32>) {
  // expected-error @below {{'nn.cache_write' op expected pool of rank 3, got rank 4}}
  %0 = nn.cache_write %i, %c, %p : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<3x32x2x64xf32>) -> tensor<96x2x64xf32>
  return
}

// -----

func.func @cache_write(%i: tensor<16x2x64xf32>, %c: tensor<8xi32>, %p: tensor<96x2x64xf32>) {
  // expected-error @below {{'nn.cache_write' op expected cells of shape [16], got [8]}}
  %0 = nn.cache_write %i, %c, %p : (tensor<16x2x64xf32>, tensor<8xi32>, tensor<96x2x64xf32>) -> tensor<96x2x64xf32>
  return
}

// -----

func.func @cache_write(%i: tensor<16x2x64xf32>, %c: tensor<16xi32>, %p: tensor<96x2x64xf32>) {
  // expected-error @below {{'nn.cache_write' op expected result of shape [96, 2, 64], got [64, 2, 64]}}
  %0 = nn.cache_write %i, %c, %p : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<96x2x64xf32>) -> tensor<64x2x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected query of rank 4, got rank 3}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<2x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected query of shape [1, 16, 4, 64], got [2, 16, 4, 64]}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<2x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<2x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x32xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected query of shape [1, 16, 4, 64], got [1, 16, 4, 32]}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x32xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x32xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<3x32x2x64xf32>, %v: tensor<3x32x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected keys of rank 3, got rank 4}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<3x32x2x64xf32>, tensor<3x32x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>, %b: tensor<4x255xf32>) {
  // expected-error @below {{'nn.paged_attention' op expected bias of shape [4, 256], got [4, 255]}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t bias %b {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>, tensor<4x255xf32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<64x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected values of shape [96, 2, 64], got [64, 2, 64]}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<64x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xbf16>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected values of element type 'f32', got 'bf16'}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xbf16>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<8xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected rows of shape [16], got [8]}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<8xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<8xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected positions of shape [16], got [8]}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<8xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected table of rank 2, got rank 1}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x3x64xf32>, %v: tensor<96x3x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected the query heads to be a multiple of the 3 KV heads, got 4}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x3x64xf32>, tensor<96x3x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<90x2x64xf32>, %v: tensor<90x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected the cells to be whole pages of 32, got 90}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<90x2x64xf32>, tensor<90x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected a page of 1 or more cells, got 0}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 0 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected a window of 1 or more positions, got 0}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64, window = 0 : i64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %v: tensor<96x2x64xf32>, %r: tensor<16xi32>, %p: tensor<16xi32>, %t: tensor<4x8xi32>) {
  // expected-error @below {{'nn.paged_attention' op expected result of element type 'f32', got 'bf16'}}
  %0 = nn.paged_attention %q, %k, %v, %r, %p, %t {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xbf16>
  return
}

// -----

func.func @rotary_table(%o: index, %p: tensor<8xi32>) {
  // expected-error @below {{'nn.rotary_table' op expected 'offset' or 'positions', not both}}
  %c, %s = nn.rotary_table offset %o positions %p : tensor<8xi32> {inv_freq = dense<1.0> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  return
}

// -----

func.func @rotary_table(%p: tensor<7xi32>) {
  // expected-error @below {{'nn.rotary_table' op expected positions of shape [8], got [7]}}
  %c, %s = nn.rotary_table positions %p : tensor<7xi32> {inv_freq = dense<1.0> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  return
}

// -----

func.func @linear(%x: tensor<8x64xbf16>, %w: tensor<256x64xbf16>) {
  // expected-error @below {{'nn.linear' op expected result of element type 'bf16' or f32, got 'f16'}}
  %0 = nn.linear %x, %w : (tensor<8x64xbf16>, tensor<256x64xbf16>) -> tensor<8x256xf16>
  return
}

// -----

func.func @sample(%l: tensor<4xf32>, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>) {
  // expected-error @below {{'nn.sample' op expected logits of rank 2, got rank 1}}
  %0:2 = nn.sample %l, %p, %i, %t, %p, %t, %t : (tensor<4xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return
}

// -----

func.func @sample(%l: tensor<3x131xf32>, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>) {
  // expected-error @below {{'nn.sample' op expected positions of shape [3], got [4]}}
  %0:2 = nn.sample %l, %p, %i, %t, %p, %t, %t : (tensor<3x131xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return
}

// -----

func.func @sample(%l: tensor<4x16777217xf32>, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>) {
  // expected-error @below {{'nn.sample' op expected a vocabulary of 1 to 16777216 tokens, got 16777217}}
  %0:2 = nn.sample %l, %p, %i, %t, %p, %t, %t : (tensor<4x16777217xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return
}

// -----

func.func @sample_records(%l: tensor<4x131xf32>, %k: tensor<3xi32>, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>) {
  // expected-error @below {{'nn.sample_records' op expected records of shape [3, 4, 133], got [4, 3, 133]}}
  %0 = nn.sample_records %l, %k, %p, %i, %t {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3x133xf32>
  return
}

// -----

func.func @sample_pick(%r: tensor<3x4x100xf32>, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>) {
  // expected-error @below {{'nn.sample_pick' op expected records of shape [3, 4, 133], got [3, 4, 100]}}
  %0:2 = nn.sample_pick %r, %p, %i, %t, %p, %t, %t : (tensor<3x4x100xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return
}

// -----

func.func @matmul(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) {
  // expected-error @below {{'nn.matmul' op expected weight of shape [64, 64], got [32, 64]}}
  %0 = nn.matmul %x, %w : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

func.func @matmul(%x: tensor<2x8x64xf32>, %w: tensor<2x4x32xf32>) {
  // expected-error @below {{'nn.matmul' op expected weight of shape [2, 8, 32], got [2, 4, 32]}}
  %0 = nn.matmul %x, %w {transposed} : (tensor<2x8x64xf32>, tensor<2x4x32xf32>) -> tensor<64x32xf32>
  return
}

// -----

func.func @matmul(%x: tensor<8x64xbf16>, %w: tensor<64x32xf32>) {
  // expected-error @below {{'nn.matmul' op expected input of element type 'f32' or f32, got 'bf16'}}
  %0 = nn.matmul %x, %w : (tensor<8x64xbf16>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return
}

// -----

func.func @embedding_backward(%i: tensor<8xi64>, %x: tensor<8x64xbf16>) {
  // expected-error @below {{'nn.embedding_backward' op expected result of element type f32, got 'bf16'}}
  %0 = nn.embedding_backward %i, %x : (tensor<8xi64>, tensor<8x64xbf16>) -> tensor<100x64xbf16>
  return
}

// -----

func.func @embedding_backward(%i: tensor<8xi64>, %x: tensor<7x64xf32>) {
  // expected-error @below {{'nn.embedding_backward' op expected cotangent of shape [8, 64], got [7, 64]}}
  %0 = nn.embedding_backward %i, %x : (tensor<8xi64>, tensor<7x64xf32>) -> tensor<100x64xf32>
  return
}

// -----

func.func @attention_backward(%q: tensor<1x8x4x64xf32>, %k: tensor<1x8x2x64xf32>, %l: tensor<1x8x4xf32>) {
  // expected-error @below {{'nn.attention_backward' op expected d_key of shape [1, 8, 4, 64], got [1, 8, 2, 64]}}
  %0:3 = nn.attention_backward %q, %q, %k, %k, %l, %l {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> (tensor<1x8x4x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x2x64xf32>)
  return
}

// -----

func.func @attention_backward(%q: tensor<1x8x4x64xf32>, %k: tensor<1x8x2x64xf32>, %l: tensor<1x8x4xf32>) {
  // expected-error @below {{'nn.attention_backward' op expected a bias for d_bias to be the derivative by}}
  %0:4 = nn.attention_backward %q, %q, %k, %k, %l, %l {scale = 1.0 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x4x8x8xf32>)
  return
}

// -----

func.func @padding_row(%i: tensor<1x8xi64>, %t: tensor<100x64xf32>) {
  // expected-error @below {{'nn.embedding' op expected padding_row to be a row of the table, in [0, 100), got 100}}
  %0 = nn.embedding %i, %t {padding_row = 100 : i64} : (tensor<1x8xi64>, tensor<100x64xf32>) -> tensor<1x8x64xf32>
  return
}

// -----

func.func @padding_row(%i: tensor<8xi64>, %x: tensor<8x64xf32>) {
  // expected-error @below {{'nn.embedding_backward' op expected padding_row to be a row of the table, in [0, 100), got -1}}
  %0 = nn.embedding_backward %i, %x {padding_row = -1 : i64} : (tensor<8xi64>, tensor<8x64xf32>) -> tensor<100x64xf32>
  return
}

// -----

func.func @padding_row(%i: tensor<1x8xi32>, %t: tensor<100x64xf32>, %o: index) {
  // expected-error @below {{'nn.embedding' op expected padding_row to be an id from 0 on of 32 bits, got 2147483648}}
  %0 = nn.embedding %i, %t offset %o {padding_row = 2147483648 : i64} : (tensor<1x8xi32>, tensor<100x64xf32>, index) -> tensor<1x8x64xf32>
  return
}

// -----

func.func @quantized_cache_write(%i: tensor<16x2x64xf32>, %c: tensor<16xi32>, %p: tensor<96x2x64xi8>, %s: tensor<96x2xf32>) {
  // expected-error @below {{'nn.quantized_cache_write' op expected element to be i8 or f8E4M3FN, got 'f8E5M2'}}
  %0:2 = nn.quantized_cache_write %i, %c, %p, %s {element = f8E5M2} : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<96x2xf32>) -> (tensor<96x2x64xi8>, tensor<96x2xf32>)
  return
}

// -----

func.func @quantized_cache_write(%i: tensor<16x2x64xf64>, %c: tensor<16xi32>, %p: tensor<96x2x64xi8>, %s: tensor<96x2xf32>) {
  // expected-error @below {{'nn.quantized_cache_write' op expected input of at most 32 bits, got 'f64'}}
  %0:2 = nn.quantized_cache_write %i, %c, %p, %s {element = i8} : (tensor<16x2x64xf64>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<96x2xf32>) -> (tensor<96x2x64xi8>, tensor<96x2xf32>)
  return
}

// -----

func.func @quantized_cache_write(%i: tensor<16x2x64xf32>, %c: tensor<16xi32>, %p: tensor<96x2x64xi8>, %s: tensor<16x2xf32>) {
  // expected-error @below {{'nn.quantized_cache_write' op expected scales of shape [96, 2], got [16, 2]}}
  %0:2 = nn.quantized_cache_write %i, %c, %p, %s {element = i8} : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<16x2xf32>) -> (tensor<96x2x64xi8>, tensor<96x2xf32>)
  return
}

// -----

func.func @quantized_cache_write(%i: tensor<16x2x64xf32>, %c: tensor<16xi32>, %p: tensor<96x2x64xi8>, %s: tensor<1x2xf32>) {
  // expected-error @below {{'nn.quantized_cache_write' op expected a second result, the scales of each row, beside elements of type 'i8'}}
  %0 = nn.quantized_cache_write %i, %c, %p, %s {element = i8} : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<1x2xf32>) -> tensor<96x2x64xi8>
  return
}

// -----

func.func @quantized_cache_write(%i: tensor<16x2x64xf32>, %c: tensor<16xi32>, %p: tensor<96x2x64xi8>, %s: tensor<1x4xf32>) {
  // expected-error @below {{'nn.quantized_cache_write' op expected scales of shape [1, 2], got [1, 4]}}
  %0 = nn.quantized_cache_write %i, %c, %p, %s {element = f8E4M3FN} : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<1x4xf32>) -> tensor<96x2x64xi8>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xi8>, %r: tensor<16xi32>, %t: tensor<4x8xi32>, %s: tensor<96x2xf32>, %u: tensor<1x4xf32>) {
  // expected-error @below {{'nn.paged_attention' op expected an element and scales beside keys of bytes}}
  %0 = nn.paged_attention %q, %k, %k, %r, %r, %t {page = 32 : i64, scale = 1.0 : f64, element = i8} : (tensor<1x16x4x64xf32>, tensor<96x2x64xi8>, tensor<96x2x64xi8>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xf32>, %r: tensor<16xi32>, %t: tensor<4x8xi32>, %s: tensor<96x2xf32>, %u: tensor<1x4xf32>) {
  // expected-error @below {{'nn.paged_attention' op expected no element and no scales beside keys of floats}}
  %0 = nn.paged_attention %q, %k, %k, %r, %r, %t scales %s, %s {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>, tensor<96x2xf32>, tensor<96x2xf32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf64>, %k: tensor<96x2x64xi8>, %r: tensor<16xi32>, %t: tensor<4x8xi32>, %s: tensor<96x2xf32>, %u: tensor<1x4xf32>) {
  // expected-error @below {{'nn.paged_attention' op expected a query of at most 32 bits beside keys of bytes, got 'f64'}}
  %0 = nn.paged_attention %q, %k, %k, %r, %r, %t scales %s, %s {page = 32 : i64, scale = 1.0 : f64, element = i8} : (tensor<1x16x4x64xf64>, tensor<96x2x64xi8>, tensor<96x2x64xi8>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>, tensor<96x2xf32>, tensor<96x2xf32>) -> tensor<1x16x4x64xf64>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xi8>, %r: tensor<16xi32>, %t: tensor<4x8xi32>, %s: tensor<96x2xf32>, %u: tensor<1x4xf32>) {
  // expected-error @below {{'nn.paged_attention' op expected key_scales of shape [1, 2], got [1, 4]}}
  %0 = nn.paged_attention %q, %k, %k, %r, %r, %t scales %u, %u {page = 32 : i64, scale = 1.0 : f64, element = f8E4M3FN} : (tensor<1x16x4x64xf32>, tensor<96x2x64xi8>, tensor<96x2x64xi8>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x16x4x64xf32>
  return
}

// -----

func.func @paged_attention(%q: tensor<1x16x4x64xf32>, %k: tensor<96x2x64xi8>, %r: tensor<16xi32>, %t: tensor<4x8xi32>, %s: tensor<96x2xf32>, %u: tensor<1x4xf32>) {
  // expected-error @below {{'nn.paged_attention' op expected value_scales of shape [96, 2], got [1, 4]}}
  %0 = nn.paged_attention %q, %k, %k, %r, %r, %t scales %s, %u {page = 32 : i64, scale = 1.0 : f64, element = i8} : (tensor<1x16x4x64xf32>, tensor<96x2x64xi8>, tensor<96x2x64xi8>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>, tensor<96x2xf32>, tensor<1x4xf32>) -> tensor<1x16x4x64xf32>
  return
}
