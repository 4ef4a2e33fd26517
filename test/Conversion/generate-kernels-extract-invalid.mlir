// RUN: tp-opt %s --tp-generate-kernels --verify-diagnostics

#id = affine_map<(s, h) -> (s, h)>
// expected-error @below {{reads a tensor by computed indices that is made in the same kernel}}
func.func private @table(%x: tensor<8x4xf32>, %i: tensor<8x4xi32>) -> tensor<8x4xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.negf %in : f32
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<8x4xi32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: i32, %out: f32):
    %j = arith.index_cast %in : i32 to index
    %v = tensor.extract %0[%j, %j] : tensor<8x4xf32>
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
