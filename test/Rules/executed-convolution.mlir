// Causal convolutions with channels over ranks, evenly and not, against the
// one-device program; their rules; and by hand, that they are what they say.
// RUN: tp-verify %s | FileCheck %s
// RUN: tp-opt %s --test-tp-print-rules -o /dev/null 2>&1 | FileCheck %s --check-prefix=RULE

tp.mesh @mesh <["dp"=2, "tp"=4]>

// RULE: b=2, s=6 whole, channels=10, one=1 whole, k=3 whole: [b, s, channels] multilinear, [channels, one, k] multilinear, [channels] additive -> [b, s, channels]
// CHECK: partition @channels: equal
func.func @channels(%x: tensor<2x6x10xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {"tp"}]>}) -> tensor<2x6x10xf32> {
  %w = tp.parameter "w" : tensor<10x1x3xf32>
  %b = tp.parameter "b" : tensor<10xf32>
  %y = nn.causal_conv %x, %w bias %b : (tensor<2x6x10xf32>, tensor<10x1x3xf32>, tensor<10xf32>) -> tensor<2x6x10xf32>
  %z = nn.causal_conv %y, %w {reversed} : (tensor<2x6x10xf32>, tensor<10x1x3xf32>) -> tensor<2x6x10xf32>
  return %z : tensor<2x6x10xf32>
}

// A sequence over ranks is gathered, for each position needs those before it.
// CHECK: partition @sequence: equal
func.func @sequence(%x: tensor<2x8x4xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}, {}]>}) -> (tensor<2x8x4xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}, {}]>}) {
  %w = tp.parameter "w5" : tensor<4x1x5xf32>
  %y = nn.causal_conv %x, %w : (tensor<2x8x4xf32>, tensor<4x1x5xf32>) -> tensor<2x8x4xf32>
  return %y : tensor<2x8x4xf32>
}

// Tokens of three rows and padding, one row without; positions of pages of 4, of which two
// inputs are kept.
// CHECK: partition @step: equal
func.func @step(%x: tensor<1x8x10xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}]>}, %pool: tensor<12x10x1xf32>) -> (tensor<1x8x10xf32>, tensor<12x10x1xf32>) {
  %starts = arith.constant dense<[0, 3, 3, 4, 6]> : tensor<5xi32>
  %context = arith.constant dense<[3, 0, 7, 0]> : tensor<4xi32>
  %table = arith.constant dense<[[5, 1, -1], [-1, -1, -1], [-1, 0, -1], [2, -1, -1]]> : tensor<4x3xi32>
  %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 4 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x3xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>)
  // RULE: tokens=8 whole, earlier=2 whole, rows=4 whole, pages=3 whole: [tokens], [tokens], [tokens], [rows, pages] -> [tokens], [tokens, earlier]
  %slots, %sources = nn.conv_places %rows, %positions, %cells, %table {page = 4 : i64} : (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<4x3xi32>) -> (tensor<8xi32>, tensor<8x2xi32>)
  %w = tp.parameter "w" : tensor<10x1x3xf32>
  // RULE: b=1 whole, tokens=8 whole, channels=10, one=1 whole, k=3 whole, slots=12 whole, single=1 whole, earlier=2 whole: [b, tokens, channels], [channels, one, k] multilinear, [slots, channels, single], [tokens, earlier] -> [b, tokens, channels]
  %y = nn.paged_conv %x, %w, %pool, %sources : (tensor<1x8x10xf32>, tensor<10x1x3xf32>, tensor<12x10x1xf32>, tensor<8x2xi32>) -> tensor<1x8x10xf32>
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x8x10xf32> into tensor<8x10xf32>
  %new = tensor.expand_shape %flat [[0], [1, 2]] output_shape [8, 10, 1] : tensor<8x10xf32> into tensor<8x10x1xf32>
  %next = nn.cache_write %new, %slots, %pool : (tensor<8x10x1xf32>, tensor<8xi32>, tensor<12x10x1xf32>) -> tensor<12x10x1xf32>
  return %y, %next : tensor<1x8x10xf32>, tensor<12x10x1xf32>
}
