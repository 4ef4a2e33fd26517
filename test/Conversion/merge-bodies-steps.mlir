// RUN: tp-opt %s --tp-schedule-pipeline --tp-generate-kernels --tp-lower-step --canonicalize --cse \
// RUN:   --tp-merge-bodies | FileCheck %s

// Steps of four tokens and of eight use one kernel, which is given its rows:
// the number of tokens is not in its code, whatever dimensions of one position
// are before it.

// CHECK: @four.step
// CHECK: constant @rows_0.body
// CHECK: @eight.step
// CHECK: constant @rows_0.body
// CHECK: func.func private @rows_0.body
// CHECK-NOT: func.func private @rows

#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#column = affine_map<(d0, d1, d2) -> (d2)>

tp.mesh @mesh <["tp"=1]>

func.func @four(%x: tensor<1x4x24xf32>, %w: tensor<24xf32>) -> tensor<1x4x24xf32> {
  %e = tensor.empty() : tensor<1x4x24xf32>
  %0 = linalg.generic {indexing_maps = [#map, #column, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %w : tensor<1x4x24xf32>, tensor<24xf32>) outs(%e : tensor<1x4x24xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.mulf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<1x4x24xf32>
  return %0 : tensor<1x4x24xf32>
}
func.func @eight(%x: tensor<1x8x24xf32>, %w: tensor<24xf32>) -> tensor<1x8x24xf32> {
  %e = tensor.empty() : tensor<1x8x24xf32>
  %0 = linalg.generic {indexing_maps = [#map, #column, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %w : tensor<1x8x24xf32>, tensor<24xf32>) outs(%e : tensor<1x8x24xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.mulf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<1x8x24xf32>
  return %0 : tensor<1x8x24xf32>
}
