// RUN: tp-opt %s --split-input-file --tp-generate-gpu-kernels --verify-diagnostics

// expected-error @below {{'func.func' op expected another name than 'kernels', which a device's kernels have}}
func.func @kernels(%x: tensor<6x40xf32>) -> tensor<6x40xf32> {
  return %x : tensor<6x40xf32>
}

// -----

#id = affine_map<(a, b) -> (a, b)>
#row = affine_map<(a, b) -> (a)>

// expected-error @below {{'func.func' op expected at most 1073741824 rows for a device, got 8589934592}}
func.func private @rows(%x: tensor<8589934592x3xf16>, %z: tensor<8589934592xf16>) -> tensor<8589934592xf16> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8589934592x3xf16>) outs(%z : tensor<8589934592xf16>) {
  ^bb0(%in: f16, %acc: f16):
    %v = arith.maximumf %acc, %in : f16
    linalg.yield %v : f16
  } -> tensor<8589934592xf16>
  return %s : tensor<8589934592xf16>
}

// -----

#id = affine_map<(a, b) -> (a, b)>
#row = affine_map<(a, b) -> (a)>

// expected-error @below {{'func.func' op expected at most 1073741824 vectors in a row for a device, got 8589934593 of 1 elements}}
func.func private @columns(%x: tensor<2x8589934593xf16>, %z: tensor<2xf16>) -> tensor<2xf16> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x8589934593xf16>) outs(%z : tensor<2xf16>) {
  ^bb0(%in: f16, %acc: f16):
    %v = arith.maximumf %acc, %in : f16
    linalg.yield %v : f16
  } -> tensor<2xf16>
  return %s : tensor<2xf16>
}

// -----

#id = affine_map<(a, b) -> (a, b)>

// expected-error @below {{'func.func' op expected at most 2147483647 blocks of threads for a device, got}}
func.func private @flat(%x: tensor<4398046511104x3xf32>) -> tensor<4398046511104x3xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<4398046511104x3xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4398046511104x3xf32>) outs(%e : tensor<4398046511104x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %in : f32
    linalg.yield %v : f32
  } -> tensor<4398046511104x3xf32>
  return %s : tensor<4398046511104x3xf32>
}
