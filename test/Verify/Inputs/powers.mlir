tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<3x64xf32>) -> tensor<3x8xf32> {
  %q = tp.parameter "w.weight_packed" storage <"U8", bits = 4, dim = 1> {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x64xf4E2M1FN> loc("values")
  %s = tp.parameter "w.weight_scale" storage <"U8"> : tensor<8x8xf8E8M0FNU> loc("scale")
  %w = nn.dequantize %q, %s {group = array<i64: 1, 8>} : (tensor<8x64xf4E2M1FN>, tensor<8x8xf8E8M0FNU>) -> tensor<8x64xf32> loc("weight")
  %y = nn.linear %x, %w : (tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<3x8xf32> loc("product")
  return %y : tensor<3x8xf32>
}
