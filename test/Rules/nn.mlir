// RUN: tp-opt %s --test-tp-print-rules --verify-diagnostics

func.func @linear(%x: tensor<1x8x64xf32>, %w: tensor<256x64xf32>, %b: tensor<256xf32>) {
  // expected-remark @below {{b=1, s=8, n=256, k=64 sum: [b, s, k] multilinear, [n, k] multilinear, [n] additive -> [b, s, n]}}
  %0 = nn.linear %x, %w bias %b : (tensor<1x8x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x8x256xf32>
  return
}

func.func @attention(%q: tensor<1x8x4x64xf32>, %k: tensor<1x10x2x64xf32>, %m: tensor<1x10xi1>) {
  // expected-remark @below {{b=1, s=8, kv heads=2, queries per kv head=2, t=10 whole, head size=64 whole: [b, s, (kv heads * queries per kv head), head size], [b, t, kv heads, head size], [b, t, kv heads, head size] multilinear, [b, t] -> [b, s, (kv heads * queries per kv head), head size]}}
  %0 = nn.attention %q, %k, %k mask %m {scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x10x2x64xf32>, tensor<1x10x2x64xf32>, tensor<1x10xi1>) -> tensor<1x8x4x64xf32>
  // expected-remark @below {{b=1, s=8 whole, kv heads=2, queries per kv head=2, t=10 whole, head size=64 whole: [b, s, (kv heads * queries per kv head), head size], [b, t, kv heads, head size], [b, t, kv heads, head size] -> [b, s, (kv heads * queries per kv head), head size], [b, s, (kv heads * queries per kv head)]}}
  %1:2 = nn.attention %q, %k, %k {causal, scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x10x2x64xf32>, tensor<1x10x2x64xf32>) -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>)
  return
}

func.func @attention_forms(%q: tensor<1x8x4x64xf32>, %k: tensor<1x10x2x64xf32>, %v: tensor<1x10x2x32xf32>, %bias: tensor<4x8x10xf32>, %all: tensor<1x8x10xf32>, %sinks: tensor<4xf32>) {
  // expected-remark @below {{b=1, s=8, kv heads=2, queries per kv head=2, t=10 whole, head size=64 whole, value size=32 whole: [b, s, (kv heads * queries per kv head), head size], [b, t, kv heads, head size], [b, t, kv heads, value size] multilinear, [(kv heads * queries per kv head), s, t], [(kv heads * queries per kv head)] -> [b, s, (kv heads * queries per kv head), value size]}}
  %2 = nn.attention %q, %k, %v bias %bias sinks %sinks {scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x10x2x64xf32>, tensor<1x10x2x32xf32>, tensor<4x8x10xf32>, tensor<4xf32>) -> tensor<1x8x4x32xf32>
  // expected-remark @below {{b=1, s=8 whole, kv heads=2, queries per kv head=2, t=10 whole, head size=64 whole: [b, s, (kv heads * queries per kv head), head size], [b, t, kv heads, head size], [b, t, kv heads, head size] multilinear, [(), s, t] -> [b, s, (kv heads * queries per kv head), head size]}}
  %3 = nn.attention %q, %k, %k bias %all {window = 3 : i64, scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x10x2x64xf32>, tensor<1x10x2x64xf32>, tensor<1x8x10xf32>) -> tensor<1x8x4x64xf32>
  return
}

func.func @backward(%dy: tensor<1x8x256xf32>, %x: tensor<1x8x64xf32>, %w: tensor<256x64xf32>, %i: tensor<1x8xi64>, %q: tensor<1x8x4x64xf32>, %k: tensor<1x10x2x64xf32>, %l: tensor<1x8x4xf32>, %m: tensor<1x10xi1>) {
  // expected-remark @below {{b=1, s=8, n=64, k=256 sum: [b, s, k] multilinear, [k, n] multilinear -> [b, s, n]}}
  %0 = nn.matmul %dy, %w : (tensor<1x8x256xf32>, tensor<256x64xf32>) -> tensor<1x8x64xf32>
  // expected-remark @below {{b=1 sum, s=8 sum, n=64, k=256: [b, s, k] multilinear, [b, s, n] multilinear -> [k, n]}}
  %1 = nn.matmul %dy, %x {transposed} : (tensor<1x8x256xf32>, tensor<1x8x64xf32>) -> tensor<256x64xf32>
  // expected-remark @below {{b=1 sum, s=8 sum, vocabulary=100 index, h=64: [b, s], [b, s, h] multilinear -> [vocabulary, h]}}
  %2 = nn.embedding_backward %i, %x : (tensor<1x8xi64>, tensor<1x8x64xf32>) -> tensor<100x64xf32>
  // expected-remark @below {{b=1 sum, s=8 sum, vocabulary=100 index, h=64: [b, s], [b, s, h] multilinear, [vocabulary, h] additive -> [vocabulary, h]}}
  %3 = nn.embedding_backward %i, %x into %2 : (tensor<1x8xi64>, tensor<1x8x64xf32>, tensor<100x64xf32>) -> tensor<100x64xf32>
  // expected-remark @below {{b=1, s=8 whole, kv heads=2, queries per kv head=2, t=10 whole, head size=64 whole: [b, s, (kv heads * queries per kv head), head size], [b, s, (kv heads * queries per kv head), head size], [b, t, kv heads, head size], [b, t, kv heads, head size], [b, s, (kv heads * queries per kv head)], [b, s, (kv heads * queries per kv head)], [b, t] -> [b, s, (kv heads * queries per kv head), head size], [b, t, (kv heads * queries per kv head), head size], [b, t, (kv heads * queries per kv head), head size]}}
  %4:3 = nn.attention_backward %q, %q, %k, %k, %l, %l mask %m {scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x10x2x64xf32>, tensor<1x10x2x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x10xi1>) -> (tensor<1x8x4x64xf32>, tensor<1x10x4x64xf32>, tensor<1x10x4x64xf32>)
  return
}

