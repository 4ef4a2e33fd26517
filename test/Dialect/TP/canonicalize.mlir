// RUN: tp-opt %s --canonicalize | FileCheck %s

tp.mesh @mesh <["one"=1, "tp"=4]>

// CHECK-LABEL: func.func @shardings
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>
func.func @shardings(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  // The same annotation twice is one; another one stays.
  // CHECK: %[[A:.*]] = tp.sharding_constraint %[[X]] <@mesh, [{"tp"}, {}]>
  %0 = tp.sharding_constraint %x <@mesh, [{"tp"}, {}]> : tensor<8x4xf32>
  %1 = tp.sharding_constraint %0 <@mesh, [{"tp"}, {}]> : tensor<8x4xf32>
  // CHECK: %[[B:.*]] = tp.sharding_constraint %[[A]] <@mesh, [{}, {"tp"}]>
  %2 = tp.sharding_constraint %1 <@mesh, [{}, {"tp"}]> : tensor<8x4xf32>
  // CHECK-NOT: tp.reshard
  %3 = tp.reshard %x from <@mesh, [{"tp"}, {}]> to <@mesh, [{"tp"}, {}]> : tensor<8x4xf32>
  // CHECK: return %[[A]], %[[B]], %[[X]]
  return %1, %2, %3 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// Groups of one rank move nothing.
// CHECK-LABEL: func.func @groups_of_one
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @groups_of_one(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = tp.all_reduce sum %x over @mesh ["one"] : tensor<8x4xf32> -> tensor<8x4xf32>
  %1 = tp.reduce_scatter sum %0 dim 0 over @mesh ["one"] : tensor<8x4xf32> -> tensor<8x4xf32>
  %2 = tp.all_gather %1 dim 0 over @mesh ["one"] : tensor<8x4xf32> -> tensor<8x4xf32>
  %3 = tp.all_to_all %2 split 1 gather 0 over @mesh ["one"] : tensor<8x4xf32> -> tensor<8x4xf32>
  %5 = tp.slice %3 dim 0 over @mesh ["one"] : tensor<8x4xf32> -> tensor<8x4xf32>
  %6 = tp.keep_first %5 over @mesh ["one"] : tensor<8x4xf32>
  %7 = tp.collective_permute %6 over @mesh ["tp"] pairs dense<[[0, 0], [1, 1], [2, 2], [3, 3]]> : tensor<4x2xi64> : tensor<8x4xf32> -> tensor<8x4xf32>
  return %7 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @groups_of_four
func.func @groups_of_four(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK: tp.all_reduce
  %0 = tp.all_reduce sum %x over @mesh ["one", "tp"] : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: tp.collective_permute
  %1 = tp.collective_permute %0 over @mesh ["tp"] pairs dense<[[0, 1], [1, 0], [2, 2], [3, 3]]> : tensor<4x2xi64> : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: tp.keep_first
  %2 = tp.keep_first %1 over @mesh ["tp"] : tensor<8x4xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @inverse
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>, %[[Y:.*]]: tensor<2x4xf32>, %[[Z:.*]]: tensor<7x4xf32>
func.func @inverse(%x: tensor<8x4xf32>, %y: tensor<2x4xf32>, %z: tensor<7x4xf32>) -> (tensor<8x4xf32>, tensor<2x4xf32>, tensor<7x4xf32>, tensor<8x16xf32>) {
  %0 = tp.slice %x dim 0 over @mesh ["tp"] : tensor<8x4xf32> -> tensor<2x4xf32>
  %1 = tp.all_gather %0 dim 0 over @mesh ["tp"] : tensor<2x4xf32> -> tensor<8x4xf32>
  %2 = tp.all_gather %y dim 0 over @mesh ["tp"] : tensor<2x4xf32> -> tensor<8x4xf32>
  %3 = tp.slice %2 dim 0 over @mesh ["tp"] : tensor<8x4xf32> -> tensor<2x4xf32>
  // With padding too, if the gather strips it.
  %4 = tp.slice %z dim 0 over @mesh ["tp"] : tensor<7x4xf32> -> tensor<2x4xf32>
  %5 = tp.all_gather %4 dim 0 over @mesh ["tp"] : tensor<2x4xf32> -> tensor<7x4xf32>
  // CHECK: %[[SLICE:.*]] = tp.slice %[[X]] dim 0
  // CHECK: %[[OTHER:.*]] = tp.all_gather %[[SLICE]] dim 1
  %6 = tp.slice %x dim 0 over @mesh ["tp"] : tensor<8x4xf32> -> tensor<2x4xf32>
  %7 = tp.all_gather %6 dim 1 over @mesh ["tp"] : tensor<2x4xf32> -> tensor<2x16xf32>
  %8 = tp.all_gather %7 dim 0 over @mesh ["tp"] : tensor<2x16xf32> -> tensor<8x16xf32>
  // CHECK: return %[[X]], %[[Y]], %[[Z]]
  return %1, %3, %5, %8 : tensor<8x4xf32>, tensor<2x4xf32>, tensor<7x4xf32>, tensor<8x16xf32>
}

// The three matrices of a fused, transposed projection are three parameters.
// CHECK-LABEL: func.func @fused
func.func @fused() -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-DAG: tp.parameter "qkv" source <shape = [8, 24], offsets = [0, 0], permutation = [1, 0]> alternatives ["model.qkv"] : tensor<8x8xf32>
  // CHECK-DAG: tp.parameter "qkv" source <shape = [8, 24], offsets = [0, 8], permutation = [1, 0]> alternatives ["model.qkv"] : tensor<8x8xf32>
  // CHECK-DAG: tp.parameter "qkv" source <shape = [8, 24], offsets = [0, 16], permutation = [1, 0]> alternatives ["model.qkv"] : tensor<8x8xf32>
  // CHECK-NOT: linalg.transpose
  // CHECK-NOT: tensor.extract_slice
  %w = tp.parameter "qkv" alternatives ["model.qkv"] : tensor<8x24xf32>
  %e = tensor.empty() : tensor<24x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x24xf32>) outs(%e : tensor<24x8xf32>) permutation = [1, 0]
  %q = tensor.extract_slice %t[0, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  %k = tensor.extract_slice %t[8, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  %v = tensor.extract_slice %t[16, 0] [8, 8] [1, 1] : tensor<24x8xf32> to tensor<8x8xf32>
  return %q, %k, %v : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// Not where the whole is wanted as well, or its sharding has been said.
tp.mesh @pair <["tp"=2]>
// CHECK-LABEL: func.func @whole
func.func @whole() -> (tensor<8x24xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: %[[TIED:.*]] = tp.parameter "tied" : tensor<8x24xf32>
  // CHECK: tensor.extract_slice %[[TIED]]
  // CHECK: %[[SHARDED:.*]] = tp.parameter "sharded" {tp.shardings
  // CHECK: tensor.extract_slice %[[SHARDED]]
  %w = tp.parameter "tied" : tensor<8x24xf32>
  %q = tensor.extract_slice %w[0, 0] [8, 8] [1, 1] : tensor<8x24xf32> to tensor<8x8xf32>
  %s = tp.parameter "sharded" {tp.shardings = [#tp.sharding<@pair, [{"tp"}, {}]>]} : tensor<8x24xf32>
  %k = tensor.extract_slice %s[0, 0] [8, 8] [1, 1] : tensor<8x24xf32> to tensor<8x8xf32>
  return %w, %q, %k : tensor<8x24xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// Parts of two on four ranks hold five with lanes past the end, which the slice
// makes zero: it undoes nothing.
// CHECK-LABEL: func.func @lanes
func.func @lanes(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: tp.all_gather
  // CHECK-NEXT: tp.slice
  %0 = tp.all_gather %x dim 0 over @mesh ["tp"] : tensor<2xf32> -> tensor<5xf32>
  %1 = tp.slice %0 dim 0 over @mesh ["tp"] : tensor<5xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
