// Constants wherever a tensor may stand: as a bias, as a mask of booleans, as a
// result, as the initial value of a repeated layer, as a table with different
// elements.

// RUN: rm -rf %t && mkdir -p %t/weights
// RUN: %python %S/Inputs/constants.py prepare %t
// RUN: tp-compile %s --plan replicated -o %t/model.tpa 2> %t/log
// RUN: tp-run %t/model.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/constants.py check %t | FileCheck %s

// CHECK: biased: agrees
// CHECK: masked: agrees
// CHECK: constant: agrees
// CHECK: doubled: agrees
// CHECK: table: agrees

func.func @main(%x: tensor<2x3xf32> {tp.name = "x"})
    -> (tensor<2x4xf32> {tp.name = "biased"}, tensor<2x3xf32> {tp.name = "masked"}, tensor<2x2xf32> {tp.name = "constant"}, tensor<3xf32> {tp.name = "doubled"}, tensor<2x3xf32> {tp.name = "table"}) {
  %w = tp.parameter "w" : tensor<4x3xf32>
  %bias = arith.constant dense<0.5> : tensor<4xf32>
  %0 = nn.linear %x, %w bias %bias : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %mask = arith.constant dense<[[true, false, true], [false, true, true]]> : tensor<2x3xi1>
  %zero = arith.constant dense<0.0> : tensor<2x3xf32>
  %1 = arith.select %mask, %x, %zero : tensor<2x3xi1>, tensor<2x3xf32>
  %2 = arith.constant dense<7.0> : tensor<2x2xf32>
  %start = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %3 = tp.repeat 3 times iter(%start) : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%i: index, %h: tensor<3xf32>):
    %d = arith.addf %h, %h : tensor<3xf32>
    tp.yield %d : tensor<3xf32>
  }
  %table = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %4 = arith.mulf %x, %table : tensor<2x3xf32>
  return %0, %1, %2, %3, %4 : tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x2xf32>, tensor<3xf32>, tensor<2x3xf32>
}
