// A pad whose region computes what is put around, at any position.
// RUN: tp-verify %s --plan none --stages lower | FileCheck %s
// CHECK: lower @index: equal
// CHECK: lower @sides: equal
// CHECK: lower @shared: equal
tp.mesh @mesh <["tp"=2]>
func.func @index(%x: tensor<3x4xf32>) -> tensor<6x9xf32> {
  %0 = tensor.pad %x low[1, 2] high[2, 3] {
  ^bb0(%i: index, %j: index):
    %1 = arith.muli %i, %j : index
    %2 = arith.index_cast %1 : index to i64
    %3 = arith.sitofp %2 : i64 to f32
    tensor.yield %3 : f32
  } : tensor<3x4xf32> to tensor<6x9xf32>
  return %0 : tensor<6x9xf32>
}
func.func @sides(%x: tensor<3x4xi64>) -> tensor<6x4xi64> {
  %one = arith.constant 1 : index
  %before = arith.constant 7 : i64
  %behind = arith.constant 9 : i64
  %0 = tensor.pad %x low[1, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    %1 = arith.cmpi slt, %i, %one : index
    %2 = arith.select %1, %before, %behind : i64
    tensor.yield %2 : i64
  } : tensor<3x4xi64> to tensor<6x4xi64>
  return %0 : tensor<6x4xi64>
}
func.func @shared(%x: tensor<3x4xf32>) -> tensor<3x5xf32> {
  %one = arith.constant 1.0 : f32
  %0 = tensor.pad %x low[0, 1] high[0, 0] {
  ^bb0(%i: index, %j: index):
    %1 = arith.addf %one, %one : f32
    tensor.yield %1 : f32
  } : tensor<3x4xf32> to tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
