// Powers of numbers below zero and to the power of zero, and squares of large
// numbers, which exp(y log x) would have wrong by many units.
// RUN: tp-verify %s --stages lower | FileCheck %s
// CHECK: lower @main: equal

func.func @main(%x: tensor<64x9xf32> {tp.values = "integers"}, %y: tensor<64x9xf32> {tp.values = "integers"}, %z: tensor<64x9xf32> {tp.values = "large"}) -> (tensor<64x9xf32>, tensor<64x9xf32>, tensor<64x9xf32>, tensor<64x9xf32>) {
  %two = arith.constant dense<2.0> : tensor<64x9xf32>
  %three = arith.constant dense<3.0> : tensor<64x9xf32>
  %minus = arith.constant dense<-1.0> : tensor<64x9xf32>
  %0 = math.powf %x, %y : tensor<64x9xf32>
  %1 = math.powf %z, %two : tensor<64x9xf32>
  %2 = math.powf %z, %three : tensor<64x9xf32>
  %3 = math.powf %z, %minus : tensor<64x9xf32>
  return %0, %1, %2, %3 : tensor<64x9xf32>, tensor<64x9xf32>, tensor<64x9xf32>, tensor<64x9xf32>
}
