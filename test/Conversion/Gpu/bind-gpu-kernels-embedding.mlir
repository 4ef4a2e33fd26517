// RUN: tp-opt %s --tp-bind-gpu-kernels --split-input-file --verify-diagnostics | FileCheck %s

// Two kernels for all of one shape. A block of the second is one token's.

// CHECK-LABEL: func.func @step
// CHECK: nn.embedding_backward {{.*}} {tp.kernel = @embedding_backward_0, tp.then = [@embedding_backward_0_add]}
// CHECK: nn.embedding_backward {{.*}} {tp.kernel = @embedding_backward_0, tp.then = [@embedding_backward_0_add]}
// CHECK: llvm.func @embedding_backward_0(i64, i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK-SAME: tp.block = array<i64: 256, 1, 1>
// CHECK-SAME: entry = "embedding_copy", shape = {columns = 64 : i64, copyBlocks = 7 : i64, rows = 100 : i64, tokens = 16 : i64}
// CHECK-SAME: tp.grid = array<i64: 7, 1, 1>
// CHECK: llvm.func @embedding_backward_0_add(
// CHECK-SAME: tp.block = array<i64: 32, 1, 1>
// CHECK-SAME: entry = "embedding_add_i64"
// CHECK-SAME: tp.grid = array<i64: 16, 1, 1>
func.func @step(%ids: tensor<16xi64>, %dx: tensor<16x64xf32>, %old: tensor<100x64xf32>) -> (tensor<100x64xf32>, tensor<100x64xf32>) {
  %0 = nn.embedding_backward %ids, %dx into %old : (tensor<16xi64>, tensor<16x64xf32>, tensor<100x64xf32>) -> tensor<100x64xf32>
  %1 = nn.embedding_backward %ids, %dx : (tensor<16xi64>, tensor<16x64xf32>) -> tensor<100x64xf32>
  return %0, %1 : tensor<100x64xf32>, tensor<100x64xf32>
}

// -----

// Wide rows have several warps, then several blocks.

// CHECK-LABEL: func.func @sizes
// CHECK: llvm.func @embedding_backward_0_add({{.*}}tp.block = array<i64: 64, 1, 1>, {{.*}}"embedding_add_i32"{{.*}}, tp.grid = array<i64: 2, 1, 1>
// CHECK: llvm.func @embedding_backward_1_add({{.*}}tp.block = array<i64: 256, 1, 1>, {{.*}}, tp.grid = array<i64: 2, 2, 1>
func.func @sizes(%ids: tensor<2xi32>, %a: tensor<2x577xf32>, %b: tensor<2x4100xf32>) -> (tensor<9x577xf32>, tensor<9x4100xf32>) {
  %0 = nn.embedding_backward %ids, %a : (tensor<2xi32>, tensor<2x577xf32>) -> tensor<9x577xf32>
  %1 = nn.embedding_backward %ids, %b : (tensor<2xi32>, tensor<2x4100xf32>) -> tensor<9x4100xf32>
  return %0, %1 : tensor<9x577xf32>, tensor<9x4100xf32>
}

// -----

func.func @empty(%ids: tensor<0xi32>, %a: tensor<0x8xf32>) -> tensor<9x8xf32> {
  // expected-error @below {{expected 1 or more tokens, and a table of f32 with rows of fewer elements than a grid has room for, got 'tensor<0xi32>' and 'tensor<9x8xf32>'}}
  %0 = nn.embedding_backward %ids, %a : (tensor<0xi32>, tensor<0x8xf32>) -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}
