// Upstream operations sharded in the ways their rules allow, each value held
// against the one-device program.
// RUN: tp-verify %s | FileCheck %s

tp.mesh @mesh <["dp"=2, "tp"=4]>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A reduction with an initial value that counts once: of a product, of terms
// that are not linear, and of a maximum, over padding (10 on 4).
// CHECK: partition @reductions: equal
func.func @reductions(%x: tensor<6x10xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %w: tensor<10x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}, %init: tensor<6x8xf32>, %v: tensor<6xf32>) -> (tensor<6x8xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %0 = linalg.matmul ins(%x, %w : tensor<6x10xf32>, tensor<10x8xf32>) outs(%init : tensor<6x8xf32>) -> tensor<6x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x10xf32>) outs(%v : tensor<6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %e = math.exp %a : f32
    %s = arith.addf %out, %e : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %2 = linalg.reduce { arith.maximumf } ins(%x : tensor<6x10xf32>) outs(%v : tensor<6xf32>) dimensions = [1]
  %3 = linalg.reduce { arith.minimumf } ins(%x : tensor<6x10xf32>) outs(%v : tensor<6xf32>) dimensions = [1]
  return %0, %1, %2, %3 : tensor<6x8xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// Positions that a body reads are global ones.
// CHECK: partition @indices: equal
func.func @indices(%x: tensor<6x10xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}]>}) -> (tensor<6x10xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  %e = tensor.empty() : tensor<6x10xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %after = arith.cmpi sge, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %1 = arith.select %after, %a, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<6x10xf32>
  return %0 : tensor<6x10xf32>
}

// CHECK: partition @movement: equal
func.func @movement(%x: tensor<8x24xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<8x34xf32>, tensor<24x8xf32>, tensor<8x26xf32>, tensor<8x24xf32>, tensor<4x2x24xf32>) {
  %zero = arith.constant 0.0 : f32
  %y = tensor.extract_slice %x[0, 4] [8, 10] [1, 1] : tensor<8x24xf32> to tensor<8x10xf32>
  %0 = tensor.concat dim(1) %x, %y : (tensor<8x24xf32>, tensor<8x10xf32>) -> tensor<8x34xf32>
  %e = tensor.empty() : tensor<24x8xf32>
  %1 = linalg.transpose ins(%x : tensor<8x24xf32>) outs(%e : tensor<24x8xf32>) permutation = [1, 0]
  %2 = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x24xf32> to tensor<8x26xf32>
  %3 = tensor.insert_slice %y into %x[0, 14] [8, 10] [1, 1] : tensor<8x10xf32> into tensor<8x24xf32>
  %4 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 2, 24] : tensor<8x24xf32> into tensor<4x2x24xf32>
  return %0, %1, %2, %3, %4 : tensor<8x34xf32>, tensor<24x8xf32>, tensor<8x26xf32>, tensor<8x24xf32>, tensor<4x2x24xf32>
}

// CHECK: partition @gather: equal
func.func @gather(%t: tensor<5x12xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<3x12xf32>, tensor<12xf32>) {
  %i = arith.constant dense<[[4], [0], [3]]> : tensor<3x1xi64>
  %c = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]> : tensor<12xf32>
  %0 = tensor.gather %t[%i] gather_dims([0]) : (tensor<5x12xf32>, tensor<3x1xi64>) -> tensor<3x12xf32>
  %1 = tensor.extract_slice %t[2, 0] [1, 12] [1, 1] : tensor<5x12xf32> to tensor<12xf32>
  %2 = arith.mulf %1, %c : tensor<12xf32>
  return %0, %2 : tensor<3x12xf32>, tensor<12xf32>
}

// Partial sums pass through what is linear and stop before what is not.
// CHECK: partition @linear: equal
func.func @linear(%x: tensor<6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %w: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %r: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %0 = nn.linear %x, %w : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %1 = arith.negf %0 : tensor<6x4xf32>
  %2 = arith.divf %1, %r : tensor<6x4xf32>
  %3 = arith.subf %2, %r : tensor<6x4xf32>
  %4 = math.tanh %3 : tensor<6x4xf32>
  return %4 : tensor<6x4xf32>
}

// A partial bias or initial value beside a product that is whole.
// CHECK: partition @bias: equal
func.func @bias(%x: tensor<6x8xf32>, %w: tensor<4x8xf32>, %a: tensor<1x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %b: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<6x4xf32> {
  %p = nn.linear %a, %b : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
  %bias = tensor.collapse_shape %p [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
  %0 = nn.linear %x, %w bias %bias : (tensor<6x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// CHECK: partition @out: equal
func.func @out(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %a: tensor<6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %b: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<6x4xf32> {
  %p = nn.linear %a, %b : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<6x8xf32>, tensor<8x4xf32>) outs(%p : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// What has no place in the reduction is added at every step of it, and a scalar
// by every rank.
// CHECK: partition @often: equal
func.func @often(%x: tensor<6xf32>, %w: tensor<6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %i: tensor<6xf32>) -> tensor<6xf32> {
  %0 = linalg.generic {indexing_maps = [#row, #id, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %w : tensor<6xf32>, tensor<6x8xf32>) outs(%i : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %d = arith.subf %b, %a : f32
    %s = arith.addf %out, %d : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK: partition @scalar: equal
func.func @scalar(%x: tensor<6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %b: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<6x4xf32> {
  %f = arith.constant 2.0 : f32
  %p = nn.linear %x, %b : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %e = tensor.empty() : tensor<6x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %f : tensor<6x4xf32>, f32) outs(%e : tensor<6x4xf32>) {
  ^bb0(%a: f32, %c: f32, %out: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// Index has the size of a number of 64 bits, where sums are weighed.
// CHECK: collectives @weighed: equal
func.func @weighed(%x: tensor<11x7xindex> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}, %init: tensor<7xindex>) -> tensor<7xindex> {
  %0 = linalg.reduce { arith.addi } ins(%x : tensor<11x7xindex>) outs(%init : tensor<7xindex>) dimensions = [0]
  return %0 : tensor<7xindex>
}
