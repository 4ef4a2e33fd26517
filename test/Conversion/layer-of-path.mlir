// RUN: tp-opt %s --tp-schedule-pipeline --tp-generate-kernels --tp-lower-step | FileCheck %s

// Outside of loops the name of an operation's module tells its layer; a place
// in a file, or a name without a number, is no layer.

// CHECK-LABEL: func.func private @main.step
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK: %[[SEVEN:.*]] = arith.constant 7 : i64
// CHECK: llvm.store %[[SEVEN]], %[[LAYER:.*]] : i64, !llvm.ptr
// CHECK-NOT: llvm.store %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.call
// CHECK: llvm.store %[[ZERO]], %[[LAYER]] : i64, !llvm.ptr
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = tp.parameter "w" : tensor<64x64xf32>
  %1 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> loc("m.h2.layers.7.experts.1.up")
  %2 = nn.linear %1, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> loc("layers.3.mlir":4:5)
  return %2 : tensor<8x64xf32>
}
