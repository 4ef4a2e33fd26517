// A scalar that is summed over ranks is seen as other values are: where its addends
// are infinities of both signs, compiled code cannot be judged either.
// RUN: tp-verify %s --plan none --stages lower 2>&1 | FileCheck %s
// CHECK: lower @main: equal
// CHECK-SAME: elements not judged

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}, %s: tensor<f32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %large = arith.constant dense<1000.0> : tensor<f32>
  %other = arith.mulf %s, %s : tensor<f32>
  %larger = arith.addf %other, %large : tensor<f32>
  %infinity = math.exp %larger : tensor<f32>
  %signs = arith.constant dense<[5.0, 5.0, 5.0, 5.0, -1.0, -1.0, -1.0, -1.0]> : tensor<8xf32>
  %square = arith.mulf %x, %x : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %positive = arith.addf %square, %one : tensor<8xf32>
  %terms = arith.mulf %positive, %signs : tensor<8xf32>
  %e = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%terms : tensor<8xf32>) outs(%init : tensor<f32>) dimensions = [0]
  %y = arith.mulf %sum, %infinity : tensor<f32>
  return %y : tensor<f32>
}
