// RUN: tp-opt --split-input-file --verify-diagnostics --tp-verify-partitioned %s

// What the reshard table says of kinds of reduction, groups and layouts.

// A kind that changes on the way.
#max = #tp.sharding<@mesh, [{"tp"}], partial max {"dp"}>
#sum = #tp.sharding<@mesh, [{}], partial sum {"dp"}>
#reduce = #tp.rule<["d0" 4, "d1" 4 max], ([0], [1]), ([0]) -> ([0])>
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<2x2xf32> {tp.global_type = tensor<4x4xf32>, tp.sharding = #tp.sharding<@mesh, [{"tp"}, {"dp"}]>}, %init: tensor<2xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) -> (tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #sum}) {
  %m = linalg.reduce ins(%x : tensor<2x2xf32>) outs(%init : tensor<2xf32>) dimensions = [1] {tp.rule = #reduce, tp.shardings = [#max]}
    (%in: f32, %out: f32) {
      %0 = arith.maximumf %in, %out : f32
      linalg.yield %0 : f32
    }
  // expected-error @+1 {{'tp.all_gather' op row all-gather: expected what is partial to stay, got [{"tp"}], partial max {"dp"} to [{}], partial sum {"dp"}}}
  %g = tp.all_gather %m dim 0 over @mesh ["tp"] {from = #max, to = #sum, ledger = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">} : tensor<2xf32> -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

// Parts that leave their group.
#x = #tp.sharding<@mesh, [{"x"}]>
#y = #tp.sharding<@mesh, [{"y"}]>
tp.mesh @mesh <["x"=2, "y"=2]>
func.func @main(%x: tensor<2xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #x}) -> (tensor<2xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #y}) {
  // expected-error @+1 {{'tp.collective_permute' op row permute: expected the parts to be exchanged within the groups along "x", got [{"x"}] to [{"y"}]}}
  %y = tp.collective_permute %x over @mesh ["x"] pairs dense<[[0, 0], [2, 1], [1, 2], [3, 3]]> : tensor<4x2xi64> {from = #x, to = #y, ledger = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">} : tensor<2xf32> -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// Parts of another number.
#x = #tp.sharding<@mesh, [{"x"}]>
#y = #tp.sharding<@mesh, [{"y"}]>
tp.mesh @mesh <["x"=3, "y"=4]>
func.func @main(%x: tensor<2xf32> {tp.global_type = tensor<5xf32>, tp.sharding = #x}) -> (tensor<2xf32> {tp.global_type = tensor<5xf32>, tp.sharding = #y}) {
  // expected-error @+1 {{'tp.collective_permute' op row permute: expected parts of one size, got [{"x"}] to [{"y"}]}}
  %y = tp.collective_permute %x over @mesh ["x", "y"] pairs dense<[[0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [7, 7], [8, 8], [9, 9], [10, 10], [11, 11]]> : tensor<12x2xi64> {from = #x, to = #y, ledger = #tp.ledger<0, cause = "c", annotation = "a", pass = "p">} : tensor<2xf32> -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// A layout that no tensor of that size has.
tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #tp.sharding<@mesh, [{}]>}) -> (tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'tp.slice' op 'to': expected a sharding of 1 dimensions, got 2}}
  %y = tp.slice %x dim 0 over @mesh ["tp"] {from = #tp.sharding<@mesh, [{}]>, to = #tp.sharding<@mesh, [{}, {}]>} : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The initial value of a maximum, with zeros on the other ranks.
#cut = #tp.sharding<@mesh, [{}, {"tp"}]>
#rep = #tp.sharding<@mesh, [{}]>
#sum = #tp.sharding<@mesh, [{}], partial sum {"tp"}>
#max = #tp.sharding<@mesh, [{}], partial max {"tp"}>
#reduce = #tp.rule<["d0" 4, "d1" 4 max], ([0], [1]), ([0]) initial -> ([0])>
tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<4x2xf32> {tp.global_type = tensor<4x4xf32>, tp.sharding = #cut}, %init: tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) -> (tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #max}) {
  // expected-note @below {{the operand is made here}}
  %once = tp.keep_first %init over @mesh ["tp"] {from = #rep, to = #sum} : tensor<4xf32>
  // expected-error @+1 {{'linalg.reduce' op operand 1: expected a partial max, got [{}], partial sum {"tp"}}}
  %m = linalg.reduce ins(%x : tensor<4x2xf32>) outs(%once : tensor<4xf32>) dimensions = [1] {tp.rule = #reduce, tp.shardings = [#max]}
    (%in: f32, %out: f32) {
      %0 = arith.maximumf %in, %out : f32
      linalg.yield %0 : f32
    }
  return %m : tensor<4xf32>
}

// -----

// A partial sum in a maximum.
#cut = #tp.sharding<@mesh, [{}, {"tp"}]>
#rep = #tp.sharding<@mesh, [{}]>
#reduce = #tp.rule<["d0" 4, "d1" 4 max], ([0], [1]) multilinear, ([0]) -> ([0])>
tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<4x2xf32> {tp.global_type = tensor<4x4xf32>, tp.sharding = #cut}, %init: tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) -> (tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) {
  // expected-note @below {{the operand is made here}}
  %once = tp.keep_first %x over @mesh ["dp"] {from = #cut, to = #tp.sharding<@mesh, [{}, {"tp"}], partial sum {"dp"}>} : tensor<4x2xf32>
  // expected-error @+1 {{'linalg.reduce' op operand 0: expected a complete value, because its max is taken, got [{}, {"tp"}], partial sum {"dp"}}}
  %m = linalg.reduce ins(%once : tensor<4x2xf32>) outs(%init : tensor<4xf32>) dimensions = [1] {tp.rule = #reduce, tp.shardings = [#tp.sharding<@mesh, [{}], partial max {"tp"}>]}
    (%in: f32, %out: f32) {
      %0 = arith.maximumf %in, %out : f32
      linalg.yield %0 : f32
    }
  return %m : tensor<4xf32>
}

// -----

// A bias that is partial beside a product that is not: the product would count
// once per rank.
#rep = #tp.sharding<@mesh, [{}, {}]>
#vec = #tp.sharding<@mesh, [{}]>
#part = #tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>
#linear = #tp.rule<["s" 8, "n" 16, "k" 64 sum], ([0], [2]) multilinear, ([1], [2]) multilinear, ([1]) additive -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8x64xf32> {tp.global_type = tensor<8x64xf32>, tp.sharding = #rep}, %w: tensor<16x64xf32> {tp.global_type = tensor<16x64xf32>, tp.sharding = #rep}, %b: tensor<16xf32> {tp.global_type = tensor<16xf32>, tp.sharding = #vec}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #part}) {
  // expected-note @below {{the operand is made here}}
  %once = tp.keep_first %b over @mesh ["tp"] {from = #vec, to = #tp.sharding<@mesh, [{}], partial sum {"tp"}>} : tensor<16xf32>
  // expected-error @+1 {{'nn.linear' op operand 2: expected a complete value as the product is that it is added to, because a complete value added to a partial one would count once per rank, got [{}], partial sum {"tp"}}}
  %y = nn.linear %x, %w bias %once {tp.rule = #linear, tp.shardings = [#part]} : (tensor<8x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// A sum over k that is cut, times a partial factor: (a0 + a1) (b0 + b1) is not
// a0 b0 + a1 b1.
#cut = #tp.sharding<@mesh, [{"tp"}]>
#one = #tp.sharding<@mesh, []>
#part = #tp.sharding<@mesh, [], partial sum {"tp"}>
#scale = #tp.rule<["k" 4 sum], ([0]) multilinear, () multilinear, () -> ()>
tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<2xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #cut}, %f: tensor<f32> {tp.global_type = tensor<f32>, tp.sharding = #one}, %e: tensor<f32> {tp.global_type = tensor<f32>, tp.sharding = #one}) -> (tensor<f32> {tp.global_type = tensor<f32>, tp.sharding = #part}) {
  // expected-note @below {{the operand is made here}}
  %p = tp.keep_first %f over @mesh ["tp"] {from = #one, to = #part} : tensor<f32>
  // expected-error @+1 {{'linalg.generic' op operand 1: expected a complete factor of a sum that is cut by "tp", got [], partial sum {"tp"}}}
  %y = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>, affine_map<(k) -> ()>], iterator_types = ["reduction"], tp.rule = #scale, tp.shardings = [#part]} ins(%x, %p : tensor<2xf32>, tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %out, %m : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// Two reductions at once.
#cut = #tp.sharding<@mesh, [{"x"}, {"y"}]>
#one = #tp.sharding<@mesh, []>
#rule = #tp.rule<["a" 4 sum, "b" 4 max], ([0], [1]), () -> ()>
tp.mesh @mesh <["x"=2, "y"=2]>
func.func @main(%x: tensor<2x2xf32> {tp.global_type = tensor<4x4xf32>, tp.sharding = #cut}, %e: tensor<f32> {tp.global_type = tensor<f32>, tp.sharding = #one}) -> (tensor<f32> {tp.global_type = tensor<f32>, tp.sharding = #one}) {
  // expected-error @+1 {{'linalg.reduce' op expected the factors that are cut to be reduced alike, got a sum and a max}}
  %y = linalg.reduce ins(%x : tensor<2x2xf32>) outs(%e : tensor<f32>) dimensions = [0, 1] {tp.rule = #rule, tp.shardings = [#one]}
    (%in: f32, %out: f32) {
      %0 = arith.maximumf %in, %out : f32
      linalg.yield %0 : f32
    }
  return %y : tensor<f32>
}

// -----

// A rule that says more than the operation does.
#rep = #tp.sharding<@mesh, [{}, {}]>
#unary = #tp.rule<["d0" 8, "d1" 16], ([0], [1]) multilinear -> ([0], [1])>
tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) -> (tensor<8x16xf32> {tp.global_type = tensor<8x16xf32>, tp.sharding = #rep}) {
  // expected-error @+1 {{'nn.silu' op expected tp.rule to be its rule, d0=8, d1=16: [d0, d1] -> [d0, d1], got d0=8, d1=16: [d0, d1] multilinear -> [d0, d1]}}
  %s = nn.silu %x {tp.rule = #unary, tp.shardings = [#rep]} : tensor<8x16xf32>
  return %s : tensor<8x16xf32>
}

// -----

// A rule on an operation that has none.
#rep = #tp.sharding<@mesh, [{}]>
tp.mesh @mesh <["tp"=2]>
func.func @main() -> (tensor<8xindex> {tp.global_type = tensor<8xindex>, tp.sharding = #rep}) {
  // expected-error @+1 {{'tensor.generate' op expected an operation with a rule: }}
  %s = tensor.generate {
  ^bb0(%i: index):
    tensor.yield %i : index
  } {tp.rule = #tp.rule<["d0" 8], -> ([0])>, tp.shardings = [#rep]} : tensor<8xindex>
  return %s : tensor<8xindex>
}

// -----

// The function promises another shape.
#rep = #tp.sharding<@mesh, [{}]>
tp.mesh @mesh <["tp"=2]>
// expected-note @below {{the value is made here}}
func.func @main(%x: tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) -> (tensor<4xf32> {tp.global_type = tensor<5xf32>, tp.sharding = #rep}) {
  // expected-error @+1 {{'func.return' op result 0: expected the tp.global_type 'tensor<5xf32>', got 'tensor<4xf32>'}}
  return %x : tensor<4xf32>
}
