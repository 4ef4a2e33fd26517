// A token from logits of a split vocabulary, one all-gather of records, against
// the one-device program: even and uneven shards, an empty one, cut rows.
// RUN: sed 's/MESH/"tp"=2/' %s | tp-verify - --stages partition,lower | FileCheck %s
// RUN: sed 's/MESH/"tp"=3/' %s | tp-verify - --stages partition,lower | FileCheck %s
// RUN: sed 's/MESH/"tp"=7/' %s | tp-verify - --stages partition,lower | FileCheck %s
// RUN: sed 's/MESH/"dp"=2, "tp"=2/' %s | tp-verify - --stages partition,lower | FileCheck %s
// RUN: sed 's/MESH/"tp"=3/' %s | tp-opt --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline | FileCheck %s --check-prefix=GATHER

tp.mesh @mesh <[MESH]>

// CHECK-DAG: partition @main: equal
// CHECK-DAG: lower @main: equal
// GATHER-LABEL: func.func @main
// GATHER-NOT: tp.all_
// GATHER: tp.all_gather {{.*}} cause = {{.*}}nn.sample_pick cannot split factor sampling records
// GATHER-NOT: tp.all_
// GATHER: return
func.func @main(%x: tensor<6x16xf32>, %p: tensor<6xi32>, %i: tensor<6xi64>) -> (tensor<6xi32>, tensor<6xf32>) {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<131x16xf32>
  %logits = nn.linear %x, %w : (tensor<6x16xf32>, tensor<131x16xf32>) -> tensor<6x131xf32>
  // The largest; any; of 20; of a nucleus; of the probable; of a nucleus of 64.
  %t = arith.constant dense<[0.0, 0.7, 1.0, 0.2, 0.9, 0.5]> : tensor<6xf32>
  %k = arith.constant dense<[0, 0, 20, 0, 0, 64]> : tensor<6xi32>
  %tp = arith.constant dense<[1.0, 1.0, 1.0, 0.5, 1.0, 0.8]> : tensor<6xf32>
  %mp = arith.constant dense<[0.0, 0.0, 0.0, 0.0, 0.3, 0.0]> : tensor<6xf32>
  %0:2 = nn.sample %logits, %p, %i, %t, %k, %tp, %mp : (tensor<6x131xf32>, tensor<6xi32>, tensor<6xi64>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6xi32>, tensor<6xf32>)
  return %0#0, %0#1 : tensor<6xi32>, tensor<6xf32>
}

// The fourth shard of nine tokens has none.
// CHECK-DAG: partition @few: equal
// CHECK-DAG: lower @few: equal
func.func @few(%logits: tensor<2x9xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %p: tensor<2xi32>, %i: tensor<2xi64>, %t: tensor<2xf32>, %k: tensor<2xi32>, %tp: tensor<2xf32>, %mp: tensor<2xf32>) -> (tensor<2xi32>, tensor<2xf32>) {
  %0:2 = nn.sample %logits, %p, %i, %t, %k, %tp, %mp : (tensor<2x9xf32>, tensor<2xi32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xi32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2xi32>, tensor<2xf32>
}
