// RUN: tp-opt %s --tp-generate-kernels=vector-bits=256 --split-input-file | FileCheck %s

// A row of 77 is nine vectors of 8, then one of 4 and a scalar; the reduction
// keeps four vector accumulators and is finished by halves.
// CHECK-LABEL: func private @norm.body
// CHECK-SAME: (%[[CONTEXT:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %{{.*}}: i64)
// CHECK: scf.for
// CHECK: %[[SUM:.*]]:5 = scf.for
// CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr -> vector<8xf32>
// CHECK: vector.shuffle
// CHECK: vector<4xf32>
// CHECK: math.rsqrt
// CHECK: llvm.store {{.*}} : vector<8xf32>, !llvm.ptr
// CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr
// CHECK: func.func private @norm(
// CHECK-SAME: tp.body = @norm.body
// CHECK-SAME: tp.row_count = 16 : i64
// CHECK-SAME: tp.scratch_bytes = 0 : i64
#id = affine_map<(b, s, h) -> (b, s, h)>
#row = affine_map<(b, s, h) -> (b, s)>
func.func private @norm(%x: tensor<2x8x77xf32>) -> tensor<2x8x77xf32> attributes {tp.kernel = "rows", tp.row_dims = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<2x8xf32>
  %ss = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<2x8x77xf32>) outs(%zero : tensor<2x8xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %sq = arith.mulf %in, %in : f32
    %sum = arith.addf %acc, %sq : f32
    linalg.yield %sum : f32
  } -> tensor<2x8xf32>
  %er = tensor.empty() : tensor<2x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s)>, affine_map<(b, s) -> (b, s)>], iterator_types = ["parallel", "parallel"]}
      ins(%ss : tensor<2x8xf32>) outs(%er : tensor<2x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.rsqrt %in : f32
    linalg.yield %v : f32
  } -> tensor<2x8xf32>
  %e = tensor.empty() : tensor<2x8x77xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %r : tensor<2x8x77xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8x77xf32>) {
  ^bb0(%in: f32, %scale: f32, %out: f32):
    %v = arith.mulf %in, %scale : f32
    linalg.yield %v : f32
  } -> tensor<2x8x77xf32>
  return %y : tensor<2x8x77xf32>
}

// -----

// A tensor that is read again in a later loop of the row and is no result has a
// buffer of one row for each worker.
// CHECK-LABEL: func.func private @twice(
// CHECK-SAME: tp.scratch_bytes = 256 : i64
#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
func.func private @twice(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.addf %acc, %in : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<8x64xf32>, tensor<8xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %v = arith.divf %in, %s : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// bf16 is widened by a shift, computed in f32 and rounded in integers.
// CHECK-LABEL: func private @narrow.body
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<8xi16>
// CHECK: arith.shli {{.*}} : vector<8xi32>
// CHECK: arith.mulf {{.*}} : vector<8xf32>
// CHECK: arith.shrui {{.*}} : vector<8xi32>
// CHECK: llvm.store {{.*}} : vector<8xi16>, !llvm.ptr
#id = affine_map<(s, h) -> (s, h)>
func.func private @narrow(%x: tensor<8x64xbf16>) -> tensor<8x64xbf16> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x64xbf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xbf16>) outs(%e : tensor<8x64xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %v = arith.mulf %in, %in : bf16
    linalg.yield %v : bf16
  } -> tensor<8x64xbf16>
  return %y : tensor<8x64xbf16>
}

// -----

// A reduction over rows runs its vectors along the result.
// CHECK-LABEL: func private @columns.body
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<8xf32>)
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK: llvm.store {{.*}} : vector<8xf32>, !llvm.ptr
func.func private @columns(%x: tensor<2x8x64xf32>) -> tensor<2x64xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zero = arith.constant dense<0.0> : tensor<2x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (b, h)>], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<2x8x64xf32>) outs(%zero : tensor<2x64xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.addf %acc, %in : f32
    linalg.yield %v : f32
  } -> tensor<2x64xf32>
  return %y : tensor<2x64xf32>
}
