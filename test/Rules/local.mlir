// RUN: tp-opt %s --test-tp-local-form | FileCheck %s

tp.mesh @mesh <["tp"=4]>

// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<1x8x64xf32>, %w: tensor<250x64xf32>) -> tensor<1x8x250xf32> {
  // CHECK: nn.linear %{{.*}}, %{{.*}} : (tensor<1x8x64xf32>, tensor<63x64xf32>) -> tensor<1x8x63xf32>
  %0 = nn.linear %x, %w {test.shard = {n = "tp"}} : (tensor<1x8x64xf32>, tensor<250x64xf32>) -> tensor<1x8x250xf32>
  return %0 : tensor<1x8x250xf32>
}

// Positions go on where the previous rank's end.
// CHECK-LABEL: func.func @rotary_table
// CHECK-SAME: %[[START:.*]]: index
func.func @rotary_table(%start: index) -> tensor<8x2xf32> {
  // CHECK: %[[RANK:.*]] = tp.rank @mesh ["tp"]
  // CHECK: %[[SIZE:.*]] = arith.constant 2 : index
  // CHECK: %[[SHARD:.*]] = arith.muli %[[RANK]], %[[SIZE]]
  // CHECK: %[[OFFSET:.*]] = arith.addi %[[START]], %[[SHARD]]
  // CHECK: nn.rotary_table offset %[[OFFSET]] {{.*}} : tensor<2x2xf32>, tensor<2x2xf32>
  %c, %s = nn.rotary_table offset %start {inv_freq = dense<1.0> : tensor<2xf32>, test.shard = {s = "tp"}} : tensor<8x2xf32>, tensor<8x2xf32>
  return %c : tensor<8x2xf32>
}

// Positions that are given are cut like the rows.
// CHECK-LABEL: func.func @rotary_positions
func.func @rotary_positions(%positions: tensor<8xi32>) -> tensor<8x2xf32> {
  // CHECK-NOT: tp.rank
  // CHECK: nn.rotary_table positions %{{.*}} : tensor<2xi32> {{.*}} : tensor<2x2xf32>, tensor<2x2xf32>
  %c, %s = nn.rotary_table positions %positions : tensor<8xi32> {inv_freq = dense<1.0> : tensor<2xf32>, test.shard = {s = "tp"}} : tensor<8x2xf32>, tensor<8x2xf32>
  return %c : tensor<8x2xf32>
}

// Six KV heads are two on each rank, and their queries with them.
// CHECK-LABEL: func.func @paged_attention
func.func @paged_attention(%q: tensor<1x4x12x8xf32>, %pool: tensor<64x6x8xf32>, %i: tensor<4xi32>, %t: tensor<2x4xi32>) -> tensor<1x4x12x8xf32> {
  // CHECK: nn.paged_attention {{.*}} : (tensor<1x4x4x8xf32>, tensor<64x2x8xf32>, tensor<64x2x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x4xi32>) -> tensor<1x4x4x8xf32>
  %0 = nn.paged_attention %q, %pool, %pool, %i, %i, %t {page = 16 : i64, scale = 1.0 : f64, test.shard = {"kv heads" = "tp"}} : (tensor<1x4x12x8xf32>, tensor<64x6x8xf32>, tensor<64x6x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2x4xi32>) -> tensor<1x4x12x8xf32>
  return %0 : tensor<1x4x12x8xf32>
}

// The table's rows on this rank begin at its offset; 102 rows are 26 on each.
// CHECK-LABEL: func.func @embedding
func.func @embedding(%i: tensor<1x8xi64>, %t: tensor<102x64xf32>) -> tensor<1x8x64xf32> {
  // CHECK: %[[RANK:.*]] = tp.rank @mesh ["tp"]
  // CHECK: %[[SIZE:.*]] = arith.constant 26 : index
  // CHECK: %[[OFFSET:.*]] = arith.muli %[[RANK]], %[[SIZE]]
  // CHECK: nn.embedding %{{.*}}, %{{.*}} offset %[[OFFSET]] : (tensor<1x8xi64>, tensor<26x64xf32>, index) -> tensor<1x8x64xf32>
  %0 = nn.embedding %i, %t {test.shard = {vocabulary = "tp"}} : (tensor<1x8xi64>, tensor<102x64xf32>) -> tensor<1x8x64xf32>
  return %0 : tensor<1x8x64xf32>
}

// The mask is that of the global element.
// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<8x64xf32>, %seed: tensor<i64>, %layer: index) -> tensor<8x64xf32> {
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: %[[OFFSET:.*]] = arith.muli
  // CHECK: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} layer %{{.*}} offsets %[[ZERO]], %[[OFFSET]] {global_shape = array<i64: 8, 64>, op_id = 1 : i64, probability = 1.000000e-01 : f64} : tensor<8x16xf32>
  %0 = nn.dropout %x, %seed, %seed layer %layer {op_id = 1 : i64, probability = 0.1 : f64, test.shard = {d1 = "tp"}} : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// Every position that the body reads is the global one.
