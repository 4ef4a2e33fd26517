// RUN: tp-opt %s --tp-derive-steps --split-input-file --verify-diagnostics

// What combines positions otherwise than by attention is named.

func.func @main(%ids: tensor<2x8xi64>) -> tensor<2x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %e = tensor.empty() : tensor<2x8x4xf32>
  %t = tensor.empty() : tensor<2x4x8xf32>
  %0 = linalg.transpose ins(%x : tensor<2x8x4xf32>) outs(%t : tensor<2x4x8xf32>) permutation = [0, 2, 1]
  // expected-error @below {{steps of generation cannot be derived: 'nn.softmax' combines the positions of a sequence (dimension 2 of operand 0), which steps compute some at a time}}
  %1 = nn.softmax %0 : tensor<2x4x8xf32>
  %2 = linalg.transpose ins(%1 : tensor<2x4x8xf32>) outs(%e : tensor<2x8x4xf32>) permutation = [0, 2, 1]
  %l = nn.linear %2, %words : (tensor<2x8x4xf32>, tensor<16x4xf32>) -> tensor<2x8x16xf32>
  return %l : tensor<2x8x16xf32>
}

// -----

// Texts of a batch, too.

func.func @main(%ids: tensor<2x8xi64>) -> tensor<2x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %z = arith.constant dense<0.0> : tensor<8x4xf32>
  // expected-error @below {{'linalg.generic' combines the texts of a batch (dimension 0 of operand 0)}}
  %s = linalg.generic {indexing_maps = [affine_map<(s, h, b) -> (b, s, h)>, affine_map<(s, h, b) -> (s, h)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<2x8x4xf32>) outs(%z : tensor<8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %sum = arith.addf %o, %a : f32
    linalg.yield %sum : f32
  } -> tensor<8x4xf32>
  %b = tensor.expand_shape %s [[0, 1], [2]] output_shape [1, 8, 4] : tensor<8x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %b, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  %e = tensor.empty() : tensor<2x8x16xf32>
  return %e : tensor<2x8x16xf32>
}

// -----

// Later tokens are not known yet.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  // expected-error @below {{'nn.attention' lets tokens see later ones (it is not causal)}}
  %a = nn.attention %q, %q, %q {scale = 0.5 : f64} : (tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>) -> tensor<1x8x1x4xf32>
  %m = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %m, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Half of the sequence is not known of tokens.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  // expected-error @below {{'tensor.expand_shape' regroups the positions of a sequence (operand 0)}}
  %h = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [1, 2, 4, 4] : tensor<1x8x4xf32> into tensor<1x2x4x4xf32>
  %m = tensor.collapse_shape %h [[0], [1, 2], [3]] : tensor<1x2x4x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %m, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// A bias that depends on the query has no form, unless it is the same for all keys.

func.func @main(%ids: tensor<1x3xi64>) -> tensor<1x3x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x3xi64>, tensor<16x4xf32>) -> tensor<1x3x4xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 3, 1, 4] : tensor<1x3x4xf32> into tensor<1x3x1x4xf32>
  // expected-error @below {{'arith.constant' makes the bias of a key depend on the query}}
  %bias = arith.constant dense<[[[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]]]> : tensor<1x3x3xf32>
  %a = nn.attention %q, %q, %q bias %bias {causal, scale = 0.5 : f64} : (tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x3xf32>) -> tensor<1x3x1x4xf32>
  %m = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x3x1x4xf32> into tensor<1x3x4xf32>
  %l = nn.linear %m, %words : (tensor<1x3x4xf32>, tensor<16x4xf32>) -> tensor<1x3x16xf32>
  return %l : tensor<1x3x16xf32>
}

// -----

// Another input than ids has no meaning in a step.

// expected-error @below {{steps of generation cannot be derived: expected ids alone, and a mask that attention reads, got argument 1 ("features"): make the program without it, if it can do without}}
func.func @main(%ids: tensor<1x8xi64> {tp.name = "input_ids"}, %f: tensor<1x8x4xf32> {tp.name = "features"}) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %y = arith.addf %x, %f : tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Nor have positions that a caller gives, wherever they come in first.

