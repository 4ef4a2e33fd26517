// Records of the shards that the vocabulary has, 131 tokens on 3 ranks; one of
// all where it has none. Rows may be cut as well.
// RUN: tp-opt %s --tp-propagate --tp-split-sampling --tp-verify-propagated --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @split
// CHECK: %[[BLOCKS:.*]] = arith.constant {tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]} dense<[0, 1, 2]> : tensor<3xi32>
// CHECK: %[[RECORDS:.*]] = nn.sample_records %{{.*}}, %[[BLOCKS]], %arg1, %arg2, %arg3 {
// CHECK-SAME: tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>], vocabulary = 131 : i64} : {{.*}} -> tensor<3x4x133xf32>
// CHECK: nn.sample_pick %[[RECORDS]], %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 {tp.shardings = [#tp.sharding<@mesh, [{}]>, #tp.sharding<@mesh, [{}]>]}
tp.mesh @mesh <["tp"=3]>
func.func @split(%logits: tensor<4x131xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>, %k: tensor<4xi32>, %tp: tensor<4xf32>, %mp: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %0:2 = nn.sample %logits, %p, %i, %t, %k, %tp, %mp : (tensor<4x131xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @rows
// CHECK: nn.sample_records {{.*}} tp.shardings = [#tp.sharding<@mesh, [{}, {"dp"}, {}]>], vocabulary = 131 : i64} : {{.*}} -> tensor<1x4x133xf32>
// CHECK: nn.sample_pick {{.*}} tp.shardings = [#tp.sharding<@mesh, [{"dp"}]>, #tp.sharding<@mesh, [{"dp"}]>]}
tp.mesh @mesh <["dp"=2]>
func.func @rows(%logits: tensor<4x131xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>}, %p: tensor<4xi32>, %i: tensor<4xi64>, %t: tensor<4xf32>, %k: tensor<4xi32>, %tp: tensor<4xf32>, %mp: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %0:2 = nn.sample %logits, %p, %i, %t, %k, %tp, %mp : (tensor<4x131xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xf32>
}
