// RUN: tp-opt %s --split-input-file --tp-verify-schedule --verify-diagnostics

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

// -----

// Joined states whose order is another, or that are kept.
tp.mesh @mesh <["tp"=2]>
tp.state @a : tensor<64xf32>
tp.state @between : tensor<64xf32>
// expected-note @below {{it is declared here}}
tp.state @b : tensor<64xf32>
func.func @apart(%a: tensor<64xf32> {tp.state = @a}, %b: tensor<64xf32> {tp.state = @b}, %x: tensor<64xf32>, %y: tensor<64xf32>)
    -> (tensor<64xf32> {tp.state = @a}, tensor<64xf32> {tp.state = @b}, tensor<128xf32>) attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{expected state @b to be declared right behind @a}}
  %0 = tp.join in_place %a, %b : tensor<64xf32>, tensor<64xf32> -> tensor<128xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<128xf32> -> tensor<128xf32>
  return %x, %y, %1 : tensor<64xf32>, tensor<64xf32>, tensor<128xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
tp.state @a : tensor<64xf32>
tp.state @b : tensor<64xf32>
func.func @kept(%a: tensor<64xf32> {tp.state = @a}, %b: tensor<64xf32> {tp.state = @b}, %x: tensor<64xf32>)
    -> (tensor<64xf32> {tp.state = @a}, tensor<128xf32>) attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{expected operand 1 to be a state that the function replaces and reads here alone}}
  %0 = tp.join in_place %a, %b : tensor<64xf32>, tensor<64xf32> -> tensor<128xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<128xf32> -> tensor<128xf32>
  return %x, %1 : tensor<64xf32>, tensor<128xf32>
}
