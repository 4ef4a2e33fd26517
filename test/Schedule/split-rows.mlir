// RUN: tp-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(tp-split-rows{chunks=2}),cse)' | FileCheck %s

// Each part has its product, its all-reduce and what follows; no operation is known by its name.
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: @sum
// CHECK-SAME: (%[[X:.*]]: tensor<1x7x64xf32>, %[[R:.*]]: tensor<1x7x64xf32>)
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [1, 4, 64]
// CHECK: %[[Y0:.*]] = nn.linear %[[X0]]
// CHECK: %[[S0:.*]] = tp.all_reduce sum %[[Y0]] {{.*}}tp.part = array<i64: 0, 2>
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][0, 4, 0] [1, 3, 64]
// CHECK: %[[Y1:.*]] = nn.linear %[[X1]]
// CHECK: %[[S1:.*]] = tp.all_reduce sum %[[Y1]] {{.*}}tp.part = array<i64: 1, 2>
// CHECK: %[[R0:.*]] = tensor.extract_slice %[[R]][0, 0, 0] [1, 4, 64]
// CHECK: %[[A0:.*]] = linalg.generic {{.*}} ins(%[[S0]], %[[R0]]
// CHECK: %[[A1:.*]] = linalg.generic {{.*}} ins(%[[S1]],
// CHECK: %[[J:.*]] = tp.join %[[A0]], %[[A1]]
// CHECK: %[[E:.*]] = tensor.expand_shape %[[J]]
// CHECK: return %[[E]]
func.func @sum(%x: tensor<1x7x64xf32>, %r: tensor<1x7x64xf32>) -> tensor<1x7x64xf32> {
  %w = tp.parameter "w" : tensor<64x64xf32>
  %0 = nn.linear %x, %w : (tensor<1x7x64xf32>, tensor<64x64xf32>) -> tensor<1x7x64xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<1x7x64xf32> -> tensor<1x7x64xf32>
  %e = tensor.empty() : tensor<1x7x64xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1, %r : tensor<1x7x64xf32>, tensor<1x7x64xf32>) outs(%e : tensor<1x7x64xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<1x7x64xf32>
  return %2 : tensor<1x7x64xf32>
}

// -----

// The queries of a causal attention see the keys up to their own.
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: @causal
// CHECK-DAG: %[[K0:.*]] = tensor.extract_slice %arg1[0, 0, 0, 0] [1, 6, 2, 16]
// CHECK: nn.attention %{{.*}}, %[[K0]], {{.*}} -> tensor<1x4x4x16xf32>
// CHECK: tp.all_reduce
// CHECK: nn.attention %{{.*}}, %arg1, {{.*}} -> tensor<1x4x4x16xf32>
func.func @causal(%q: tensor<1x8x4x16xf32>, %k: tensor<1x10x2x16xf32>) -> tensor<1x8x64xf32> {
  %w = tp.parameter "w" : tensor<64x64xf32>
  %0 = nn.attention %q, %k, %k {causal, scale = 0.25 : f64} : (tensor<1x8x4x16xf32>, tensor<1x10x2x16xf32>, tensor<1x10x2x16xf32>) -> tensor<1x8x4x16xf32>
  %1 = tensor.collapse_shape %0 [[0], [1], [2, 3]] : tensor<1x8x4x16xf32> into tensor<1x8x64xf32>
  %2 = nn.linear %1, %w : (tensor<1x8x64xf32>, tensor<64x64xf32>) -> tensor<1x8x64xf32>
  %3 = tp.all_reduce sum %2 over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x8x64xf32>
  return %3 : tensor<1x8x64xf32>
}

// -----

// What a window of later keys is seen through is computed whole.
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: @window
// CHECK: nn.attention {{.*}} -> tensor<1x8x4x16xf32>
// CHECK-NOT: nn.attention
func.func @window(%q: tensor<1x8x4x16xf32>, %k: tensor<1x8x2x16xf32>) -> tensor<1x8x64xf32> {
  %w = tp.parameter "w" : tensor<64x64xf32>
  %0 = nn.attention %q, %k, %k {window = 4 : i64, scale = 0.25 : f64} : (tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>) -> tensor<1x8x4x16xf32>
  %1 = tensor.collapse_shape %0 [[0], [1], [2, 3]] : tensor<1x8x4x16xf32> into tensor<1x8x64xf32>
  %2 = nn.linear %1, %w : (tensor<1x8x64xf32>, tensor<64x64xf32>) -> tensor<1x8x64xf32>
  %3 = tp.all_reduce sum %2 over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x8x64xf32>
  return %3 : tensor<1x8x64xf32>
}

