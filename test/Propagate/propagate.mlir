// RUN: tp-opt %s --tp-propagate --tp-verify-propagated --split-input-file --mlir-print-local-scope | FileCheck %s

// A Megatron MLP: two annotations split the hidden width everywhere and make
// the second layer's result a partial sum; the function's result is whole.
tp.mesh @mesh <["tp"=4]>
func.func @mlp(%x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %up = tp.parameter "up.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<256x64xf32>
  %up_bias = tp.parameter "up.bias" : tensor<256xf32>
  %down = tp.parameter "down.weight" : tensor<64x256xf32>
  %down_bias = tp.parameter "down.bias" : tensor<64xf32>
  %h = nn.linear %x, %up bias %up_bias : (tensor<2x8x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<2x8x256xf32>
  %a = nn.gelu tanh %h : tensor<2x8x256xf32>
  %y = nn.linear %a, %down bias %down_bias : (tensor<2x8x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<2x8x64xf32>
  return %y : tensor<2x8x64xf32>
}
// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>
// CHECK-SAME: -> (tensor<2x8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>})
// CHECK: tp.parameter "up.bias" {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]
// CHECK: tp.parameter "down.weight" {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]
// CHECK: tp.parameter "down.bias" {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}]>]
// CHECK: nn.gelu {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {}, {"tp"}]>]
// CHECK: nn.linear {{.*}}annotation = "up.weight dim 0 on \22tp\22", axis = "tp", partial, via = "nn.linear over k at
// CHECK-SAME: tp.shardings = [#tp.sharding<@mesh, [{}, {}, {}], partial sum {"tp"}>]
