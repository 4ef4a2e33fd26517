// RUN: tp-verify %s --plan none | FileCheck %s

// (h + AR(a)) + AR(b) becomes h + AR(a + b); a + b is no value of the one-device
// program, and is not compared with one.

// CHECK: collectives @main: equal
tp.mesh @mesh <["tp"=2]>
func.func @main(%h: tensor<8x16xf32>, %x: tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<8x16xf32> {
  %v = tp.parameter "v" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<16x64xf32>
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<16x64xf32>
  %a = nn.linear %x, %v : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
  %b = nn.linear %x, %w : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
  %ha = arith.addf %h, %a : tensor<8x16xf32>
  %s = arith.addf %ha, %b : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}
