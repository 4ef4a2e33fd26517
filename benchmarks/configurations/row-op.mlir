// A row operation that a user might write: y = x / (1 + |x|) * w, one weight per
// column. It reads and writes 64 MiB each.
func.func @main(%x: tensor<4096x4096xf32> {tp.name = "x"}, %w: tensor<4096xf32> {tp.name = "w"})
    -> (tensor<4096x4096xf32> {tp.name = "y"}) {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4096x4096xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<4096x4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = math.absf %a : f32
    %1 = arith.addf %0, %one : f32
    %2 = arith.divf %a, %1 : f32
    %3 = arith.mulf %2, %b : f32
    linalg.yield %3 : f32
  } -> tensor<4096x4096xf32>
  return %y : tensor<4096x4096xf32>
}
