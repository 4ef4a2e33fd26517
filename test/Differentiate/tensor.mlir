// Tensor operations move elements; their derivatives move them back.
// RUN: tp-verify %s --derivative | FileCheck %s
// CHECK: derivative: equal, gradients of 4 parameters compared
// CHECK-NOT: cannot judge

func.func @main(%r: tensor<48xf32>) -> (tensor<f32> {tp.loss}) {
  %l0 = arith.constant dense<0.0> : tensor<f32>
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %number = arith.constant 0.5 : f32
  %a = tp.parameter "a" : tensor<4x6xf32>
  %b = tp.parameter "b" : tensor<2x3xf32>
  %c = tp.parameter "c" : tensor<6xf32>
  %s = tp.parameter "s" : tensor<f32>
  %square = arith.mulf %a, %a : tensor<4x6xf32>

  // Every second column of two rows; a dimension falls away.
  %slice = tensor.extract_slice %square[1, 0] [2, 3] [1, 2] : tensor<4x6xf32> to tensor<2x3xf32>
  %line = tensor.extract_slice %square[%two, 0] [1, 6] [1, 1] : tensor<4x6xf32> to tensor<6xf32>
  %part = arith.mulf %slice, %b : tensor<2x3xf32>
  %inserted = tensor.insert_slice %part into %square[2, 1] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x6xf32>
  %single = tensor.insert_slice %line into %inserted[0, 0] [1, 6] [1, 1] : tensor<6xf32> into tensor<4x6xf32>
  %expanded = tensor.expand_shape %c [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
  %joined = tensor.concat dim(0) %expanded, %part, %b : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<6x3xf32>
  %padded = tensor.pad %joined low[1, 0] high[1, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %number : f32
  } : tensor<6x3xf32> to tensor<8x6xf32>
  %cast = tensor.cast %padded : tensor<8x6xf32> to tensor<8x6xf32>
  %f1 = tensor.collapse_shape %cast [[0, 1]] : tensor<8x6xf32> into tensor<48xf32>
  %e1 = math.exp %f1 : tensor<48xf32>
  %l1 = linalg.dot ins(%e1, %r : tensor<48xf32>, tensor<48xf32>) outs(%l0 : tensor<f32>) -> tensor<f32>

  // Scalars out of tensors and back.
  %x = tensor.extract %single[%one, %two] : tensor<4x6xf32>
  %y = tensor.extract %s[] : tensor<f32>
  %xy = arith.mulf %x, %y : f32
  %splat = tensor.splat %xy : tensor<4x6xf32>
  %elements = tensor.from_elements %x, %y, %xy, %y, %number, %x : tensor<2x3xf32>
  %wide = arith.mulf %splat, %single : tensor<4x6xf32>
  %both = tensor.insert_slice %elements into %wide[0, 3] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<4x6xf32>
  %f2 = tensor.collapse_shape %both [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %r2 = tensor.extract_slice %r[0] [24] [1] : tensor<48xf32> to tensor<24xf32>
  %l2 = linalg.dot ins(%f2, %r2 : tensor<24xf32>, tensor<24xf32>) outs(%l1 : tensor<f32>) -> tensor<f32>

  return %l2 : tensor<f32>
}
