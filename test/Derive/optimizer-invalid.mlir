// RUN: tp-opt %s --tp-derive-training="optimizer=lion" --verify-diagnostics

// expected-error @below {{for optimizer: expected adamw or sgd, got 'lion'}}
module {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    return %x : tensor<4x8xf32>
  }
}