// expected-error @below {{steps of generation cannot be derived: expected ids alone, and a mask that attention reads, got argument 1 ("position_ids"): make the program without it, if it can do without}}
func.func @main(%ids: tensor<1x8xi64> {tp.name = "input_ids"}, %p: tensor<1x8xi64> {tp.name = "position_ids"}) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %e = tensor.empty() : tensor<1x4x8xf32>
  %t = linalg.transpose ins(%x : tensor<1x8x4xf32>) outs(%e : tensor<1x4x8xf32>) permutation = [0, 2, 1]
  %s = nn.softmax %t : tensor<1x4x8xf32>
  %d = tensor.empty() : tensor<1x8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, h, s)>, affine_map<(b, s, h) -> (b, s)>, affine_map<(b, s, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %p : tensor<1x4x8xf32>, tensor<1x8xi64>) outs(%d : tensor<1x8x4xf32>) {
  ^bb0(%a: f32, %n: i64, %o: f32):
    %number = arith.sitofp %n : i64 to f32
    %sum = arith.addf %a, %number : f32
    linalg.yield %sum : f32
  } -> tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// expected-error @below {{steps of generation cannot be derived: expected one argument of token ids, integers [batch, sequence], such as "input_ids"}}
func.func @main(%x: tensor<1x8x4xf32>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %l = nn.linear %x, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// expected-error @below {{steps of generation cannot be derived: expected logits of each of the 20 ids, got 16 numbers for a token}}
func.func @main(%ids: tensor<1x8xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 20>}) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<20x4xf32>
  %head = tp.parameter "head" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<20x4xf32>) -> tensor<1x8x4xf32>
  %l = nn.linear %x, %head : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// expected-error @below {{steps of generation cannot be derived: expected one result of logits, floats [batch, sequence, vocabulary], or one of them named "logits", got 2}}
func.func @main(%ids: tensor<1x8xi64>) -> (tensor<1x8x16xf32>, tensor<1x8x4xf32>) {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %l = nn.linear %x, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l, %x : tensor<1x8x16xf32>, tensor<1x8x4xf32>
}

// -----

// expected-error @below {{steps of generation cannot be derived from a program on sequences of one token: expected at least 2}}
func.func @main(%ids: tensor<1x1xi64>) -> tensor<1x1x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x1xi64>, tensor<16x4xf32>) -> tensor<1x1x4xf32>
  %l = nn.linear %x, %words : (tensor<1x1x4xf32>, tensor<16x4xf32>) -> tensor<1x1x16xf32>
  return %l : tensor<1x1x16xf32>
}

// -----

// Operations that have no sharding rule have no roles.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  // expected-error @below {{'scf.execute_region' op has no sharding rule}}
  %y = scf.execute_region -> tensor<1x8x4xf32> {
    scf.yield %x : tensor<1x8x4xf32>
  }
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Statistics are for derivatives.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  // expected-error @below {{'nn.attention' has a second result, which its form with a cache has not}}
  %a, %lse = nn.attention %q, %q, %q {causal, scale = 0.5 : f64} : (tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>) -> (tensor<1x8x1x4xf32>, tensor<1x8x1xf32>)
  %y = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Tokens that are not attended to.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  // expected-error @below {{'nn.attention' has a mask that depends on tokens}}
  %a = nn.attention %q, %q, %q mask %ids {causal, scale = 0.5 : f64} : (tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8xi64>) -> tensor<1x8x1x4xf32>
  %y = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// A mask with a hole that is always there.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  %mask = arith.constant dense<[[1, 1, 0, 1, 1, 1, 1, 1]]> : tensor<1x8xi64>
  // expected-error @below {{'nn.attention' has a mask that is computed; tokens of a step are not padded, so that an argument alone is left out}}
  %a = nn.attention %q, %q, %q mask %mask {causal, scale = 0.5 : f64} : (tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8xi64>) -> tensor<1x8x1x4xf32>
  %y = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// A bias that each token makes for itself.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  %e = tensor.empty() : tensor<1x8x8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (0, i, 0)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x8x4xf32>) outs(%e : tensor<1x8x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<1x8x8xf32>
  // expected-error @below {{'nn.attention' has a bias that depends on tokens}}
  %a = nn.attention %q, %q, %q bias %b {causal, scale = 0.5 : f64} : (tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x8xf32>) -> tensor<1x8x1x4xf32>
  %y = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Keys that are no tokens.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  %k = tp.parameter "keys" : tensor<1x8x1x4xf32>
  // expected-error @below {{'nn.attention' attends to something else than the tokens (operand 1)}}
  %a = nn.attention %q, %k, %k {causal, scale = 0.5 : f64} : (tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>) -> tensor<1x8x1x4xf32>
  %y = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// A bias of keys by a table.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  // expected-error @below {{'arith.constant' is a bias of keys by a table, which has no form in which texts go on beyond it: expected a multiple of the position, as ALiBi has}}
  %c = arith.constant dense<[[[0.0, 1.0, 4.0, 9.0, 1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x8xf32>
  %e = tensor.empty() : tensor<1x8x8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h, 0, j)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c : tensor<1x1x8xf32>) outs(%e : tensor<1x8x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  } -> tensor<1x8x8xf32>
  %a = nn.attention %q, %q, %q bias %b {causal, scale = 0.5 : f64} : (tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x1x4xf32>, tensor<1x8x8xf32>) -> tensor<1x8x1x4xf32>
  %y = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// A convolution of later positions.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %taps = tp.parameter "taps" : tensor<4x1x3xf32>
  // expected-error @below {{'nn.causal_conv' reads later positions}}
  %y = nn.causal_conv %x, %taps {reversed} : (tensor<1x8x4xf32>, tensor<4x1x3xf32>) -> tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Texts have no number in a step.

func.func @main(%ids: tensor<2x8xi64>) -> tensor<2x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %e = tensor.empty() : tensor<2x8x4xf32>
  // expected-error @below {{'linalg.generic' reads the number of a text in the batch, or that of a token in all texts}}
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x8x4xf32>) outs(%e : tensor<2x8x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %v = arith.addf %p, %f : f32
    linalg.yield %v : f32
  } -> tensor<2x8x4xf32>
  %l = nn.linear %y, %words : (tensor<2x8x4xf32>, tensor<16x4xf32>) -> tensor<2x8x16xf32>
  return %l : tensor<2x8x16xf32>
}

