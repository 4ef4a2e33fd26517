// Every nn operation sharded in the ways its rule allows, each value held
// against the one-device program: positions, offsets and padding included.
// RUN: tp-verify %s | FileCheck %s

tp.mesh @mesh <["dp"=2, "tp"=4]>

// Eight query heads over (dp, tp), four KV heads each shared by two ranks.
// CHECK: partition @attention: equal
func.func @attention(%x: tensor<2x6x32xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>}) -> tensor<2x6x64xf32> {
  %wq = tp.parameter "q" {tp.shardings = [#tp.sharding<@mesh, [{"dp", "tp"}, {}]>]} : tensor<64x32xf32>
  %wk = tp.parameter "k" : tensor<32x32xf32>
  %wv = tp.parameter "v" : tensor<32x32xf32>
  %q = nn.linear %x, %wq : (tensor<2x6x32xf32>, tensor<64x32xf32>) -> tensor<2x6x64xf32>
  %k = nn.linear %x, %wk : (tensor<2x6x32xf32>, tensor<32x32xf32>) -> tensor<2x6x32xf32>
  %v = nn.linear %x, %wv : (tensor<2x6x32xf32>, tensor<32x32xf32>) -> tensor<2x6x32xf32>
  %q4 = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 6, 8, 8] : tensor<2x6x64xf32> into tensor<2x6x8x8xf32>
  %k4 = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
  %v4 = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
  %c, %s = nn.rotary_table {inv_freq = dense<[1.0, 0.5, 0.25, 0.125]> : tensor<4xf32>} : tensor<6x4xf32>, tensor<6x4xf32>
  %qr = nn.rotary %q4, %c, %s : (tensor<2x6x8x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<2x6x8x8xf32>
  %kr = nn.rotary %k4, %c, %s : (tensor<2x6x4x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<2x6x4x8xf32>
  %o = nn.attention %qr, %kr, %v4 {causal, window = 4 : i64, scale = 0.35 : f64} : (tensor<2x6x8x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) -> tensor<2x6x8x8xf32>
  %r = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x6x8x8xf32> into tensor<2x6x64xf32>
  return %r : tensor<2x6x64xf32>
}

// Positions over four ranks: the tables go on where the previous rank's end.
// CHECK: partition @positions: equal
func.func @positions(%x: tensor<2x6x4x10xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>}) -> (tensor<2x6x4x10xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>}) {
  %start = arith.constant 3 : index
  %c, %s = nn.rotary_table offset %start {attention_scaling = 1.25 : f64, inv_freq = dense<[1.0, 0.5, 0.25]> : tensor<3xf32>} : tensor<6x3xf32>, tensor<6x3xf32>
  %0 = nn.rotary %x, %c, %s : (tensor<2x6x4x10xf32>, tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<2x6x4x10xf32>
  return %0 : tensor<2x6x4x10xf32>
}

// A vocabulary that four ranks do not divide, padded in the table, the head and
// the loss; labels outside it are ignored.
// CHECK: partition @vocabulary: equal
func.func @vocabulary(%x: tensor<2x6x16xf32>) -> tensor<2x6xf32> {
  %ids = arith.constant dense<[[0, 29, 7, 8, 30, 15], [16, 24, 23, 29, 1, 2]]> : tensor<2x6xi64>
  %table = tp.parameter "embedding" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<30x16xf32>
  %0 = nn.embedding %ids, %table : (tensor<2x6xi64>, tensor<30x16xf32>) -> tensor<2x6x16xf32>
  %1 = arith.addf %0, %x : tensor<2x6x16xf32>
  %2 = nn.linear %1, %table : (tensor<2x6x16xf32>, tensor<30x16xf32>) -> tensor<2x6x30xf32>
  %loss = nn.cross_entropy %2, %ids : (tensor<2x6x30xf32>, tensor<2x6xi64>) -> tensor<2x6xf32>
  return %loss : tensor<2x6xf32>
}

// The derivatives: query heads apart from the KV heads that they share; a
// vocabulary that four ranks do not divide; sums over rows and over columns.
// CHECK: partition @attention_backward: equal
func.func @attention_backward(%q: tensor<2x6x8x8xf32>, %k: tensor<2x6x4x8xf32>, %v: tensor<2x6x4x8xf32>, %do: tensor<2x6x8x8xf32>) -> (tensor<2x6x8x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"dp", "tp"}, {}]>}, tensor<2x6x4x8xf32>, tensor<2x6x8x8xf32>) {
  %o, %lse = nn.attention %q, %k, %v {causal, window = 4 : i64, scale = 0.35 : f64} : (tensor<2x6x8x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) -> (tensor<2x6x8x8xf32>, tensor<2x6x8xf32>)
  %dq, %dk, %dv = nn.attention_backward %do, %q, %k, %v, %lse, %lse {causal, window = 4 : i64, scale = 0.35 : f64} : (tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>) -> (tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>, tensor<2x6x8x8xf32>)
  %split = tensor.expand_shape %dk [[0], [1], [2, 3], [4]] output_shape [2, 6, 4, 2, 8] : tensor<2x6x8x8xf32> into tensor<2x6x4x2x8xf32>
  %zero = arith.constant dense<0.0> : tensor<2x6x4x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%split : tensor<2x6x4x2x8xf32>) outs(%zero : tensor<2x6x4x8xf32>) dimensions = [3]
  return %dq, %sum, %dv : tensor<2x6x8x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x8x8xf32>
}

