// RUN: tp-opt %s --split-input-file --tp-drop-collectives --tp-verify-partitioned | FileCheck %s

// Twice the same, and one that undoes another.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#add = #tp.rule<["a" 8, "b" 64], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @duplicate
// CHECK-SAME: %[[X:.*]]: tensor<8x32xf32>
func.func @duplicate(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col})
    -> (tensor<8x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #rep},
        tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}) {
  // CHECK: %[[G:.*]] = tp.all_gather %[[X]]
  // CHECK-NOT: tp.all_gather
  // CHECK-NOT: tp.slice
  %a = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep, ledger = #tp.ledger<0, cause = "first", annotation = "x", pass = "tp-insert-reshards">} : tensor<8x32xf32> -> tensor<8x64xf32>
  %b = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep, ledger = #tp.ledger<1, cause = "second", annotation = "x", pass = "tp-insert-reshards">} : tensor<8x32xf32> -> tensor<8x64xf32>
  // CHECK: arith.addf %[[G]], %[[G]]
  %sum = arith.addf %a, %b {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x64xf32>
  %s = tp.slice %b dim 1 over @mesh ["tp"] {from = #rep, to = #col} : tensor<8x64xf32> -> tensor<8x32xf32>
  // CHECK: return %{{.*}}, %[[X]]
  return %sum, %s : tensor<8x64xf32>, tensor<8x32xf32>
}

// -----

// A group of one, a result nobody reads, and the same in every layer.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#one = #tp.sharding<@mesh, [{}, {"one"}]>
#add = #tp.rule<["a" 8, "b" 64], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
tp.mesh @mesh <["one"=1, "tp"=2]>
// CHECK-LABEL: func.func @idle
func.func @idle(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %y: tensor<8x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #one})
    -> (tensor<8x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #rep}) {
  // CHECK-NOT: tp.all_reduce
  // CHECK: %[[G:.*]] = tp.all_gather %{{.*}} over @mesh ["tp"]
  // CHECK-NEXT: tp.repeat
  // CHECK-NOT: tp.all_gather
  // CHECK: arith.addf %{{.*}}, %[[G]]
  %unread = tp.slice %y dim 0 over @mesh ["tp"] {from = #one, to = #tp.sharding<@mesh, [{"tp"}, {"one"}]>} : tensor<8x64xf32> -> tensor<4x64xf32>
  %z = tp.all_gather %y dim 1 over @mesh ["one"] {from = #one, to = #rep, ledger = #tp.ledger<0, cause = "c", annotation = "y", pass = "tp-insert-reshards">} : tensor<8x64xf32> -> tensor<8x64xf32>
  %r = tp.repeat 4 times iter(%z) {tp.shardings = [#rep]} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %g = tp.all_gather %x dim 1 over @mesh ["tp"] {from = #col, to = #rep, ledger = #tp.ledger<1, cause = "c", annotation = "x", pass = "tp-insert-reshards">} : tensor<8x32xf32> -> tensor<8x64xf32>
    %n = arith.addf %h, %g {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x64xf32>
    tp.yield %n : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// The padding lanes of five in two parts of three: zero after the slice,
// anything in what was gathered. Both stay.
// CHECK-LABEL: func.func @padded
// CHECK: tp.all_gather
// CHECK-NEXT: tp.slice
func.func @padded(%x: tensor<3xf32> {tp.global_type = tensor<5xf32>, tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) -> (tensor<3xf32> {tp.global_type = tensor<5xf32>, tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) {
  %g = tp.all_gather %x dim 0 over @mesh ["tp"] {from = #tp.sharding<@mesh, [{"tp"}]>, to = #tp.sharding<@mesh, [{}]>, ledger = #tp.ledger<20, cause = "c", annotation = "a", pass = "p">} : tensor<3xf32> -> tensor<5xf32>
  %s = tp.slice %g dim 0 over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}]>, to = #tp.sharding<@mesh, [{"tp"}]>} : tensor<5xf32> -> tensor<3xf32>
  return %s : tensor<3xf32>
}
