// RUN: tp-opt %s --tp-annotate='plan=%S/Inputs/plan.json mesh=tp=4' --mlir-print-local-scope | FileCheck %s

// Every kind of rule: parameters, arguments, results, values, carried values.

// CHECK-LABEL: func.func @f(
// CHECK-SAME: tp.sharding = #tp.sharding<@mesh, [{?}, {}]>
// CHECK-SAME: -> (tensor<4x64xf32> {tp.name = "y", tp.sharding = #tp.sharding<@mesh, [{}, {}]>})
// CHECK: tp.repeat 2 {{.*}} {tp.shardings = [#tp.sharding<@mesh, [{}, {?}]>]}
// CHECK: tp.parameter "blk.{i}.first" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]}
// CHECK: tp.parameter "blk.{i}.second" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp":(1)2}]>]}
// CHECK: nn.silu {{.*}} {tp.shardings = [#tp.sharding<@mesh, [{?}, {"tp"}]>]}
func.func @f(%x: tensor<4x64xf32> {tp.name = "x"}) -> (tensor<4x64xf32> {tp.name = "y"}) {
  %0 = tp.repeat 2 times iter(%x) : (tensor<4x64xf32>) -> tensor<4x64xf32> {
  ^bb0(%i: index, %c: tensor<4x64xf32>):
    %w = tp.parameter "blk.{i}.first" : tensor<64x64xf32>
    %u = tp.parameter "blk.{i}.second" : tensor<64x64xf32>
    %h = nn.linear %c, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %a = nn.silu %h : tensor<4x64xf32> loc("blk.act")
    %y = nn.linear %a, %u : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    tp.yield %y : tensor<4x64xf32>
  } loc("blk")
  return %0 : tensor<4x64xf32>
}
