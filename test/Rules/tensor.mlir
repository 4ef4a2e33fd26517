// RUN: tp-opt %s --test-tp-print-rules --verify-diagnostics

func.func @sources(%f: f32) {
  // expected-remark @below {{d0=4, d1=6:  -> [d0, d1]}}
  %0 = tensor.empty() : tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6: [] -> [d0, d1]}}
  %1 = tensor.splat %f : tensor<4x6xf32>
  // expected-remark @below {{d0=4, d1=6:  -> [d0, d1]}}
  %2 = tp.parameter "w" : tensor<4x6xf32>
  return
}

func.func @reshapes(%x: tensor<2x24xf32>, %y: tensor<1x2x4x6xf32>) {
  // Axes on the long dimension fall on the major factor first.
  // expected-remark @below {{d0=2, d1=4, d2=6: [d0, (d1 * d2)] multilinear -> [d0, d1, d2]}}
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [2, 4, 6] : tensor<2x24xf32> into tensor<2x4x6xf32>
  // A dimension of size one has no factor.
  // expected-remark @below {{d0=2, d1=4, d2=6: [(), d0, d1, d2] multilinear -> [d0, (d1 * d2)]}}
  %1 = tensor.collapse_shape %y [[0, 1], [2, 3]] : tensor<1x2x4x6xf32> into tensor<2x24xf32>
  // expected-remark @below {{d0=2, d1=24: [d0, d1] multilinear -> [d0, d1]}}
  %2 = tensor.cast %x : tensor<2x24xf32> to tensor<2x24xf32>
  return
}

func.func @slices(%x: tensor<8x24xf32>, %y: tensor<8x10xf32>, %z: tensor<24xf32>, %i: index) {
  // The dimension that is taken whole shards.
  // expected-remark @below {{d0=8, x1=24 whole, x2=10 whole: [d0, x1] multilinear -> [d0, x2]}}
  %0 = tensor.extract_slice %x[0, 4] [8, 10] [1, 1] : tensor<8x24xf32> to tensor<8x10xf32>
  // expected-remark @below {{x0=8 whole, d1=24: [x0, d1] multilinear, [] -> [d1]}}
  %1 = tensor.extract_slice %x[%i, 0] [1, 24] [1, 1] : tensor<8x24xf32> to tensor<24xf32>
  // expected-remark @below {{d0=8, x1=24 whole, x2=10 whole: [d0, x2] additive, [d0, x1] additive -> [d0, x1]}}
  %2 = tensor.insert_slice %y into %x[0, 4] [8, 10] [1, 1] : tensor<8x10xf32> into tensor<8x24xf32>
  // expected-remark @below {{d0=8, d1=34 whole, x2=24 whole, x3=10 whole: [d0, x2] additive, [d0, x3] additive -> [d0, d1]}}
  %3 = tensor.concat dim(1) %x, %y : (tensor<8x24xf32>, tensor<8x10xf32>) -> tensor<8x34xf32>
  return
}

func.func @padding(%x: tensor<8x10xf32>) {
  %zero = arith.constant 0.0 : f32 // expected-remark {{-> []}}
  %one = arith.constant 1.0 : f32 // expected-remark {{-> []}}
  // expected-remark @below {{d0=8, x1=10 whole, x2=12 whole: [d0, x1] multilinear -> [d0, x2]}}
  %0 = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<8x10xf32> to tensor<8x12xf32>
  // Ones would be added on every rank.
  // expected-remark @below {{d0=8, x1=10 whole, x2=12 whole: [d0, x1] -> [d0, x2]}}
  %1 = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<8x10xf32> to tensor<8x12xf32>
  // What is padded with depends on the position in dimension 0.
  // expected-remark @below {{x0=8 whole, x1=10 whole, x2=12 whole: [x0, x1] -> [x0, x2]}}
  %2 = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    tensor.yield %f : f32
  } : tensor<8x10xf32> to tensor<8x12xf32>
  return
}

func.func @elements(%t: tensor<100x64xf32>, %i: tensor<2x8x1xi64>, %n: index) {
  // expected-remark @below {{d0=2, d1=8, x2=1 whole, x3=100 whole, d4=64: [x3, d4] multilinear, [d0, d1, x2] -> [d0, d1, d4]}}
  %0 = tensor.gather %t[%i] gather_dims([0]) : (tensor<100x64xf32>, tensor<2x8x1xi64>) -> tensor<2x8x64xf32>
  // expected-remark @below {{d0=100 whole, d1=64 whole: [d0, d1], [], [] -> []}}
  %1 = tensor.extract %t[%n, %n] : tensor<100x64xf32>
  // expected-remark @below {{d0=2 whole: [], [] -> [d0]}}
  %2 = tensor.from_elements %1, %1 : tensor<2xf32>
  return
}

tp.mesh @mesh <["tp"=2]>
func.func @constraint(%x: tensor<8x10xf32>) {
  // expected-remark @below {{d0=8, d1=10: [d0, d1] multilinear -> [d0, d1]}}
  %0 = tp.sharding_constraint %x <@mesh, [{"tp"}, {}]> : tensor<8x10xf32>
  return
}
