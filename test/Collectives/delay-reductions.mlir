// RUN: tp-opt %s --split-input-file --tp-delay-reductions --tp-verify-partitioned | FileCheck %s

// Past a narrowing cast: half the bytes.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#cast = #tp.rule<["a" 8, "b" 16], ([0], [1]) multilinear -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<8x16xbf16> {tp.global_type = tensor<8x16xbf16>, tp.sharding = #rep}) {
  // CHECK: %[[Y:.*]] = nn.linear
  // CHECK: %[[N:.*]] = arith.truncf %[[Y]] {{.*}} partial sum {"tp"}
  // CHECK: tp.all_reduce sum %[[N]] {{.*}} pass = "tp-delay-reductions">{{.*}} : tensor<8x16xbf16> -> tensor<8x16xbf16>
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %n = arith.truncf %r {tp.rule = #cast, tp.shardings = [#rep]} : tensor<8x16xf32> to tensor<8x16xbf16>
  return %n : tensor<8x16xbf16>
}

// -----

// Not past a widening cast, nor past one that is no less and meets nothing.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#cast = #tp.rule<["a" 8, "b" 16], ([0], [1]) multilinear -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @widen
func.func @widen(%x: tensor<8x32xbf16> {tp.global_type = tensor<8x64xbf16>, tp.sharding = #col}, %w: tensor<16x32xbf16> {tp.global_type = tensor<16x64xbf16>, tp.sharding = #col})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}, tensor<8x16xbf16> {tp.global_type = tensor<8x16xbf16>, tp.sharding = #rep}) {
  // CHECK: %[[Y:.*]] = nn.linear
  // CHECK: tp.all_reduce sum %[[Y]] {{.*}} : tensor<8x16xbf16> -> tensor<8x16xbf16>
  // CHECK: arith.extf
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xbf16>, tensor<16x32xbf16>) -> tensor<8x16xbf16>
  %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xbf16> -> tensor<8x16xbf16>
  %n = arith.extf %r {tp.rule = #cast, tp.shardings = [#rep]} : tensor<8x16xbf16> to tensor<8x16xf32>
  // CHECK: %[[Z:.*]] = nn.linear
  // CHECK: tp.all_reduce sum %[[Z]]
  // CHECK: arith.negf
  %z = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xbf16>, tensor<16x32xbf16>) -> tensor<8x16xbf16>
  %q = tp.all_reduce sum %z over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xbf16> -> tensor<8x16xbf16>
  %m = arith.negf %q {tp.rule = #cast, tp.shardings = [#rep]} : tensor<8x16xbf16>
  return %n, %m : tensor<8x16xf32>, tensor<8x16xbf16>
}

// -----

// To where it meets another, and to a slice; the merged and fused forms are
// those of the next passes.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#neg = #tp.rule<["a" 8, "b" 16], ([0], [1]) multilinear -> ([0], [1])>
#add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @meet
func.func @meet(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}, tensor<8x8xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #col}) {
  // CHECK: %[[A:.*]] = nn.linear
  // CHECK: %[[NEG:.*]] = arith.negf %[[A]]
  // CHECK: %[[AR:.*]] = tp.all_reduce sum %[[NEG]]
  %a = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %a1 = tp.all_reduce sum %a over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %n = arith.negf %a1 {tp.rule = #neg, tp.shardings = [#rep]} : tensor<8x16xf32>
  // CHECK: %[[B:.*]] = nn.linear
  // CHECK: %[[BR:.*]] = tp.all_reduce sum %[[B]]
  // CHECK: arith.addf %[[AR]], %[[BR]]
  %b = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %b1 = tp.all_reduce sum %b over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s = arith.addf %n, %b1 {tp.rule = #add, tp.shardings = [#rep]} : tensor<8x16xf32>
  // CHECK: %[[C:.*]] = nn.linear
  // CHECK: %[[CN:.*]] = arith.negf %[[C]]
  // CHECK: %[[CR:.*]] = tp.all_reduce sum %[[CN]]
  // CHECK: tp.slice %[[CR]]
  %c = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %c1 = tp.all_reduce sum %c over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<2, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
  %cn = arith.negf %c1 {tp.rule = #neg, tp.shardings = [#rep]} : tensor<8x16xf32>
  %t = tp.slice %cn dim 1 over @mesh ["tp"] {from = #rep, to = #col} : tensor<8x16xf32> -> tensor<8x8xf32>
  return %s, %t : tensor<8x16xf32>, tensor<8x8xf32>
}

// -----

// Not past what reads its position: after the reduce_scatter dropout draws this
// rank's part of the mask, before it the mask of the first part.

#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#drop = #tp.rule<["a" 8 indexed, "b" 16 indexed], ([0], [1]) multilinear, (), () -> ([0], [1])>
#add = #tp.rule<["a" 8, "b" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col}, %seed: tensor<i64> {tp.global_type = tensor<i64>, tp.sharding = #tp.sharding<@mesh, []>}, %step: tensor<i64> {tp.global_type = tensor<i64>, tp.sharding = #tp.sharding<@mesh, []>})
    -> (tensor<4x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #seq}) {
  // CHECK: %[[Y:.*]] = nn.linear
  // CHECK: %[[R:.*]] = tp.reduce_scatter sum %[[Y]]
  // CHECK: nn.dropout %[[R]]
  %r = tp.rank @mesh ["tp"]
  %four = arith.constant 4 : index
  %zero = arith.constant 0 : index
  %offset = arith.muli %r, %four : index
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %s = tp.reduce_scatter sum %y dim 0 over @mesh ["tp"] {from = #part, to = #seq, ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<4x16xf32>
  %d = nn.dropout %s, %seed, %step offsets %offset, %zero {probability = 0.5 : f64, op_id = 0 : i64, global_shape = array<i64: 8, 16>, tp.rule = #drop, tp.shardings = [#seq]} : tensor<4x16xf32>
  %z = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %t = tp.reduce_scatter sum %z dim 0 over @mesh ["tp"] {from = #part, to = #seq, ledger = #tp.ledger<1, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<4x16xf32>
  %a = arith.addf %d, %t {tp.rule = #add, tp.shardings = [#seq]} : tensor<4x16xf32>
  return %a : tensor<4x16xf32>
}

// -----

// Nor past a product that it is added to, which would count once per rank.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#vec = #tp.sharding<@mesh, [{}]>
#part = #tp.sharding<@mesh, [{}], partial sum {"tp"}>
#linear = #tp.rule<["s" 1, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear, ([1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @bias
func.func @bias(%x: tensor<1x64xf32> {tp.global_type = tensor<1x64xf32>, tp.sharding = #rep}, %w: tensor<16x64xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #rep}, %b: tensor<16xf32> {tp.global_type = tensor<16xf32>, tp.sharding = #vec})
    -> (tensor<1x8xf32> {tp.global_type = tensor<1x16xf32>, tp.sharding = #col}) {
  // CHECK: %[[R:.*]] = tp.all_reduce
  // CHECK: nn.linear {{.*}} bias %[[R]]
  %k = tp.keep_first %b over @mesh ["tp"] {from = #vec, to = #part} : tensor<16xf32>
  %r = tp.all_reduce sum %k over @mesh ["tp"] {from = #part, to = #vec, ledger = #tp.ledger<0, cause = "c", annotation = "b", pass = "tp-insert-reshards">} : tensor<16xf32> -> tensor<16xf32>
  %y = nn.linear %x, %w bias %r {tp.rule = #linear, tp.shardings = [#rep]} : (tensor<1x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<1x16xf32>
  %s = tp.slice %y dim 1 over @mesh ["tp"] {from = #rep, to = #col} : tensor<1x16xf32> -> tensor<1x8xf32>
  return %s : tensor<1x8xf32>
}

// -----

// What layers only stack is reduced behind them, out of both loops; not what a
// layer reads, or carries on.

#rep = #tp.sharding<@mesh, [{}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#stack = #tp.sharding<@mesh, [{}, {}, {}]>
#stacks = #tp.sharding<@mesh, [{}, {}, {}, {}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#same = #tp.rule<["a" 8, "b" 16], ([0], [1]) -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @layers
func.func @layers(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep})
    -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}, tensor<2x3x8x16xf32> {tp.global_type = tensor<2x3x8x16xf32>, tp.sharding = #stacks}, tensor<2x8x16xf32> {tp.global_type = tensor<2x8x16xf32>, tp.sharding = #stack}) {
  // CHECK: %[[OUTER:.*]]:3 = tp.repeat 2 times
  // CHECK-SAME: #tp.sharding<@mesh, [{}, {}, {}, {}], partial sum {"tp"}>, #tp.sharding<@mesh, [{}, {}, {}]>]
  %0:3 = tp.repeat 2 times iter(%h) {tp.shardings = [#rep, #stacks, #stack]} : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x8x16xf32>) {
  ^bb0(%i: index, %c: tensor<8x16xf32>):
    // CHECK: %[[INNER:.*]]:2 = tp.repeat 3 times
    %1:2 = tp.repeat 3 times iter(%c) {tp.shardings = [#rep, #stack]} : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<3x8x16xf32>) {
    ^bb0(%j: index, %d: tensor<8x16xf32>):
      // CHECK: %[[Y:.*]] = nn.linear
      %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
      %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
      // CHECK: tp.yield %{{.*}}, %[[Y]]
      tp.yield %d, %r : tensor<8x16xf32>, tensor<8x16xf32>
    }
    // CHECK: nn.linear
    // CHECK: %[[R:.*]] = tp.all_reduce sum
    // CHECK: %[[E:.*]] = math.exp %[[R]]
    %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #tp.ledger<1, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<8x16xf32>
    %e = math.exp %r {tp.rule = #same, tp.shardings = [#rep]} : tensor<8x16xf32>
    // CHECK: tp.yield %[[E]], %[[INNER]]#1, %[[R]]
    tp.yield %e, %1#1, %r : tensor<8x16xf32>, tensor<3x8x16xf32>, tensor<8x16xf32>
  }
  // CHECK: %[[ALL:.*]] = tp.all_reduce sum %[[OUTER]]#1 {{.*}} pass = "tp-delay-reductions">{{.*}} : tensor<2x3x8x16xf32> -> tensor<2x3x8x16xf32>
  // CHECK-NEXT: return %[[OUTER]]#0, %[[ALL]], %[[OUTER]]#2
  return %0#0, %0#1, %0#2 : tensor<8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x8x16xf32>
}

// -----

// Before a scatter the whole is rounded, into a buffer of the whole's size.

#row = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#empty = #tp.rule<["a" 8, "b" 16], -> ([0], [1])>
#round = #tp.rule<["a" 8, "b" 16], ([0], [1]) multilinear, ([0], [1]) -> ([0], [1])>
#id = affine_map<(i, j) -> (i, j)>
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @scatter
func.func @scatter(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %w: tensor<16x32xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #col})
    -> (tensor<4x16xbf16> {tp.global_type = tensor<8x16xbf16>, tp.sharding = #row}) {
  // CHECK: %[[Y:.*]] = nn.linear
  // CHECK: %[[E:.*]] = tensor.empty() {{.*}} : tensor<8x16xbf16>
  // CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<8x16xf32>) outs(%[[E]] : tensor<8x16xbf16>)
  // CHECK: tp.reduce_scatter sum %[[N]] {{.*}} : tensor<8x16xbf16> -> tensor<4x16xbf16>
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  %r = tp.reduce_scatter sum %y dim 0 over @mesh ["tp"] {from = #part, to = #row, ledger = #tp.ledger<0, cause = "c", annotation = "w", pass = "tp-insert-reshards">} : tensor<8x16xf32> -> tensor<4x16xf32>
  %e = tensor.empty() {tp.rule = #empty, tp.shardings = [#row]} : tensor<4x16xbf16>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<4x16xf32>) outs(%e : tensor<4x16xbf16>) attrs = {tp.rule = #round, tp.shardings = [#row]} {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<4x16xbf16>
  return %n : tensor<4x16xbf16>
}