// CHECK: partition @embedding_backward: equal
func.func @embedding_backward(%x: tensor<2x6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>}, %into: tensor<30x16xf32>) -> (tensor<30x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}, tensor<30x16xf32>) {
  %ids = arith.constant dense<[[0, 29, 7, 8, 30, 15], [16, 24, 23, 29, -1, 7]]> : tensor<2x6xi64>
  %0 = nn.embedding_backward %ids, %x : (tensor<2x6xi64>, tensor<2x6x16xf32>) -> tensor<30x16xf32>
  %1 = nn.embedding_backward %ids, %x into %into : (tensor<2x6xi64>, tensor<2x6x16xf32>, tensor<30x16xf32>) -> tensor<30x16xf32>
  return %0, %1 : tensor<30x16xf32>, tensor<30x16xf32>
}

// A row of padding that another rank has, the last one of a shard, and one on each rank.
// CHECK: partition @padding_row: equal
func.func @padding_row(%x: tensor<2x6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>}, %into: tensor<30x16xf32>) -> (tensor<30x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}, tensor<30x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}, tensor<30x16xf32>) {
  %ids = arith.constant dense<[[0, 29, 7, 8, 30, 15], [16, 24, 23, 29, -1, 7]]> : tensor<2x6xi64>
  %0 = nn.embedding_backward %ids, %x {padding_row = 29 : i64} : (tensor<2x6xi64>, tensor<2x6x16xf32>) -> tensor<30x16xf32>
  %1 = nn.embedding_backward %ids, %x into %into {padding_row = 7 : i64} : (tensor<2x6xi64>, tensor<2x6x16xf32>, tensor<30x16xf32>) -> tensor<30x16xf32>
  %2 = nn.embedding_backward %ids, %x {padding_row = 7 : i64} : (tensor<2x6xi64>, tensor<2x6x16xf32>) -> tensor<30x16xf32>
  return %0, %1, %2 : tensor<30x16xf32>, tensor<30x16xf32>, tensor<30x16xf32>
}

// CHECK: partition @matmul: equal
func.func @matmul(%dy: tensor<2x6x30xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {"tp"}]>}, %x: tensor<2x6x16xf32>) -> (tensor<2x6x16xf32>, tensor<30x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) {
  %w = tp.parameter "matmul" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<30x16xf32>
  %0 = nn.matmul %dy, %w : (tensor<2x6x30xf32>, tensor<30x16xf32>) -> tensor<2x6x16xf32>
  %1 = nn.matmul %dy, %x {transposed} : (tensor<2x6x30xf32>, tensor<2x6x16xf32>) -> tensor<30x16xf32>
  return %0, %1 : tensor<2x6x16xf32>, tensor<30x16xf32>
}

