// RUN: tp-opt %s --tp-form-gemms=target=cuda --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-form-gemms --split-input-file | FileCheck %s --check-prefix=HOST

// What a device's library does beside the product: max(x, 0) where there is no
// NaN, and a factor before everything else. The host's does neither.

// HOST-NOT: func private @gemm{{.*}}
// HOST-LABEL: func @relu
// HOST: arith.maximumf
// HOST: arith.maximumf

// CHECK-LABEL: func @relu
// CHECK: %[[A:.*]] = call @gemm_0(%arg0, %arg1, %arg2)
// CHECK-NEXT: %[[B:.*]] = call @gemm_1(%[[A]], %arg1)
// CHECK-NEXT: %[[C:.*]] = call @gemm_2(%[[B]], %arg1)
// CHECK-NEXT: return %[[C]]
// CHECK: func private @gemm_0
// CHECK-NEXT: %[[Y:.*]] = nn.linear %arg0, %arg1 bias %arg2
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK-NEXT: %[[R:.*]] = arith.maximumf %[[Y]], %[[ZERO]]
// CHECK-NEXT: return %[[R]]
// CHECK: func private @gemm_1
// CHECK-NEXT: %[[Y:.*]] = nn.linear %arg0, %arg1 :
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK-NEXT: arith.maximumf %[[Y]], %[[ZERO]]
func.func @relu(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = nn.linear %x, %w bias %b : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  %1 = arith.maximumf %0, %zero fastmath<nnan> : tensor<8x64xf32>
  %2 = nn.linear %1, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %3 = arith.maximumf %zero, %2 fastmath<nnan> : tensor<8x64xf32>
  %4 = nn.linear %3, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %4 : tensor<8x64xf32>
}

// -----

// Other spellings, where there is no NaN.
// CHECK-LABEL: func @spellings
// CHECK: %[[A:.*]] = call @gemm_0(%arg0, %arg1)
// CHECK-NEXT: %[[B:.*]] = call @gemm_0(%[[A]], %arg1)
// CHECK-NEXT: %[[C:.*]] = call @gemm_0(%[[B]], %arg1)
// CHECK-NEXT: %[[D:.*]] = call @gemm_0(%[[C]], %arg1)
// CHECK-NEXT: return %[[D]]
// CHECK: func private @gemm_0
// CHECK: nn.linear
// CHECK: arith.maximumf
// CHECK-NOT: func private
func.func @spellings(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %c0 = arith.cmpf ugt, %0, %zero fastmath<nnan> : tensor<8x64xf32>
  %1 = arith.select %c0, %0, %zero : tensor<8x64xi1>, tensor<8x64xf32>
  %2 = nn.linear %1, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %c2 = arith.cmpf olt, %2, %zero fastmath<nnan> : tensor<8x64xf32>
  %3 = arith.select %c2, %zero, %2 : tensor<8x64xi1>, tensor<8x64xf32>
  %4 = nn.linear %3, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %c4 = arith.cmpf ule, %zero, %4 fastmath<nnan> : tensor<8x64xf32>
  %5 = arith.select %c4, %4, %zero : tensor<8x64xi1>, tensor<8x64xf32>
  %6 = nn.linear %5, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %7 = arith.maxnumf %6, %zero fastmath<nnan> : tensor<8x64xf32>
  return %7 : tensor<8x64xf32>
}

// -----

// As importers from PyTorch write it.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func @linalg
// CHECK: %[[A:.*]] = call @gemm_0(%arg0, %arg1)
// CHECK: %[[B:.*]] = call @gemm_0(%[[A]], %arg1)
// CHECK: %[[C:.*]] = call @gemm_1(%[[B]], %arg1)
// CHECK-NEXT: return %[[C]]
// CHECK: func private @gemm_0
// CHECK: arith.maximumf
// CHECK: func private @gemm_1
// CHECK: %[[F:.*]] = arith.constant dense<2.5
// CHECK-NEXT: arith.mulf %{{.*}}, %[[F]]
func.func @linalg(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %factor = arith.constant 2.5 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %more = arith.cmpf ugt, %in, %zero fastmath<nnan> : f32
    %y = arith.select %more, %in, %zero : f32
    linalg.yield %y : f32
  } -> tensor<8x64xf32>
  %2 = nn.linear %1, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2, %zeros : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%in: f32, %z: f32, %out: f32):
    %y = arith.maximumf %in, %z fastmath<nnan> : f32
    linalg.yield %y : f32
  } -> tensor<8x64xf32>
  %4 = nn.linear %3, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %factors = tensor.splat %factor : tensor<8x64xf32>
  %5 = linalg.mul ins(%factors, %4 : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %5 : tensor<8x64xf32>
}

// -----

