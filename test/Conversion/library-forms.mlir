// An example of every operation that a library computes: the first line fails for
// one that has none here. What each calls, and that compiled code agrees with the
// operation's definition; then, that a device can be told of those it computes.
// RUN: tp-opt %s --test-tp-library-forms -o /dev/null | FileCheck %s
// RUN: tp-verify %s --stages lower | FileCheck %s --check-prefix=VERIFY
// RUN: tp-opt %s --test-tp-library-forms=only=cuda -o %t.mlir
// RUN: tp-compile %t.mlir --plan replicated --target cuda -o %t.tpa

// CHECK: nn.linear: gemm(8, operand 0, 8, operand 1 packed, operand 2, null, result 0, 4)
// VERIFY: lower @linear: equal
func.func @linear(%x: tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  %w = tp.parameter "w" : tensor<4x8xf32>
  %b = tp.parameter "b" : tensor<4xf32>
  %0 = nn.linear %x, %w bias %b : (tensor<2x4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}

// CHECK: nn.attention: attention(operand 0, 32, operand 1, 16, operand 2, 16, operand 3, null, null, 8, 4, result 0, 32, null)
// VERIFY: lower @attention: equal
func.func @attention(%q: tensor<1x4x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %mask: tensor<1x8xi32>) -> tensor<1x4x4x8xf32> {
  %0 = nn.attention %q, %k, %v mask %mask {causal, scale = 0.25 : f64} : (tensor<1x4x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8xi32>) -> tensor<1x4x4x8xf32>
  return %0 : tensor<1x4x4x8xf32>
}

// CHECK: nn.matmul: gemm(8, operand 0, 8, operand 1, null, null, result 0, 4)
// CHECK: nn.matmul: gemm(8, operand 0, 8, operand 1, null, null, result 0, 4)
// VERIFY: lower @matmul: equal
func.func @matmul(%x: tensor<2x4x8xf32>, %y: tensor<2x4x4xf32>, %old: tensor<8x4xf32>) -> (tensor<2x4x4xf32>, tensor<8x4xf32>) {
  %w = tp.parameter "kn" : tensor<8x4xf32>
  %0 = nn.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
  %1 = nn.matmul %x, %y {transposed} : (tensor<2x4x8xf32>, tensor<2x4x4xf32>) -> tensor<8x4xf32>
  %2 = arith.addf %1, %old : tensor<8x4xf32>
  return %0, %2 : tensor<2x4x4xf32>, tensor<8x4xf32>
}

// CHECK: nn.attention: attention(operand 0, 32, operand 1, 16, operand 2, 16, operand 3, null, null, 8, 4, result 0, 32, result 1)
// CHECK: nn.attention_backward: attention_backward(operand 1, operand 2, operand 3, operand 6, null, operand 0, operand 4, operand 5, result 0, result 1, result 2, null)
// VERIFY: lower @attention_backward: equal
func.func @attention_backward(%do: tensor<1x4x4x8xf32>, %q: tensor<1x4x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %mask: tensor<1x8xi32>, %delta: tensor<1x4x4xf32>) -> (tensor<1x4x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>) {
  %o, %lse = nn.attention %q, %k, %v mask %mask {causal, scale = 0.25 : f64} : (tensor<1x4x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8xi32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4xf32>)
  %0:3 = nn.attention_backward %do, %q, %k, %v, %lse, %delta mask %mask {causal, scale = 0.25 : f64} : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x8xi32>) -> (tensor<1x4x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x4x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>
}

// CHECK: nn.embedding_backward: embedding_backward(6, 9, 8, 8, operand 0, operand 1, null, result 0)
// CHECK: nn.embedding_backward: embedding_backward(6, 9, 8, 8, operand 0, operand 1, operand 2, result 0)
// VERIFY: lower @embedding_backward: equal
func.func @embedding_backward(%ids: tensor<2x3xi64>, %dx: tensor<2x3x8xf32>, %old: tensor<9x8xf32>) -> (tensor<9x8xf32>, tensor<9x8xf32>) {
  %0 = nn.embedding_backward %ids, %dx : (tensor<2x3xi64>, tensor<2x3x8xf32>) -> tensor<9x8xf32>
  %1 = nn.embedding_backward %ids, %dx into %old : (tensor<2x3xi64>, tensor<2x3x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  return %0, %1 : tensor<9x8xf32>, tensor<9x8xf32>
}

// The row of padding is taken off the ids.
// CHECK: nn.embedding_backward: embedding_backward(6, 9, 8, 8, operand 0, operand 1, operand 2, result 0)
// CHECK: nn.embedding_backward: embedding_backward(6, 9, 8, 8, operand 0, operand 1, null, result 0)
// VERIFY: lower @padding_row: equal
func.func @padding_row(%ids: tensor<2x3xi64>, %dx: tensor<2x3x8xf32>, %old: tensor<9x8xf32>) -> (tensor<9x8xf32>, tensor<9x8xf32>) {
  %two = arith.constant 2 : index
  %0 = nn.embedding_backward %ids, %dx into %old {padding_row = 4 : i64} : (tensor<2x3xi64>, tensor<2x3x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>
  %1 = nn.embedding_backward %ids, %dx offset %two {padding_row = 4 : i64} : (tensor<2x3xi64>, tensor<2x3x8xf32>, index) -> tensor<9x8xf32>
  return %0, %1 : tensor<9x8xf32>, tensor<9x8xf32>
}

// CHECK: nn.cache_write: cache_write(4, 64, 64, operand 0, operand 1, operand 2, result 0)
// VERIFY: lower @cache_write: equal
func.func @cache_write(%k: tensor<4x2x8xf32>, %cells: tensor<4xi32>, %pool: tensor<64x2x8xf32>) -> tensor<64x2x8xf32> {
  %0 = nn.cache_write %k, %cells, %pool : (tensor<4x2x8xf32>, tensor<4xi32>, tensor<64x2x8xf32>) -> tensor<64x2x8xf32>
  return %0 : tensor<64x2x8xf32>
}

// CHECK: nn.paged_attention: paged_attention(4, operand 0, operand 1, operand 2, operand 3, operand 4, operand 5, null, null, result 0)
// VERIFY: lower @paged_attention: equal
func.func @paged_attention(%q: tensor<1x4x4x8xf32>, %k: tensor<64x2x8xf32>, %v: tensor<64x2x8xf32>, %rows: tensor<4xi32>, %positions: tensor<4xi32>, %table: tensor<2x3xi32>) -> tensor<1x4x4x8xf32> {
  %0 = nn.paged_attention %q, %k, %v, %rows, %positions, %table {page = 16 : i64, scale = 0.25 : f64, window = 20 : i64} : (tensor<1x4x4x8xf32>, tensor<64x2x8xf32>, tensor<64x2x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x3xi32>) -> tensor<1x4x4x8xf32>
  return %0 : tensor<1x4x4x8xf32>
}

// CHECK: nn.quantized_cache_write: quantized_cache_write(4, 2, 8, 64, 2, 0, 0, operand 0, operand 1, operand 2, operand 3, result 0, result 1)
// VERIFY: lower @quantized_cache_write: equal
func.func @quantized_cache_write(%k: tensor<4x2x8xf32>, %cells: tensor<4xi32>, %pool: tensor<64x2x8xi8>, %scales: tensor<64x2xf32>) -> (tensor<64x2x8xi8>, tensor<64x2xf32>) {
  %0:2 = nn.quantized_cache_write %k, %cells, %pool, %scales {element = i8} : (tensor<4x2x8xf32>, tensor<4xi32>, tensor<64x2x8xi8>, tensor<64x2xf32>) -> (tensor<64x2x8xi8>, tensor<64x2xf32>)
  return %0#0, %0#1 : tensor<64x2x8xi8>, tensor<64x2xf32>
}

// CHECK: nn.quantized_cache_write: quantized_cache_write(4, 2, 8, 64, 1, 1, 1, operand 0, operand 1, operand 2, operand 3, result 0, null)
// VERIFY: lower @quantized_cache_write_e4m3: equal
func.func @quantized_cache_write_e4m3(%k: tensor<4x2x8xbf16>, %cells: tensor<4xi32>, %pool: tensor<64x2x8xi8>, %scale: tensor<1x1xf32>) -> tensor<64x2x8xi8> {
  %0 = nn.quantized_cache_write %k, %cells, %pool, %scale {element = f8E4M3FN} : (tensor<4x2x8xbf16>, tensor<4xi32>, tensor<64x2x8xi8>, tensor<1x1xf32>) -> tensor<64x2x8xi8>
  return %0 : tensor<64x2x8xi8>
}

// CHECK: nn.paged_attention: quantized_paged_attention(4, operand 0, operand 1, operand 6, operand 2, operand 7, operand 3, operand 4, operand 5, null, null, result 0)
// VERIFY: lower @quantized_paged_attention: equal
func.func @quantized_paged_attention(%q: tensor<1x4x4x8xf32>, %k: tensor<64x2x8xi8>, %v: tensor<64x2x8xi8>, %rows: tensor<4xi32>, %positions: tensor<4xi32>, %table: tensor<2x3xi32>, %ks: tensor<64x2xf32>, %vs: tensor<64x2xf32>) -> tensor<1x4x4x8xf32> {
  %0 = nn.paged_attention %q, %k, %v, %rows, %positions, %table scales %ks, %vs {page = 16 : i64, scale = 0.25 : f64, window = 20 : i64, element = i8} : (tensor<1x4x4x8xf32>, tensor<64x2x8xi8>, tensor<64x2x8xi8>, tensor<4xi32>, tensor<4xi32>, tensor<2x3xi32>, tensor<64x2xf32>, tensor<64x2xf32>) -> tensor<1x4x4x8xf32>
  return %0 : tensor<1x4x4x8xf32>
}

// CHECK: nn.sample_records: sample_records(4, 131, 3, 131, operand 0, operand 1, operand 2, operand 3, operand 4, result 0)
// CHECK: nn.sample_pick: sample_pick(4, 3, operand 0, operand 1, operand 2, operand 3, operand 4, operand 5, operand 6, result 0, result 1)
// VERIFY: lower @sample: equal
func.func @sample(%logits: tensor<4x131xf32>, %positions: tensor<4xi32>, %seed: tensor<4xi64>, %temperature: tensor<4xf32>, %top_k: tensor<4xi32>, %top_p: tensor<4xf32>, %min_p: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %blocks = arith.constant dense<[0, 1, 2]> : tensor<3xi32>
  %records = nn.sample_records %logits, %blocks, %positions, %seed, %temperature {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
  %token, %logprob = nn.sample_pick %records, %positions, %seed, %temperature, %top_k, %top_p, %min_p : (tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %token, %logprob : tensor<4xi32>, tensor<4xf32>
}

// An expert without rows, one with all of them, rows of nothing.
// CHECK: nn.experts: experts(6, operand 0, operand 1, operand 2, operand 3, operand 4, null, null, null, result 0)
// VERIFY: lower @experts: equal
func.func @experts(%x: tensor<1x6x40xf32>) -> tensor<1x6x24xf32> {
  %routing = arith.constant dense<[[[0.5, 0.0, 0.25, 0.0], [0.0, 0.0, 1.0, 0.0], [0.125, 0.0, -0.5, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.25, 0.75], [1.0, 0.0, 2.0, 0.5]]]> : tensor<1x6x4xf32>
  %gate = tp.parameter "experts.{e}.gate" : tensor<4x36x40xf32>
  %up = tp.parameter "experts.{e}.up" : tensor<4x36x40xf32>
  %down = tp.parameter "experts.{e}.down" : tensor<4x24x36xf32>
  %0 = nn.experts %x, %routing, %gate, %up, %down {activation = "silu"} : (tensor<1x6x40xf32>, tensor<1x6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>) -> tensor<1x6x24xf32>
  return %0 : tensor<1x6x24xf32>
}

// CHECK: nn.experts_backward: experts_backward(6, operand 0, operand 1, operand 2, operand 3, operand 4, operand 5, null, null, null, result 0, result 1, result 2, result 3, result 4, null, null)
// VERIFY: lower @experts_backward: equal
func.func @experts_backward(%x: tensor<1x6x40xf32>, %dy: tensor<1x6x24xf32>) -> (tensor<1x6x40xf32>, tensor<1x6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>) {
  %routing = arith.constant dense<[[[0.5, 0.0, 0.25, 0.0], [0.0, 0.0, 1.0, 0.0], [0.125, 0.0, -0.5, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.25, 0.75], [1.0, 0.0, 2.0, 0.5]]]> : tensor<1x6x4xf32>
  %gate = tp.parameter "experts.{e}.gate" : tensor<4x36x40xf32>
  %up = tp.parameter "experts.{e}.up" : tensor<4x36x40xf32>
  %down = tp.parameter "experts.{e}.down" : tensor<4x24x36xf32>
  %0:5 = nn.experts_backward %dy, %x, %routing, %gate, %up, %down {activation = "gelu_tanh"} : (tensor<1x6x24xf32>, tensor<1x6x40xf32>, tensor<1x6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>) -> (tensor<1x6x40xf32>, tensor<1x6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<1x6x40xf32>, tensor<1x6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>
}

// Positions of the width that are left out.
// CHECK: nn.experts_backward: experts_backward(9, operand 0, operand 1, operand 2, operand 3, operand 4, operand 5, null, null, operand 6, result 0,
// VERIFY: lower @experts_backward_bf16: equal
func.func @experts_backward_bf16(%x: tensor<9x40xbf16>, %dy: tensor<9x16xbf16>, %logits: tensor<9x6xf32>) -> (tensor<9x40xbf16>, tensor<9x6xf32>, tensor<6x8x40xf32>, tensor<6x8x40xf32>, tensor<6x16x8xf32>) {
  %routing = nn.router %logits {normalized, top_k = 2 : i64} : (tensor<9x6xf32>) -> tensor<9x6xf32>
  %gate = tp.parameter "routed.{e}.gate" : tensor<6x8x40xbf16>
  %up = tp.parameter "routed.{e}.up" : tensor<6x8x40xbf16>
  %down = tp.parameter "narrow.{e}.down" : tensor<6x16x8xbf16>
  %inside = arith.constant dense<[1, 1, 0, 1, 1, -3, 0, 0]> : tensor<8xi32>
  %0:5 = nn.experts_backward %dy, %x, %routing, %gate, %up, %down inside %inside {activation = "silu"} : (tensor<9x16xbf16>, tensor<9x40xbf16>, tensor<9x6xf32>, tensor<6x8x40xbf16>, tensor<6x8x40xbf16>, tensor<6x16x8xbf16>, tensor<8xi32>) -> (tensor<9x40xbf16>, tensor<9x6xf32>, tensor<6x8x40xf32>, tensor<6x8x40xf32>, tensor<6x16x8xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<9x40xbf16>, tensor<9x6xf32>, tensor<6x8x40xf32>, tensor<6x8x40xf32>, tensor<6x16x8xf32>
}

// The choice is a kernel like others; 16-bit matrices, a part of whose width is left out.
// CHECK: nn.experts: experts(9, operand 0, operand 1, operand 2, operand 3, operand 4, null, null, operand 5, result 0)
// VERIFY: lower @routed: equal
func.func @routed(%x: tensor<9x40xbf16>) -> (tensor<9x40xbf16>, tensor<9x6xf32>) {
  %w = tp.parameter "router" : tensor<6x40xbf16>
  %bias = tp.parameter "router.bias" : tensor<6xf32>
  %logits = nn.linear %x, %w : (tensor<9x40xbf16>, tensor<6x40xbf16>) -> tensor<9x6xf32>
  %routing = nn.router %logits {normalized, top_k = 2 : i64} : (tensor<9x6xf32>) -> tensor<9x6xf32>
  %other = nn.router %logits bias %bias {group_best = 2 : i64, groups = 3 : i64, normalized, scale = 2.5 : f64, sigmoid, top_groups = 2 : i64, top_k = 3 : i64} : (tensor<9x6xf32>, tensor<6xf32>) -> tensor<9x6xf32>
  %gate = tp.parameter "routed.{e}.gate" : tensor<6x8x40xbf16>
  %up = tp.parameter "routed.{e}.up" : tensor<6x8x40xbf16>
  %down = tp.parameter "routed.{e}.down" : tensor<6x40x8xbf16>
  %inside = arith.constant dense<[1, 1, 0, 1, 1, -3, 0, 0]> : tensor<8xi32>
  %0 = nn.experts %x, %routing, %gate, %up, %down inside %inside {activation = "gelu_tanh", active = 0.5 : f64} : (tensor<9x40xbf16>, tensor<9x6xf32>, tensor<6x8x40xbf16>, tensor<6x8x40xbf16>, tensor<6x40x8xbf16>, tensor<8xi32>) -> tensor<9x40xbf16>
  return %0, %other : tensor<9x40xbf16>, tensor<9x6xf32>
}

// A weight as it lies in memory, with an activation and a sum on the way out.
// CHECK: nn.quantized_linear: quantized_gemm(9, operand 0, 40, operand 1, operand 2, operand 3, null, null, operand 4, null, result 0, 24)
// VERIFY: lower @quantized: equal
func.func @quantized(%x: tensor<9x40xf32>) -> tensor<9x24xf32> {
  %q = tp.parameter "quantized.weight" storage <"I32", bits = 4, dim = 1, offset = 8> {tp.stored_type = tensor<24x40xi4>} : tensor<24x20xi8>
  %s = tp.parameter "quantized.scales" storage <"F16"> : tensor<24x3xf16>
  %z = tp.parameter "quantized.zeros" storage <"I8"> : tensor<24x3xi8>
  %b = tp.parameter "quantized.bias" : tensor<24xf32>
  %0 = nn.quantized_linear %x, %q, %s zeros %z bias %b {element = i4, group = array<i64: 1, 16>} : (tensor<9x40xf32>, tensor<24x20xi8>, tensor<24x3xf16>, tensor<24x3xi8>, tensor<24xf32>) -> tensor<9x24xf32>
  return %0 : tensor<9x24xf32>
}

// CHECK: nn.quantized_experts: quantized_experts(9, operand 0, operand 1, operand 2, operand 5, null, operand 3, operand 6, null, operand 4, operand 7, null, null, null, null, result 0)
// VERIFY: lower @quantized_experts: equal
func.func @quantized_experts(%x: tensor<9x40xf32>, %logits: tensor<9x6xf32>) -> tensor<9x24xf32> {
  %routing = nn.router %logits {normalized, top_k = 2 : i64} : (tensor<9x6xf32>) -> tensor<9x6xf32>
  %gate = tp.parameter "quantized.{e}.gate" storage <"F8_E4M3"> {tp.stored_type = tensor<6x8x40xf8E4M3FN>} : tensor<6x8x40xi8>
  %up = tp.parameter "quantized.{e}.up" storage <"F8_E4M3"> {tp.stored_type = tensor<6x8x40xf8E4M3FN>} : tensor<6x8x40xi8>
  %down = tp.parameter "quantized.{e}.down" storage <"F8_E4M3"> {tp.stored_type = tensor<6x24x8xf8E4M3FN>} : tensor<6x24x8xi8>
  %gs = tp.parameter "quantized.{e}.gate_scale" storage <"F32"> : tensor<6x8x2xf32>
  %us = tp.parameter "quantized.{e}.up_scale" storage <"F32"> : tensor<6x8x2xf32>
  %ds = tp.parameter "quantized.{e}.down_scale" storage <"F32"> : tensor<6x24x1xf32>
  %0 = nn.quantized_experts %x, %routing values %gate, %up, %down scales %gs, %us, %ds {activation = "silu", active = 0.5 : f64, down_group = array<i64: 1, 1, 0>, element = f8E4M3FN, group = array<i64: 1, 1, 32>} : (tensor<9x40xf32>, tensor<9x6xf32>, tensor<6x8x40xi8>, tensor<6x8x40xi8>, tensor<6x24x8xi8>, tensor<6x8x2xf32>, tensor<6x8x2xf32>, tensor<6x24x1xf32>) -> tensor<9x24xf32>
  return %0 : tensor<9x24xf32>
}

// Four bits, whose scales are exponents, and biases, as gpt-oss has them.
// CHECK: nn.quantized_experts: quantized_experts(9, operand 0, operand 1, operand 2, operand 5, null, operand 3, operand 5, null, operand 4, operand 7, null, operand 8, operand 9, null, result 0)
// VERIFY: lower @microscaled_experts: equal
func.func @microscaled_experts(%x: tensor<9x64xf32>, %logits: tensor<9x6xf32>) -> tensor<9x24xf32> {
  %routing = nn.router %logits {normalized, top_k = 2 : i64} : (tensor<9x6xf32>) -> tensor<9x6xf32>
  %gate = tp.parameter "sides_blocks" source <shape = [6, 64, 64], offsets = [0, 0, 0], permutation = [0, 1, 2], steps = [1, 2, 1]> storage <"U8", bits = 4, dim = 2> {tp.stored_type = tensor<6x32x64xf4E2M1FN>} : tensor<6x32x32xi8>
  %up = tp.parameter "sides_blocks" source <shape = [6, 64, 64], offsets = [0, 1, 0], permutation = [0, 1, 2], steps = [1, 2, 1]> storage <"U8", bits = 4, dim = 2> {tp.stored_type = tensor<6x32x64xf4E2M1FN>} : tensor<6x32x32xi8>
  %down = tp.parameter "down_blocks" storage <"U8", bits = 4, dim = 2> {tp.stored_type = tensor<6x24x32xf4E2M1FN>} : tensor<6x24x16xi8>
  %s = arith.constant dense<124> : tensor<6x32x2xi8>
  %t = arith.constant dense<126> : tensor<6x24x1xi8>
  %gb = tp.parameter "gate_bias" : tensor<6x32xf32>
  %ub = tp.parameter "up_bias" : tensor<6x32xf32>
  %0 = nn.quantized_experts %x, %routing values %gate, %up, %down scales %s, %s, %t biases %gb, %ub {activation = "silu", alpha = 1.702 : f64, down_group = array<i64: 1, 1, 32>, element = f4E2M1FN, group = array<i64: 1, 1, 32>, limit = 7.0 : f64, up_offset = 1.0 : f64} : (tensor<9x64xf32>, tensor<9x6xf32>, tensor<6x32x32xi8>, tensor<6x32x32xi8>, tensor<6x24x16xi8>, tensor<6x32x2xi8>, tensor<6x32x2xi8>, tensor<6x24x1xi8>, tensor<6x32xf32>, tensor<6x32xf32>) -> tensor<9x24xf32>
  return %0 : tensor<9x24xf32>
}

// Products of the same rows are computed by one call, here one of three and one of
// two, as the results of the first are read by the others.
// VERIFY: lower @joined: equal
func.func @joined(%x: tensor<3x72xf32>) -> (tensor<3x40xf32>, tensor<3x9xf32>) {
  %w = tp.parameter "q" : tensor<40x72xf32>
  %v = tp.parameter "k" : tensor<40x72xf32>
  %u = tp.parameter "v" : tensor<33x72xf32>
  %b = tp.parameter "v.bias" : tensor<33xf32>
  %t = tp.parameter "t" : tensor<9x40xf32>
  %s = tp.parameter "s" : tensor<9x40xf32>
  %0 = nn.linear %x, %w : (tensor<3x72xf32>, tensor<40x72xf32>) -> tensor<3x40xf32>
  %1 = nn.silu %0 : tensor<3x40xf32>
  %2 = nn.linear %x, %v : (tensor<3x72xf32>, tensor<40x72xf32>) -> tensor<3x40xf32>
  %3 = arith.mulf %1, %2 : tensor<3x40xf32>
  %4 = nn.linear %x, %u bias %b : (tensor<3x72xf32>, tensor<33x72xf32>, tensor<33xf32>) -> tensor<3x33xf32>
  %5 = tensor.pad %4 low[0, 0] high[0, 7] {
  ^bb0(%i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    tensor.yield %zero : f32
  } : tensor<3x33xf32> to tensor<3x40xf32>
  %6 = arith.addf %3, %5 : tensor<3x40xf32>
  %7 = nn.linear %6, %t : (tensor<3x40xf32>, tensor<9x40xf32>) -> tensor<3x9xf32>
  %8 = nn.linear %6, %s : (tensor<3x40xf32>, tensor<9x40xf32>) -> tensor<3x9xf32>
  %9 = arith.mulf %7, %8 : tensor<3x9xf32>
  return %6, %9 : tensor<3x40xf32>, tensor<3x9xf32>
}

// More positions than the derivative keeps states of, and values of more elements than one
// block has columns.
// CHECK: nn.gated_delta_rule: gated_delta_rule(1, 35, 2, 4, 5, 37, operand 0, operand 1, operand 2, operand 3, operand 4, result 0)
// CHECK: nn.gated_delta_rule_backward: gated_delta_rule_backward(1, 35, 2, 4, 5, 37, operand 0, operand 1, operand 2, operand 3, operand 4, operand 5, result 0, result 1, result 2, result 3, result 4)
// VERIFY: lower @gated_delta_rule: equal
func.func @gated_delta_rule(%q: tensor<1x35x2x5xf32>, %k: tensor<1x35x2x5xf32>, %v: tensor<1x35x4x37xf32>, %g: tensor<1x35x4xf32>, %b: tensor<1x35x4xf32>) -> (tensor<1x35x4x37xf32>, tensor<1x35x4x5xf32>, tensor<1x35x4x5xf32>, tensor<1x35x4x37xf32>, tensor<1x35x4xf32>, tensor<1x35x4xf32>) {
  %size = arith.mulf %g, %g : tensor<1x35x4xf32>
  %decay = arith.negf %size : tensor<1x35x4xf32>
  %o = nn.gated_delta_rule %q, %k, %v, %decay beta %b : (tensor<1x35x2x5xf32>, tensor<1x35x2x5xf32>, tensor<1x35x4x37xf32>, tensor<1x35x4xf32>, tensor<1x35x4xf32>) -> tensor<1x35x4x37xf32>
  %d:5 = nn.gated_delta_rule_backward %v, %q, %k, %o, %decay beta %b : (tensor<1x35x4x37xf32>, tensor<1x35x2x5xf32>, tensor<1x35x2x5xf32>, tensor<1x35x4x37xf32>, tensor<1x35x4xf32>, tensor<1x35x4xf32>) -> (tensor<1x35x4x5xf32>, tensor<1x35x4x5xf32>, tensor<1x35x4x37xf32>, tensor<1x35x4xf32>, tensor<1x35x4xf32>)
  return %o, %d#0, %d#1, %d#2, %d#3, %d#4 : tensor<1x35x4x37xf32>, tensor<1x35x4x5xf32>, tensor<1x35x4x5xf32>, tensor<1x35x4x37xf32>, tensor<1x35x4xf32>, tensor<1x35x4xf32>
}

// The third token goes on from what the first text's last one writes, as it was before.
// CHECK: nn.paged_gated_delta_rule: paged_gated_delta_rule(5, 1, 2, 4, 3, 4, operand 0, operand 1, operand 2, operand 3, null, operand 5, operand 6, operand 4, result 0, result 1)
// VERIFY: lower @paged_gated_delta_rule: equal
func.func @paged_gated_delta_rule(%q: tensor<1x5x1x4xf32>, %k: tensor<1x5x1x4xf32>, %v: tensor<1x5x2x3xf32>, %g: tensor<1x5x2xf32>, %pool: tensor<4x2x12xf32>) -> (tensor<1x5x2x3xf32>, tensor<4x2x12xf32>) {
  %slots = arith.constant dense<[-1, 2, 1, -1, 3]> : tensor<5xi32>
  %sources = arith.constant dense<[[5], [0], [7], [-1], [3]]> : tensor<5x1xi32>
  %o, %next = nn.paged_gated_delta_rule %q, %k, %v, %g, %pool, %slots, %sources : (tensor<1x5x1x4xf32>, tensor<1x5x1x4xf32>, tensor<1x5x2x3xf32>, tensor<1x5x2xf32>, tensor<4x2x12xf32>, tensor<5xi32>, tensor<5x1xi32>) -> (tensor<1x5x2x3xf32>, tensor<4x2x12xf32>)
  return %o, %next : tensor<1x5x2x3xf32>, tensor<4x2x12xf32>
}
