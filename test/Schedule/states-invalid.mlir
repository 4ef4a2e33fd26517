// What cannot be updated in its own memory is refused, and the reader named.
// RUN: tp-opt %s --tp-schedule-pipeline --split-input-file --verify-diagnostics

tp.mesh @mesh <["tp"=1]>
tp.state @s : tensor<16xf32>
func.func @reversed(%old: tensor<16xf32> {tp.state = @s}) -> (tensor<16xf32> {tp.state = @s}) {
  %e = tensor.empty() : tensor<16xf32>
  // expected-error @below {{cannot update state @s in its own memory: its old value is read at other elements than are written, or in another way than by a kernel}}
  // expected-note @below {{it is read here: read it before, or keep what is needed of it in a state of its own}}
  %new = linalg.generic {indexing_maps = [affine_map<(i) -> (15 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%old : tensor<16xf32>) outs(%e : tensor<16xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<16xf32>
  return %new : tensor<16xf32>
}

// -----

// Each of two that change places would have to be written first.
tp.mesh @mesh <["tp"=1]>
tp.state @a : tensor<16xf32>
tp.state @b : tensor<16xf32>
// expected-error @below {{cannot update state @a in its own memory: its old value is read after that}}
// expected-note @below {{it is read here}}
func.func @swap(%a: tensor<16xf32> {tp.state = @a}, %b: tensor<16xf32> {tp.state = @b})
    -> (tensor<16xf32> {tp.state = @a}, tensor<16xf32> {tp.state = @b}) {
  return %b, %a : tensor<16xf32>, tensor<16xf32>
}

// -----

tp.mesh @mesh <["tp"=1]>
tp.state @s : tensor<16x16xf32>
func.func @after(%old: tensor<16x16xf32> {tp.state = @s}) -> (tensor<16x16xf32> {tp.state = @s}, tensor<16x16xf32>) {
  %one = arith.constant dense<1.0> : tensor<16x16xf32>
  // expected-error @below {{cannot update state @s in its own memory: its old value is read after that}}
  %new = arith.addf %old, %one : tensor<16x16xf32>
  // expected-note @below {{it is read here}}
  %y = nn.linear %new, %old : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %new, %y : tensor<16x16xf32>, tensor<16x16xf32>
}
