// Reductions that may be cut into lanes and those that may not, compiled:
// docs/Sharding.md, Re-association.
// RUN: tp-verify %s --plan none --stages lower | FileCheck %s
// CHECK: lower @product: equal
// CHECK: lower @ones: equal
// CHECK: lower @number: equal
// CHECK: lower @zero: equal
// CHECK: lower @booleans: equal
// CHECK: lower @prefix: equal
// CHECK: lower @one: equal
// CHECK: lower @outer: equal
tp.mesh @mesh <["tp"=2]>
#id = affine_map<(b, h) -> (b, h)>
#row = affine_map<(b, h) -> (b)>
#column = affine_map<(b, h) -> (h)>
// 0 · 1 · 2 · 3 · ... is 0, though 40! is infinite.
func.func @product(%x: tensor<8x40xf32>) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %one = arith.constant 1.0 : f32
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x40xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %k = arith.sitofp %j : i64 to f32
    %l = arith.addf %k, %one : f32
    %1 = arith.mulf %acc, %l : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// 256 if every step is rounded, 402 if the sum is.
func.func @ones(%x: tensor<8x402xbf16>) -> tensor<8xbf16> {
  %zero = arith.constant dense<0.0> : tensor<8xbf16>
  %one = arith.constant 1.0 : bf16
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x402xbf16>) outs(%zero : tensor<8xbf16>) {
  ^bb0(%in: bf16, %acc: bf16):
    %1 = arith.addf %acc, %one : bf16
    linalg.yield %1 : bf16
  } -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}
// The maximum of nothing but NaN is NaN.
func.func @number(%x: tensor<8x40xf32>) -> tensor<8xf32> {
  %nan = arith.constant dense<0x7FC00000> : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x40xf32>) outs(%nan : tensor<8xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %nothing = arith.subf %in, %in : f32
    %none = arith.divf %nothing, %nothing : f32
    %1 = arith.maxnumf %acc, %none : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// A sum of negative zeros is one, and so is one over it.
func.func @zero(%x: tensor<8x40xf32>) -> tensor<8xf32> {
  %zero = arith.constant dense<-0.0> : tensor<8xf32>
  %minus = arith.constant -0.0 : f32
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x40xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %size = math.absf %in : f32
    %term = arith.mulf %size, %minus : f32
    %1 = arith.addf %acc, %term : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %2 = arith.divf %one, %0 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
// Of booleans true is -1: the sum is an exclusive or, the maximum an and.
func.func @booleans(%x: tensor<8x33xi1>, %a: tensor<8xi1>, %b: tensor<8xi1>, %c: tensor<8xi1>) -> (tensor<8xi1>, tensor<8xi1>, tensor<8xi1>) {
  %0:3 = linalg.generic {indexing_maps = [#id, #row, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x33xi1>) outs(%a, %b, %c : tensor<8xi1>, tensor<8xi1>, tensor<8xi1>) {
  ^bb0(%in: i1, %sum: i1, %max: i1, %min: i1):
    %1 = arith.subi %sum, %in : i1
    %2 = arith.maxsi %max, %in : i1
    %3 = arith.minui %min, %in : i1
    linalg.yield %1, %2, %3 : i1, i1, i1
  } -> (tensor<8xi1>, tensor<8xi1>, tensor<8xi1>)
  return %0#0, %0#1, %0#2 : tensor<8xi1>, tensor<8xi1>, tensor<8xi1>
}
func.func @prefix(%x: tensor<8x40xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x40xf32>) outs(%a, %b : tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%in: f32, %first: f32, %second: f32):
    %1 = arith.addf %first, %in : f32
    %2 = arith.maximumf %second, %1 : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
// One element, and what it starts from is made in the same kernel.
func.func @one(%x: tensor<8x1xf32>, %a: tensor<8xf32>) -> tensor<8xf32> {
  %start = arith.mulf %a, %a : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x1xf32>) outs(%start : tensor<8xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %1 = arith.subf %in, %acc : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @outer(%x: tensor<8x33xf32>, %a: tensor<33xf32>) -> tensor<33xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x33xf32>) outs(%a : tensor<33xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %1 = arith.subf %acc, %in : f32
    linalg.yield %1 : f32
  } -> tensor<33xf32>
  return %0 : tensor<33xf32>
}