// -----

// Nor where no token is read.

func.func @main(%ids: tensor<2x8xi64>) -> tensor<2x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %none = tensor.empty() : tensor<2x8x4xf32>
  // expected-error @below {{'linalg.generic' reads the number of a text in the batch}}
  %n = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%none : tensor<2x8x4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i32
    %f = arith.sitofp %c : i32 to f32
    linalg.yield %f : f32
  } -> tensor<2x8x4xf32>
  %y = arith.addf %x, %n : tensor<2x8x4xf32>
  %l = nn.linear %y, %words : (tensor<2x8x4xf32>, tensor<16x4xf32>) -> tensor<2x8x16xf32>
  return %l : tensor<2x8x16xf32>
}

// -----

// A constant of each text.

func.func @main(%ids: tensor<2x2xi64>) -> tensor<2x2x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x2xi64>, tensor<16x4xf32>) -> tensor<2x2x4xf32>
  // expected-error @below {{'arith.constant' is another for each text of the batch}}
  %c = arith.constant dense<[[[1.0], [1.0]], [[2.0], [2.0]]]> : tensor<2x2x1xf32>
  %e = tensor.empty() : tensor<2x2x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (b, s, 0)>, affine_map<(b, s, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : tensor<2x2x4xf32>, tensor<2x2x1xf32>) outs(%e : tensor<2x2x4xf32>) {
  ^bb0(%p: f32, %r: f32, %o: f32):
    %v = arith.addf %p, %r : f32
    linalg.yield %v : f32
  } -> tensor<2x2x4xf32>
  %l = nn.linear %y, %words : (tensor<2x2x4xf32>, tensor<16x4xf32>) -> tensor<2x2x16xf32>
  return %l : tensor<2x2x16xf32>
}

// -----

// A parameter of each text.

func.func @main(%ids: tensor<2x8xi64>) -> tensor<2x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  // expected-error @below {{'tp.parameter' is a parameter of each text or key}}
  %p = tp.parameter "each" : tensor<2x8x4xf32>
  %y = arith.addf %x, %p : tensor<2x8x4xf32>
  %l = nn.linear %y, %words : (tensor<2x8x4xf32>, tensor<16x4xf32>) -> tensor<2x8x16xf32>
  return %l : tensor<2x8x16xf32>
}

// -----

// Every other row of a table.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %p = tp.parameter "table" : tensor<1x16x4xf32>
  // expected-error @below {{'tensor.extract_slice' takes some positions in a way that has no form for tokens}}
  %s = tensor.extract_slice %p[0, 0, 0] [1, 8, 4] [1, 2, 1] : tensor<1x16x4xf32> to tensor<1x8x4xf32>
  %y = arith.addf %x, %s : tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Positions that were two dimensions.

func.func @main(%ids: tensor<1x4xi64>) -> tensor<1x4x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x4xi64>, tensor<16x4xf32>) -> tensor<1x4x4xf32>
  %c = arith.constant dense<[[[[0.0], [1.0]], [[1.0], [3.0]]]]> : tensor<1x2x2x1xf32>
  // expected-error @below {{'tensor.collapse_shape' regroups positions}}
  %r = tensor.collapse_shape %c [[0], [1, 2], [3]] : tensor<1x2x2x1xf32> into tensor<1x4x1xf32>
  %e = tensor.empty() : tensor<1x4x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (b, s, 0)>, affine_map<(b, s, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %r : tensor<1x4x4xf32>, tensor<1x4x1xf32>) outs(%e : tensor<1x4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %v = arith.addf %p, %q : f32
    linalg.yield %v : f32
  } -> tensor<1x4x4xf32>
  %l = nn.linear %y, %words : (tensor<1x4x4xf32>, tensor<16x4xf32>) -> tensor<1x4x16xf32>
  return %l : tensor<1x4x16xf32>
}

