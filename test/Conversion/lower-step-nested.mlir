// RUN: tp-opt %s --tp-schedule-pipeline --tp-generate-kernels --tp-lower-step | FileCheck %s

// In nested loops a template's slot is that of the loop that names it, a value is
// where the loop that makes it has put it, and calls are told apart by the number of
// the iteration over all loops. A loop of no iterations is no code, and what only it
// reads is in no table but that of ignored tensors.

// CHECK: \22ignored\22:[\22never.*.w\22]
// CHECK-SAME: {\22base\22:0,\22count\22:2,\22first\22:5,{{.*}}\22names\22:[\22outer.{i}.w\22]
// CHECK-SAME: {\22base\22:2,\22count\22:3,\22first\22:0,{{.*}}\22names\22:[\22inner.{i}.w\22]
// CHECK-LABEL: func.func private @main.step(
// CHECK: cf.br ^[[OUTER:.*]](%{{.*}} : i64, !llvm.ptr, !llvm.ptr)
// CHECK: ^[[OUTER]](%[[I:.*]]: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr):
// CHECK: cf.br ^[[INNER:.*]](%{{.*}} : i64, !llvm.ptr, !llvm.ptr)
// CHECK: ^[[INNER]](%[[J:.*]]: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr):
// CHECK: %[[THREE:.*]] = arith.constant 3 : i64
// CHECK: %[[BEFORE:.*]] = arith.muli %[[I]], %[[THREE]] : i64
// CHECK: %[[LAYER:.*]] = arith.addi %[[J]], %[[BEFORE]] : i64
// CHECK: arith.addi %{{.*}}, %[[I]] : i64
// CHECK: llvm.store %[[LAYER]], %{{.*}} : i64, !llvm.ptr
// CHECK-NOT: llvm.store %[[LAYER]]
// CHECK: arith.addi %{{.*}}, %[[J]] : i64
// CHECK: llvm.call %{{.*}}(%arg1, %{{.*}}, %[[LAYER]]) : !llvm.ptr, (!llvm.ptr, i32, i64) -> i32
// CHECK: cf.cond_br %{{.*}}, ^[[INNER]](
// CHECK: cf.cond_br %{{.*}}, ^[[OUTER]](
// CHECK-NOT: cf.br
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %1 = tp.repeat 2 times from 5 iter(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %w = tp.parameter "outer.{i}.w" : tensor<64x64xf32>
    %2 = tp.repeat 3 times iter(%h) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%j: index, %g: tensor<8x64xf32>):
      %v = tp.parameter "inner.{i}.w" : tensor<64x64xf32>
      %3 = nn.linear %g, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      %4 = nn.linear %3, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      %5 = math.tanh %4 : tensor<8x64xf32>
      tp.yield %5 : tensor<8x64xf32>
    }
    tp.yield %2 : tensor<8x64xf32>
  }
  %6 = tp.repeat 0 times iter(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %w = tp.parameter "never.{i}.w" : tensor<64x64xf32>
    %7 = nn.linear %h, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    tp.yield %7 : tensor<8x64xf32>
  }
  return %6 : tensor<8x64xf32>
}
