// RUN: tp-opt --split-input-file --tp-insert-reshards --tp-partition --tp-verify-partitioned %s | FileCheck %s

// Every row of the reshard table, as results that want something else than they
// get.

#rep = #tp.sharding<@mesh, [{}, {}]>
#rows = #tp.sharding<@mesh, [{"tp"}, {}]>
#columns = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>

tp.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[P:[^:]*]]: tensor<4x6xf32> {tp.global_type = tensor<4x6xf32>,
// CHECK-SAME: %[[S:[^:]*]]: tensor<2x6xf32> {tp.global_type = tensor<4x6xf32>, tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}
// CHECK-SAME: %[[R:[^:]*]]: tensor<4x6xf32>
func.func @rows(%p: tensor<4x6xf32> {tp.sharding = #part}, %s: tensor<4x6xf32> {tp.sharding = #rows}, %r: tensor<4x6xf32> {tp.sharding = #rep})
    -> (tensor<4x6xf32> {tp.sharding = #rep}, tensor<4x6xf32> {tp.sharding = #rows},
        tensor<4x6xf32> {tp.sharding = #rep}, tensor<4x6xf32> {tp.sharding = #columns},
        tensor<4x6xf32> {tp.sharding = #columns}, tensor<4x6xf32> {tp.sharding = #part}) {
  // Each on a value of its own, or they would share.
  %p1 = arith.negf %p {tp.shardings = [#part]} : tensor<4x6xf32>
  %s1 = arith.negf %s {tp.shardings = [#rows]} : tensor<4x6xf32>
  %r1 = arith.negf %r {tp.shardings = [#rep]} : tensor<4x6xf32>
  // CHECK-DAG: tp.all_reduce sum %[[P]] over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>, ledger = #tp.ledger<0, cause = "partial sum of a value over \22tp\22", {{.*}}>, to = #tp.sharding<@mesh, [{}, {}]>} : tensor<4x6xf32> -> tensor<4x6xf32>
  // CHECK-DAG: tp.reduce_scatter sum %{{.*}} dim 0 over @mesh ["tp"] {{.*}} : tensor<4x6xf32> -> tensor<2x6xf32>
  // CHECK-DAG: tp.all_gather %[[S]] dim 0 over @mesh ["tp"] {{.*}} : tensor<2x6xf32> -> tensor<4x6xf32>
  // CHECK-DAG: tp.all_to_all %{{.*}} split 1 gather 0 over @mesh ["tp"] {{.*}} : tensor<2x6xf32> -> tensor<4x3xf32>
  // CHECK-DAG: tp.slice %[[R]] dim 1 over @mesh ["tp"] {{.*}} : tensor<4x6xf32> -> tensor<4x3xf32>
  // CHECK-DAG: tp.keep_first %{{.*}} over @mesh ["tp"]
  return %p, %p1, %s, %s1, %r, %r1 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Another axis on the same dimension: ranks swap.

tp.mesh @mesh <["a"=2, "b"=2]>

// CHECK-LABEL: func.func @permute
// CHECK: tp.collective_permute %{{.*}} over @mesh {{.*}} pairs dense<{{\[\[}}0, 0], [2, 1], [1, 2], [3, 3]]>
func.func @permute(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"a"}]>}) -> (tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"b"}]>}) {
  return %x : tensor<8xf32>
}

// -----

// A sum over 10 in 4 parts of 3: exp of the two zeros of padding would add 2.

tp.mesh @mesh <["tp"=4]>

// CHECK-LABEL: func.func @mask
// CHECK-SAME: tensor<3x4xf32>
func.func @mask(%x: tensor<10x4xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}], partial sum {"tp"}>}) {
  // CHECK: %[[E:.*]] = math.exp
  %e = math.exp %x {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<10x4xf32>
  %zero = arith.constant {tp.shardings = [#tp.sharding<@mesh, [{}]>]} dense<0.0> : tensor<4xf32>
  // CHECK: %[[RANK:.*]] = tp.rank @mesh ["tp"]
  // CHECK: %[[PARTS:.*]] = arith.constant 3 : index
  // CHECK: %[[OFFSET:.*]] = arith.muli %[[RANK]], %[[PARTS]] : index
  // CHECK: %[[END:.*]] = arith.constant 10 : index
  // CHECK: %[[FILL:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK: %[[M:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<3x4xf32>)
  // CHECK:   %[[I:.*]] = linalg.index 0
  // CHECK:   %[[AT:.*]] = arith.addi %[[I]], %[[OFFSET]]
  // CHECK:   %[[IN:.*]] = arith.cmpi slt, %[[AT]], %[[END]]
  // CHECK:   arith.select %[[IN]], %{{.*}}, %[[FILL]]
  // CHECK: linalg.generic {{.*}} ins(%[[M]] : tensor<3x4xf32>)
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%e : tensor<10x4xf32>) outs(%zero : tensor<4xf32>) attrs = {tp.shardings = [#tp.sharding<@mesh, [{}], partial sum {"tp"}>]} {
  ^bb0(%a: f32, %acc: f32):
    %n = arith.addf %acc, %a : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// A maximum is masked with -inf.
// CHECK-LABEL: func.func @mask_max
// CHECK: arith.constant 0xFF800000 : f32
func.func @mask_max(%x: tensor<10x4xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}, %init: tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) -> (tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}], partial max {"tp"}>}) {
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<10x4xf32>) outs(%init : tensor<4xf32>) attrs = {tp.shardings = [#tp.sharding<@mesh, [{}], partial max {"tp"}>]} {
  ^bb0(%a: f32, %acc: f32):
    %n = arith.maximumf %acc, %a : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// Zeros on both sides of a contraction cancel: no mask.
// CHECK-LABEL: func.func @cancels
// CHECK: %[[X:.*]] = nn.silu
// CHECK-NOT: linalg.generic
// CHECK: nn.linear %[[X]]
func.func @cancels(%x: tensor<2x10xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<2x4xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>}) {
  %a = nn.silu %x {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<2x10xf32>
  // CHECK: tensor<2x3xf32>, tensor<4x3xf32>
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<4x10xf32>
  %y = nn.linear %a, %w {tp.shardings = [#tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>]} : (tensor<2x10xf32>, tensor<4x10xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// What padding holds is carried around the loop: zeros go in, ones come back.

#cut = #tp.sharding<@mesh, [{"tp"}]>
tp.mesh @mesh <["tp"=4]>

// CHECK-LABEL: func.func @carried
// CHECK: tp.repeat 2 times iter(%{{.*}}) {{.*}} : (tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[C:[^:]*]]: tensor<3xf32>):
// CHECK: linalg.generic {{.*}} ins(%[[C]] : tensor<3xf32>)
// CHECK: linalg.dot
func.func @carried(%x: tensor<10xf32> {tp.sharding = #cut}, %w: tensor<10xf32> {tp.sharding = #cut}) -> (tensor<10xf32> {tp.sharding = #cut}) {
  %h = tp.repeat 2 times iter(%x) {tp.shardings = [#cut]} : (tensor<10xf32>) -> tensor<10xf32> {
  ^bb0(%i: index, %c: tensor<10xf32>):
    %zero = arith.constant {tp.shardings = [#tp.sharding<@mesh, []>]} dense<0.0> : tensor<f32>
    %d = linalg.dot {tp.shardings = [#tp.sharding<@mesh, [], partial sum {"tp"}>]} ins(%c, %w : tensor<10xf32>, tensor<10xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
    %empty = tensor.empty() {tp.shardings = [#cut]} : tensor<10xf32>
    %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%c, %d : tensor<10xf32>, tensor<f32>) outs(%empty : tensor<10xf32>) attrs = {tp.shardings = [#cut]} {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.divf %a, %b : f32
      %e = math.exp %s : f32
      linalg.yield %e : f32
    } -> tensor<10xf32>
    tp.yield %n : tensor<10xf32>
  }
  return %h : tensor<10xf32>
}

// -----

// Sixteen ranks share eight KV heads; a constant table is cut by each rank.

#heads = #tp.sharding<@mesh, [{}, {}, {"tp"}, {}]>
#kv = #tp.sharding<@mesh, [{}, {}, {"tp":(1)8}, {}]>
tp.mesh @mesh <["tp"=16]>

// CHECK-LABEL: func.func @kv_heads
// CHECK: nn.attention {{.*}} : (tensor<1x4x2x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>) -> tensor<1x4x2x8xf32>
func.func @kv_heads(%q: tensor<1x4x32x8xf32> {tp.sharding = #heads}, %k: tensor<1x4x8x8xf32> {tp.sharding = #kv}, %v: tensor<1x4x8x8xf32> {tp.sharding = #kv}) -> (tensor<1x4x32x8xf32> {tp.sharding = #heads}) {
  %o = nn.attention %q, %k, %v {scale = 0.125 : f64, tp.shardings = [#heads]} : (tensor<1x4x32x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x32x8xf32>
  return %o : tensor<1x4x32x8xf32>
}

// CHECK-LABEL: func.func @table
// CHECK: %[[WHOLE:.*]] = arith.constant {{.*}} dense<[0.0{{.*}}]> : tensor<16xf32>
// CHECK: tp.slice %[[WHOLE]] dim 0 over @mesh ["tp"] {{.*}} : tensor<16xf32> -> tensor<1xf32>
func.func @table() -> (tensor<16xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) {
  %t = arith.constant {tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]} dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]> : tensor<16xf32>
  return %t : tensor<16xf32>
}
