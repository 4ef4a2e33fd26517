// RUN: tp-opt %s --tp-generate-gpu-attention --split-input-file --verify-diagnostics

func.func @head(%q: tensor<1x8x2x257xf32>) -> tensor<1x8x2x257xf32> {
  // expected-error @+1 {{expected heads of at most 256 elements for a device, got 257: its tiles would not fit a block's registers}}
  %o = nn.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x8x2x257xf32>, tensor<1x8x2x257xf32>, tensor<1x8x2x257xf32>) -> tensor<1x8x2x257xf32>
  return %o : tensor<1x8x2x257xf32>
}

// -----

func.func @batch(%q: tensor<65536x1x2x8xf16>) -> tensor<65536x1x2x8xf16> {
  // expected-error @+1 {{expected a batch and KV heads of at most 65535 for a device, got 65536 and 2: they are a grid's extents}}
  %o = nn.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<65536x1x2x8xf16>, tensor<65536x1x2x8xf16>, tensor<65536x1x2x8xf16>) -> tensor<65536x1x2x8xf16>
  return %o : tensor<65536x1x2x8xf16>
}

// -----

func.func @length(%q: tensor<1x1x1x8xf16>, %k: tensor<1x2000000000x1x8xf16>) -> tensor<1x1x1x8xf16> {
  // expected-error @+1 {{expected at most 1073741823 keys, and query rows of one KV head, got 2000000000 and 1}}
  %o = nn.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x1x1x8xf16>, tensor<1x2000000000x1x8xf16>, tensor<1x2000000000x1x8xf16>) -> tensor<1x1x1x8xf16>
  return %o : tensor<1x1x1x8xf16>
}

// -----

func.func @quantized(%q: tensor<1x8x2x64xf16>, %k: tensor<32x2x64xi8>, %s: tensor<32x2xf32>, %r: tensor<8xi32>, %t: tensor<1x1xi32>) -> tensor<1x8x2x64xf16> {
  // expected-error @+1 {{reads a quantised cache, which devices have no kernel for: expected keys and values of floats}}
  %o = nn.paged_attention %q, %k, %k, %r, %r, %t scales %s, %s {page = 32 : i64, scale = 1.0 : f64, element = i8} : (tensor<1x8x2x64xf16>, tensor<32x2x64xi8>, tensor<32x2x64xi8>, tensor<8xi32>, tensor<8xi32>, tensor<1x1xi32>, tensor<32x2xf32>, tensor<32x2xf32>) -> tensor<1x8x2x64xf16>
  return %o : tensor<1x8x2x64xf16>
}

// -----

// Each head alone has room.
func.func @rows(%q: tensor<60000x5x60000x8xf16>) -> tensor<60000x5x60000x8xf16> {
  // expected-error @+1 {{expected at most 2147483647 times 16 rows of all heads for a device, got 3600000000: they are a grid's extent}}
  %o = nn.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<60000x5x60000x8xf16>, tensor<60000x5x60000x8xf16>, tensor<60000x5x60000x8xf16>) -> tensor<60000x5x60000x8xf16>
  return %o : tensor<60000x5x60000x8xf16>
}

// -----

func.func @double(%q: tensor<1x8x2x8xf64>) -> tensor<1x8x2x8xf64> {
  // expected-error @+1 {{expected elements f32, bf16 or f16 for a device, got 'f64'}}
  %o = nn.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x8x2x8xf64>, tensor<1x8x2x8xf64>, tensor<1x8x2x8xf64>) -> tensor<1x8x2x8xf64>
  return %o : tensor<1x8x2x8xf64>
}

// -----

func.func @empty(%q: tensor<1x0x2x8xf16>, %k: tensor<1x8x2x8xf16>) -> tensor<1x0x2x8xf16> {
  // expected-error @+1 {{expected at least one query and key for a device, got 'tensor<1x0x2x8xf16>' and 'tensor<1x8x2x8xf16>'}}
  %o = nn.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x0x2x8xf16>, tensor<1x8x2x8xf16>, tensor<1x8x2x8xf16>) -> tensor<1x0x2x8xf16>
  return %o : tensor<1x0x2x8xf16>
}

