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

// A weight that is no parameter, or is read elsewhere, is read as it lies.
// CHECK-LABEL: func @matmul
// CHECK: nn.matmul %arg0, %arg1 : (tensor<2x8x64xf32>, tensor<64x32xf32>) -> tensor<2x8x32xf32>
// CHECK: %[[W:.*]] = tp.parameter "w" : tensor<64x32xf32>
// CHECK: nn.matmul %{{.*}}, %[[W]]
// CHECK: nn.linear %{{.*}}, %[[W]]
func.func @matmul(%x: tensor<2x8x64xf32>, %v: tensor<64x32xf32>, %z: tensor<8x64xf32>) -> (tensor<2x8x32xf32>, tensor<8x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<2x8x32xf32>
  %y = linalg.generic {
    indexing_maps = [affine_map<(a, b, n, k) -> (a, b, k)>, affine_map<(a, b, n, k) -> (k, n)>, affine_map<(a, b, n, k) -> (a, b, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]
  } ins(%x, %v : tensor<2x8x64xf32>, tensor<64x32xf32>) outs(%zero : tensor<2x8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x8x32xf32>
  %w = tp.parameter "w" : tensor<64x32xf32>
  %none = arith.constant dense<0.0> : tensor<8x32xf32>
  %f = linalg.matmul ins(%z, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%none : tensor<8x32xf32>) -> tensor<8x32xf32>
  %zeros = arith.constant dense<0.0> : tensor<8x64xf32>
  %b = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%f, %w : tensor<8x32xf32>, tensor<64x32xf32>) outs(%zeros : tensor<8x64xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  return %y, %b : tensor<2x8x32xf32>, tensor<8x64xf32>
}

// A sum over rows, from bf16 and rounded at the end, its operands in either order,
// and one that is added to what there is.
// CHECK-LABEL: func @rows
// CHECK: nn.matmul %arg0, %arg1 {transposed} : (tensor<2x8x64xbf16>, tensor<2x8x32xbf16>) -> tensor<64x32xbf16>
// CHECK-NOT: truncf
// CHECK: %[[SUM:.*]] = nn.matmul %arg1, %arg0 {transposed} : (tensor<2x8x32xbf16>, tensor<2x8x64xbf16>) -> tensor<32x64xf32>
// CHECK: arith.addf %[[SUM]], %arg2
func.func @rows(%y: tensor<2x8x64xbf16>, %x: tensor<2x8x32xbf16>, %old: tensor<32x64xf32>) -> (tensor<64x32xbf16>, tensor<32x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %w = linalg.generic {
    indexing_maps = [affine_map<(a, b, n, k) -> (a, b, n)>, affine_map<(a, b, n, k) -> (a, b, k)>, affine_map<(a, b, n, k) -> (n, k)>],
    iterator_types = ["reduction", "reduction", "parallel", "parallel"]
  } ins(%y, %x : tensor<2x8x64xbf16>, tensor<2x8x32xbf16>) outs(%zero : tensor<64x32xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %le = arith.extf %l : bf16 to f32
    %re = arith.extf %r : bf16 to f32
    %m = arith.mulf %le, %re : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x32xf32>
  %e = tensor.empty() : tensor<64x32xbf16>
  %n = linalg.generic {indexing_maps = [affine_map<(n, k) -> (n, k)>, affine_map<(n, k) -> (n, k)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<64x32xf32>) outs(%e : tensor<64x32xbf16>) {
  ^bb0(%l: f32, %o: bf16):
    %t = arith.truncf %l : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<64x32xbf16>
  %v = linalg.generic {
    indexing_maps = [affine_map<(a, b, n, k) -> (a, b, n)>, affine_map<(a, b, n, k) -> (a, b, k)>, affine_map<(a, b, n, k) -> (k, n)>],
    iterator_types = ["reduction", "reduction", "parallel", "parallel"]
  } ins(%y, %x : tensor<2x8x64xbf16>, tensor<2x8x32xbf16>) outs(%old : tensor<32x64xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %le = arith.extf %l : bf16 to f32
    %re = arith.extf %r : bf16 to f32
    %m = arith.mulf %re, %le : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  return %n, %v : tensor<64x32xbf16>, tensor<32x64xf32>
}

// Not found: a batch of products, a subtraction, a square, narrow sums.
// CHECK-LABEL: func @left
// CHECK-NOT: nn.
// CHECK: return
func.func @left(%x: tensor<4x8x64xf32>, %w: tensor<4x64x32xf32>, %i: tensor<4x8x32xf32>, %y: tensor<8x64xf32>, %v: tensor<32x64xf32>, %j: tensor<8x32xf32>, %h: tensor<8x64xbf16>, %hw: tensor<32x64xbf16>, %hj: tensor<8x32xbf16>) -> (tensor<4x8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xbf16>) {
  %a = linalg.batch_matmul ins(%x, %w : tensor<4x8x64xf32>, tensor<4x64x32xf32>) outs(%i : tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
  %b = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%y, %v : tensor<8x64xf32>, tensor<32x64xf32>) outs(%j : tensor<8x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %m = arith.mulf %l, %r : f32
    %s = arith.subf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %c = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%y, %v : tensor<8x64xf32>, tensor<32x64xf32>) outs(%j : tensor<8x32xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %m = arith.mulf %r, %r : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x32xf32>
  %d = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%h, %hw : tensor<8x64xbf16>, tensor<32x64xbf16>) outs(%hj : tensor<8x32xbf16>) {
  ^bb0(%l: bf16, %r: bf16, %o: bf16):
    %m = arith.mulf %l, %r : bf16
    %s = arith.subf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<8x32xbf16>
  return %a, %b, %c, %d : tensor<4x8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xbf16>
}

// The library knows no row of padding: its ids become -1, which no table has.
// CHECK-LABEL: func.func @padding_row
// CHECK-SAME: %[[IDS:.*]]: tensor<4xi32>
// CHECK: %[[MASKED:.*]] = linalg.generic {{.*}} ins(%[[IDS]] : tensor<4xi32>)
// CHECK-NEXT: ^bb0(%[[ID:.*]]: i32,
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[ID]], %c5_i32
// CHECK: arith.select %[[IS]], %c-1_i32, %[[ID]]
// CHECK: nn.embedding_backward %[[MASKED]], %{{.*}} : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
func.func @padding_row(%ids: tensor<4xi32>, %x: tensor<4x8xf32>) -> tensor<9x8xf32> {
  %0 = nn.embedding_backward %ids, %x {padding_row = 5 : i64} : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}
