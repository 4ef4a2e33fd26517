// Sizes that leave whole ranks without data, compiled: 8 over 6 ranks are blocks
// of 2, of which the last two hold nothing but padding that must be zero.
// RUN: tp-verify %s --stages partition,lower | FileCheck %s
// CHECK: partition @main: equal
// CHECK: lower @main: equal
tp.mesh @mesh <["dp"=2, "tp"=3]>
func.func @main(%x: tensor<1x10xf32>) -> tensor<1x10xf32> {
  %w2 = tp.parameter "p2.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"dp"}]>]} : tensor<10x10xf32>
  %w5 = tp.parameter "p3.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {}]>]} : tensor<8x10xf32>
  %b = tp.parameter "p4.bias" {tp.shardings = [#tp.sharding<@mesh, [{"dp", "tp"}]>]} : tensor<8xf32>
  %w9 = tp.parameter "p5.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"dp"}]>]} : tensor<10x8xf32>
  %4 = nn.linear %x, %w2 : (tensor<1x10xf32>, tensor<10x10xf32>) -> tensor<1x10xf32>
  %7 = nn.linear %4, %w5 bias %b : (tensor<1x10xf32>, tensor<8x10xf32>, tensor<8xf32>) -> tensor<1x8xf32>
  %8 = nn.silu %7 : tensor<1x8xf32>
  %10 = nn.linear %8, %w9 : (tensor<1x8xf32>, tensor<10x8xf32>) -> tensor<1x10xf32>
  return %10 : tensor<1x10xf32>
}
