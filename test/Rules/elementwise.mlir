// RUN: tp-opt %s --test-tp-print-rules --verify-diagnostics

func.func @linear(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) {
  // expected-remark @below {{d0=4, d1=6: [d0, d1] additive, [d0, d1] additive -> [d0, d1]}}
  %0 = arith.addf %x, %y : tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1] additive, [d0, d1] additive -> [d0, d1]}}
  %1 = arith.subf %x, %y : tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear, [d0, d1] multilinear -> [d0, d1]}}
  %2 = arith.mulf %x, %y : tensor<4x6xf32>
  // By a zero, parts would be infinities of both signs.
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1] -> [d0, d1]}}
  %3 = arith.divf %x, %y : tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear -> [d0, d1]}}
  %4 = arith.negf %x : tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear -> [d0, d1]}}
  %5 = arith.truncf %x : tensor<4x6xf32> to tensor<4x6xbf16>
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear -> [d0, d1]}}
  %6 = arith.extf %5 : tensor<4x6xbf16> to tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1] multilinear, [d0, d1] multilinear, [d0, d1] additive -> [d0, d1]}}
  %7 = math.fma %x, %y, %x : tensor<4x6xf32>
  return
}

func.func @not_linear(%x: tensor<4x6xf32>, %c: tensor<4x6xi1>) {
  // expected-remark @below {{d0=4, d1=6: [d0, d1] -> [d0, d1]}}
  %0 = math.exp %x : tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1] -> [d0, d1]}}
  %1 = arith.maximumf %x, %x : tensor<4x6xf32>
  // Both branches together, the condition whole.
  // expected-remark @below {{d0=4, d1=6: [d0, d1], [d0, d1] additive, [d0, d1] additive -> [d0, d1]}}
  %2 = arith.select %c, %x, %x : tensor<4x6xi1>, tensor<4x6xf32>
  return
}

func.func @constants() {
  // expected-remark @below {{d0=4, d1=6:  -> [d0, d1]}}
  %0 = arith.constant dense<1.0> : tensor<4x6xf32>
  // expected-remark @below {{d0=3:  -> [d0]}}
  %1 = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  // Scalar code runs alike on every rank.
  // expected-remark @below {{:  -> []}}
  %2 = arith.constant 3 : index
  // expected-remark @below {{: [], [] -> []}}
  %3 = arith.addi %2, %2 : index
  return
}
