// Bodies and maps: broadcasts, transposes, sums over loops in the middle, products that
// share operands, maxima (with equal terms, and with an initial value that attains
// one), several results, outputs that are read, loops that no operand of the
// derivative has, positions, scalars, named operations.
// RUN: tp-verify %s --derivative | FileCheck %s
// RUN: tp-verify %s --derivative --seed 2 | FileCheck %s
// CHECK: derivative: equal, gradients of 13 parameters compared
// CHECK-NOT: cannot judge

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#turned = affine_map<(i, j) -> (j, i)>
#none = affine_map<(i, j) -> ()>
func.func @main(%r: tensor<64xf32>) -> (tensor<f32> {tp.loss}) {
  %l0 = arith.constant dense<0.0> : tensor<f32>
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %r1 = tensor.extract_slice %r[0] [4] [1] : tensor<64xf32> to tensor<4xf32>
  %r24 = tensor.extract_slice %r[8] [24] [1] : tensor<64xf32> to tensor<24xf32>
  %e46 = tensor.empty() : tensor<4x6xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  %e6 = tensor.empty() : tensor<6xf32>

  // Element by element, each input in another way, one twice.
  %a = tp.parameter "elementwise.plain" : tensor<4x6xf32>
  %b = tp.parameter "elementwise.turned" : tensor<6x4xf32>
  %c = tp.parameter "elementwise.row" : tensor<4xf32>
  %d = tp.parameter "elementwise.scalar" : tensor<f32>
  %one = tensor.extract %d[] : tensor<f32>
  %y1 = linalg.generic {indexing_maps = [#id, #turned, #row, #id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b, %c, %a, %one : tensor<4x6xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<4x6xf32>, f32) outs(%e46 : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32, %t: f32, %u: f32, %o: f32):
    %0 = arith.mulf %p, %q : f32
    %1 = math.exp %s : f32
    %2 = arith.addf %0, %1 : f32
    %3 = math.sin %t : f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.divf %4, %u : f32
    linalg.yield %5 : f32
  } -> tensor<4x6xf32>
  %f1 = tensor.collapse_shape %y1 [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %l1 = linalg.dot ins(%f1, %r24 : tensor<24xf32>, tensor<24xf32>) outs(%l0 : tensor<f32>) -> tensor<f32>

  // A sum that takes away, with an initial value; what is summed has no loop j of its own.
  %g = tp.parameter "sum.terms" : tensor<4xf32>
  %h = tp.parameter "sum.initial" : tensor<4xf32>
  %y2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%y1, %g : tensor<4x6xf32>, tensor<4xf32>) outs(%h : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %0 = arith.mulf %q, %q : f32
    %1 = arith.subf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %l2 = linalg.dot ins(%y2, %r1 : tensor<4xf32>, tensor<4xf32>) outs(%l1 : tensor<f32>) -> tensor<f32>

  // A sum and a maximum of the same rows; the last row's maximum is the initial value.
  %m = tp.parameter "maximum.terms" : tensor<4x6xf32>
  %n = tp.parameter "maximum.start" : tensor<4xf32>
  %start = arith.constant dense<[-9.0, -9.0, -9.0, 3.0]> : tensor<4xf32>
  %from = arith.addf %n, %start : tensor<4xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %y3:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%m : tensor<4x6xf32>) outs(%z4, %from : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%p: f32, %s: f32, %o: f32):
    %0 = math.exp %p : f32
    %1 = arith.addf %s, %0 : f32
    %2 = arith.mulf %p, %p : f32
    %3 = arith.maximumf %2, %o : f32
    linalg.yield %1, %3 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  %l3 = linalg.dot ins(%y3#0, %r1 : tensor<4xf32>, tensor<4xf32>) outs(%l2 : tensor<f32>) -> tensor<f32>
  %l4 = linalg.dot ins(%y3#1, %r1 : tensor<4xf32>, tensor<4xf32>) outs(%l3 : tensor<f32>) -> tensor<f32>

  // All six terms of a row are equal: together they have its cotangent.
  %k = tp.parameter "ties" : tensor<4xf32>
  %i4 = linalg.fill ins(%low : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %y4 = linalg.generic {indexing_maps = [#row, #id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%k, %y1 : tensor<4xf32>, tensor<4x6xf32>) outs(%i4 : tensor<4xf32>) {
  ^bb0(%p: f32, %unread: f32, %o: f32):
    %0 = arith.minimumf %p, %p : f32
    %1 = arith.maximumf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %l5 = linalg.dot ins(%y4, %r1 : tensor<4xf32>, tensor<4xf32>) outs(%l4 : tensor<f32>) -> tensor<f32>

  // A result that is read before it is overwritten, at a position that counts.
  %w = tp.parameter "overwritten" : tensor<4x6xf32>
  %y5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x6xf32>) outs(%w : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %j = linalg.index 1 : index
    %i = linalg.index 0 : index
    %before = arith.cmpi ult, %j, %i : index
    %0 = arith.mulf %p, %o : f32
    %1 = arith.mulf %o, %o : f32
    %2 = arith.select %before, %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x6xf32>
  %f5 = tensor.collapse_shape %y5 [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %l6 = linalg.dot ins(%f5, %r24 : tensor<24xf32>, tensor<24xf32>) outs(%l5 : tensor<f32>) -> tensor<f32>

  // Named operations, products with themselves among them.
  %x = tp.parameter "named.left" : tensor<4x4xf32>
  %v = tp.parameter "named.right" : tensor<4x6xf32>
  %z46 = linalg.fill ins(%one : f32) outs(%e46 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e44 = tensor.empty() : tensor<4x4xf32>
  %z44 = linalg.fill ins(%zero : f32) outs(%e44 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %square = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z44 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y6 = linalg.matmul ins(%square, %v : tensor<4x4xf32>, tensor<4x6xf32>) outs(%z46 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e64 = tensor.empty() : tensor<6x4xf32>
  %transposed = linalg.transpose ins(%y6 : tensor<4x6xf32>) outs(%e64 : tensor<6x4xf32>) permutation = [1, 0]
  %z6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<6xf32>) -> tensor<6xf32>
  %summed = linalg.reduce ins(%transposed : tensor<6x4xf32>) outs(%z6 : tensor<6xf32>) dimensions = [1] (%in: f32, %out: f32) {
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  %wide = linalg.broadcast ins(%summed : tensor<6xf32>) outs(%e46 : tensor<4x6xf32>) dimensions = [0]
  %product = linalg.mul ins(%wide, %y6 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e46 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %mapped = linalg.map { math.tanh } ins(%product : tensor<4x6xf32>) outs(%e46 : tensor<4x6xf32>)
  %f6 = tensor.collapse_shape %mapped [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %l7 = linalg.dot ins(%f6, %r24 : tensor<24xf32>, tensor<24xf32>) outs(%l6 : tensor<f32>) -> tensor<f32>

  // In 16 bits, summed in f32.
  %s16 = tp.parameter "narrow" : tensor<6xbf16>
  %y8 = linalg.generic {indexing_maps = [#column, #id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s16, %a : tensor<6xbf16>, tensor<4x6xf32>) outs(%z4 : tensor<4xf32>) {
  ^bb0(%p: bf16, %q: f32, %o: f32):
    %0 = arith.extf %p : bf16 to f32
    %1 = math.fma %0, %q, %o : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %l8 = linalg.dot ins(%y8, %r1 : tensor<4xf32>, tensor<4xf32>) outs(%l7 : tensor<f32>) -> tensor<f32>
  return %l8 : tensor<f32>
}