// The mask is that of the global element, whatever is cut, unevenly too.
// CHECK: partition @dropout: equal
func.func @dropout(%x: tensor<6x10xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}]>}) -> (tensor<6x10xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  %seed = arith.constant dense<1234567890123> : tensor<i64>
  %step = arith.constant dense<7> : tensor<i64>
  %0 = nn.dropout %x, %seed, %step {op_id = 3 : i64, probability = 0.5 : f64} : tensor<6x10xf32>
  return %0 : tensor<6x10xf32>
}

// Rows over four ranks; the normalised dimension is whole.
// CHECK: partition @rows: equal
func.func @rows(%x: tensor<2x6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}, {}]>}) -> (tensor<2x6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}, {}]>}) {
  %w = tp.parameter "w" : tensor<16xf32>
  %b = tp.parameter "b" : tensor<16xf32>
  %0 = nn.layer_norm %x, %w bias %b {epsilon = 1.0e-5 : f64} : (tensor<2x6x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x6x16xf32>
  %1:2 = nn.rms_norm %0, %w {epsilon = 1.0e-5 : f64} : (tensor<2x6x16xf32>, tensor<16xf32>) -> (tensor<2x6x16xf32>, tensor<2x6xf32>)
  %2 = nn.softmax %1#0 : tensor<2x6x16xf32>
  %3 = nn.silu %2 : tensor<2x6x16xf32>
  %4 = nn.gelu erf %3 : tensor<2x6x16xf32>
  return %4 : tensor<2x6x16xf32>
}

// A step of generation: three rows of tokens and one without, two tokens of
// padding, pages in any order, one of them freed. Four KV heads are shared by two
// ranks each.
// CHECK: partition @generation: equal
func.func @generation(%x: tensor<1x8x32xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>}, %keys: tensor<24x4x8xf32>, %values: tensor<24x4x8xf32>) -> (tensor<1x8x64xf32>, tensor<24x4x8xf32>, tensor<24x4x8xf32>) {
  %starts = arith.constant dense<[0, 3, 3, 4, 6]> : tensor<5xi32>
  %context = arith.constant dense<[3, 0, 7, 0]> : tensor<4xi32>
  %table = arith.constant dense<[[5, 1, -1], [-1, -1, -1], [-1, 0, -1], [2, -1, -1]]> : tensor<4x3xi32>
  %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 4 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x3xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>)
  %wq = tp.parameter "q" {tp.shardings = [#tp.sharding<@mesh, [{"dp", "tp"}, {}]>]} : tensor<64x32xf32>
  %wk = tp.parameter "k" : tensor<32x32xf32>
  %wv = tp.parameter "v" : tensor<32x32xf32>
  %q = nn.linear %x, %wq : (tensor<1x8x32xf32>, tensor<64x32xf32>) -> tensor<1x8x64xf32>
  %k = nn.linear %x, %wk : (tensor<1x8x32xf32>, tensor<32x32xf32>) -> tensor<1x8x32xf32>
  %v = nn.linear %x, %wv : (tensor<1x8x32xf32>, tensor<32x32xf32>) -> tensor<1x8x32xf32>
  %q4 = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [1, 8, 8, 8] : tensor<1x8x64xf32> into tensor<1x8x8x8xf32>
  %k4 = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [1, 8, 4, 8] : tensor<1x8x32xf32> into tensor<1x8x4x8xf32>
  %c, %s = nn.rotary_table positions %positions : tensor<8xi32> {inv_freq = dense<[1.0, 0.5, 0.25, 0.125]> : tensor<4xf32>} : tensor<8x4xf32>, tensor<8x4xf32>
  %qr = nn.rotary %q4, %c, %s : (tensor<1x8x8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<1x8x8x8xf32>
  %kr = nn.rotary %k4, %c, %s : (tensor<1x8x4x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<1x8x4x8xf32>
  %k3 = tensor.collapse_shape %kr [[0, 1], [2], [3]] : tensor<1x8x4x8xf32> into tensor<8x4x8xf32>
  %v2 = tensor.collapse_shape %v [[0, 1], [2]] : tensor<1x8x32xf32> into tensor<8x32xf32>
  %v3 = tensor.expand_shape %v2 [[0], [1, 2]] output_shape [8, 4, 8] : tensor<8x32xf32> into tensor<8x4x8xf32>
  %newKeys = nn.cache_write %k3, %cells, %keys : (tensor<8x4x8xf32>, tensor<8xi32>, tensor<24x4x8xf32>) -> tensor<24x4x8xf32>
  %newValues = nn.cache_write %v3, %cells, %values : (tensor<8x4x8xf32>, tensor<8xi32>, tensor<24x4x8xf32>) -> tensor<24x4x8xf32>
  %o = nn.paged_attention %qr, %newKeys, %newValues, %rows, %positions, %table {page = 4 : i64, scale = 0.35 : f64, window = 4 : i64} : (tensor<1x8x8x8xf32>, tensor<24x4x8xf32>, tensor<24x4x8xf32>, tensor<8xi32>, tensor<8xi32>, tensor<4x3xi32>) -> tensor<1x8x8x8xf32>
  %r = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<1x8x8x8xf32> into tensor<1x8x64xf32>
  return %r, %newKeys, %newValues : tensor<1x8x64xf32>, tensor<24x4x8xf32>, tensor<24x4x8xf32>
}

// Six KV heads over four ranks: two of eight are padding, in the caches too.
// CHECK: partition @uneven_heads: equal
func.func @uneven_heads(%q: tensor<1x4x12x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}, {}]>}, %new: tensor<4x6x8xf32>, %keys: tensor<16x6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {}]>}, %values: tensor<16x6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {}]>}) -> (tensor<1x4x12x8xf32>, tensor<16x6x8xf32>) {
  %starts = arith.constant dense<[0, 1, 4]> : tensor<3xi32>
  %context = arith.constant dense<[7, 2]> : tensor<2xi32>
  %table = arith.constant dense<[[3, 0], [2, 1]]> : tensor<2x2xi32>
  %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 4 : i64} : (tensor<3xi32>, tensor<2xi32>, tensor<2x2xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
  %0 = nn.cache_write %new, %cells, %keys : (tensor<4x6x8xf32>, tensor<4xi32>, tensor<16x6x8xf32>) -> tensor<16x6x8xf32>
  %1 = nn.paged_attention %q, %0, %values, %rows, %positions, %table {page = 4 : i64, scale = 0.35 : f64} : (tensor<1x4x12x8xf32>, tensor<16x6x8xf32>, tensor<16x6x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x2xi32>) -> tensor<1x4x12x8xf32>
  return %1, %0 : tensor<1x4x12x8xf32>, tensor<16x6x8xf32>
}

