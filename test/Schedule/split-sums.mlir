// Sums over rows in blocks that follow from the size alone, from where the sum
// began.
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-split-sums))' | FileCheck %s

// 512 rows: 32 blocks of 16.
// CHECK-LABEL: func @columns
// CHECK-DAG: %[[X:.*]] = tensor.expand_shape %arg0 {{\[}}[0], [1, 2], [3]] output_shape [2, 32, 16, 64]
// CHECK-DAG: %[[R:.*]] = tensor.expand_shape %arg1 {{\[}}[0], [1, 2]] output_shape [2, 32, 16]
// CHECK: %[[PARTS:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction", "parallel"]} ins(%[[X]], %[[R]] : {{.*}} outs(%{{.*}} : tensor<32x64xf32>)
// CHECK: arith.mulf
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[PARTS]] : tensor<32x64xf32>) outs(%arg2 : tensor<64xf32>)
// CHECK: return %[[SUM]]
func.func @columns(%x: tensor<2x512x64xf32>, %r: tensor<2x512xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (b, s)>, affine_map<(b, s, h) -> (h)>], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x, %r : tensor<2x512x64xf32>, tensor<2x512xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%a: f32, %c: f32, %sum: f32):
    %p = arith.mulf %a, %c : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Everything: 32000 rows are 256 blocks of 125.
// CHECK-LABEL: func @all
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<256x125x8xf32>) outs(%{{.*}} : tensor<256xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<256xf32>) outs(%arg1 : tensor<f32>)
func.func @all(%x: tensor<32000x8xf32>, %init: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<32000x8xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %p = arith.mulf %a, %a : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// Few elements, rows to share, a prime, a maximum, a position.
// CHECK-LABEL: func @left
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @left(%few: tensor<64x64xf32>, %x: tensor<512x64x8xf32>, %prime: tensor<521x64xf32>, %m: tensor<512x64xf32>, %v: tensor<64xf32>, %w: tensor<64x8xf32>) -> (tensor<64xf32>, tensor<64x8xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%few : tensor<64x64xf32>) outs(%v : tensor<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %s = arith.addf %sum, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j, k)>], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x : tensor<512x64x8xf32>) outs(%w : tensor<64x8xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %s = arith.addf %sum, %a : f32
    linalg.yield %s : f32
  } -> tensor<64x8xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%prime : tensor<521x64xf32>) outs(%v : tensor<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %s = arith.addf %sum, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%m : tensor<512x64xf32>) outs(%v : tensor<64xf32>) {
  ^bb0(%a: f32, %best: f32):
    %s = arith.maximumf %best, %a : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%m : tensor<512x64xf32>) outs(%v : tensor<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f32
    %p = arith.mulf %a, %f : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %0, %1, %2, %3, %4 : tensor<64xf32>, tensor<64x8xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