// -----

func.func @cells(%q: tensor<1x1x1x8xf16>, %k: tensor<1073741824x1x8xf16>, %n: tensor<1xi32>, %table: tensor<1x1xi32>) -> tensor<1x1x1x8xf16> {
  // expected-error @+1 {{expected at most 1073741823 keys, and query rows of one KV head, got 1073741824 and 1}}
  %o = nn.paged_attention %q, %k, %k, %n, %n, %table {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x1x1x8xf16>, tensor<1073741824x1x8xf16>, tensor<1073741824x1x8xf16>, tensor<1xi32>, tensor<1xi32>, tensor<1x1xi32>) -> tensor<1x1x1x8xf16>
  return %o : tensor<1x1x1x8xf16>
}

// -----

func.func @backward(%q: tensor<1x8x2x257xf32>, %r: tensor<1x8x2xf32>) -> tensor<1x8x2x257xf32> {
  // expected-error @+1 {{expected heads of at most 256 elements for a device, got 257: its tiles would not fit a block's registers}}
  %0:3 = nn.attention_backward %q, %q, %q, %q, %r, %r {scale = 1.0 : f64} : (tensor<1x8x2x257xf32>, tensor<1x8x2x257xf32>, tensor<1x8x2x257xf32>, tensor<1x8x2x257xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>) -> (tensor<1x8x2x257xf32>, tensor<1x8x2x257xf32>, tensor<1x8x2x257xf32>)
  return %0#0 : tensor<1x8x2x257xf32>
}

// -----

func.func @backwardHeads(%q: tensor<1x1x65536x8xf32>, %k: tensor<1x1x1x8xf32>, %r: tensor<1x1x65536xf32>) -> tensor<1x1x65536x8xf32> {
  // expected-error @+1 {{expected a batch and query heads of at most 65535 for a device, got 1 and 65536: they are a grid's extents}}
  %0:3 = nn.attention_backward %q, %q, %k, %k, %r, %r {scale = 1.0 : f64} : (tensor<1x1x65536x8xf32>, tensor<1x1x65536x8xf32>, tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>, tensor<1x1x65536xf32>, tensor<1x1x65536xf32>) -> (tensor<1x1x65536x8xf32>, tensor<1x1x65536x8xf32>, tensor<1x1x65536x8xf32>)
  return %0#0 : tensor<1x1x65536x8xf32>
}

// -----

func.func @backwardEmpty(%q: tensor<1x8x2x8xf16>, %k: tensor<1x0x2x8xf16>, %r: tensor<1x8x2xf32>) -> tensor<1x8x2x8xf16> {
  // expected-error @+1 {{expected at least one query and key for a device, got 'tensor<1x8x2x8xf16>' and 'tensor<1x0x2x8xf16>'}}
  %0:3 = nn.attention_backward %q, %q, %k, %k, %r, %r {scale = 1.0 : f64} : (tensor<1x8x2x8xf16>, tensor<1x8x2x8xf16>, tensor<1x0x2x8xf16>, tensor<1x0x2x8xf16>, tensor<1x8x2xf32>, tensor<1x8x2xf32>) -> (tensor<1x8x2x8xf16>, tensor<1x0x2x8xf32>, tensor<1x0x2x8xf32>)
  return %0#0 : tensor<1x8x2x8xf16>
}

// -----

func.func @values(%q: tensor<1x8x2x16xf32>, %v: tensor<1x8x2x300xf32>) -> tensor<1x8x2x300xf32> {
  // expected-error @+1 {{expected heads of at most 256 elements for a device, got 300: its tiles would not fit a block's registers}}
  %0 = nn.attention %q, %q, %v {scale = 1.0 : f64} : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x300xf32>) -> tensor<1x8x2x300xf32>
  return %0 : tensor<1x8x2x300xf32>
}
