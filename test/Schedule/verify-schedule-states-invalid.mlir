// RUN: tp-opt %s --tp-verify-schedule --verify-diagnostics

tp.state @s : tensor<16xf32>
// expected-note @below {{the value is this}}
func.func @main(%old: tensor<16xf32> {tp.state = @s}) -> (tensor<16xf32> {tp.state = @s}, tensor<16xf32>) attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{writes state @s, whose old value is still read}}
  %new = call @rows_0(%old) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<16xf32>) -> tensor<16xf32>
  %copy = call @rows_0(%old) {tp.buffers = [#tp.buffer<"output", 1>]} : (tensor<16xf32>) -> tensor<16xf32>
  return %new, %copy : tensor<16xf32>, tensor<16xf32>
}
func.func private @rows_0(%x: tensor<16xf32>) -> tensor<16xf32> attributes {tp.kernel = "rows", tp.row_dims = 0 : i64} {
  %e = tensor.empty() : tensor<16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