func.func @norms(%x: tensor<1x8x64xf32>, %w: tensor<64xf32>) {
  // expected-remark @below {{b=1, s=8, h=64 whole: [b, s, h], [h] -> [b, s, h], [b, s]}}
  %0:2 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<1x8x64xf32>, tensor<64xf32>) -> (tensor<1x8x64xf32>, tensor<1x8xf32>)
  // expected-remark @below {{b=1, s=8, h=64 whole: [b, s, h], [h], [h] -> [b, s, h], [b, s], [b, s]}}
  %1:3 = nn.layer_norm %x, %w bias %w {epsilon = 1.0e-5 : f64} : (tensor<1x8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<1x8x64xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
  // expected-remark @below {{b=1, s=8, h=64 whole: [b, s, h] -> [b, s, h]}}
  %2 = nn.softmax %x : tensor<1x8x64xf32>
  return
}

func.func @rotary(%x: tensor<1x8x4x64xf32>, %o: index) {
  // expected-remark @below {{s=8 index, frequencies=2 whole: [] -> [s, frequencies], [s, frequencies]}}
  %c, %s = nn.rotary_table offset %o {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  // expected-remark @below {{b=1, s=8, heads=4, head size=64 whole, frequencies=2 whole: [b, s, heads, head size] multilinear, [s, frequencies], [s, frequencies] -> [b, s, heads, head size]}}
  %0 = nn.rotary %x, %c, %s : (tensor<1x8x4x64xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<1x8x4x64xf32>
  return
}

func.func @vocabulary(%i: tensor<1x8xi64>, %t: tensor<100x64xf32>, %l: tensor<1x8x100xf32>) {
  // expected-remark @below {{b=1, s=8, vocabulary=100 sum index, h=64: [b, s], [vocabulary, h] multilinear -> [b, s, h]}}
  %0 = nn.embedding %i, %t : (tensor<1x8xi64>, tensor<100x64xf32>) -> tensor<1x8x64xf32>
  // expected-remark @below {{b=1, s=8, vocabulary=100 whole: [b, s, vocabulary], [b, s] -> [b, s]}}
  %1 = nn.cross_entropy %l, %i : (tensor<1x8x100xf32>, tensor<1x8xi64>) -> tensor<1x8xf32>
  return
}

func.func @elementwise(%x: tensor<1x8x64xf32>, %seed: tensor<i64>) {
  // expected-remark @below {{d0=1, d1=8, d2=64: [d0, d1, d2] -> [d0, d1, d2]}}
  %0 = nn.gelu erf %x : tensor<1x8x64xf32>
  // expected-remark @below {{d0=1, d1=8, d2=64: [d0, d1, d2] -> [d0, d1, d2]}}
  %1 = nn.silu %x : tensor<1x8x64xf32>
  // expected-remark @below {{d0=1 index, d1=8 index, d2=64 index: [d0, d1, d2] multilinear, [], [] -> [d0, d1, d2]}}
  %2 = nn.dropout %x, %seed, %seed {probability = 0.1 : f64, op_id = 3 : i64} : tensor<1x8x64xf32>
  return
}

func.func @generation(%starts: tensor<5xi32>, %context: tensor<4xi32>, %table: tensor<4x8xi32>, %q: tensor<1x16x4x64xf32>, %new: tensor<16x2x64xf32>, %pool: tensor<96x2x64xf32>) {
  // expected-remark @below {{tokens=16 whole, bounds of rows=5 whole, rows=4 whole, pages=8 whole: [bounds of rows], [rows], [rows, pages] -> [tokens], [tokens], [tokens]}}
  %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 32 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  // expected-remark @below {{tokens=16 whole, cells=96 whole, kv heads=2, head size=64 whole: [tokens, kv heads, head size], [tokens], [cells, kv heads, head size] -> [cells, kv heads, head size]}}
  %0 = nn.cache_write %new, %cells, %pool : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<96x2x64xf32>) -> tensor<96x2x64xf32>
  // expected-remark @below {{b=1, tokens=16 whole, kv heads=2, queries per kv head=2, head size=64 whole, cells=96 whole, rows=4 whole, pages=8 whole: [b, tokens, (kv heads * queries per kv head), head size], [cells, kv heads, head size], [cells, kv heads, head size], [tokens], [tokens], [rows, pages] -> [b, tokens, (kv heads * queries per kv head), head size]}}
  %1 = nn.paged_attention %q, %pool, %pool, %rows, %positions, %table {page = 32 : i64, scale = 1.0 : f64} : (tensor<1x16x4x64xf32>, tensor<96x2x64xf32>, tensor<96x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
  // expected-remark @below {{s=16, frequencies=2 whole: [s] -> [s, frequencies], [s, frequencies]}}
  %c, %s = nn.rotary_table positions %positions : tensor<16xi32> {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>} : tensor<16x2xf32>, tensor<16x2xf32>
  return
}

func.func @quantized_cache(%cells: tensor<16xi32>, %table: tensor<4x8xi32>, %q: tensor<1x16x4x64xf32>, %new: tensor<16x2x64xf32>, %pool: tensor<96x2x64xi8>, %scales: tensor<96x2xf32>, %one: tensor<1x1xf32>) {
  // expected-remark @below {{tokens=16 whole, cells=96 whole, kv heads=2, head size=64 whole: [tokens, kv heads, head size], [tokens], [cells, kv heads, head size], [cells, kv heads] -> [cells, kv heads, head size], [cells, kv heads]}}
  %0:2 = nn.quantized_cache_write %new, %cells, %pool, %scales {element = i8} : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<96x2xf32>) -> (tensor<96x2x64xi8>, tensor<96x2xf32>)
  // expected-remark @below {{[tokens, kv heads, head size], [tokens], [cells, kv heads, head size], [(), ()] -> [cells, kv heads, head size]}}
  %1 = nn.quantized_cache_write %new, %cells, %pool, %one {element = f8E4M3FN} : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<96x2x64xi8>, tensor<1x1xf32>) -> tensor<96x2x64xi8>
  // expected-remark @below {{[cells, kv heads, head size], [cells, kv heads, head size], [tokens], [tokens], [rows, pages], [cells, kv heads], [cells, kv heads] -> [b, tokens, (kv heads * queries per kv head), head size]}}
  %2 = nn.paged_attention %q, %pool, %pool, %cells, %cells, %table scales %scales, %scales {page = 32 : i64, scale = 1.0 : f64, element = i8} : (tensor<1x16x4x64xf32>, tensor<96x2x64xi8>, tensor<96x2x64xi8>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>, tensor<96x2xf32>, tensor<96x2xf32>) -> tensor<1x16x4x64xf32>
  return
}

