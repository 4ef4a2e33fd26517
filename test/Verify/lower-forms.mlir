// Slices that begin where a dimension does, gathers with and without the
// gathered dimension, choices between single bf16 values, and one element that
// is everywhere, compiled.
// RUN: tp-verify %s --stages partition,lower | FileCheck %s
// CHECK: lower @forms: equal, 0 values and 4 results compared
// CHECK: lower @narrow: equal, 0 values and 1 results compared
// CHECK: lower @splat: equal, 0 values and 1 results compared
tp.mesh @mesh <["tp"=2]>
func.func @forms(%x: tensor<4x8x12xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {}]>}) -> (tensor<4x8x8xf32>, tensor<4x8xf32>, tensor<3x1x8x12xf32>, tensor<3x8x12xf32>) {
  %0 = tensor.extract_slice %x[0, 0, 0] [4, 8, 8] [1, 1, 1] : tensor<4x8x12xf32> to tensor<4x8x8xf32>
  %1 = tensor.extract_slice %x[0, 0, 2] [4, 8, 1] [1, 1, 1] : tensor<4x8x12xf32> to tensor<4x8xf32>
  %rows = arith.constant dense<[[3], [0], [3]]> : tensor<3x1xi64>
  %2 = tensor.gather %x[%rows] gather_dims([0]) : (tensor<4x8x12xf32>, tensor<3x1xi64>) -> tensor<3x1x8x12xf32>
  %3 = tensor.gather %x[%rows] gather_dims([0]) : (tensor<4x8x12xf32>, tensor<3x1xi64>) -> tensor<3x8x12xf32>
  return %0, %1, %2, %3 : tensor<4x8x8xf32>, tensor<4x8xf32>, tensor<3x1x8x12xf32>, tensor<3x8x12xf32>
}
func.func @narrow(%logits: tensor<2x6x10xbf16>, %labels: tensor<2x6xi64>) -> tensor<2x6xbf16> {
  %loss = nn.cross_entropy %logits, %labels : (tensor<2x6x10xbf16>, tensor<2x6xi64>) -> tensor<2x6xf32>
  %0 = arith.truncf %loss : tensor<2x6xf32> to tensor<2x6xbf16>
  return %0 : tensor<2x6xbf16>
}
func.func @splat(%x: tensor<8x3xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<8x3xf32> {
  %row = arith.constant 7 : index
  %column = arith.constant 1 : index
  %element = tensor.extract %x[%row, %column] : tensor<8x3xf32>
  %0 = tensor.splat %element : tensor<8x3xf32>
  %1 = arith.mulf %0, %x : tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}
