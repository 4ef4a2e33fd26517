// RUN: tp-opt %s --tp-lower-to-linalg --split-input-file --verify-diagnostics

func.func @stride(%x: tensor<8xf32>, %s: index) -> tensor<2xf32> {
  // expected-error @below {{'tensor.extract_slice' op expected static offsets, sizes and strides}}
  %0 = tensor.extract_slice %x[0] [2] [%s] : tensor<8xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @offset(%x: tensor<8xf32>, %i: index) -> tensor<2xf32> {
  // expected-error @below {{'tensor.extract_slice' op expected static offsets, sizes and strides}}
  %0 = tensor.extract_slice %x[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @insert(%x: tensor<2xf32>, %y: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  // expected-error @below {{'tensor.insert_slice' op expected static offsets and strides}}
  %0 = tensor.insert_slice %x into %y[%i] [2] [3] : tensor<2xf32> into tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @pad(%x: tensor<2xf32>, %n: index) -> tensor<?xf32> {
  %c = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.pad' op expected static sizes and padding}}
  %0 = tensor.pad %x low[0] high[%n] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<2xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @negative(%x: tensor<4xf32>) -> tensor<3xf32> {
  %c = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.pad' op expected padding of at least 0, got -1; tensor.extract_slice cuts off}}
  %0 = tensor.pad %x low[-1] high[0] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<4xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}
