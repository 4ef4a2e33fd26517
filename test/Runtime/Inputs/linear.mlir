// A product of two parameters.
func.func @main() -> tensor<4x8xf32> {
  %x = tp.parameter "x" : tensor<4x16xf32>
  %w = tp.parameter "w" : tensor<8x16xf32>
  %0 = nn.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
