// What cannot be updated in its own memory is refused, and the reader named.
// RUN: tp-opt %s --tp-schedule-pipeline --split-input-file --verify-diagnostics

tp.mesh @mesh <["tp"=1]>
tp.state @s : tensor<16xf32>
// expected-note @below {{this is the old value: compute its successor element by element, and what is read elsewhere before it, as a value of its own}}
func.func @reversed(%old: tensor<16xf32> {tp.state = @s}) -> (tensor<16xf32> {tp.state = @s}) {
  %e = tensor.empty() : tensor<16xf32>
  // expected-error @below {{cannot update state @s in its own memory: its old value is read by what writes it, at other elements than are written}}
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
  // expected-note @below {{it is read here: read it before, or keep what is needed of it in a state of its own}}
  %y = nn.linear %new, %old : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %new, %y : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// A layer reads another layer's slice, which may have been replaced.
tp.mesh @mesh <["tp"=1]>
tp.state @cache : tensor<3x5xf32>
// expected-note @below {{this is the old value}}
func.func @above(%old: tensor<3x5xf32> {tp.state = @cache}, %y: tensor<5xf32>) -> (tensor<3x5xf32> {tp.state = @cache}) {
  %first = tensor.extract_slice %old[0, 0] [1, 5] [1, 1] : tensor<3x5xf32> to tensor<5xf32>
  // expected-error @below {{cannot update state @cache in its own memory: its old value is read by what writes it}}
  %0:2 = tp.repeat 3 times iter(%y) stacked(%old) : (tensor<5xf32>, tensor<3x5xf32>) -> (tensor<5xf32>, tensor<3x5xf32>) {
  ^bb0(%i: index, %carried: tensor<5xf32>, %slice: tensor<5xf32>):
    %a = arith.addf %slice, %carried : tensor<5xf32>
    %sum = arith.addf %a, %first : tensor<5xf32>
    tp.yield %carried, %sum : tensor<5xf32>, tensor<5xf32>
  }
  return %0#1 : tensor<3x5xf32>
}

// -----

// So with slices of a view, whose layers are other parts of the memory.
tp.mesh @mesh <["tp"=1]>
tp.state @cache : tensor<3x4xf32>
// expected-note @below {{this is the old value}}
func.func @view(%old: tensor<3x4xf32> {tp.state = @cache}, %y: tensor<2xf32>) -> (tensor<3x4xf32> {tp.state = @cache}, tensor<2xf32>) {
  %view = tensor.expand_shape %old [[0], [1, 2]] output_shape [3, 2, 2] : tensor<3x4xf32> into tensor<3x2x2xf32>
  // expected-error @below {{cannot update state @cache in its own memory: its old value is read by what writes it}}
  %0:2 = tp.repeat 3 times iter(%y) stacked(%old, %view) : (tensor<2xf32>, tensor<3x4xf32>, tensor<3x2x2xf32>) -> (tensor<2xf32>, tensor<3x4xf32>) {
  ^bb0(%i: index, %carried: tensor<2xf32>, %slice: tensor<4xf32>, %pairs: tensor<2x2xf32>):
    %flat = tensor.collapse_shape %pairs [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
    %sum = arith.addf %slice, %flat : tensor<4xf32>
    tp.yield %carried, %sum : tensor<2xf32>, tensor<4xf32>
  }
  return %0#1, %0#0 : tensor<3x4xf32>, tensor<2xf32>
}

// -----

// A library's operation says which operand it may replace; this one says none.
tp.mesh @mesh <["tp"=1]>
tp.state @s : tensor<1x4x2x8xf32>
// expected-note @below {{this is the old value}}
func.func @library(%old: tensor<1x4x2x8xf32> {tp.state = @s}, %k: tensor<1x4x2x8xf32>) -> (tensor<1x4x2x8xf32> {tp.state = @s}) {
  // expected-error @below {{cannot update state @s in its own memory: its old value is read by what writes it}}
  %new = nn.attention %old, %k, %k {scale = 1.0 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %new : tensor<1x4x2x8xf32>
}
