// RUN: tp-opt %s --split-input-file --tp-merge-reductions --tp-verify-partitioned | FileCheck %s

// Two sums added: one reduction with both causes.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @all_reduce
func.func @all_reduce(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %v: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  // CHECK: %[[A:.*]] = nn.linear
  // CHECK: %[[B:.*]] = nn.linear
  // CHECK: %[[S:.*]] = arith.addf %[[A]], %[[B]] {tp.rule = {{.*}}, tp.shardings = [#tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>]}
  // CHECK: %[[R:.*]] = tp.all_reduce sum %[[S]]
  // CHECK-SAME: ledger = #tp.ledger<0, cause = "of a; and of b", annotation = "v; and w", pass = "tp-merge-reductions">
  // CHECK-NOT: tp.all_reduce
  // CHECK: return %[[R]]
  %a = nn.linear %x, %v {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %a1 = tp.all_reduce sum %a over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "of a", annotation = "v", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %b = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %b1 = tp.all_reduce sum %b over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "of b", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s = arith.addf %a1, %b1 {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// -----

// Scattered sums too; a sum that something else reads as well is left alone.

#row = #tp.sharding<@mesh, [{"tp"}, {}]>
#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @reduce_scatter
func.func @reduce_scatter(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %v: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<4x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #row}, tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}, tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  // CHECK: %[[A:.*]] = nn.linear
  // CHECK: %[[B:.*]] = nn.linear
  // CHECK: %[[S:.*]] = arith.addf %[[A]], %[[B]] {{.*}} : tensor<8x16xf32>
  // CHECK: tp.reduce_scatter sum %[[S]] dim 0 {{.*}} : tensor<8x16xf32> -> tensor<4x16xf32>
  // CHECK-COUNT-2: tp.all_reduce
  %a = nn.linear %x, %v {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %a1 = tp.reduce_scatter sum %a dim 0 over @mesh ["tp"] {from = #part, to = #row, ledger = #tp.ledger<0, cause = "of a", annotation = "v", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<4x16xf32>
  %b = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %b1 = tp.reduce_scatter sum %b dim 0 over @mesh ["tp"] {from = #part, to = #row, ledger = #tp.ledger<1, cause = "of b", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<4x16xf32>
  %s = arith.addf %a1, %b1 {tp.rule = #add, tp.shardings = [#row]} : tensor<4x16xf32>
  %c = tp.all_reduce sum %a over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<2, cause = "of a", annotation = "v", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %d = tp.all_reduce sum %b over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<3, cause = "of b", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %t = arith.addf %c, %d {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  return %s, %t, %c : tensor<4x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// Attention and MLP side by side, and a third: h + AR(a) + AR(b) + AR(c) is one
// reduction beside h.

#rep = #tp.sharding<@mesh, [{}, {}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @parallel_block
// CHECK-SAME: (%[[H:[^:]*]]: tensor<8x16xf32> {{{.*}}}, %[[A:[^:]*]]: tensor<8x16xf32> {{{.*}}}, %[[B:[^:]*]]: tensor<8x16xf32> {{{.*}}}, %[[C:[^:]*]]: tensor<8x16xf32>
// CHECK: %[[AB:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: %[[ABC:.*]] = arith.addf %[[AB]], %[[C]]
// CHECK-NEXT: %[[R:.*]] = tp.all_reduce sum %[[ABC]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[H]], %[[R]]
// CHECK-NEXT: return %[[S]]
func.func @parallel_block(%h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}, %a: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #part}, %b: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #part}, %c: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #part})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %ra = tp.all_reduce sum %a over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "of a", annotation = "v", pass = "p">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s1 = arith.addf %h, %ra {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  %rb = tp.all_reduce sum %b over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "of b", annotation = "w", pass = "p">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s2 = arith.addf %s1, %rb {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  %rc = tp.all_reduce sum %c over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<2, cause = "of c", annotation = "w", pass = "p">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s3 = arith.addf %s2, %rc {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  return %s3 : tensor<8x16xf32>
}

// -----

// One over half of the ranks, of which each pair has a copy, and one over all: the copy of the first of each pair counts.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#half = #tp.sharding<@mesh, [{}, {"tp":(1)2}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#parthalf = #tp.sharding<@mesh, [{}, {}], partial sum {"tp":(1)2}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=4]>
// CHECK-LABEL: func.func @copies
func.func @copies(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #half}, %v: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #half}, %y: tensor<8x16xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %w: tensor<16x16xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  // CHECK: %[[A:.*]] = nn.linear
  // CHECK: %[[FIRST:.*]] = tp.keep_first %[[A]] over @mesh ["tp":(2)2]
  // CHECK: %[[B:.*]] = nn.linear
  // CHECK: %[[S:.*]] = arith.addf %[[FIRST]], %[[B]]
  // CHECK: %[[R:.*]] = tp.all_reduce sum %[[S]] over @mesh ["tp"]
  // CHECK-SAME: cause = "of a; and of b"
  // CHECK-NOT: tp.all_reduce
  // CHECK: return %[[R]]
  %a = nn.linear %x, %v {tp.rule = #linear, tp.shardings = [#parthalf]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %a1 = tp.all_reduce sum %a over @mesh ["tp":(1)2] {from = #parthalf, to = #rep, ledger = #tp.ledger<0, cause = "of a", annotation = "v", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %b = nn.linear %y, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %b1 = tp.all_reduce sum %b over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "of b", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s = arith.addf %a1, %b1 {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}
