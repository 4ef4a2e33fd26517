// Experts of Qwen3-30B-A3B (128 of them, 8 for a token) in tiles of each size: a prompt
// of 2048 tokens, of 1024, of 256, and a step of 16; in f32 with another activation; and
// derivatives.

func.func @prompt(%x: tensor<2048x2048xbf16>, %r: tensor<2048x128xf32>, %g: tensor<128x768x2048xbf16>, %u: tensor<128x768x2048xbf16>, %d: tensor<128x2048x768xbf16>) -> tensor<2048x2048xbf16> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<2048x2048xbf16>, tensor<2048x128xf32>, tensor<128x768x2048xbf16>, tensor<128x768x2048xbf16>, tensor<128x2048x768xbf16>) -> tensor<2048x2048xbf16>
  return %y : tensor<2048x2048xbf16>
}

func.func @half(%x: tensor<1024x2048xbf16>, %r: tensor<1024x128xf32>, %g: tensor<128x768x2048xbf16>, %u: tensor<128x768x2048xbf16>, %d: tensor<128x2048x768xbf16>) -> tensor<1024x2048xbf16> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<1024x2048xbf16>, tensor<1024x128xf32>, tensor<128x768x2048xbf16>, tensor<128x768x2048xbf16>, tensor<128x2048x768xbf16>) -> tensor<1024x2048xbf16>
  return %y : tensor<1024x2048xbf16>
}

func.func @piece(%x: tensor<256x2048xbf16>, %r: tensor<256x128xf32>, %g: tensor<128x768x2048xbf16>, %u: tensor<128x768x2048xbf16>, %d: tensor<128x2048x768xbf16>) -> tensor<256x2048xbf16> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<256x2048xbf16>, tensor<256x128xf32>, tensor<128x768x2048xbf16>, tensor<128x768x2048xbf16>, tensor<128x2048x768xbf16>) -> tensor<256x2048xbf16>
  return %y : tensor<256x2048xbf16>
}

func.func @step(%x: tensor<16x2048xbf16>, %r: tensor<16x128xf32>, %g: tensor<128x768x2048xbf16>, %u: tensor<128x768x2048xbf16>, %d: tensor<128x2048x768xbf16>) -> tensor<16x2048xbf16> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<16x2048xbf16>, tensor<16x128xf32>, tensor<128x768x2048xbf16>, tensor<128x768x2048xbf16>, tensor<128x2048x768xbf16>) -> tensor<16x2048xbf16>
  return %y : tensor<16x2048xbf16>
}

func.func @prompt_f32(%x: tensor<2048x2048xf32>, %r: tensor<2048x128xf32>, %g: tensor<128x768x2048xf32>, %u: tensor<128x768x2048xf32>, %d: tensor<128x2048x768xf32>) -> tensor<2048x2048xf32> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "gelu_erf", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<2048x2048xf32>, tensor<2048x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>) -> tensor<2048x2048xf32>
  return %y : tensor<2048x2048xf32>
}

func.func @step_f32(%x: tensor<16x2048xf32>, %r: tensor<16x128xf32>, %g: tensor<128x768x2048xf32>, %u: tensor<128x768x2048xf32>, %d: tensor<128x2048x768xf32>) -> tensor<16x2048xf32> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<16x2048xf32>, tensor<16x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>) -> tensor<16x2048xf32>
  return %y : tensor<16x2048xf32>
}

func.func @train(%dy: tensor<2048x2048xbf16>, %x: tensor<2048x2048xbf16>, %r: tensor<2048x128xf32>, %g: tensor<128x768x2048xbf16>, %u: tensor<128x768x2048xbf16>, %d: tensor<128x2048x768xbf16>) -> (tensor<2048x2048xbf16>, tensor<2048x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>) {
  %0, %1, %2, %3, %4 = nn.experts_backward %dy, %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<2048x2048xbf16>, tensor<2048x2048xbf16>, tensor<2048x128xf32>, tensor<128x768x2048xbf16>, tensor<128x768x2048xbf16>, tensor<128x2048x768xbf16>) -> (tensor<2048x2048xbf16>, tensor<2048x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>)
  return %0, %1, %2, %3, %4 : tensor<2048x2048xbf16>, tensor<2048x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>
}

func.func @train_piece(%dy: tensor<256x2048xbf16>, %x: tensor<256x2048xbf16>, %r: tensor<256x128xf32>, %g: tensor<128x768x2048xbf16>, %u: tensor<128x768x2048xbf16>, %d: tensor<128x2048x768xbf16>) -> (tensor<256x2048xbf16>, tensor<256x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>) {
  %0, %1, %2, %3, %4 = nn.experts_backward %dy, %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<256x2048xbf16>, tensor<256x2048xbf16>, tensor<256x128xf32>, tensor<128x768x2048xbf16>, tensor<128x768x2048xbf16>, tensor<128x2048x768xbf16>) -> (tensor<256x2048xbf16>, tensor<256x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>)
  return %0, %1, %2, %3, %4 : tensor<256x2048xbf16>, tensor<256x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>
}

func.func @train_few(%dy: tensor<16x2048xbf16>, %x: tensor<16x2048xbf16>, %r: tensor<16x128xf32>, %g: tensor<128x768x2048xbf16>, %u: tensor<128x768x2048xbf16>, %d: tensor<128x2048x768xbf16>) -> (tensor<16x2048xbf16>, tensor<16x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>) {
  %0, %1, %2, %3, %4 = nn.experts_backward %dy, %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<16x2048xbf16>, tensor<16x2048xbf16>, tensor<16x128xf32>, tensor<128x768x2048xbf16>, tensor<128x768x2048xbf16>, tensor<128x2048x768xbf16>) -> (tensor<16x2048xbf16>, tensor<16x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>)
  return %0, %1, %2, %3, %4 : tensor<16x2048xbf16>, tensor<16x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>
}

func.func @train_f32(%dy: tensor<2048x2048xf32>, %x: tensor<2048x2048xf32>, %r: tensor<2048x128xf32>, %g: tensor<128x768x2048xf32>, %u: tensor<128x768x2048xf32>, %d: tensor<128x2048x768xf32>) -> (tensor<2048x2048xf32>, tensor<2048x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>) {
  %0, %1, %2, %3, %4 = nn.experts_backward %dy, %x, %r, %g, %u, %d {activation = "gelu_erf", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>) -> (tensor<2048x2048xf32>, tensor<2048x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>)
  return %0, %1, %2, %3, %4 : tensor<2048x2048xf32>, tensor<2048x128xf32>, tensor<128x768x2048xf32>, tensor<128x768x2048xf32>, tensor<128x2048x768xf32>
}