// What NaN becomes is not left to the library; another bound, a tensor, the other half, a
// transposed result: not the library's.
#id = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>
// CHECK-LABEL: func @no_relu
// CHECK: call @gemm_0
// CHECK-NEXT: arith.maxnumf
// CHECK: call @gemm_0
// CHECK-NEXT: arith.cmpf ogt
// CHECK-NEXT: arith.select
// CHECK: call @gemm_0
// CHECK-NEXT: arith.maximumf
// CHECK: call @gemm_0
// CHECK-NEXT: arith.maximumf
// CHECK: call @gemm_0
// CHECK-NEXT: arith.cmpf ult
// CHECK-NEXT: arith.select
// CHECK: call @gemm_0
// CHECK-NEXT: linalg.generic
// CHECK: func private @gemm_0
// CHECK: nn.linear
// CHECK-NEXT: return
// CHECK-NOT: func private
func.func @no_relu(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %0 = nn.linear %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = arith.maxnumf %0, %zero : tensor<64x64xf32>
  %2 = nn.linear %1, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c2 = arith.cmpf ogt, %2, %zero : tensor<64x64xf32>
  %3 = arith.select %c2, %2, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  %4 = nn.linear %3, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = arith.maximumf %4, %one : tensor<64x64xf32>
  %6 = nn.linear %5, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %7 = arith.maximumf %6, %x : tensor<64x64xf32>
  %8 = nn.linear %7, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c8 = arith.cmpf ult, %8, %zero : tensor<64x64xf32>
  %9 = arith.select %c8, %8, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  %10 = nn.linear %9, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %11 = linalg.generic {indexing_maps = [#swapped, #id], iterator_types = ["parallel", "parallel"]}
      ins(%10 : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.maximumf %in, %z : f32
    linalg.yield %y : f32
  } -> tensor<64x64xf32>
  return %11 : tensor<64x64xf32>
}

// -----

// One that element-wise work reads is computed there, and so is one whose
// product others read too.
// CHECK-LABEL: func @read_elsewhere
// CHECK: %[[A:.*]] = call @gemm_0
// CHECK-NEXT: %[[B:.*]] = arith.maximumf %[[A]]
// CHECK-NEXT: arith.mulf %[[B]], %[[B]]
// CHECK: %[[C:.*]] = call @gemm_0
// CHECK-NEXT: arith.maximumf %[[C]]
func.func @read_elsewhere(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = arith.maximumf %0, %zero fastmath<nnan> : tensor<8x64xf32>
  %2 = arith.mulf %1, %1 : tensor<8x64xf32>
  %3 = nn.linear %2, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %4 = arith.maximumf %3, %zero fastmath<nnan> : tensor<8x64xf32>
  return %3, %4 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// A factor goes before a sum or an activation, and before element-wise work.
// HOST-LABEL: func @scale
// HOST: arith.mulf
// CHECK-LABEL: func @scale
// CHECK: %[[A:.*]] = call @gemm_0(%arg0, %arg1, %arg2)
// CHECK-NEXT: %[[B:.*]] = call @gemm_1(%[[A]], %arg1)
// CHECK-NEXT: %[[C:.*]] = call @gemm_2(%[[B]], %arg1)
// CHECK-NEXT: %[[D:.*]] = call @gemm_3(%[[C]], %arg1)
// CHECK-NEXT: %[[E:.*]] = arith.negf %[[D]]
// CHECK-NEXT: return %[[A]], %[[E]]
// CHECK: func private @gemm_0
// CHECK-NEXT: %[[Y:.*]] = nn.linear
// CHECK-NEXT: %[[F:.*]] = arith.constant dense<3.000000e-01>
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[Y]], %[[F]]
// CHECK-NEXT: arith.addf %[[S]], %arg2
// CHECK: func private @gemm_1
// CHECK: %[[S:.*]] = arith.mulf
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK-NEXT: arith.maximumf %[[S]], %[[ZERO]]
// CHECK: func private @gemm_2
// CHECK: %[[S:.*]] = arith.mulf
// CHECK-NEXT: nn.gelu tanh %[[S]]
// CHECK: func private @gemm_3
// CHECK: %[[F:.*]] = arith.constant dense<8.0
// CHECK-NEXT: arith.divf %{{.*}}, %[[F]]
func.func @scale(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %r: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %c = arith.constant dense<0.3> : tensor<8x64xf32>
  %eight = arith.constant dense<8.0> : tensor<8x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = arith.mulf %0, %c : tensor<8x64xf32>
  %2 = arith.addf %1, %r : tensor<8x64xf32>
  %3 = nn.linear %2, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %4 = arith.mulf %c, %3 : tensor<8x64xf32>
  %5 = arith.maximumf %4, %zero fastmath<nnan> : tensor<8x64xf32>
  %6 = nn.linear %5, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %7 = arith.mulf %6, %c : tensor<8x64xf32>
  %8 = nn.gelu tanh %7 : tensor<8x64xf32>
  %9 = nn.linear %8, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %10 = arith.divf %9, %eight : tensor<8x64xf32>
  %11 = arith.negf %10 : tensor<8x64xf32>
  return %2, %11 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// A quotient is a product with the inverse where that rounds no more than the
// program does: by 3 in bf16, not in f32.
// CHECK-LABEL: func @third
// CHECK: call @gemm_0
// CHECK-NEXT: arith.divf
// CHECK-NEXT: call @gemm_1
// CHECK-NEXT: return
// CHECK: func private @gemm_1
// CHECK: arith.divf {{.*}} : tensor<8x64xbf16>
func.func @third(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %y: tensor<8x64xbf16>, %v: tensor<64x64xbf16>) -> (tensor<8x64xf32>, tensor<8x64xbf16>) {
  %c = arith.constant dense<3.0> : tensor<8x64xf32>
  %d = arith.constant dense<3.0> : tensor<8x64xbf16>
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = arith.divf %0, %c : tensor<8x64xf32>
  %2 = nn.linear %y, %v : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  %3 = arith.divf %2, %d : tensor<8x64xbf16>
  return %1, %3 : tensor<8x64xf32>, tensor<8x64xbf16>
}

// -----

// Not before a bias, not behind an activation, not by zero (the library would
// not read its operands), by what f32 holds with fewer digits, by numbers of
// which there are several, and not a quotient of the other side.
// CHECK-LABEL: func @no_scale
// CHECK: call @gemm_0(%arg0, %arg1, %arg2)
// CHECK-NEXT: arith.mulf
// CHECK: call @gemm_1(%{{.*}}, %arg1)
// CHECK-NEXT: arith.maximumf
// CHECK-NEXT: arith.mulf
// CHECK: call @gemm_1
// CHECK-NEXT: arith.mulf
// CHECK: call @gemm_1
// CHECK-NEXT: arith.mulf
// CHECK: call @gemm_1
// CHECK-NEXT: arith.mulf
// CHECK: call @gemm_1
// CHECK-NEXT: arith.divf
// CHECK: func private @gemm_1
// CHECK-NEXT: nn.linear
// CHECK-NEXT: return
func.func @no_scale(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %c = arith.constant dense<0.5> : tensor<2x4xf32>
  %zero = arith.constant dense<0.0> : tensor<2x4xf32>
  %tiny = arith.constant dense<1.0e-40> : tensor<2x4xf32>
  %several = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<2x4xf32>
  %0 = nn.linear %x, %w bias %b : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = arith.mulf %0, %c : tensor<2x4xf32>
  %2 = nn.linear %1, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = arith.maximumf %2, %zero fastmath<nnan> : tensor<2x4xf32>
  %4 = arith.mulf %3, %c : tensor<2x4xf32>
  %5 = nn.linear %4, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %6 = arith.mulf %5, %zero : tensor<2x4xf32>
  %7 = nn.linear %6, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %8 = arith.mulf %7, %tiny : tensor<2x4xf32>
  %9 = nn.linear %8, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %10 = arith.mulf %9, %several : tensor<2x4xf32>
  %11 = nn.linear %10, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %12 = arith.divf %c, %11 : tensor<2x4xf32>
  return %12 : tensor<2x4xf32>
}

// -----

// Nothing goes past a sum over ranks.
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func @summed
// CHECK: call @gemm_0(%arg0, %arg1)
// CHECK-NEXT: %[[S:.*]] = tp.all_reduce
// CHECK: arith.mulf %[[S]]
// CHECK: call @gemm_0
// CHECK-NEXT: %[[T:.*]] = tp.all_reduce
// CHECK: arith.maximumf %[[T]]
// CHECK: func private @gemm_0
// CHECK-NEXT: nn.linear
// CHECK-NEXT: return
func.func @summed(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %c = arith.constant dense<0.5> : tensor<8x64xf32>
  %zero = arith.constant dense<0.0> : tensor<8x64xf32>
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>, to = #tp.sharding<@mesh, [{}, {}]>} : tensor<8x64xf32> -> tensor<8x64xf32>
  %2 = arith.mulf %1, %c : tensor<8x64xf32>
  %3 = nn.linear %2, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %4 = tp.all_reduce sum %3 over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>, to = #tp.sharding<@mesh, [{}, {}]>} : tensor<8x64xf32> -> tensor<8x64xf32>
  %5 = arith.maximumf %4, %zero fastmath<nnan> : tensor<8x64xf32>
  return %5 : tensor<8x64xf32>
}
