// What is cut into vectors and what runs in order: docs/Sharding.md, Re-association.
// RUN: tp-opt %s --tp-generate-kernels=vector-bits=256 --split-input-file | FileCheck %s

// `out - x` is a sum of what is taken away: four accumulators from -0.
// CHECK-LABEL: func private @difference.body
// CHECK: arith.constant dense<-0.000000e+00> : vector<8xf32>
// CHECK: %{{.*}}:5 = scf.for
// CHECK: arith.subf {{.*}} : vector<8xf32>
// CHECK-NEXT: arith.addf {{.*}} : vector<8xf32>
#id = affine_map<(b, h) -> (b, h)>
#row = affine_map<(b, h) -> (b)>
func.func private @difference(%x: tensor<4x64xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x64xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %1 = arith.subf %acc, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The maximum of numbers begins with NaN, in f32 for bf16.
// CHECK-LABEL: func private @number.body
// CHECK: arith.constant dense<0x7FC00000> : vector<8xf32>
// CHECK: arith.maxnumf {{.*}} : vector<8xf32>
#id = affine_map<(b, h) -> (b, h)>
#row = affine_map<(b, h) -> (b)>
func.func private @number(%x: tensor<4x64xbf16>, %o: tensor<4xbf16>) -> tensor<4xbf16> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x64xbf16>) outs(%o : tensor<4xbf16>) {
  ^bb0(%in: bf16, %acc: bf16):
    %1 = arith.maxnumf %acc, %in : bf16
    linalg.yield %1 : bf16
  } -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// A product of floats is a recurrence: one number goes from step to step.
// CHECK-LABEL: func private @product.body
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: arith.mulf {{.*}} : f32
#id = affine_map<(b, h) -> (b, h)>
#row = affine_map<(b, h) -> (b)>
func.func private @product(%x: tensor<4x64xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x64xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %1 = arith.mulf %acc, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// One of integers is none: four accumulators from one.
// CHECK-LABEL: func private @integers.body
// CHECK: arith.constant dense<1> : vector<8xi32>
// CHECK: arith.muli {{.*}} : vector<8xi32>
#id = affine_map<(b, h) -> (b, h)>
#row = affine_map<(b, h) -> (b)>
func.func private @integers(%x: tensor<4x64xi32>, %o: tensor<4xi32>) -> tensor<4xi32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x64xi32>) outs(%o : tensor<4xi32>) {
  ^bb0(%in: i32, %acc: i32):
    %1 = arith.muli %acc, %in : i32
    linalg.yield %1 : i32
  } -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

// The second result adds up the first one's steps: both run in order.
// CHECK-LABEL: func private @prefix.body
// CHECK: scf.for
// CHECK: %{{.*}}:2 = scf.for {{.*}} -> (f32, f32)
#id = affine_map<(b, h) -> (b, h)>
#row = affine_map<(b, h) -> (b)>
func.func private @prefix(%x: tensor<4x64xf32>, %o: tensor<4xf32>, %p: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %0:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x64xf32>) outs(%o, %p : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%in: f32, %a: f32, %b: f32):
    %1 = arith.addf %a, %in : f32
    %2 = arith.addf %b, %1 : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
