// RUN: tp-opt %s --split-input-file --tp-fuse-slices --tp-verify-partitioned | FileCheck %s

// all_reduce + slice of any dimension, and all_gather + slice of another one.

#rep = #tp.sharding<@mesh, [{}, {}]>
#row = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<4x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #row}, tensor<8x8xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #col}, tensor<4x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #row}) {
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // CHECK: tp.reduce_scatter sum %{{.*}} dim 0 over @mesh ["tp"]
  // CHECK-SAME: ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-fuse-slices">
  // CHECK-SAME: tensor<8x16xf32> -> tensor<4x16xf32>
  %a = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s = tp.slice %a dim 0 over @mesh ["tp"] {from = #rep, to = #row} : tensor<8x16xf32> -> tensor<4x16xf32>
  // CHECK: tp.reduce_scatter sum %{{.*}} dim 1 over @mesh ["tp"]
  %b = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %t = tp.slice %b dim 1 over @mesh ["tp"] {from = #rep, to = #col} : tensor<8x16xf32> -> tensor<8x8xf32>
  // CHECK: tp.all_to_all %{{.*}} split 0 gather 1 over @mesh ["tp"] {{.*}} : tensor<8x32xf32> -> tensor<4x64xf32>
  %g = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep, ledger = #tp.ledger<2, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x32xf32> -> tensor<8x64xf32>
  %u = tp.slice %g dim 0 over @mesh ["tp"] {from = #rep, to = #row} : tensor<8x64xf32> -> tensor<4x64xf32>
  // CHECK-NOT: tp.slice
  return %s, %t, %u : tensor<4x16xf32>, tensor<8x8xf32>, tensor<4x64xf32>
}

// -----

// The whole sum is read as well: the slice is free.

#rep = #tp.sharding<@mesh, [{}, {}]>
#row = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @shared
func.func @shared(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}, tensor<4x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #row}) {
  // CHECK: tp.all_reduce
  // CHECK: tp.slice
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %a = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s = tp.slice %a dim 0 over @mesh ["tp"] {from = #rep, to = #row} : tensor<8x16xf32> -> tensor<4x16xf32>
  return %a, %s : tensor<8x16xf32>, tensor<4x16xf32>
}