// CHECK-LABEL: func.func @linalg_index
func.func @linalg_index(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: %[[RANK:.*]] = tp.rank @mesh ["tp"]
  // CHECK: %[[SIZE:.*]] = arith.constant 16 : index
  // CHECK: %[[OFFSET:.*]] = arith.muli %[[RANK]], %[[SIZE]]
  // CHECK: %[[LIMIT:.*]] = arith.constant 3 : index
  // CHECK: linalg.generic
  // CHECK-SAME: ins(%{{.*}} : tensor<8x16xf32>) outs(%{{.*}} : tensor<8x16xf32>)
  // CHECK: %[[ROW:.*]] = linalg.index 0
  // CHECK: %[[LOCAL:.*]] = linalg.index 1
  // CHECK: %[[COLUMN:.*]] = arith.addi %[[LOCAL]], %[[OFFSET]]
  // CHECK: arith.addi %[[ROW]], %[[COLUMN]]
  // CHECK: arith.cmpi slt, %{{.*}}, %[[LIMIT]]
  %limit = arith.constant 3 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x64xf32>) outs(%x : tensor<8x64xf32>) attrs = {test.shard = {d1 = "tp"}} {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %sum = arith.addi %i, %j : index
    %small = arith.cmpi slt, %sum, %limit : index
    %1 = arith.select %small, %a, %out : f32
    linalg.yield %1 : f32
  } -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  // CHECK: arith.constant dense<1.000000e+00> : tensor<2x2xf32>
  %0 = arith.constant {test.shard = {d0 = "tp"}} dense<1.0> : tensor<8x2xf32>
  // CHECK: %[[WHOLE:.*]] = arith.constant dense<{{.*}}> : tensor<8x2xf32>
  // CHECK: tp.slice %[[WHOLE]] dim 0 over @mesh ["tp"] : tensor<8x2xf32> -> tensor<2x2xf32>
  %1 = arith.constant {test.shard = {d0 = "tp"}} dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0], [10.0, 11.0], [12.0, 13.0], [14.0, 15.0]]> : tensor<8x2xf32>
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf32>
}

// CHECK-LABEL: func.func @reshapes
func.func @reshapes(%x: tensor<2x32x6xf32>, %y: tensor<2x192xf32>) -> (tensor<2x192xf32>, tensor<2x32x6xf32>) {
  // CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<2x8x6xf32> into tensor<2x48xf32>
  %0 = tensor.collapse_shape %x [[0], [1, 2]] {test.shard = {d1 = "tp"}} : tensor<2x32x6xf32> into tensor<2x192xf32>
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [2, 8, 6] : tensor<2x48xf32> into tensor<2x8x6xf32>
  %1 = tensor.expand_shape %y [[0], [1, 2]] output_shape [2, 32, 6] {test.shard = {d1 = "tp"}} : tensor<2x192xf32> into tensor<2x32x6xf32>
  return %0, %1 : tensor<2x192xf32>, tensor<2x32x6xf32>
}

// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<8x24xf32>, %y: tensor<8x10xf32>, %i: index) -> (tensor<8x10xf32>, tensor<8x24xf32>, tensor<8x34xf32>, tensor<24xf32>) {
  // CHECK: tensor.extract_slice %{{.*}}[0, 4] [2, 10] [1, 1] : tensor<2x24xf32> to tensor<2x10xf32>
  %0 = tensor.extract_slice %x[0, 4] [8, 10] [1, 1] {test.shard = {d0 = "tp"}} : tensor<8x24xf32> to tensor<8x10xf32>
  // CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 4] [2, 10] [1, 1] : tensor<2x10xf32> into tensor<2x24xf32>
  %1 = tensor.insert_slice %y into %x[0, 4] [8, 10] [1, 1] {test.shard = {d0 = "tp"}} : tensor<8x10xf32> into tensor<8x24xf32>
  // CHECK: tensor.concat dim(1) %{{.*}}, %{{.*}} : (tensor<2x24xf32>, tensor<2x10xf32>) -> tensor<2x34xf32>
  %2 = tensor.concat dim(1) %x, %y {test.shard = {d0 = "tp"}} : (tensor<8x24xf32>, tensor<8x10xf32>) -> tensor<8x34xf32>
  // CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [1, 6] [1, 1] : tensor<8x6xf32> to tensor<6xf32>
  %3 = tensor.extract_slice %x[%i, 0] [1, 24] [1, 1] {test.shard = {d1 = "tp"}} : tensor<8x24xf32> to tensor<24xf32>
  return %0, %1, %2, %3 : tensor<8x10xf32>, tensor<8x24xf32>, tensor<8x34xf32>, tensor<24xf32>
}

// A parameter keeps what the loader needs; a constraint is gone.
// CHECK-LABEL: func.func @parameter
func.func @parameter() -> tensor<8x24xf32> {
  // CHECK: tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<2x24xf32>
  %0 = tp.parameter "w" {test.shard = {d0 = "tp"}, tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x24xf32>
  // CHECK-NOT: tp.sharding_constraint
  %1 = tp.sharding_constraint %0 <@mesh, [{"tp"}, {}]> {test.shard = {d0 = "tp"}} : tensor<8x24xf32>
  return %1 : tensor<8x24xf32>
}

// One global value, two local forms.
// CHECK-LABEL: func.func @square
func.func @square(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK-DAG: %[[LEFT:.*]] = builtin.unrealized_conversion_cast %{{.*}} : tensor<8x8xf32> to tensor<2x8xf32>
  // CHECK: linalg.matmul {{.*}}ins(%[[LEFT]], %{{.*}} : tensor<2x8xf32>, tensor<8x8xf32>) outs(%{{.*}} : tensor<2x8xf32>) -> tensor<2x8xf32>
  %0 = linalg.matmul {test.shard = {d0 = "tp"}} ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
