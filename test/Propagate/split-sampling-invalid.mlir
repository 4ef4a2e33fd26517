// RUN: tp-opt %s --tp-split-sampling --verify-diagnostics

func.func @main(%logits: tensor<4x131xf32>, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>) -> tensor<4xi32> {
  // expected-error @below {{'nn.sample' op expected shardings of its operands and results: run tp-propagate first}}
  %0:2 = nn.sample %logits, %p, %i, %t, %p, %t, %t : (tensor<4x131xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %0#0 : tensor<4xi32>
}
