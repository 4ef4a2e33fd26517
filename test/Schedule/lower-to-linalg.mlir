// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-lower-to-linalg))' --split-input-file | FileCheck %s

// Norms are decomposed; attention stays; fills of constants are constants.
// CHECK-LABEL: func @norm_attention
// CHECK-NOT: nn.rms_norm
// CHECK-NOT: linalg.fill
// CHECK: linalg.generic
// CHECK: nn.attention
func.func @norm_attention(%x: tensor<1x8x4x64xf32>, %w: tensor<64xf32>) -> tensor<1x8x4x64xf32> {
  %0 = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<1x8x4x64xf32>, tensor<64xf32>) -> tensor<1x8x4x64xf32>
  %1 = nn.attention %0, %0, %x {causal, scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) -> tensor<1x8x4x64xf32>
  return %1 : tensor<1x8x4x64xf32>
}

// -----

// Whole heads are rotated in one pass over two halves.
// CHECK-DAG: #[[SWAP:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, -d3 + 1, d4)>
// CHECK-LABEL: func @rotary
// CHECK: %[[H:.*]] = tensor.expand_shape %arg0
// CHECK: linalg.generic {indexing_maps = [{{.*}}, #[[SWAP]]
// CHECK-SAME: ins(%[[H]], %[[H]], %arg1, %arg2
// CHECK: tensor.collapse_shape
func.func @rotary(%x: tensor<1x8x4x64xf32>, %cos: tensor<8x32xf32>, %sin: tensor<8x32xf32>) -> tensor<1x8x4x64xf32> {
  %0 = nn.rotary %x, %cos, %sin : (tensor<1x8x4x64xf32>, tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<1x8x4x64xf32>
  return %0 : tensor<1x8x4x64xf32>
}

// -----

// A contiguous slice is a view; another is a copy through an affine map.
// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<(d0, d1) -> (d0, d1 + 16)>
// CHECK-LABEL: func @slices
// CHECK: tensor.extract_slice %arg0[2, 0] [4, 64] [1, 1]
// CHECK-NOT: tensor.extract_slice
// CHECK: linalg.generic {indexing_maps = [#[[COLUMNS]],
func.func @slices(%x: tensor<8x64xf32>) -> (tensor<4x64xf32>, tensor<8x32xf32>) {
  %0 = tensor.extract_slice %x[2, 0] [4, 64] [1, 1] : tensor<8x64xf32> to tensor<4x64xf32>
  %1 = tensor.extract_slice %x[0, 16] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
  return %0, %1 : tensor<4x64xf32>, tensor<8x32xf32>
}

// -----

// This rank's part is read at an offset; where the parts cover more than there
// is, zeros follow.
tp.mesh @mesh <["tp"=4]>
// CHECK-LABEL: func @even
// CHECK: %[[R:.*]] = tp.rank @mesh ["tp"]
// CHECK: %[[O:.*]] = arith.muli %[[R]]
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = arith.addi %{{.*}}, %[[O]]
// CHECK: tensor.extract %arg0[%{{.*}}, %[[I]]]
// CHECK-NOT: arith.select
// CHECK: return
func.func @even(%x: tensor<2x8xf32>) -> tensor<2x2xf32> {
  %0 = tp.slice %x dim 1 over @mesh ["tp"] : tensor<2x8xf32> -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
// CHECK-LABEL: func @uneven
// CHECK: arith.select
func.func @uneven(%x: tensor<2x7xf32>) -> tensor<2x2xf32> {
  %0 = tp.slice %x dim 1 over @mesh ["tp"] : tensor<2x7xf32> -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// A parameter is loaded on the first rank alone.
// CHECK-LABEL: func @bias
// CHECK: tp.parameter "b" {tp.partial = #tp<axes["tp"]>}
// CHECK-NOT: tp.keep_first
func.func @bias() -> tensor<64xf32> {
  %b = tp.parameter "b" : tensor<64xf32>
  %0 = tp.keep_first %b over @mesh ["tp"] : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// CHECK-LABEL: func @pieces
// CHECK-NOT: tensor.concat
// CHECK-NOT: tensor.pad
// CHECK-NOT: tensor.insert_slice
// CHECK: return
func.func @pieces(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) -> (tensor<2x8xf32>, tensor<4x3xf32>, tensor<2x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.concat dim(1) %x, %y : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
  %1 = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x3xf32> to tensor<4x3xf32>
  %2 = tensor.insert_slice %x into %y[0, 2] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x5xf32>
  return %0, %1, %2 : tensor<2x8xf32>, tensor<4x3xf32>, tensor<2x5xf32>
}

// -----

// Rows of a table by coordinates, and a slice from the beginning of a dimension,
// read by computed indices.
// CHECK-LABEL: func @gather
// CHECK-NOT: tensor.gather
// CHECK: tensor.extract %arg1
// CHECK: tensor.extract %arg0
func.func @gather(%x: tensor<8x3xf32>, %at: tensor<5x1xi64>) -> tensor<5x3xf32> {
  %0 = tensor.gather %x[%at] gather_dims([0]) : (tensor<8x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}
// CHECK-LABEL: func @beginning
// CHECK-NOT: tensor.extract_slice
// CHECK: tensor.extract %arg0
func.func @beginning(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
  %0 = tensor.extract_slice %x[0, 0] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// One element everywhere is looked up where it is used, not before.
// CHECK-LABEL: func @splat
// CHECK: linalg.generic
// CHECK: %[[E:.*]] = tensor.extract %arg0[%{{.*}}, %{{.*}}] : tensor<8x3xf32>
// CHECK-NEXT: linalg.yield %[[E]]
// CHECK-NOT: tensor.splat
func.func @splat(%x: tensor<8x3xf32>) -> tensor<4x5xf32> {
  %row = arith.constant 7 : index
  %column = arith.constant 1 : index
  %element = tensor.extract %x[%row, %column] : tensor<8x3xf32>
  %0 = tensor.splat %element : tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}