// The same in eight bits: rows with a scale for each head, which are cut and
// padded as the heads are, and values with one that is given for each head.
// CHECK: partition @quantized_cache: equal
func.func @quantized_cache(%q: tensor<1x4x12x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}, {}]>}, %new: tensor<4x6x8xf32>, %keys: tensor<16x6x8xi8> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {}]>}, %scales: tensor<16x6xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<1x4x12x8xf32>, tensor<16x6xf32>) {
  %starts = arith.constant dense<[0, 1, 4]> : tensor<3xi32>
  %context = arith.constant dense<[7, 2]> : tensor<2xi32>
  %table = arith.constant dense<[[3, 0], [2, 1]]> : tensor<2x2xi32>
  %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 4 : i64} : (tensor<3xi32>, tensor<2xi32>, tensor<2x2xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
  %0, %s = nn.quantized_cache_write %new, %cells, %keys, %scales {element = i8} : (tensor<4x6x8xf32>, tensor<4xi32>, tensor<16x6x8xi8>, tensor<16x6xf32>) -> (tensor<16x6x8xi8>, tensor<16x6xf32>)
  %1 = nn.paged_attention %q, %0, %0, %rows, %positions, %table scales %s, %s {page = 4 : i64, scale = 0.35 : f64, element = i8} : (tensor<1x4x12x8xf32>, tensor<16x6x8xi8>, tensor<16x6x8xi8>, tensor<4xi32>, tensor<4xi32>, tensor<2x2xi32>, tensor<16x6xf32>, tensor<16x6xf32>) -> tensor<1x4x12x8xf32>
  return %1, %s : tensor<1x4x12x8xf32>, tensor<16x6xf32>
}

