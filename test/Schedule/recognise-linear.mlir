// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-recognise-linear))' | FileCheck %s

// CHECK-LABEL: func @matmul_parameter
// CHECK: %[[W:.*]] = tp.parameter "w" source <shape = [64, 32], offsets = [0, 0], permutation = [1, 0]> : tensor<32x64xf32>
// CHECK: nn.linear %arg0, %[[W]] : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
func.func @matmul_parameter(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
  %w = tp.parameter "w" : tensor<64x32xf32>
  %zero = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%zero : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// A box that is already read transposed is read straight again.
// CHECK-LABEL: func @source
// CHECK: tp.parameter "qkv" source <shape = [96, 64], offsets = [32, 0], permutation = [0, 1]> : tensor<32x64xf32>
func.func @source(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
  %w = tp.parameter "qkv" source <shape = [96, 64], offsets = [32, 0], permutation = [1, 0]> : tensor<64x32xf32>
  %zero = arith.constant dense<0.0> : tensor<8x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%zero : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// The sharding's dimensions follow.
// CHECK-LABEL: func @sharded
// CHECK: tp.parameter "w" source
// CHECK-SAME: tp.global_type = tensor<64x64xf32>
// CHECK-SAME: {{\[}}{}, {"tp"}]
// CHECK-SAME: tensor<64x32xf32>
tp.mesh @mesh <["tp"=2]>
func.func @sharded(%x: tensor<8x32xf32>) -> tensor<8x64xf32> {
  %w = tp.parameter "w" {tp.global_type = tensor<64x64xf32>, tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<32x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x32xf32>, tensor<32x64xf32>) outs(%zero : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// An initial value counts once.
// CHECK-LABEL: func @initial
// CHECK: %[[P:.*]] = nn.linear %arg0, %arg1
// CHECK: arith.addf %[[P]], %arg2
func.func @initial(%x: tensor<2x8x64xf32>, %w: tensor<32x64xf32>, %init: tensor<2x8x32xf32>) -> tensor<2x8x32xf32> {
  %y = linalg.generic {
    indexing_maps = [affine_map<(a, b, n, k) -> (a, b, k)>, affine_map<(a, b, n, k) -> (n, k)>, affine_map<(a, b, n, k) -> (a, b, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]
  } ins(%x, %w : tensor<2x8x64xf32>, tensor<32x64xf32>) outs(%init : tensor<2x8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x8x32xf32>
  return %y : tensor<2x8x32xf32>
}

// No linear layer: a product of two activations, a subtraction, narrow sums.
// CHECK-LABEL: func @left
// CHECK-NOT: nn.linear
// CHECK: return
func.func @left(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %v: tensor<32x64xf32>, %i: tensor<8x32xf32>, %h: tensor<8x64xbf16>, %hw: tensor<32x64xbf16>, %f: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %a = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%i : tensor<8x32xf32>) -> tensor<8x32xf32>
  %b = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %v : tensor<8x64xf32>, tensor<32x64xf32>) outs(%i : tensor<8x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.subf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %c = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%h, %hw : tensor<8x64xbf16>, tensor<32x64xbf16>) outs(%f : tensor<8x32xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %le = arith.extf %l : bf16 to f32
    %re = arith.extf %r : bf16 to f32
    %m = arith.mulf %le, %re : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  return %a, %b, %c : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}
