// RUN: tp-opt %s --tp-derive-training --split-input-file --verify-diagnostics

// expected-error @below {{training cannot be derived: expected one result, logits [..., classes] or a loss f32[], or one of several named "logits", got 2}}
func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  return %x, %x : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// expected-error @below {{or one of several named "logits", got 0}}
func.func @main(%x: tensor<8xi64>) -> tensor<8xi64> {
  return %x : tensor<8xi64>
}

// -----

module attributes {tp.training = {optimizer = "sgd"}} {
  // expected-error @below {{training cannot be derived: the module asks for a training step already}}
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    return %x : tensor<4x8xf32>
  }
}

// -----

// expected-error @below {{training cannot be derived: expected a function @main}}
module {
  func.func @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    return %x : tensor<4x8xf32>
  }
}
