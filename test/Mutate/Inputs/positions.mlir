// What reads positions along dimensions that are cut: dropout, a rotary table,
// an embedding, a causal mask and an iota by linalg.index; sizes divide evenly in
// some and not in others.

#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#both = #tp.sharding<@mesh, [{"tp"}, {"dp"}]>
tp.mesh @mesh <["dp"=2, "tp"=4]>
func.func @main(%x: tensor<10x8xf32> {tp.sharding = #both}, %ids: tensor<2x6xi64>, %q: tensor<1x8x2x4xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {"dp"}, {}]>})
    -> (tensor<10x8xf32>, tensor<2x6x8xf32>, tensor<1x8x2x4xf32>, tensor<10x8xf32>) {
  %seed = arith.constant dense<7> : tensor<i64>
  %step = arith.constant dense<3> : tensor<i64>
  %dropped = nn.dropout %x, %seed, %step {probability = 0.5 : f64, op_id = 1 : i64} : tensor<10x8xf32>
  %table = tp.parameter "table" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<10x8xf32>
  %rows = nn.embedding %ids, %table : (tensor<2x6xi64>, tensor<10x8xf32>) -> tensor<2x6x8xf32>
  %cos, %sin = nn.rotary_table {attention_scaling = 1.0 : f64, inv_freq = dense<[1.0, 0.5]> : tensor<2xf32>, tp.shardings = [#seq, #seq]} : tensor<8x2xf32>, tensor<8x2xf32>
  %turned = nn.rotary %q, %cos, %sin : (tensor<1x8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<1x8x2x4xf32>
  %minus = arith.constant -3.0 : f32
  %empty = tensor.empty() : tensor<10x8xf32>
  %masked = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<10x8xf32>) outs(%empty : tensor<10x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %below = arith.cmpi sge, %i, %j : index
    %n = arith.index_cast %i : index to i64
    %f = arith.sitofp %n : i64 to f32
    %t = arith.addf %a, %f : f32
    %s = arith.select %below, %t, %minus : f32
    linalg.yield %s : f32
  } -> tensor<10x8xf32>
  return %dropped, %rows, %turned, %masked : tensor<10x8xf32>, tensor<2x6x8xf32>, tensor<1x8x2x4xf32>, tensor<10x8xf32>
}
