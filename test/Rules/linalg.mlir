// RUN: tp-opt %s --split-input-file --test-tp-print-rules --verify-diagnostics

func.func @named(%a: tensor<4x6xf32>, %b: tensor<6x8xf32>, %c: tensor<4x8xf32>, %b2: tensor<8x6xf32>, %v: tensor<4xf32>, %f: f32) {
  // A constant fill is the same wherever the tensor is cut.
  // expected-remark @below {{d0=4, d1=8: [], [d0, d1] -> [d0, d1]}}
  %0 = linalg.fill ins(%f : f32) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  // The initial value counts once where d2 is split.
  // expected-remark @below {{d0=4, d1=8, d2=6 sum: [d0, d2] multilinear, [d2, d1] multilinear, [d0, d1] additive -> [d0, d1]}}
  %1 = linalg.matmul ins(%a, %b : tensor<4x6xf32>, tensor<6x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{d0=8, d1=6: [d1, d0] multilinear, [d0, d1] -> [d0, d1]}}
  %2 = linalg.transpose ins(%b : tensor<6x8xf32>) outs(%b2 : tensor<8x6xf32>) permutation = [1, 0]
  // expected-remark @below {{d0=4, d1=6: [d0] multilinear, [d0, d1] -> [d0, d1]}}
  %3 = linalg.broadcast ins(%v : tensor<4xf32>) outs(%a : tensor<4x6xf32>) dimensions = [1]
  // expected-remark @below {{d0=4, d1=6 sum: [d0, d1] additive, [d0] additive -> [d0]}}
  %4 = linalg.reduce { arith.addf } ins(%a : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  // expected-remark @below {{d0=4, d1=6 max: [d0, d1], [d0] -> [d0]}}
  %5 = linalg.reduce { arith.maximumf } ins(%a : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  // expected-remark @below {{d0=4, d1=6 min: [d0, d1], [d0] -> [d0]}}
  %6 = linalg.reduce { arith.minimumf } ins(%a : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  // A product over split positions is not known to the algebra.
  // expected-remark @below {{d0=4, d1=6 whole: [d0, d1], [d0] -> [d0]}}
  %7 = linalg.reduce { arith.mulf } ins(%a : tensor<4x6xf32>) outs(%v : tensor<4xf32>) dimensions = [1]
  return
}