// -----

// A part of a gathered tensor is the same part of each rank's rows: rows 0, 1 and 4, 5 of 8.
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: @gather
// CHECK: %[[P:.*]] = tensor.extract_slice %arg0[0, 0, 0] [1, 2, 64]
// CHECK: tp.all_gather %[[P]] dim 1 {{.*}} tensor<1x2x64xf32> -> tensor<1x4x64xf32>
// CHECK: nn.linear {{.*}} -> tensor<1x4x32xf32>
// CHECK: tensor.expand_shape {{.*}} output_shape [1, 2, 2, 32]
// CHECK: tensor.concat dim(2) {{.*}} -> tensor<1x2x4x32xf32>
// CHECK: tensor.collapse_shape {{.*}} into tensor<1x8x32xf32>
func.func @gather(%x: tensor<1x4x64xf32>) -> tensor<1x8x32xf32> {
  %w = tp.parameter "w" : tensor<32x64xf32>
  %0 = tp.all_gather %x dim 1 over @mesh ["tp"] : tensor<1x4x64xf32> -> tensor<1x8x64xf32>
  %1 = nn.linear %0, %w : (tensor<1x8x64xf32>, tensor<32x64xf32>) -> tensor<1x8x32xf32>
  return %1 : tensor<1x8x32xf32>
}

// -----

// What a loop carries in parts is one value of each part.
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: @loop
// CHECK: tp.repeat 3 times iter(%{{.*}}, %{{.*}}) : (tensor<1x2x64xf32>, tensor<1x2x64xf32>)
// CHECK: tp.yield %{{.*}}, %{{.*}} : tensor<1x2x64xf32>, tensor<1x2x64xf32>
func.func @loop(%x: tensor<1x4x64xf32>) -> tensor<1x4x64xf32> {
  %0 = tp.repeat 3 times iter(%x) : (tensor<1x4x64xf32>) -> tensor<1x4x64xf32> {
  ^bb0(%i: index, %h: tensor<1x4x64xf32>):
    %w = tp.parameter "{i}.w" : tensor<64x64xf32>
    %1 = nn.linear %h, %w : (tensor<1x4x64xf32>, tensor<64x64xf32>) -> tensor<1x4x64xf32>
    %2 = tp.all_reduce sum %1 over @mesh ["tp"] : tensor<1x4x64xf32> -> tensor<1x4x64xf32>
    %3 = arith.addf %h, %2 : tensor<1x4x64xf32>
    tp.yield %3 : tensor<1x4x64xf32>
  }
  return %0 : tensor<1x4x64xf32>
}

// -----

// What stays whole says why.
tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: @whole
// CHECK: tp.all_reduce {{.*}} {tp.whole = "it has one row"} : tensor<1x1x64xf32>
// CHECK: tp.all_reduce {{.*}} {tp.whole = "no product can be computed in parts before or after it"} : tensor<1x8x64xf32>
// CHECK: tp.all_to_all {{.*}} {tp.whole = "its parts are no collectives of parts of its operand"}
func.func @whole(%x: tensor<1x1x64xf32>, %y: tensor<1x8x64xf32>) -> (tensor<1x1x64xf32>, tensor<1x8x64xf32>, tensor<1x16x32xf32>) {
  %w = tp.parameter "w" : tensor<64x64xf32>
  %0 = nn.linear %x, %w : (tensor<1x1x64xf32>, tensor<64x64xf32>) -> tensor<1x1x64xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<1x1x64xf32> -> tensor<1x1x64xf32>
  %2 = tp.all_reduce sum %y over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x8x64xf32>
  %3 = tp.all_to_all %y split 2 gather 1 over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x16x32xf32>
  return %1, %2, %3 : tensor<1x1x64xf32>, tensor<1x8x64xf32>, tensor<1x16x32xf32>
}