// CHECK: partition @given_scales: equal
func.func @given_scales(%q: tensor<1x4x16x8xf32>, %new: tensor<4x4x8xf32>, %keys: tensor<16x4x8xi8> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {}]>}) -> tensor<1x4x16x8xf32> {
  %heads = tp.parameter "k_scale" : tensor<1x4xf32>
  %one = tp.parameter "v_scale" : tensor<1x1xf32>
  %starts = arith.constant dense<[0, 1, 4]> : tensor<3xi32>
  %context = arith.constant dense<[7, 2]> : tensor<2xi32>
  %table = arith.constant dense<[[3, 0], [2, 1]]> : tensor<2x2xi32>
  %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 4 : i64} : (tensor<3xi32>, tensor<2xi32>, tensor<2x2xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
  %0 = nn.quantized_cache_write %new, %cells, %keys, %heads {element = f8E4M3FN} : (tensor<4x4x8xf32>, tensor<4xi32>, tensor<16x4x8xi8>, tensor<1x4xf32>) -> tensor<16x4x8xi8>
  %1 = nn.paged_attention %q, %0, %0, %rows, %positions, %table scales %heads, %heads {page = 4 : i64, scale = 0.35 : f64, element = f8E4M3FN} : (tensor<1x4x16x8xf32>, tensor<16x4x8xi8>, tensor<16x4x8xi8>, tensor<4xi32>, tensor<4xi32>, tensor<2x2xi32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4x16x8xf32>
  %2 = nn.quantized_cache_write %new, %cells, %0, %one {element = f8E4M3FN} : (tensor<4x4x8xf32>, tensor<4xi32>, tensor<16x4x8xi8>, tensor<1x1xf32>) -> tensor<16x4x8xi8>
  %3 = nn.paged_attention %1, %2, %2, %rows, %positions, %table scales %one, %one {page = 4 : i64, scale = 0.35 : f64, element = f8E4M3FN} : (tensor<1x4x16x8xf32>, tensor<16x4x8xi8>, tensor<16x4x8xi8>, tensor<4xi32>, tensor<4xi32>, tensor<2x2xi32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x4x16x8xf32>
  return %3 : tensor<1x4x16x8xf32>
}

// Logits of 16-bit weights in f32, over a vocabulary that four ranks do not divide.
// CHECK: partition @logits: equal
func.func @logits(%x: tensor<1x6x16xbf16>) -> tensor<1x6x30xf32> {
  %w = tp.parameter "small_head" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<30x16xbf16>
  %0 = nn.linear %x, %w : (tensor<1x6x16xbf16>, tensor<30x16xbf16>) -> tensor<1x6x30xf32>
  return %0 : tensor<1x6x30xf32>
}

// Records of both axes, rows of none; of a part of an axis, rows of the other.
// CHECK: partition @sample_axes: equal
func.func @sample_axes(%logits: tensor<6x131xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp", "tp"}]>}, %p: tensor<6xi32>, %i: tensor<6xi64>, %t: tensor<6xf32>, %k: tensor<6xi32>, %tp: tensor<6xf32>, %mp: tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>) {
  %0:2 = nn.sample %logits, %p, %i, %t, %k, %tp, %mp : (tensor<6x131xf32>, tensor<6xi32>, tensor<6xi64>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<6xi32>, tensor<6xf32>
}

// CHECK: partition @sample_sub_axis: equal
func.func @sample_sub_axis(%logits: tensor<6x131xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp":(1)2}]>}, %p: tensor<6xi32>, %i: tensor<6xi64>, %t: tensor<6xf32>, %k: tensor<6xi32>, %tp: tensor<6xf32>, %mp: tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>) {
  %0:2 = nn.sample %logits, %p, %i, %t, %k, %tp, %mp : (tensor<6x131xf32>, tensor<6xi32>, tensor<6xi64>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<6xi32>, tensor<6xf32>
}

// Rows that are cut need no records of others.
// CHECK: partition @sample_rows: equal
func.func @sample_rows(%logits: tensor<6x131xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}, %p: tensor<6xi32>, %i: tensor<6xi64>, %t: tensor<6xf32>, %k: tensor<6xi32>, %tp: tensor<6xf32>, %mp: tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>) {
  %0:2 = nn.sample %logits, %p, %i, %t, %k, %tp, %mp : (tensor<6x131xf32>, tensor<6xi32>, tensor<6xi64>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<6xi32>, tensor<6xf32>
}

// Logits that are partial are summed first, and one record is of all.
// CHECK: partition @sample_partial: equal
func.func @sample_partial(%x: tensor<6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %p: tensor<6xi32>, %i: tensor<6xi64>, %t: tensor<6xf32>, %k: tensor<6xi32>, %tp: tensor<6xf32>, %mp: tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>) {
  %w = tp.parameter "head" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<131x16xf32>
  %logits = nn.linear %x, %w : (tensor<6x16xf32>, tensor<131x16xf32>) -> tensor<6x131xf32>
  %0:2 = nn.sample %logits, %p, %i, %t, %k, %tp, %mp : (tensor<6x131xf32>, tensor<6xi32>, tensor<6xi64>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<6xi32>, tensor<6xf32>
}

// Six experts over four ranks, two of which have but one and a padding one; the
// width of all of them over four ranks, of which the last has but one position.
// CHECK: partition @experts: equal
func.func @experts(%x: tensor<2x6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>}) -> (tensor<2x6x16xf32>, tensor<2x6x16xf32>) {
  %w = tp.parameter "router" : tensor<6x16xf32>
  %logits = nn.linear %x, %w : (tensor<2x6x16xf32>, tensor<6x16xf32>) -> tensor<2x6x6xf32>
  %routing = nn.router %logits {normalized, top_k = 2 : i64} : (tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %gate = tp.parameter "experts.{e}.gate" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>]} : tensor<6x10x16xf32>
  %up = tp.parameter "experts.{e}.up" : tensor<6x10x16xf32>
  %down = tp.parameter "experts.{e}.down" : tensor<6x16x10xf32>
  %0 = nn.experts %x, %routing, %gate, %up, %down {activation = "silu"} : (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>) -> tensor<2x6x16xf32>
  %wide = tp.parameter "wide.{e}.gate" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}, {}]>]} : tensor<6x10x16xf32>
  %1 = nn.experts %x, %routing, %wide, %up, %down {activation = "gelu_erf"} : (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>) -> tensor<2x6x16xf32>
  return %0, %1 : tensor<2x6x16xf32>, tensor<2x6x16xf32>
}

