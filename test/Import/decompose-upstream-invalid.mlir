// RUN: tp-opt %s --tp-decompose-upstream -verify-diagnostics

func.func @main(%x: tensor<?x6xf32>, %e: tensor<?x6xf32>) -> tensor<?x6xf32> {
  // expected-error @+1 {{'linalg.softmax' op expected a result of its input's static type}}
  %0 = linalg.softmax dimension(1) ins(%x : tensor<?x6xf32>) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  return %0 : tensor<?x6xf32>
}
