// Softmax where it stands alone, over as many columns as Llama 3 has words, and
// the cast of logits.
func.func @f32(%x: tensor<4x128256xf32>) -> tensor<4x128256xf32> {
  %y = nn.softmax %x : tensor<4x128256xf32>
  return %y : tensor<4x128256xf32>
}

func.func @bf16(%x: tensor<4x128256xbf16>) -> (tensor<4x128256xbf16>, tensor<4x128256xf32>) {
  %y = nn.softmax %x : tensor<4x128256xbf16>
  %wide = arith.extf %x : tensor<4x128256xbf16> to tensor<4x128256xf32>
  return %y, %wide : tensor<4x128256xbf16>, tensor<4x128256xf32>
}

func.func @f16(%x: tensor<4x128256xf16>) -> (tensor<4x128256xf16>, tensor<4x128256xf32>) {
  %y = nn.softmax %x : tensor<4x128256xf16>
  %wide = arith.extf %x : tensor<4x128256xf16> to tensor<4x128256xf32>
  return %y, %wide : tensor<4x128256xf16>, tensor<4x128256xf32>
}
