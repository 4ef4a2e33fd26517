// RUN: tp-opt --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline %s | FileCheck %s
// RUN: tp-opt --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline %s | tp-opt --tp-verify-collectives | FileCheck %s

// A program within its budgets.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>
// CHECK: tp.comm_budget = #tp.comm_budget<all_reduce count 3 bytes 6144, all_gather none>
func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole})
    attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 3 bytes 6144, all_gather none>} {
  // CHECK: tp.repeat 3 times {{.*}}tp.comm_budget = #tp.comm_budget<any count 1>
  %r = tp.repeat 3 times iter(%x) {tp.comm_budget = #tp.comm_budget<any count 1>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %up = tp.parameter "{i}.up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
    %down = tp.parameter "{i}.down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
    %0 = nn.linear %h, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
    %1 = nn.gelu erf %0 : tensor<8x256xf32>
    %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
    tp.yield %2 : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// What is not listed has the limit of `any`: none here, but for the one kind.
// CHECK: @rest
// CHECK-SAME: tp.comm_budget = #tp.comm_budget<all_gather none, any unlimited>
func.func @rest(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole})
    attributes {tp.comm_budget = #tp.comm_budget<all_gather none, any unlimited>} {
  %up = tp.parameter "up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
  %down = tp.parameter "down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
  %0 = nn.linear %x, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
  %1 = nn.linear %0, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}