func.func @sampling(%l: tensor<4x131xf32>, %k: tensor<3xi32>, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>) {
  // expected-remark @below {{rows=4, blocks=3, tokens of a block=44 whole of 131, words=133 whole: [rows, (blocks * tokens of a block)], [blocks], [rows], [rows], [rows] -> [blocks, rows, words]}}
  %r = nn.sample_records %l, %k, %p, %i, %t {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
  // expected-remark @below {{sampling records=3 whole, rows=4, words=133 whole: [sampling records, rows, words], [rows], [rows], [rows], [rows], [rows], [rows] -> [rows], [rows]}}
  %0:2 = nn.sample_pick %r, %p, %i, %t, %p, %t, %t : (tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  // expected-remark @below {{rows=4, vocabulary=131 whole: [rows, vocabulary], [rows], [rows], [rows], [rows], [rows], [rows] -> [rows], [rows]}}
  %1:2 = nn.sample %l, %p, %i, %t, %p, %t, %t : (tensor<4x131xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return
}

func.func @experts(%i: tensor<32xi32>, %b: tensor<6xf32>, %x: tensor<2x8x64xf32>, %r: tensor<2x8x6xf32>, %g: tensor<6x32x64xf32>, %d: tensor<6x48x32xf32>) {
  // expected-remark @below {{b=2, s=8, experts=6 whole: [b, s, experts], [experts] -> [b, s, experts]}}
  %0 = nn.router %r bias %b {top_k = 2 : i64} : (tensor<2x8x6xf32>, tensor<6xf32>) -> tensor<2x8x6xf32>
  // expected-remark @below {{b=2, s=8, experts=6 sum, width=32 sum, k=64 whole, n=48: [b, s, k], [b, s, experts], [experts, width, k], [experts, width, k], [experts, n, width] multilinear -> [b, s, n]}}
  %1 = nn.experts %x, %r, %g, %g, %d {activation = "silu"} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>) -> tensor<2x8x48xf32>
  // expected-remark @below {{[experts, n, width] multilinear, [width] -> [b, s, n]}}
  %2 = nn.experts %x, %r, %g, %g, %d inside %i {activation = "silu"} : (tensor<2x8x64xf32>, tensor<2x8x6xf32>, tensor<6x32x64xf32>, tensor<6x32x64xf32>, tensor<6x48x32xf32>, tensor<32xi32>) -> tensor<2x8x48xf32>
  return
}
