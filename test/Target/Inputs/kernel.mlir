// A row kernel, a product, and a row kernel that reads it.
func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %w = tp.parameter "w" : tensor<256x256xf32>
  %g = tp.parameter "g" : tensor<256xf32>
  %0 = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  %1 = nn.linear %0, %w : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %2 = nn.silu %1 : tensor<64x256xf32>
  return %2 : tensor<64x256xf32>
}
