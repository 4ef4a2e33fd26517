// RUN: tp-opt %s --tp-verify-partitioned --split-input-file --verify-diagnostics

// Steps, rules and loops that do not fit, on a function's argument alone.

// A reduction that cuts as well.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{}], partial sum {"tp"}>}) {
  // expected-error @+1 {{'tp.all_reduce' op row all-reduce: expected dimension 0 to stay as it is, got [{}], partial sum {"tp"} to [{"dp"}]}}
  %0 = tp.all_reduce sum %x over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}], partial sum {"tp"}>, to = #tp.sharding<@mesh, [{"dp"}]>, ledger = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">} : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

// A slice that makes a partial sum.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'tp.slice' op row slice: expected what is partial to stay, got [{}] to [{"tp"}], partial sum {"dp"}}}
  %0 = tp.slice %x dim 0 over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}]>, to = #tp.sharding<@mesh, [{"tp"}], partial sum {"dp"}>} : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

// Parts of uneven parts.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<5xf32> {tp.global_type = tensor<10xf32>, tp.sharding = #tp.sharding<@mesh, [{"dp"}]>}) {
  // expected-error @+1 {{'tp.slice' op row slice: expected parts of 5 / 2 in dimension 0, got 3}}
  %0 = tp.slice %x dim 0 over @mesh ["tp"] {from = #tp.sharding<@mesh, [{"dp"}]>, to = #tp.sharding<@mesh, [{"dp", "tp"}]>} : tensor<5xf32> -> tensor<3xf32>
  return
}

// -----

// Parts of two sizes.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<4xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{"dp"}]>}) {
  // expected-error @+1 {{'tp.collective_permute' op row permute: expected parts of one size, got [{"dp"}] to [{}]}}
  %0 = tp.collective_permute %x over @mesh ["dp"] pairs dense<[[0, 0], [1, 1], [2, 2], [3, 3]]> : tensor<4x2xi64> {from = #tp.sharding<@mesh, [{"dp"}]>, to = #tp.sharding<@mesh, [{}]>, ledger = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">} : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

// Of a sum that is partial already.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{}], partial sum {"tp"}>}) {
  // expected-error @+1 {{'tp.keep_first' op row keep-first: expected a complete value that becomes a partial sum over "tp", got [{}], partial sum {"tp"} to [{}], partial sum {"tp"}}}
  %0 = tp.keep_first %x over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}], partial sum {"tp"}>, to = #tp.sharding<@mesh, [{}], partial sum {"tp"}>} : tensor<8xf32>
  return
}

// -----

// An operation of the program before.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'tp.reshard' op expected no such operation in a per-rank program}}
  %0 = tp.reshard %x from <@mesh, [{}]> to <@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

// Nothing says what the result is.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'math.exp' op expected a sharding to be written on result 0, got none}}
  %0 = math.exp %x {tp.rule = #tp.rule<["i" 8], ([0]) -> ([0])>} : tensor<8xf32>
  return
}

// -----

// The rule of another operation.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'math.exp' op expected tp.rule to have the 1 operands and 1 results of the operation, got 2 and 1}}
  %0 = math.exp %x {tp.rule = #tp.rule<["i" 8], ([0]), ([0]) -> ([0])>, tp.shardings = [#tp.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return
}

// -----

// Across the factors of a dimension.
tp.mesh @mesh <["dp"=2, "tp"=2]>
// expected-note @below {{the operand is made here}}
func.func @main(%x: tensor<6xf32> {tp.global_type = tensor<12xf32>, tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) {
  // expected-error @+1 {{'math.exp' op operand 0: expected dimension 0 to be cut along its factors, got [{"tp"}]}}
  %0 = math.exp %x {tp.rule = #tp.rule<["a" 3, "b" 4], ([0, 1]) -> ([0, 1])>, tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]} : tensor<6xf32>
  return
}

// -----

// The product of a maximum.
tp.mesh @mesh <["dp"=2, "tp"=2]>
// expected-note @below {{the operand is made here}}
func.func @main(%x: tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{}], partial max {"tp"}>}) {
  // expected-error @+1 {{'arith.negf' op operand 0: expected a partial sum, got [{}], partial max {"tp"}}}
  %0 = arith.negf %x {tp.rule = #tp.rule<["i" 8], ([0]) multilinear -> ([0])>, tp.shardings = [#tp.sharding<@mesh, [{}], partial max {"tp"}>]} : tensor<8xf32>
  return
}

// -----

// The most minor of three factors is cut.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<3x2x2xf32> {tp.global_type = tensor<3x2x4xf32>, tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}]>}) {
  // expected-error @+1 {{'tensor.collapse_shape' op result 0: its factors are not cut contiguously}}
  %0 = tensor.collapse_shape %x [[0, 1, 2]] {tp.rule = #tp.rule<["a" 3, "b" 2, "c" 4], ([0], [1], [2]) -> ([0, 1, 2])>, tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]} : tensor<3x2x2xf32> into tensor<12xf32>
  return
}

// -----

// The minor of two factors is cut: the dimension is, in blocks.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<3x2xf32> {tp.global_type = tensor<3x4xf32>, tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) {
  // expected-error @+1 {{'tensor.collapse_shape' op result 0: expected what is derived, [{"tp" block 4 by 1}], got [{"tp"}]}}
  %0 = tensor.collapse_shape %x [[0, 1]] {tp.rule = #tp.rule<["a" 3, "b" 4], ([0], [1]) -> ([0, 1])>, tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]} : tensor<3x2xf32> into tensor<6xf32>
  return
}

// -----

// Layers on different ranks, of what a loop reads and of what it makes.
tp.mesh @mesh <["dp"=2, "tp"=2]>
// expected-note @below {{the stacked value is made here}}
func.func @main(%x: tensor<2x8xf32> {tp.global_type = tensor<4x8xf32>, tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @+1 {{'tp.repeat' op expected the layers of a stacked value to be whole, got [{"tp"}, {}]}}
  tp.repeat 2 times stacked(%x) : (tensor<2x8xf32>) -> () {
  ^bb0(%i: index, %s: tensor<8xf32>):
    tp.yield
  }
  return
}

// -----

tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'tp.repeat' op expected the layers of a stacked result to be whole, got [{"tp"}, {}]}}
  %0:2 = tp.repeat 2 times iter(%x) {tp.shardings = [#tp.sharding<@mesh, [{}]>, #tp.sharding<@mesh, [{"tp"}, {}]>]} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  ^bb0(%i: index, %h: tensor<8xf32>):
    tp.yield %h, %h : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

// Memory, of which nothing is known: read, and given back.
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{'memref.load' op expected operands whose sharding is known}}
  %0 = memref.load %m[%i] : memref<8xf32>
  return
}

// -----

tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%m: memref<8xf32>) -> memref<8xf32> {
  // expected-error @+1 {{'func.return' op expected results whose sharding is known}}
  return %m : memref<8xf32>
}

// -----

tp.mesh @mesh <["dp"=2, "tp"=2]>
// expected-note @below {{the operand is made here}}
func.func @main(%m: memref<f32>) {
  // expected-error @+1 {{'memref.load' op operand 0: expected a value whose sharding is known}}
  %0 = memref.load %m[] {tp.rule = #tp.rule<[], () -> ()>} : memref<f32>
  return
}
