// %f is the rounding of a sum and nothing else: any number below one is right, and
// the whole program says nothing of what is made of it. Each operation is judged
// from what the ranks had of its operands: three times %f is, two times is not.
// RUN: tp-verify %s --stages partition,collectives | FileCheck %s
// RUN: tp-opt %s --tp-assign-value-ids --tp-propagate-pipeline --tp-partition-pipeline -o %t.mlir
// RUN: tp-verify %s --against %t.mlir | FileCheck %s --check-prefix=SAME
// RUN: sed 's/dense<3.0/dense<2.0/' %t.mlir > %t.wrong.mlir
// RUN: not tp-verify %s --against %t.wrong.mlir | FileCheck %s --check-prefix=WRONG
// CHECK: partition @main: equal, {{.*}}, operation by operation
// CHECK: collectives @main: equal, {{.*}}, operation by operation
// SAME: given @main: equal, {{.*}}, operation by operation
// WRONG: given @main: differs first at

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<16x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<16x64xf32>) outs(%init : tensor<16xf32>) dimensions = [1] loc("sum")
  %large = arith.constant dense<1.0e+05> : tensor<16xf32>
  %m = arith.mulf %s, %large : tensor<16xf32>
  %floor = math.floor %m : tensor<16xf32>
  %f = arith.subf %m, %floor : tensor<16xf32>
  %three = arith.constant dense<3.0> : tensor<16xf32>
  %y = arith.mulf %f, %three : tensor<16xf32> loc("three times")
  return %y : tensor<16xf32>
}
