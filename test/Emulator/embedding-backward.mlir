// The derivative of an embedding: ids that come often, once and never, and that name
// no row; rows that vectors divide and that they do not, of one warp and of several
// blocks; what it is added to lies where the result is, elsewhere, or is none. Blocks
// that do the same part are noticed.
// RUN: tp-check-kernels %s | FileCheck %s
// RUN: tp-check-kernels %s --seeds=1 --break=overlap-blocks | FileCheck %s --check-prefix=BROKEN

// CHECK: embedding_backward_0: right
// CHECK: embedding_backward_0_add: right
// CHECK: embedding_backward_1: right
// CHECK: embedding_backward_1_add: right
// CHECK: embedding_backward_2: right
// CHECK: embedding_backward_2_add: right

// BROKEN: embedding_backward_0_add: overlap-blocks: noticed 1 of 1, first: {{.*}} data race between blocks
// BROKEN: embedding_backward_1: overlap-blocks: noticed 1 of 1, first: {{.*}} data race between blocks

func.func @long(%dx: tensor<2x40x8xf32>, %old: tensor<11x8xf32>) -> tensor<11x8xf32> {
  %ids = arith.constant dense<[[7, 4, 7, 9, 4, 7, -1, 11, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 7, 7, 7, 7, 7, 7, 10], [10, 10, 10, 10, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 7, 4]]> : tensor<2x40xi64>
  %0 = nn.embedding_backward %ids, %dx into %old : (tensor<2x40xi64>, tensor<2x40x8xf32>, tensor<11x8xf32>) -> tensor<11x8xf32>
  return %0 : tensor<11x8xf32>
}

func.func @odd(%dx: tensor<5x577xf32>) -> tensor<9x577xf32> {
  %ids = arith.constant dense<[3, 8, 3, 0, 8]> : tensor<5xi32>
  %0 = nn.embedding_backward %ids, %dx : (tensor<5xi32>, tensor<5x577xf32>) -> tensor<9x577xf32>
  return %0 : tensor<9x577xf32>
}

func.func @wide(%dx: tensor<4x4612xf32>, %old: tensor<3x4612xf32>) -> tensor<3x4612xf32> {
  %ids = arith.constant dense<[2, 1, 2, 2]> : tensor<4xi32>
  %0 = nn.embedding_backward %ids, %dx into %old : (tensor<4xi32>, tensor<4x4612xf32>, tensor<3x4612xf32>) -> tensor<3x4612xf32>
  return %0 : tensor<3x4612xf32>
}
