// Reductions over dimensions that do not divide, whose lanes hold what counts: a
// maximum, a sum of exponentials, a product with ones, a minimum.

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<3x10xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e+30 : f32
  %high = arith.constant 1.0e+30 : f32
  %e = tensor.empty() : tensor<3xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %lows = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %highs = linalg.fill ins(%high : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %positive = arith.mulf %x, %x : tensor<3x10xf32>
  %negative = arith.negf %positive : tensor<3x10xf32>
  %max = linalg.reduce ins(%negative : tensor<3x10xf32>) outs(%lows : tensor<3xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %0 = arith.maximumf %in, %out : f32
      linalg.yield %0 : f32
    }
  %min = linalg.reduce ins(%positive : tensor<3x10xf32>) outs(%highs : tensor<3xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %0 = arith.minimumf %in, %out : f32
      linalg.yield %0 : f32
    }
  %exp = math.exp %x : tensor<3x10xf32>
  %sum = linalg.reduce ins(%exp : tensor<3x10xf32>) outs(%zeros : tensor<3xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %0 = arith.addf %in, %out : f32
      linalg.yield %0 : f32
    }
  %cosine = math.cos %x : tensor<3x10xf32>
  %total = linalg.reduce ins(%cosine : tensor<3x10xf32>) outs(%zeros : tensor<3xf32>) dimensions = [1]
    (%in: f32, %out: f32) {
      %0 = arith.addf %in, %out : f32
      linalg.yield %0 : f32
    }
  return %max, %min, %sum, %total : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
