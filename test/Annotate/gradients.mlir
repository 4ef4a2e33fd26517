// A gradient is cut as its parameter is, a stack of them too; what is annotated stays.
// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=2' | FileCheck %s
// CHECK: func.func @gradient
// CHECK-SAME: tensor<3x64x256xf32> {tp.gradient = #tp.gradient<"layers.{i}.mlp.down_proj.weight">, tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}]>}
// CHECK-SAME: tensor<256x64xf32> {tp.gradient = #tp.gradient<"mlp.up_proj.weight">, tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}
// CHECK-SAME: tensor<256x64xf32> {tp.gradient = #tp.gradient<"gate_proj.weight">, tp.sharding = #tp.sharding<@mesh, [{}, {}]>}
func.func @gradient(%d: tensor<3x64x256xf32>, %u: tensor<256x64xf32>, %x: tensor<3x256xf32>) -> (tensor<3x64x256xf32> {tp.gradient = #tp.gradient<"layers.{i}.mlp.down_proj.weight">}, tensor<256x64xf32> {tp.gradient = #tp.gradient<"mlp.up_proj.weight">}, tensor<256x64xf32> {tp.gradient = #tp.gradient<"gate_proj.weight">, tp.sharding = #tp.sharding<@mesh, [{}, {}]>}) {
  %up = tp.parameter "mlp.up_proj.weight" : tensor<256x64xf32>
  %gate = tp.parameter "gate_proj.weight" : tensor<256x64xf32>
  %0 = tp.repeat 3 times iter(%x) : (tensor<3x256xf32>) -> tensor<3x256xf32> {
  ^bb0(%i: index, %h: tensor<3x256xf32>):
    %w = tp.parameter "layers.{i}.mlp.down_proj.weight" : tensor<64x256xf32>
    tp.yield %h : tensor<3x256xf32>
  }
  return %d, %u, %gate : tensor<3x64x256xf32>, tensor<256x64xf32>, tensor<256x64xf32>
}
tp.mesh @mesh <["tp"=2]>
