// RUN: tp-verify %s --derivative | FileCheck %s --check-prefix=DERIVATIVE
// RUN: tp-verify %s --stages partition,lower | FileCheck %s

// The mean of exponentials over what a comparison chose, of a dimension that the
// ranks do not divide: the count divides, and the mask is in the derivative too.

// DERIVATIVE: derivative: equal, gradients of 1 parameters compared
// CHECK: partition @gradient: equal
// CHECK: lower @gradient: equal
tp.mesh @mesh <["tp"=3]>
func.func @main(%x: tensor<7x3xf32> {tp.name = "x", tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<f32> {tp.name = "loss", tp.loss}) {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<7x3xf32>
  %y = arith.mulf %x, %w : tensor<7x3xf32>
  %half = arith.constant dense<-0.5> : tensor<7x3xf32>
  %k = arith.cmpf ogt, %y, %half : tensor<7x3xf32>
  %f = arith.uitofp %k : tensor<7x3xi1> to tensor<7x3xf32>
  %e = math.exp %y : tensor<7x3xf32>
  %zeros = arith.constant dense<0.0> : tensor<7x3xf32>
  %p = arith.select %k, %e, %zeros : tensor<7x3xi1>, tensor<7x3xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %n = linalg.reduce {arith.addf} ins(%f : tensor<7x3xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
  %s = linalg.reduce {arith.addf} ins(%p : tensor<7x3xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
  %mean = arith.divf %s, %n : tensor<f32>
  return %mean : tensor<f32>
}
