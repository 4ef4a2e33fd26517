// RUN: tp-opt %s --tp-import-pipeline --split-input-file --verify-diagnostics

// Attributes of a private function's values that inlining would lose.

func.func @main(%x: tensor<8xi64>) -> tensor<8xi64> {
  %0 = call @f(%x) : (tensor<8xi64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}
// expected-error@+1 {{'func.func' op argument 0 has tp.range, which is lost when the calls of a private function are inlined: give it to the function that calls it}}
func.func private @f(%x: tensor<8xi64> {tp.range = array<i64: 0, 9>}) -> tensor<8xi64> {
  return %x : tensor<8xi64>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// expected-error@+1 {{'func.func' op result 0 has tp.loss, which is lost when the calls of a private function are inlined: give it to the function that calls it}}
func.func private @f(%x: tensor<f32>) -> (tensor<f32> {tp.loss}) {
  return %x : tensor<f32>
}

// -----

// expected-note@+1 {{declared here}}
func.func private @elsewhere(%x: tensor<8xf32>) -> tensor<8xf32>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'func.call' op cannot be inlined, as all calls are before sharding: @elsewhere has no body; define it in this module}}
  %0 = call @elsewhere(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// expected-error@+1 {{'func.func' op calls itself, directly or by way of others: recursion cannot be inlined, as all calls are before sharding; write layers that repeat as tp.repeat}}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @g(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @g(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
