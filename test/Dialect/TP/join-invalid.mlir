// RUN: tp-opt %s --split-input-file --verify-diagnostics

func.func @nothing() -> tensor<4xf32> {
  // expected-error @below {{expected a tensor to join, got none}}
  %0 = "tp.join"() : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @types(%a: tensor<4xf32>, %b: tensor<4xbf16>) -> tensor<68xf32> {
  // expected-error @below {{expected tensors of 'f32', got 'tensor<4xbf16>'}}
  %0 = tp.join %a, %b : tensor<4xf32>, tensor<4xbf16> -> tensor<68xf32>
  return %0 : tensor<68xf32>
}

// -----

// The second begins on a multiple of 256 bytes.
func.func @size(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @below {{expected a result of type 'tensor<68xf32>', got 'tensor<8xf32>'}}
  %0 = tp.join %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