// -----

// Integers in no even steps.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  // expected-error @below {{'arith.constant' is a table of 'i64' by positions, of which floats alone are looked up}}
  %c = arith.constant dense<[3, 1, 4, 1, 5, 9, 2, 6]> : tensor<8xi64>
  %e = tensor.empty() : tensor<1x8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (s)>, affine_map<(b, s, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : tensor<1x8x4xf32>, tensor<8xi64>) outs(%e : tensor<1x8x4xf32>) {
  ^bb0(%p: f32, %n: i64, %o: f32):
    %f = arith.sitofp %n : i64 to f32
    %v = arith.addf %p, %f : f32
    linalg.yield %v : f32
  } -> tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Rotations that begin elsewhere.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %one = arith.constant 1 : index
  // expected-error @below {{'nn.rotary_table' has other positions than the sequence's}}
  %cos, %sin = nn.rotary_table offset %one {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 1, 4] : tensor<1x8x4xf32> into tensor<1x8x1x4xf32>
  %t = nn.rotary %q, %cos, %sin : (tensor<1x8x1x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<1x8x1x4xf32>
  %y = tensor.collapse_shape %t [[0], [1], [2, 3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Stacks of tokens.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %s = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, 1, 8, 4] : tensor<1x8x4xf32> into tensor<1x1x8x4xf32>
  // expected-error @below {{'tp.repeat' is given a stack of values of tokens}}
  %y = tp.repeat 1 times iter(%x) stacked(%s) : (tensor<1x8x4xf32>, tensor<1x1x8x4xf32>) -> tensor<1x8x4xf32> {
  ^bb0(%i: index, %c: tensor<1x8x4xf32>, %t: tensor<1x8x4xf32>):
    %n = arith.addf %c, %t : tensor<1x8x4xf32>
    tp.yield %n : tensor<1x8x4xf32>
  }
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Hidden states of all layers.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  // expected-error @below {{'tp.repeat' stacks values of tokens}}
  %y, %all = tp.repeat 2 times iter(%x) : (tensor<1x8x4xf32>) -> (tensor<1x8x4xf32>, tensor<2x1x8x4xf32>) {
  ^bb0(%i: index, %c: tensor<1x8x4xf32>):
    %n = nn.silu %c : tensor<1x8x4xf32>
    tp.yield %n, %n : tensor<1x8x4xf32>, tensor<1x8x4xf32>
  }
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// Sequence and channels change places.

func.func @main(%ids: tensor<1x4xi64>) -> tensor<1x4x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x4xi64>, tensor<16x4xf32>) -> tensor<1x4x4xf32>
  // expected-error @below {{'tp.repeat' carries a value whose dimensions change from one iteration to the next}}
  %z = tp.repeat 2 times iter(%x) : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
  ^bb0(%i: index, %c: tensor<1x4x4xf32>):
    %e = tensor.empty() : tensor<1x4x4xf32>
    %t = linalg.transpose ins(%c : tensor<1x4x4xf32>) outs(%e : tensor<1x4x4xf32>) permutation = [0, 2, 1]
    tp.yield %t : tensor<1x4x4xf32>
  }
  %y = nn.silu %z : tensor<1x4x4xf32>
  %l = nn.linear %y, %words : (tensor<1x4x4xf32>, tensor<16x4xf32>) -> tensor<1x4x16xf32>
  return %l : tensor<1x4x16xf32>
}

// -----

// What dropout drops depends on all of the batch, in whatever position.

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %n = arith.constant dense<1> : tensor<i64>
  // expected-error @below {{'nn.dropout' depends on where each element stands in all of its operand}}
  %y = nn.dropout %x, %n, %n {op_id = 0 : i64, probability = 0.5 : f64} : tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// expected-error @below {{steps of generation cannot be derived from a function without a body}}
func.func private @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32>

// -----

// expected-error @below {{steps of generation cannot be derived: the module has a function @step_1 already}}
func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x16xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
  return %x : tensor<1x8x16xf32>
}
func.func @step_1(%ids: tensor<1x8xi64>) -> tensor<1x8xi64> {
  return %ids : tensor<1x8xi64>
}

// -----

// expected-error @below {{steps of generation cannot be derived: expected a function @main}}
module {
}

// -----

func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8x16xf64> {
  %words = tp.parameter "words" : tensor<16x16xf64>
  // expected-error @below {{'nn.embedding' gives logits of 'f64': expected f32, bf16 or f16}}
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x16xf64>) -> tensor<1x8x16xf64>
  return %x : tensor<1x8x16xf64>
}