// Biases are cut as what they are added to, and once more by width, unevenly.
// CHECK: partition @gated_experts: equal
func.func @gated_experts(%x: tensor<2x6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>}, %l: tensor<2x6x6xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>}) -> (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<6x10xf32>, tensor<6x10xf32>) {
  %routing = nn.router %l {normalized, top_k = 2 : i64} : (tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %gate = tp.parameter "experts.{e}.gate" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>]} : tensor<6x10x16xf32>
  %up = tp.parameter "experts.{e}.up" : tensor<6x10x16xf32>
  %down = tp.parameter "experts.{e}.down" : tensor<6x16x10xf32>
  %b = tp.parameter "experts.bias" : tensor<6x10xf32>
  %0 = nn.experts %x, %routing, %gate, %up, %down biases %b, %b {activation = "silu", alpha = 1.5 : f64, limit = 0.5 : f64, up_offset = 1.0 : f64} : (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>, tensor<6x10xf32>, tensor<6x10xf32>) -> tensor<2x6x16xf32>
  %wide = tp.parameter "wide.{e}.gate" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}, {}]>]} : tensor<6x10x16xf32>
  %1 = nn.experts %x, %routing, %wide, %up, %down {activation = "silu", scales_input} : (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>) -> tensor<2x6x16xf32>
  %2:7 = nn.experts_backward %x, %x, %routing, %wide, %up, %down biases %b, %b {activation = "silu", alpha = 1.5 : f64, limit = 0.5 : f64, up_offset = 1.0 : f64} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>, tensor<6x10xf32>, tensor<6x10xf32>) -> (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>, tensor<6x10xf32>, tensor<6x10xf32>)
  return %0, %1, %2#0, %2#5, %2#6 : tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<6x10xf32>, tensor<6x10xf32>
}

