// The annotation of a parameter is one of the state that it becomes, and of all
// that a training step keeps of it.
// RUN: tp-compile %s --train adamw --compile-to=annotate -o - 2>/dev/null | FileCheck %s
// RUN: tp-verify %s --train adamw --stages partition,collectives 2>&1 | FileCheck %s --check-prefix=EQUAL
// RUN: tp-compile %s --train adamw --plan none --compile-to=collectives -o - 2>&1 | FileCheck %s --check-prefix=NONE
// CHECK: tp.state @up : tensor<16x8xf32> parameter "up" sharding <@mesh, [{"tp"}, {}]>
// CHECK: tp.state @"grad:up" : tensor<16x8xf32> sharding <@mesh, [{"tp"}, {}]>
// CHECK: tp.state @"exp_avg:up" : tensor<16x8xf32> sharding <@mesh, [{"tp"}, {}]>
// CHECK: tp.state @"exp_avg_sq:up" : tensor<16x8xf32> sharding <@mesh, [{"tp"}, {}]>
// CHECK: tp.state @down : tensor<8x16xf32> parameter "down"
// EQUAL: collectives @main, @gradient, @update, 2 steps: equal
// NONE-NOT: cuts nothing
// NONE: tp.all_reduce

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> (tensor<4x8xf32> {tp.name = "y"}) {
  %up = tp.parameter "up" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<16x8xf32>
  %down = tp.parameter "down" : tensor<8x16xf32>
  %h = nn.linear %x, %up : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %y = nn.linear %h, %down : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
