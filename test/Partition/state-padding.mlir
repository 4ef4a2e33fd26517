// Past the end of a state lies what a step before this one left there: a sum over
// it is masked, unlike one over an input, whose padding is zero.
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline | FileCheck %s
// RUN: tp-verify %s | FileCheck %s --check-prefix=EQUAL
// EQUAL-COUNT-4: equal

// CHECK-LABEL: func.func @state
// CHECK: arith.cmpi
// CHECK: tp.all_reduce
// CHECK-LABEL: func.func @input
// CHECK-NOT: arith.cmpi
// CHECK: tp.all_reduce

tp.mesh @mesh <["tp"=2]>
tp.state @s : tensor<13xf32> sharding <@mesh, [{"tp"}]>

func.func @state(%x: tensor<13xf32> {tp.state = @s}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<13xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %sum : tensor<f32>
}
func.func @input(%x: tensor<13xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<13xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %sum : tensor<f32>
}
