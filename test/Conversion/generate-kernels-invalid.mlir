// RUN: tp-opt %s --tp-generate-kernels --split-input-file --verify-diagnostics
// RUN: tp-opt %s --tp-generate-gpu-kernels --split-input-file --verify-diagnostics

// expected-error @below {{expected the attribute tp.row_dims}}
func.func private @unmarked(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "rows"} {
  return %x : tensor<8x64xf32>
}

// -----

// expected-error @below {{expected result 0 to be computed by the kernel}}
func.func private @argument(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  return %x : tensor<8x64xf32>
}

// -----

func.func private @reshape(%x: tensor<8x64xf32>) -> tensor<8x8x8xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  // expected-error @below {{expected linalg.generic on tensors in a row kernel}}
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [8, 8, 8] : tensor<8x64xf32> into tensor<8x8x8xf32>
  return %0 : tensor<8x8x8xf32>
}

// -----

#id = affine_map<(s, h) -> (s, h)>
func.func private @across(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  // expected-error @below {{reads a tensor of the same kernel across rows}}
  %1 = linalg.generic {indexing_maps = [affine_map<(s, h) -> (h, s)>, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

#id = affine_map<(s, h) -> (s, h)>
func.func private @branch(%x: tensor<8x8xf32>, %c: tensor<8x8xi1>) -> tensor<8x8xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %c : tensor<8x8xf32>, tensor<8x8xi1>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%in: f32, %condition: i1, %out: f32):
    // expected-error @below {{expected an elementwise operation on scalars in the body of a kernel}}
    %v = scf.if %condition -> f32 {
      scf.yield %in : f32
    } else {
      %n = arith.negf %in : f32
      scf.yield %n : f32
    }
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func private @whole(%x: tensor<8xf32>, %s: tensor<f32>) -> tensor<f32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  // expected-error @below {{expected results whose 1 leading dimensions are the kernel's rows}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<8xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %n = arith.addf %a, %sum : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

#id = affine_map<(s, h) -> (s, h)>
func.func private @empty(%x: tensor<8x0xf32>) -> tensor<8x0xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x0xf32>
  // expected-error @below {{expected static sizes of at least one in a row kernel}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x0xf32>) outs(%e : tensor<8x0xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x0xf32>
  return %0 : tensor<8x0xf32>
}

// -----

#id = affine_map<(s, h) -> (s, h)>
func.func private @rows(%x: tensor<8x4xf32>, %y: tensor<2x4xf32>) -> (tensor<8x4xf32>, tensor<2x4xf32>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x4xf32>
  %f = tensor.empty() : tensor<2x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  // expected-error @below {{expected the same rows in the whole kernel}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<2x4xf32>) outs(%f : tensor<2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<2x4xf32>
}

// -----

#id = affine_map<(s, h) -> (s, h)>
// expected-error @below {{expected tensors and indices as arguments of a kernel, got 'i32'}}
func.func private @scalar(%x: tensor<8x4xf32>, %i: i32) -> tensor<8x4xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// expected-error @below {{expected a kernel with a body of one block}}
func.func private @external(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64}

// -----

#id = affine_map<(s, h) -> (s, h)>
// expected-error @below {{expected tensors of static shape with elements f32, bf16, f16, i64, i32, i8 or i1, got 'tensor<8x8xindex>'}}
func.func private @indices(%x: tensor<8x8xindex>) -> tensor<8x8xi64> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x8xi64>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xindex>) outs(%e : tensor<8x8xi64>) {
  ^bb0(%in: index, %out: i64):
    %v = arith.index_cast %in : index to i64
    linalg.yield %v : i64
  } -> tensor<8x8xi64>
  return %0 : tensor<8x8xi64>
}
