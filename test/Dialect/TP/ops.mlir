// RUN: tp-opt %s | tp-opt | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s
// RUN: tp-opt %s --emit-bytecode | tp-opt | FileCheck %s

// CHECK: tp.mesh @mesh <["dp"=2, "tp"=4]>
tp.mesh @mesh <["dp"=2, "tp"=4]>
// CHECK: tp.mesh @ordered <["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>
tp.mesh @ordered <["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>

// CHECK-LABEL: func.func @shardings
// CHECK-SAME: tp.sharding = #tp.sharding<@mesh, [{}, {"dp", "tp":(1)2, ?}]>
func.func @shardings(
    %x: tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp", "tp":(1)2, ?}]>})
    -> (tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp" grain 2}, {?}]>}) {
  // CHECK: tp.sharding_constraint %{{.*}} <@mesh, [{"tp"}, {}]> : tensor<8x64xf32>
  %0 = tp.sharding_constraint %x <@mesh, [{"tp"}, {}]> : tensor<8x64xf32>
  // CHECK: tp.reshard %{{.*}} from <@mesh, [{"tp"}, {}]> to <@mesh, [{}, {}], partial sum {"tp"}> : tensor<8x64xf32>
  %1 = tp.reshard %0 from <@mesh, [{"tp"}, {}]> to <@mesh, [{}, {}], partial sum {"tp"}> : tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @layers
func.func @layers(%x: tensor<8x64xf32>, %cache: tensor<3x8x64xf32>) -> (tensor<8x64xf32>, tensor<3x8x64xf32>) {
  // CHECK: %{{.*}}:2 = tp.repeat 3 times iter(%{{.*}}) stacked(%{{.*}}) : (tensor<8x64xf32>, tensor<3x8x64xf32>) -> (tensor<8x64xf32>, tensor<3x8x64xf32>) {
  %0:2 = tp.repeat 3 times iter(%x) stacked(%cache) : (tensor<8x64xf32>, tensor<3x8x64xf32>) -> (tensor<8x64xf32>, tensor<3x8x64xf32>) {
  ^bb0(%i: index, %h: tensor<8x64xf32>, %c: tensor<8x64xf32>):
    // CHECK: tp.parameter "layers.{i}.weight" : tensor<8x64xf32>
    %w = tp.parameter "layers.{i}.weight" : tensor<8x64xf32>
    // CHECK: tp.parameter "fused" source <shape = [64, 24], offsets = [0, 8], permutation = [1, 0]> alternatives ["model.fused"] : tensor<8x64xf32>
    %f = tp.parameter "fused" source <shape = [64, 24], offsets = [0, 8], permutation = [1, 0]> alternatives ["model.fused"] : tensor<8x64xf32>
    %1 = arith.addf %h, %w : tensor<8x64xf32>
    %2 = arith.addf %c, %f : tensor<8x64xf32>
    // CHECK: tp.yield
    tp.yield %1, %2 : tensor<8x64xf32>, tensor<8x64xf32>
  }
  return %0#0, %0#1 : tensor<8x64xf32>, tensor<3x8x64xf32>
}

// CHECK-LABEL: func.func @collectives
func.func @collectives(%x: tensor<8x64xf32>) {
  // CHECK: tp.rank @mesh ["tp"]
  %r = tp.rank @mesh ["tp"]
  // CHECK: tp.all_reduce sum %{{.*}} over @mesh ["tp":(1)2] {ledger = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">} : tensor<8x64xf32> -> tensor<8x64xf32>
  %0 = tp.all_reduce sum %x over @mesh ["tp":(1)2] {ledger = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">} : tensor<8x64xf32> -> tensor<8x64xf32>
  // CHECK: tp.reduce_scatter max %{{.*}} dim 1 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x16xf32>
  %1 = tp.reduce_scatter max %x dim 1 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x16xf32>
  // CHECK: tp.all_gather %{{.*}} dim 0 over @mesh ["dp", "tp"] : tensor<8x64xf32> -> tensor<63x64xf32>
  %2 = tp.all_gather %x dim 0 over @mesh ["dp", "tp"] : tensor<8x64xf32> -> tensor<63x64xf32>
  // CHECK: tp.all_to_all %{{.*}} split 1 gather 0 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<32x16xf32>
  %3 = tp.all_to_all %x split 1 gather 0 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<32x16xf32>
  // CHECK: tp.collective_permute %{{.*}} over @ordered ["x", "y"] pairs dense<{{.*}}> : tensor<4x2xi64> : tensor<8x64xf32> -> tensor<8x64xf32>
  %4 = tp.collective_permute %x over @ordered ["x", "y"] pairs dense<[[0, 0], [1, 2], [2, 1], [3, 3]]> : tensor<4x2xi64> : tensor<8x64xf32> -> tensor<8x64xf32>
  // CHECK: tp.slice %{{.*}} dim 1 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x16xf32>
  %6 = tp.slice %x dim 1 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x16xf32>
  // CHECK: tp.keep_first %{{.*}} over @mesh ["tp"] : tensor<8x64xf32>
  %7 = tp.keep_first %x over @mesh ["tp"] : tensor<8x64xf32>
  return
}

// Layers that do not begin at zero.

// CHECK-LABEL: func.func @later_layers(
// CHECK: tp.repeat 3 times from 58 iter(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32> {
func.func @later_layers(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tp.repeat 3 times from 58 iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    tp.yield %c : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