// Their derivative, cut likewise.
// CHECK: partition @experts_backward: equal
func.func @experts_backward(%x: tensor<2x6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>}, %l: tensor<2x6x6xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>}) -> (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x16x10xf32>) {
  %routing = nn.router %l {normalized, top_k = 2 : i64} : (tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %gate = tp.parameter "experts.{e}.gate" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>]} : tensor<6x10x16xf32>
  %up = tp.parameter "experts.{e}.up" : tensor<6x10x16xf32>
  %down = tp.parameter "experts.{e}.down" : tensor<6x16x10xf32>
  %0:5 = nn.experts_backward %x, %x, %routing, %gate, %up, %down {activation = "silu"} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>) -> (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>)
  %wide = tp.parameter "wide.{e}.gate" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}, {}]>]} : tensor<6x10x16xf32>
  %1:5 = nn.experts_backward %x, %x, %routing, %wide, %up, %down {activation = "gelu_erf"} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>) -> (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x16x10xf32>)
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#4 : tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x16x10xf32>
}

// Outputs of the last product, and sequences, are independent.
// CHECK: partition @experts_parallel: equal
func.func @experts_parallel(%x: tensor<2x6x16xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp"}, {}]>}, %l: tensor<2x6x6xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {}]>}) -> (tensor<2x6x15xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp"}, {"tp"}]>}, tensor<2x6x6xf32>) {
  %bias = tp.parameter "bias" : tensor<6xf32>
  %routing = nn.router %l bias %bias {group_best = 2 : i64, groups = 3 : i64, normalized, scale = 2.5 : f64, sigmoid, top_groups = 2 : i64, top_k = 3 : i64} : (tensor<2x6x6xf32>, tensor<6xf32>) -> tensor<2x6x6xf32>
  %gate = tp.parameter "experts.{e}.gate" : tensor<6x10x16xf32>
  %up = tp.parameter "experts.{e}.up" : tensor<6x10x16xf32>
  %down = tp.parameter "narrow.{e}.down" : tensor<6x15x10xf32>
  %0 = nn.experts %x, %routing, %gate, %up, %down {activation = "relu"} : (tensor<2x6x16xf32>, tensor<2x6x6xf32>, tensor<6x10x16xf32>, tensor<6x10x16xf32>, tensor<6x15x10xf32>) -> tensor<2x6x15xf32>
  return %0, %routing : tensor<2x6x15xf32>, tensor<2x6x6xf32>
}
