// RUN: tp-opt --split-input-file --verify-diagnostics --tp-verify-partitioned %s

// One planted fault each.

// Dropped: a partial sum reaches a function result.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-note @below {{the value is made here}}
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'func.return' op result 0: expected [{}, {}], got [{}, {}], partial sum {"tp"}}}
  return %y : tensor<8x16xf32>
}

// -----

// Dropped before a non-linear operation.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-note @below {{the operand is made here}}
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'nn.silu' op operand 0: expected a complete value, because the operation is not linear in it, got [{}, {}], partial sum {"tp"}}}
  %s = nn.silu %y {tp.rule = #unary, tp.shardings = [#rep]} : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// -----

// Doubled.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-note @below {{the operand is made here}}
  %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #why} : tensor<8x16xf32> -> tensor<8x16xf32>
  // expected-error @+1 {{'tp.all_reduce' op expected its operand to be [{}, {}], partial sum {"tp"}, got [{}, {}]}}
  %q = tp.all_reduce sum %r over @mesh ["tp"] {from = #part, to = #rep, ledger = #why1} : tensor<8x16xf32> -> tensor<8x16xf32>
  return %q : tensor<8x16xf32>
}

// -----

// On the wrong axis.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'tp.all_reduce' op row all-reduce: expected a partial sum over "dp" that it finishes, got [{}, {}], partial sum {"tp"} to [{}, {}]}}
  %r = tp.all_reduce sum %y over @mesh ["dp"] {from = #part, to = #rep, ledger = #why} : tensor<8x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// With the wrong reduction.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'tp.all_reduce' op row all-reduce: expected a partial max over "tp" that it finishes, got [{}, {}], partial sum {"tp"} to [{}, {}]}}
  %r = tp.all_reduce max %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #why} : tensor<8x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// On the wrong dimension.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x8xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #seq}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'tp.reduce_scatter' op row reduce-scatter: expected "tp" to be the minor axes of dimension 1, got [{}, {}], partial sum {"tp"} to [{"tp"}, {}]}}
  %r = tp.reduce_scatter sum %y dim 1 over @mesh ["tp"] {from = #part, to = #seq, ledger = #why} : tensor<8x16xf32> -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// Moved behind an addition: the whole value would count once per rank.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
// expected-note @below {{the operand is made here}}
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-note @below {{operand 0 is made here}}
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'arith.addf' op operand 1: expected a partial sum over "tp" as operand 0 is, because a complete value added to a partial one would count once per rank, got [{}, {}]}}
  %s = arith.addf %y, %h {tp.rule = #add, tp.shardings = [#part]} : tensor<8x16xf32>
  %r = tp.all_reduce sum %s over @mesh ["tp"] {from = #part, to = #rep, ledger = #why} : tensor<8x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// The initial value of a reduction, whole on every rank.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-note @below {{the operand is made here}}
  %b = tp.parameter "b" {tp.global_type = tensor<16xf32>, tp.shardings = [#vec]} : tensor<16xf32>
  // expected-error @+1 {{'nn.linear' op operand 2: expected a partial sum over "tp" (tp.keep_first of a complete value), because it must count once, got [{}]}}
  %y = nn.linear %x, %w bias %b {tp.rule = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear, ([1]) additive -> ([0], [1])>, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #why} : tensor<8x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// Two partial factors of one product.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-note @below {{operand 0 is made here}}
  // expected-note @below {{the operand is made here}}
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'arith.mulf' op operand 1: expected one partial factor of a product, got operand 0 partial as well}}
  %s = arith.mulf %y, %y {tp.rule = #mul, tp.shardings = [#part]} : tensor<8x16xf32>
  %r = tp.all_reduce sum %s over @mesh ["tp"] {from = #part, to = #rep, ledger = #why} : tensor<8x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// A dropped gather: the operands disagree.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<4x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #seq}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %z = tp.slice %h dim 0 over @mesh ["tp"] {from = #rep, to = #seq} : tensor<8x16xf32> -> tensor<4x16xf32>
  // expected-note @below {{the operand is made here}}
  %g = tp.parameter "g" {tp.global_type = tensor<4x16xf32>, tp.shardings = [#rep]} : tensor<4x16xf32>
  // expected-error @+1 {{'arith.addf' op operand 1: expected a part of a tensor of [8, 16], got one of [4, 16]}}
  %s = arith.addf %z, %g {tp.rule = #add, tp.shardings = [#seq]} : tensor<4x16xf32>
  return %s : tensor<4x16xf32>
}

// -----

// Operands that are cut differently though their types agree.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
// expected-note @below {{operand 0 is made here}}
// expected-note @below {{the operand is made here}}
func.func @main(%x: tensor<8x8xf32> {tp.global_type = tensor<16x8xf32>, tp.sharding = #seq}, %y: tensor<8x8xf32> {tp.global_type = tensor<16x8xf32>, tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>}) -> (tensor<8x8xf32> {tp.global_type = tensor<16x8xf32>, tp.sharding = #seq}) {
  // expected-error @+1 {{'arith.addf' op operand 1: expected factor d0 to be cut by {"tp"} as in operand 0, got {"dp"}}}
  %s = arith.addf %x, %y {tp.rule = #tp.rule<["d0" 16, "d1" 8], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>, tp.shardings = [#seq]} : tensor<8x8xf32>
  return %s : tensor<8x8xf32>
}

// -----

// Another sharding is written than follows.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-error @+1 {{'nn.linear' op result 0: expected what is derived, [{}, {}], partial sum {"tp"}, got [{}, {}]}}
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#rep]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// A type that is not the local one.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<5x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #seq}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-error @+1 {{'tp.slice' op expected the local type 'tensor<4x16xf32>' of 'tensor<8x16xf32>' with [{"tp"}, {}], got 'tensor<5x16xf32>'}}
  %z = tp.slice %h dim 0 over @mesh ["tp"] {from = #rep, to = #seq} : tensor<8x16xf32> -> tensor<5x16xf32>
  return %z : tensor<5x16xf32>
}

// -----

// A carried value that changes.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %l = tp.repeat 2 times iter(%h) {tp.shardings = [#rep]} : (tensor<8x16xf32>) -> tensor<8x16xf32> {
  ^bb0(%i: index, %c: tensor<8x16xf32>):
    // expected-note @below {{the value is made here}}
    %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    // expected-error @+1 {{'tp.yield' op operand 0: expected [{}, {}], got [{}, {}], partial sum {"tp"}}}
    tp.yield %y : tensor<8x16xf32>
  }
  return %l : tensor<8x16xf32>
}

// -----

// No entry in the ledger.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'tp.all_reduce' op expected an entry in the ledger, got none}}
  %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep} : tensor<8x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// One id twice.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-note @+1 {{it is used here}}
  %r = tp.all_reduce sum %y over @mesh ["tp"] {from = #part, to = #rep, ledger = #why} : tensor<8x16xf32> -> tensor<8x16xf32>
  %s = tp.slice %h dim 0 over @mesh ["tp"] {from = #rep, to = #seq} : tensor<8x16xf32> -> tensor<4x16xf32>
  // expected-error @+1 {{'tp.all_gather' op expected an id of its own in the ledger, got 0 twice}}
  %g = tp.all_gather %s dim 0 over @mesh ["tp"] {from = #seq, to = #rep, ledger = #why} : tensor<4x16xf32> -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// No rule.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-note @below {{what it reads is made here}}
  %y = nn.linear %x, %w {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
  // expected-error @+1 {{'nn.silu' op expected tp.rule, by which its result can be derived from [{}, {}], partial sum {"tp"}}}
  %s = nn.silu %y : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// -----

// Not partitioned.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
// expected-error @+1 {{'func.func' op expected tp.global_type on argument 0: the function is not the output of tp-partition}}
func.func @main(%x: tensor<8x16xf32>) {
  return
}

// -----

// A parameter is never a partial sum.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<8x32xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #col}, %h: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #part}) {
  %w = tp.parameter "w" {tp.global_type = tensor<16x64xf32>, tp.shardings = [#col]} : tensor<16x32xf32>
  // expected-error @+1 {{'tp.parameter' op expected a parameter to be split or replicated, got [{}, {}], partial sum {"tp"}}}
  %b = tp.parameter "b" {tp.global_type = tensor<8x16xf32>, tp.shardings = [#part]} : tensor<8x16xf32>
  return %b : tensor<8x16xf32>
}

// -----

// The wrong partners.
#rep = #tp.sharding<@mesh, [{}, {}]>
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#vec = #tp.sharding<@mesh, [{}]>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear -> ([0], [1])>
#add = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) additive, ([0], [1]) additive -> ([0], [1])>
#mul = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear, ([0], [1]) multilinear -> ([0], [1])>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1])>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
#why1 = #tp.ledger<1, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<4xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{"dp"}]>}) -> (tensor<4xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) {
  // expected-error @+1 {{'tp.collective_permute' op row permute: expected the pairs that lead from [{"dp"}] to [{"tp"}]}}
  %y = tp.collective_permute %x over @mesh ["dp", "tp"] pairs dense<[[0, 0], [1, 1], [2, 2], [3, 3]]> : tensor<4x2xi64> {from = #tp.sharding<@mesh, [{"dp"}]>, to = #tp.sharding<@mesh, [{"tp"}]>, ledger = #why} : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A rule that is none: what is summed away is in the result.
#rep = #tp.sharding<@mesh, [{}, {}]>
#unary = #tp.rule<["d0" 8, "d1" 16 sum], ([0], [1]) multilinear -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  // expected-error @+1 {{'nn.silu' op has an ill-formed tp.rule: factor 1 is a reduction but is in a result}}
  %s = nn.silu %x {tp.rule = #unary, tp.shardings = [#rep]} : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// -----

// A rule for another rank of the result.
#rep = #tp.sharding<@mesh, [{}, {}]>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) -> ([0], [1], [])>
tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  // expected-error @+1 {{'nn.silu' op has an ill-formed tp.rule: result 0: expected factors of 2 dimensions, got 3}}
  %s = nn.silu %x {tp.rule = #unary, tp.shardings = [#rep]} : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// -----

// Neighbours with one id that cannot be one call: the one reduces what the other gives.
#rep = #tp.sharding<@mesh, [{}]>
#tp = #tp.sharding<@mesh, [{}], partial sum {"tp"}>
#both = #tp.sharding<@mesh, [{}], partial sum {"dp", "tp"}>
#why = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #both}) -> (tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) {
  // expected-note @+1 {{the call has this one}}
  %r = tp.all_reduce sum %x over @mesh ["dp"] {from = #both, to = #tp, ledger = #why} : tensor<4xf32> -> tensor<4xf32>
  // expected-error @+1 {{expected what is one call by its id in the ledger to be all-reduces of one kind, axes and element type, none of another's result}}
  %s = tp.all_reduce sum %r over @mesh ["tp"] {from = #tp, to = #rep, ledger = #why} : tensor<4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}
