// The MLP of a published measurement on H100: batch 16, 128 tokens, h 4096, f 11008, f32.
func.func @main(%x: tensor<16x128x4096xf32>) -> tensor<16x128x4096xf32> {
  %up = tp.parameter "up.weight" : tensor<11008x4096xf32>
  %down = tp.parameter "down.weight" : tensor<4096x11008xf32>
  %0 = nn.linear %x, %up : (tensor<16x128x4096xf32>, tensor<11008x4096xf32>) -> tensor<16x128x11008xf32>
  %1 = nn.silu %0 : tensor<16x128x11008xf32>
  %2 = nn.linear %1, %down : (tensor<16x128x11008xf32>, tensor<4096x11008xf32>) -> tensor<16x128x4096xf32>
  return %2 : tensor<16x128x4096xf32>
}
