// RUN: tp-opt %s --tp-differentiate -split-input-file -verify-diagnostics

// expected-error @+1 {{'func.func' op result 0: expected tp.loss on a float tensor of rank 0, got 'tensor<1xf32>'}}
func.func @main(%x: tensor<1xf32>) -> (tensor<1xf32> {tp.loss}) {
  return %x : tensor<1xf32>
}

// -----

// expected-error @+1 {{'func.func' op result 0: expected tp.gradient to be a #tp.gradient, got "w"}}
func.func @main(%x: tensor<1xf32>) -> (tensor<1xf32> {tp.gradient = "w"}) {
  return %x : tensor<1xf32>
}

// -----

// expected-note @+1 {{the other one is here}}
func.func @one(%x: tensor<f32>) -> (tensor<f32> {tp.loss}) {
  return %x : tensor<f32>
}
// expected-error @+1 {{expected one function with a result marked tp.loss, got two}}
func.func @two(%x: tensor<f32>) -> (tensor<f32> {tp.loss}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected no @gradient in a module whose loss is to be differentiated}}
func.func @main(%x: tensor<f32>) -> (tensor<f32> {tp.loss}) {
  return %x : tensor<f32>
}
// expected-note @+1 {{it is here}}
func.func @gradient(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected a loss to differentiate from a function of one block}}
func.func @main(%x: tensor<f32>) -> (tensor<f32> {tp.loss}) {
  cf.br ^bb1
^bb1:
  return %x : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> (tensor<f32> {tp.loss}) {
  // expected-note @+1 {{the other one is here}}
  %w = tp.parameter "layers.1.w" : tensor<4xf32>
  %h = tp.repeat 2 times iter(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %h: tensor<4xf32>):
    // expected-error @+1 {{expected parameters that are one tensor to have one name, source and range of layers, got 'layers.{i}.w', of which some is part of 'layers.1.w'}}
    %v = tp.parameter "layers.{i}.w" : tensor<4xf32>
    %0 = arith.mulf %h, %v : tensor<4xf32>
    tp.yield %0 : tensor<4xf32>
  }
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.dot ins(%h, %w : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Boxes that have an element in common.
func.func @main() -> (tensor<f32> {tp.loss}) {
  // expected-note @+1 {{the other one is here}}
  %w = tp.parameter "w" source <shape = [8], offsets = [0], permutation = [0]> : tensor<4xf32>
  // expected-error @+1 {{got 'w', of which some is part of 'w'}}
  %v = tp.parameter "w" source <shape = [8], offsets = [3], permutation = [0]> : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.dot ins(%w, %v : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main() -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<f32>
  // expected-error @+1 {{'math.acosh' has no derivative here: write it with operations that have one (docs/Differentiate.md), or implement buildVjp for it}}
  %0 = math.acosh %w : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @callee(tensor<f32>) -> tensor<f32>
func.func @main() -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<f32>
  // expected-error @+1 {{'func.call' has no derivative here}}
  %0 = call @callee(%w) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%indices: tensor<1x1xi32>) -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<4xf32>
  // expected-error @+1 {{'tensor.gather' has no derivative here}}
  %0 = tensor.gather %w[%indices] gather_dims([0]) : (tensor<4xf32>, tensor<1x1xi32>) -> tensor<1x1xf32>
  %1 = tensor.collapse_shape %0 [] : tensor<1x1xf32> into tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The table of a rotary embedding may not be trained.
func.func @main(%x: tensor<1x1x1x2xf32>, %sin: tensor<1x1xf32>) -> (tensor<f32> {tp.loss}) {
  %cos = tp.parameter "cos" : tensor<1x1xf32>
  // expected-error @+1 {{'nn.rotary' has no derivative by operand 1, which depends on a parameter}}
  %0 = nn.rotary %x, %cos, %sin : (tensor<1x1x1x2xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1x1x2xf32>
  %1 = tensor.extract_slice %0[0, 0, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1] : tensor<1x1x1x2xf32> to tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @main() -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  // expected-error @+1 {{'linalg.generic' has no derivative here: write it with operations that have one (docs/Differentiate.md), or implement buildVjp for it: result 0 is neither a sum nor a maximum or minimum of terms}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%w : tensor<4xf32>) outs(%one : tensor<f32>) {
  ^bb0(%x: f32, %out: f32):
    %1 = arith.mulf %x, %out : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Each element is the sum so far.
func.func @main(%r: tensor<4xf32>) -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %empty = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{result 1 reads a sum that is not complete}}
  %0:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["reduction"]}
      ins(%w : tensor<4xf32>) outs(%zero, %empty : tensor<f32>, tensor<4xf32>) {
  ^bb0(%x: f32, %out: f32, %unread: f32):
    %1 = arith.addf %x, %out : f32
    linalg.yield %1, %1 : f32, f32
  } -> (tensor<f32>, tensor<4xf32>)
  %loss = linalg.dot ins(%0#1, %r : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main(%r: tensor<4xf32>) -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<7xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %empty = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{the map of operand 0 is no projected permutation}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%w, %r : tensor<7xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %1, %out : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  %loss = linalg.dot ins(%0, %r : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main(%r: tensor<4xf32>) -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %empty = tensor.empty() : tensor<8xf32>
  // expected-error @+1 {{the map of result 0 is no projected permutation}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i + 4)>], iterator_types = ["parallel"]}
      ins(%w : tensor<4xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  } -> tensor<8xf32>
  %1 = tensor.extract_slice %0[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %loss = linalg.dot ins(%1, %r : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main() -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<4xf32>
  %low = arith.constant dense<-10.0> : tensor<bf16>
  // expected-error @+1 {{terms of result 0 are rounded before they are compared}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%w : tensor<4xf32>) outs(%low : tensor<bf16>) {
  ^bb0(%x: f32, %out: bf16):
    %1 = arith.extf %out : bf16 to f32
    %2 = arith.maximumf %1, %x : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<bf16>
  %1 = arith.extf %0 : tensor<bf16> to tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> (tensor<f32> {tp.loss}) {
  %w = tp.parameter "w" : tensor<f32>
  %s = tensor.extract %w[] : tensor<f32>
  %empty = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{its body reads a value from outside that depends on a parameter; give it as an operand}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%y: f32, %out: f32):
    %1 = arith.mulf %y, %s : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.dot ins(%0, %x : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// In a layer of layers, of which some are undone already.
func.func @main(%x: tensor<4xf32>) -> (tensor<f32> {tp.loss}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %h = tp.repeat 2 times iter(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %h: tensor<4xf32>):
    %w = tp.parameter "w" : tensor<4xf32>
    // expected-error @+1 {{'math.acosh' has no derivative here}}
    %0 = math.acosh %w : tensor<4xf32>
    %1 = tp.repeat 2 times iter(%h) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%j: index, %k: tensor<4xf32>):
      %2 = arith.mulf %k, %0 : tensor<4xf32>
      %3 = math.sin %2 : tensor<4xf32>
      tp.yield %3 : tensor<4xf32>
    }
    tp.yield %1 : tensor<4xf32>
  }
  %loss = linalg.dot ins(%h, %x : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

func.func @main(%r: tensor<3x2xf32>) -> (tensor<f32> {tp.loss}) {
  %x = tp.parameter "x" : tensor<3x4xf32>
  %gate = tp.parameter "gate" : tensor<2x5x4xf32>
  %down = tp.parameter "down" : tensor<2x4x5xf32>
  // expected-error @below {{'nn.experts' op with scales_input has no derivative}}
  %y = nn.experts %x, %r, %gate, %gate, %down {activation = "silu", scales_input} : (tensor<3x4xf32>, tensor<3x2xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x4x5xf32>) -> tensor<3x4xf32>
  %c = tensor.collapse_shape %y [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.dot ins(%c, %c : tensor<12xf32>, tensor<12xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
