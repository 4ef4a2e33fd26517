// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=16' --split-input-file --verify-diagnostics

// A rank would have no query head.
func.func @heads(%x: tensor<1x8x64xf32>) -> tensor<1x8x14x8xf32> {
  %wq = tp.parameter "q_proj.weight" : tensor<112x64xf32>
  %wk = tp.parameter "k_proj.weight" : tensor<16x64xf32>
  %q = nn.linear %x, %wq : (tensor<1x8x64xf32>, tensor<112x64xf32>) -> tensor<1x8x112xf32>
  %k = nn.linear %x, %wk : (tensor<1x8x64xf32>, tensor<16x64xf32>) -> tensor<1x8x16xf32>
  %q1 = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [1, 8, 14, 8] : tensor<1x8x112xf32> into tensor<1x8x14x8xf32>
  %k1 = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [1, 8, 2, 8] : tensor<1x8x16xf32> into tensor<1x8x2x8xf32>
  // expected-error-re @below {{'nn.attention' op at {{.*}}: degree 16 does not fit 14 query heads and 2 key/value heads: some ranks would have none; degrees that fit: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}}
  %o = nn.attention %q1, %k1, %k1 {causal, scale = 0.35 : f64} : (tensor<1x8x14x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x14x8xf32>
  return %o : tensor<1x8x14x8xf32>
}

// -----

// The output projection's annotation counts as well.
func.func @output(%q: tensor<1x8x14x8xf32>, %k: tensor<1x8x2x8xf32>) -> tensor<1x8x64xf32> {
  %wo = tp.parameter "o_proj.weight" : tensor<64x112xf32>
  // expected-error-re @below {{'nn.attention' op at {{.*}}: degree 16 does not fit 14 query heads and 2 key/value heads: some ranks would have none; degrees that fit: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}}
  %o = nn.attention %q, %k, %k {causal, scale = 0.35 : f64} : (tensor<1x8x14x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x14x8xf32>
  %c = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<1x8x14x8xf32> into tensor<1x8x112xf32>
  %y = nn.linear %c, %wo : (tensor<1x8x112xf32>, tensor<64x112xf32>) -> tensor<1x8x64xf32>
  return %y : tensor<1x8x64xf32>
}
