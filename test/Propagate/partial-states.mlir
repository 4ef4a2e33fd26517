// A state that is partial stays so through the steps that replace it: no step reduces
// it but one that reads its value. What is added to it is the first rank's.
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline | FileCheck %s
// RUN: tp-verify %s --steps 3 --stages partition,lower | FileCheck %s --check-prefix=EQUAL
// EQUAL-COUNT-12: equal
// EQUAL: lower @accumulate, @scale, @replace, @maximum, @update, @layers, 3 steps: equal

tp.mesh @mesh <["dp"=2, "tp"=2]>
tp.state @gradient : tensor<4x6xf32> ones sharding <@mesh, [{}, {"tp"} ], partial sum {"dp"}>
tp.state @stack : tensor<3x6xf32> parameter "layers.{i}.w" sharding <@mesh, [{}, {"tp"} ], partial sum {"dp"}>
tp.state @largest : tensor<4xf32> ones sharding <@mesh, [{}], partial max {"dp"}>

// A product over the rows, which dp cuts, is partial itself.
// CHECK-LABEL: func.func @accumulate
// CHECK-NOT: tp.all_reduce
// CHECK-NOT: tp.keep_first
// CHECK: return
func.func @accumulate(%x: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp"}]>}, %dy: tensor<6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {"dp"}]>},
                      %old: tensor<4x6xf32> {tp.state = @gradient}) -> (tensor<4x6xf32> {tp.state = @gradient}) {
  %0 = nn.linear %x, %dy : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %1 = arith.addf %old, %0 : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// The same value is read and replaced: the sum is made for the reader alone.
// CHECK-LABEL: func.func @scale
// CHECK-DAG: arith.mulf %{{.*}} {{.*}}partial sum {"dp"}
// CHECK-DAG: tp.keep_first
// CHECK-DAG: tp.all_reduce sum %arg1
// CHECK: return
func.func @scale(%x: tensor<4x6xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %old: tensor<4x6xf32> {tp.state = @gradient})
    -> (tensor<4x6xf32> {tp.state = @gradient}, tensor<4x6xf32> {tp.name = "before"}) {
  %half = arith.constant dense<0.5> : tensor<4x6xf32>
  %0 = arith.mulf %old, %half : tensor<4x6xf32>
  %1 = arith.addf %0, %x : tensor<4x6xf32>
  return %1, %old : tensor<4x6xf32>, tensor<4x6xf32>
}

// CHECK-LABEL: func.func @replace
// CHECK-NOT: tp.all_reduce
// CHECK: tp.keep_first
func.func @replace(%x: tensor<4x6xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<4x6xf32> {tp.state = @gradient}) {
  return %x : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @maximum
// CHECK-NOT: tp.all_reduce
// CHECK: return
func.func @maximum(%x: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp"}]>}, %old: tensor<4xf32> {tp.state = @largest})
    -> (tensor<4xf32> {tp.state = @largest}) {
  %0 = linalg.reduce { arith.maximumf } ins(%x : tensor<4x8xf32>) outs(%old : tensor<4xf32>) dimensions = [1]
  return %0 : tensor<4xf32>
}

// Zeros are addends on every rank.
// CHECK-LABEL: func.func @update
// CHECK-NOT: tp.keep_first
// CHECK: tp.all_reduce sum
// CHECK: tp.all_reduce max
// CHECK-NOT: tp.keep_first
func.func @update(%old: tensor<4x6xf32> {tp.state = @gradient}, %most: tensor<4xf32> {tp.state = @largest})
    -> (tensor<4x6xf32> {tp.state = @gradient}, tensor<4x6xf32> {tp.name = "sum"}, tensor<4xf32> {tp.name = "largest"}) {
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  return %zero, %old, %most : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4xf32>
}

// Layer by layer.
// CHECK-LABEL: func.func @layers
// CHECK-NOT: tp.all_reduce
// CHECK: tp.repeat
// CHECK: arith.addf {{.*}}partial sum {"dp"}
// CHECK-NOT: tp.all_reduce
// CHECK: return
func.func @layers(%dy: tensor<6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {"dp"}]>}, %v: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}]>},
                  %old: tensor<3x6xf32> {tp.state = @stack}) -> (tensor<3x6xf32> {tp.state = @stack}) {
  %0:2 = tp.repeat 3 times iter(%v) stacked(%old) : (tensor<8xf32>, tensor<3x6xf32>) -> (tensor<8xf32>, tensor<3x6xf32>) {
  ^bb0(%i: index, %carried: tensor<8xf32>, %slice: tensor<6xf32>):
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<6xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6xf32>) -> tensor<6xf32>
    %d = linalg.matvec ins(%dy, %carried : tensor<6x8xf32>, tensor<8xf32>) outs(%init : tensor<6xf32>) -> tensor<6xf32>
    %sum = arith.addf %slice, %d : tensor<6xf32>
    %next = arith.addf %carried, %v : tensor<8xf32>
    tp.yield %next, %sum : tensor<8xf32>, tensor<6xf32>
  }
  return %0#1 : tensor<3x6xf32>
}
