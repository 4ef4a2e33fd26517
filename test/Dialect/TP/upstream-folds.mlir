// RUN: tp-opt %s --canonicalize --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-import-pipeline --split-input-file | FileCheck %s --check-prefix=IMPORT

// Constant operands of a slice whose dimensions of size one are partly left
// out: MLIR 22 would make the sizes [1, 1, 2].

// CHECK-LABEL: @offset
// CHECK: tensor.extract_slice %{{.*}}[0, 5, 0] [1, 2, 1] [1, 3, 2] : tensor<1x9x3xf32> to tensor<1x2xf32>
// IMPORT-LABEL: @offset
// IMPORT: tensor.extract_slice %{{.*}}[0, 5, 0] [1, 2, 1] [1, 3, 2] : tensor<1x9x3xf32> to tensor<1x2xf32>
func.func @offset(%a: tensor<1x9x3xf32>) -> tensor<1x2xf32> {
  %c0 = arith.constant 0 : index
  %s = tensor.extract_slice %a[0, 5, %c0] [1, 2, 1] [1, 3, 2] : tensor<1x9x3xf32> to tensor<1x2xf32>
  return %s : tensor<1x2xf32>
}

// -----

// The same for a stride, and for what is a constant only after a fold.

// CHECK-LABEL: @stride
// CHECK: tensor.extract_slice %{{.*}}[1, 0, 1, 0] [1, 4, 1, 2] [1, 2, 3, 1] : tensor<2x8x2x2xf32> to tensor<4x1x2xf32>
// IMPORT-LABEL: @stride
// IMPORT: tensor.extract_slice %{{.*}}[1, 0, 1, 0] [1, 4, 1, 2] [1, 2, 3, 1] : tensor<2x8x2x2xf32> to tensor<4x1x2xf32>
func.func @stride(%a: tensor<2x8x2x2xf32>) -> tensor<4x1x2xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.addi %c1, %c2 : index
  %s = tensor.extract_slice %a[%c1, 0, %c1, 0] [1, 4, 1, 2] [1, %c2, %c3, 1] : tensor<2x8x2x2xf32> to tensor<4x1x2xf32>
  return %s : tensor<4x1x2xf32>
}

// -----

// A constant comes with a call that is inlined. The annotation of the user stays.

#row = #tp.sharding<@mesh, [{"tp"}, {}]>
tp.mesh @mesh <["tp"=2]>
// IMPORT-LABEL: @call
// IMPORT: tensor.extract_slice %{{.*}}[2, 0, 1] [1, 4, 1] [1, 1, 1] {tp.shardings = [{{.*}}]} : tensor<3x4x2xf32> to tensor<4x1xf32>
func.func @call(%a: tensor<3x4x2xf32>) -> tensor<4x1xf32> {
  %c2 = arith.constant 2 : index
  %s = func.call @part(%a, %c2) : (tensor<3x4x2xf32>, index) -> tensor<4x1xf32>
  return %s : tensor<4x1xf32>
}
func.func private @part(%a: tensor<3x4x2xf32>, %i: index) -> tensor<4x1xf32> {
  %s = tensor.extract_slice %a[%i, 0, 1] [1, 4, 1] [1, 1, 1] {tp.shardings = [#row]} : tensor<3x4x2xf32> to tensor<4x1xf32>
  return %s : tensor<4x1xf32>
}

// -----

// Sizes too, whose constants are in the type then.

// CHECK-LABEL: @size
// CHECK: %[[PART:.*]] = tensor.extract_slice %{{.*}}[0, 5, 0] [1, 2, 1] [1, 1, 1] : tensor<1x9x3xf32> to tensor<1x2xf32>
// CHECK: tensor.cast %[[PART]] : tensor<1x2xf32> to tensor<1x?xf32>
func.func @size(%a: tensor<1x9x3xf32>) -> tensor<1x?xf32> {
  %c2 = arith.constant 2 : index
  %s = tensor.extract_slice %a[0, 5, 0] [1, %c2, 1] [1, 1, 1] : tensor<1x9x3xf32> to tensor<1x?xf32>
  return %s : tensor<1x?xf32>
}

// -----

// What is out of bounds stays as it was written.

// CHECK-LABEL: @outside
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: tensor.extract_slice %{{.*}}[%[[EIGHT]]] [2] [1]
func.func @outside(%a: tensor<9xf32>) -> tensor<2xf32> {
  %c8 = arith.constant 8 : index
  %s = tensor.extract_slice %a[%c8] [2] [1] : tensor<9xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

// An insertion keeps its type in MLIR 22 as well.

// CHECK-LABEL: @insertion
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 5, 0] [1, 2, 1] [1, 3, 2] : tensor<1x2xf32> into tensor<1x9x3xf32>
func.func @insertion(%a: tensor<1x9x3xf32>, %b: tensor<1x2xf32>) -> tensor<1x9x3xf32> {
  %c0 = arith.constant 0 : index
  %s = tensor.insert_slice %b into %a[0, 5, %c0] [1, 2, 1] [1, 3, 2] : tensor<1x2xf32> into tensor<1x9x3xf32>
  return %s : tensor<1x9x3xf32>
}

// -----

// Upstream leaves the padding of a tensor.pad as operands.

// CHECK-LABEL: @padding
// CHECK: tensor.pad %{{.*}} low[1, 0] high[0, 2]
// CHECK: } {tp.shardings = [{{.*}}]} : tensor<8x6xf32> to tensor<9x8xf32>
tp.mesh @mesh <["tp"=2]>
func.func @padding(%x: tensor<8x6xf32>) -> tensor<9x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.addi %c1, %c1 : index
  %f = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[%c1, %c0] high[0, %c2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %f : f32
  } {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<8x6xf32> to tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}

// -----

// Padding that does not come to the type stays as it was written.

// CHECK-LABEL: @mispadded
// CHECK: tensor.pad %{{.*}} low[%{{.*}}] high[0]
func.func @mispadded(%x: tensor<8xf32>) -> tensor<9xf32> {
  %c2 = arith.constant 2 : index
  %f = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[%c2] high[0] {
  ^bb0(%i: index):
    tensor.yield %f : f32
  } : tensor<8xf32> to tensor<9xf32>
  return %0 : tensor<9xf32>
}
