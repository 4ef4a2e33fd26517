// RUN: tp-opt %s --tp-schedule-pipeline --tp-generate-kernels --tp-lower-step | FileCheck %s

// A step checks each call's status, reads parameters of a repeated layer at the
// template's first slot plus the iteration, and is code alone: the tables are
// in the manifest.

// CHECK: module attributes
// CHECK-SAME: tp.constants = ""
// CHECK-SAME: tp.entries = [@main.step]
// CHECK-SAME: tp.manifest = "{
// CHECK-SAME: \22gemms\22:[{
// CHECK-SAME: \22k\22:64,\22locations\22:[{{[^]]*}}],\22m\22:8,\22n\22:64
// CHECK-SAME: \22names\22:[\22layers.{i}.w\22]
// CHECK-LABEL: func.func private @main.step(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr) -> i32
// CHECK: cf.br ^[[HEAD:.*]](%{{.*}} : i64, !llvm.ptr, !llvm.ptr)
// CHECK: ^[[HEAD]](%[[I:.*]]: i64, %[[NOW:.*]]: !llvm.ptr, %[[NEXT:.*]]: !llvm.ptr):
// CHECK: %[[SLOT:.*]] = arith.addi %{{.*}}, %[[I]] : i64
// CHECK: %[[BYTES:.*]] = arith.muli %[[SLOT]]
// CHECK: llvm.getelementptr %{{.*}}[%[[BYTES]]]
// CHECK: llvm.store %[[I]], %{{.*}} : i64, !llvm.ptr
// CHECK: %[[STATUS:.*]] = llvm.call %{{.*}}(%arg1, {{.*}} %[[NOW]], {{.*}}) : !llvm.ptr, {{.*}} -> i32
// CHECK: %[[BAD:.*]] = arith.cmpi ne, %[[STATUS]]
// CHECK: cf.cond_br %[[BAD]], ^[[EXIT:.*]](%[[STATUS]] : i32), ^
// CHECK: cf.cond_br %{{.*}}, ^[[HEAD]](%{{.*}}, %[[NEXT]], %[[NOW]] : i64, !llvm.ptr, !llvm.ptr)
// CHECK: ^[[EXIT]](%[[FAILED:.*]]: i32):
// CHECK: return %[[FAILED]] : i32
// CHECK-NOT: func.func private @gemm
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %1 = tp.repeat 3 times iter(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %w = tp.parameter "layers.{i}.w" : tensor<64x64xf32>
    %2 = nn.linear %h, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %3 = arith.addf %h, %2 : tensor<8x64xf32>
    tp.yield %3 : tensor<8x64xf32>
  }
  return %1 : tensor<8x64xf32>
}
