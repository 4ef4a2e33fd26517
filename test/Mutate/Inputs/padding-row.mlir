// The derivative of a table whose padding row gets none: the row belongs to one rank's part of
// the table, or ranks hold parts of the sum.

tp.mesh @mesh <["dp"=2, "tp"=4]>
func.func @main(%ids: tensor<4x6xi64> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>}, %dx: tensor<4x6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>})
    -> (tensor<10x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}, tensor<4x6x8xf32>) {
  %table = tp.parameter "table" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<10x8xf32>
  %rows = nn.embedding %ids, %table {padding_row = 3 : i64} : (tensor<4x6xi64>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  %sum = arith.addf %rows, %dx : tensor<4x6x8xf32>
  %d = nn.embedding_backward %ids, %sum {padding_row = 3 : i64} : (tensor<4x6xi64>, tensor<4x6x8xf32>) -> tensor<10x8xf32>
  return %d, %sum : tensor<10x8xf32>, tensor<4x6x8xf32>
}
