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
  %bias = arith.constant dense<[[[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]]> : tensor<1x3x3xf32>
  %a = nn.attention %q, %q, %q bias %bias {causal, scale = 0.5 : f64} : (tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x3xf32>) -> tensor<1x3x1x4xf32>
  %m = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x3x1x4xf32> into tensor<1x3x4xf32>
  %l = nn.linear %m, %words : (tensor<1x3x4xf32>, tensor<16x4xf32>) -> tensor<1x3x16xf32>
  return %l : tensor<1x3x16xf32>
}

// -----

// Another input than ids has no meaning in a step.

// expected-error @below {{steps of generation cannot be derived: expected ids alone, and a mask that attention alone reads, got argument 1 ("features")}}
func.func @main(%ids: tensor<1x8xi64> {tp.name = "input_ids"}, %f: tensor<1x8x4xf32> {tp.name = "features"}) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %y = arith.addf %x, %f : tensor<1x8x4xf32>
  %l = nn.linear %y, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// expected-error @below {{expected one argument of token ids, integers [batch, sequence], such as "input_ids"}}
func.func @main(%x: tensor<1x8x4xf32>) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %l = nn.linear %x, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// expected-error @below {{expected logits of each of the 20 ids, got 16 numbers for a token}}
func.func @main(%ids: tensor<1x8xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 20>}) -> tensor<1x8x16xf32> {
  %words = tp.parameter "words" : tensor<20x4xf32>
  %head = tp.parameter "head" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<20x4xf32>) -> tensor<1x8x4xf32>
  %l = nn.linear %x, %head : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l : tensor<1x8x16xf32>
}

// -----

// expected-error @below {{expected one result of logits, floats [batch, sequence, vocabulary], or one of them named "logits", got 2}}
func.func @main(%ids: tensor<1x8xi64>) -> (tensor<1x8x16xf32>, tensor<1x8x4xf32>) {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<1x8xi64>, tensor<16x4xf32>) -> tensor<1x8x4xf32>
  %l = nn.linear %x, %words : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
  return %l, %x : tensor<1x8x16xf32>, tensor<1x8x4xf32>
}

// -----

// expected-error @below {{a program on sequences of one token: expected at least 2}}
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
