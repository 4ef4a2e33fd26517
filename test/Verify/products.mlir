// A product of two partial sums over different axes is the partial sum over both;
// over one axis, one of them is reduced first.
// RUN: tp-verify %s --stages partition,collectives,lower | FileCheck %s
// CHECK: partition @different: equal
// CHECK: partition @same: equal
// CHECK: collectives @different: equal
// CHECK: collectives @same: equal
// CHECK: lower @different: equal
// CHECK: lower @same: equal
tp.mesh @mesh <["dp"=2, "tp"=3]>
func.func @different(%x: tensor<1x6x12xf32>) -> tensor<1x6x6xf32> {
  %a = tp.parameter "a.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"dp"}]>]} : tensor<6x12xf32>
  %b = tp.parameter "b.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<6x12xf32>
  %0 = nn.linear %x, %a : (tensor<1x6x12xf32>, tensor<6x12xf32>) -> tensor<1x6x6xf32>
  %1 = nn.linear %x, %b : (tensor<1x6x12xf32>, tensor<6x12xf32>) -> tensor<1x6x6xf32>
  %2 = arith.mulf %0, %1 : tensor<1x6x6xf32>
  return %2 : tensor<1x6x6xf32>
}
func.func @same(%x: tensor<1x6x12xf32>) -> tensor<1x6x6xf32> {
  %a = tp.parameter "a.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<6x12xf32>
  %b = tp.parameter "c.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<6x12xf32>
  %0 = nn.linear %x, %a : (tensor<1x6x12xf32>, tensor<6x12xf32>) -> tensor<1x6x6xf32>
  %1 = nn.linear %x, %b : (tensor<1x6x12xf32>, tensor<6x12xf32>) -> tensor<1x6x6xf32>
  %2 = arith.mulf %0, %1 : tensor<1x6x6xf32>
  return %2 : tensor<1x6x6xf32>
}
