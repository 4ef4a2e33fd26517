// REQUIRES: ptxas
// RUN: tp-compile %s --target cuda:sm_80,sm_100 --save-kernels=%t -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t/kernels.json 6 sm_80,sm_100

// No kernel of generation spills: a chunk over pages with tensor cores, a decoding
// step on a cache of another type, whose second kernel is one of the six, what writes
// the cache, and sampling.

func.func @chunk(%q: tensor<1x512x32x128xbf16>, %k: tensor<16384x8x128xbf16>, %rows: tensor<512xi32>, %positions: tensor<512xi32>, %table: tensor<16x128xi32>) -> tensor<1x512x32x128xbf16> {
  %o = nn.paged_attention %q, %k, %k, %rows, %positions, %table {page = 32 : i64, scale = 0.125 : f64} : (tensor<1x512x32x128xbf16>, tensor<16384x8x128xbf16>, tensor<16384x8x128xbf16>, tensor<512xi32>, tensor<512xi32>, tensor<16x128xi32>) -> tensor<1x512x32x128xbf16>
  return %o : tensor<1x512x32x128xbf16>
}

func.func @mixedDecode(%q: tensor<1x4x8x64xbf16>, %k: tensor<16384x2x64xf16>, %rows: tensor<4xi32>, %positions: tensor<4xi32>, %table: tensor<16x128xi32>) -> tensor<1x4x8x64xbf16> {
  %o = nn.paged_attention %q, %k, %k, %rows, %positions, %table {page = 32 : i64, scale = 0.125 : f64} : (tensor<1x4x8x64xbf16>, tensor<16384x2x64xf16>, tensor<16384x2x64xf16>, tensor<4xi32>, tensor<4xi32>, tensor<16x128xi32>) -> tensor<1x4x8x64xbf16>
  return %o : tensor<1x4x8x64xbf16>
}

func.func @write(%k: tensor<512x8x128xbf16>, %cells: tensor<512xi32>, %pool: tensor<16384x8x128xbf16>) -> tensor<16384x8x128xbf16> {
  %0 = nn.cache_write %k, %cells, %pool : (tensor<512x8x128xbf16>, tensor<512xi32>, tensor<16384x8x128xbf16>) -> tensor<16384x8x128xbf16>
  return %0 : tensor<16384x8x128xbf16>
}

func.func @sample(%logits: tensor<16x128256xf32>, %blocks: tensor<1xi32>, %positions: tensor<16xi32>, %seed: tensor<16xi64>, %x: tensor<16xf32>) -> (tensor<16xi32>, tensor<16xf32>) {
  %records = nn.sample_records %logits, %blocks, %positions, %seed, %x {vocabulary = 128256 : i64} : (tensor<16x128256xf32>, tensor<1xi32>, tensor<16xi32>, tensor<16xi64>, tensor<16xf32>) -> tensor<1x16x133xf32>
  %token, %logprob = nn.sample_pick %records, %positions, %seed, %x, %positions, %x, %x : (tensor<1x16x133xf32>, tensor<16xi32>, tensor<16xi64>, tensor<16xf32>, tensor<16xi32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xi32>, tensor<16xf32>)
  return %token, %logprob : tensor<16xi32>, tensor<16xf32>
}
