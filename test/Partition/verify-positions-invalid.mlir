// RUN: tp-opt --split-input-file --verify-diagnostics --tp-verify-partitioned %s

// tp.rank enters a tensor as the offset of a part, in no other way.

#rep = #tp.sharding<@mesh, [{}]>
#fill = #tp.rule<["d0" 4], () -> ([0])>
tp.mesh @mesh <["tp"=2]>
func.func @splat() -> (tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) {
  %r = tp.rank @mesh ["tp"]
  %i = arith.index_cast %r : index to i32
  // expected-note @below {{the value is made here}}
  %f = arith.sitofp %i : i32 to f32
  // expected-error @+1 {{'tensor.splat' op operand 0: expected a value that is the same on every rank, got one that depends on tp.rank}}
  %s = tensor.splat %f {tp.rule = #fill, tp.shardings = [#rep]} : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

// Without a rule, in a region.
tp.mesh @mesh <["tp"=2]>
func.func @generate() -> (tensor<4xindex> {tp.global_type = tensor<4xindex>, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-note @below {{the value is made here}}
  %r = tp.rank @mesh ["tp"]
  // expected-error @+1 {{'tensor.generate' op what it reads: expected a value that is the same on every rank, got one that depends on tp.rank}}
  %s = tensor.generate {
  ^bb0(%i: index):
    %a = arith.addi %i, %r : index
    tensor.yield %a : index
  } : tensor<4xindex>
  return %s : tensor<4xindex>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @inner() -> (tensor<4xindex> {tp.global_type = tensor<4xindex>, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{'tensor.generate' op expected tp.rank outside of its regions}}
  %s = tensor.generate {
  ^bb0(%i: index):
    %r = tp.rank @mesh ["tp"]
    tensor.yield %r : index
  } : tensor<4xindex>
  return %s : tensor<4xindex>
}

// -----

// A scalar result is the same on every rank.
tp.mesh @mesh <["tp"=2]>
func.func @scalar() -> index {
  // expected-note @below {{the value is made here}}
  %r = tp.rank @mesh ["tp"]
  // expected-error @+1 {{'func.return' op result 0: expected a value that is the same on every rank, got one that depends on tp.rank}}
  return %r : index
}

// -----

// A table without the offset of the part.
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#table = #tp.rule<["s" 8 indexed, "j" 2 whole], -> ([0], [1]), ([0], [1])>
tp.mesh @mesh <["tp"=2]>
func.func @table() -> (tensor<4x2xf32> {tp.global_type = tensor<8x2xf32>, tp.sharding = #seq}) {
  // expected-error @+1 {{'nn.rotary_table' op reads its position along factor s: expected the offset tp.rank "tp" * 4, got none}}
  %c, %s = nn.rotary_table {attention_scaling = 1.0 : f64, inv_freq = dense<[1.0, 0.5]> : tensor<2xf32>, tp.rule = #table, tp.shardings = [#seq, #seq]} : tensor<4x2xf32>, tensor<4x2xf32>
  return %c : tensor<4x2xf32>
}

// -----

// With another one.
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#table = #tp.rule<["s" 8 indexed, "j" 2 whole], -> ([0], [1]), ([0], [1])>
tp.mesh @mesh <["tp"=2]>
func.func @table() -> (tensor<4x2xf32> {tp.global_type = tensor<8x2xf32>, tp.sharding = #seq}) {
  %r = tp.rank @mesh ["tp"]
  %two = arith.constant 2 : index
  %offset = arith.muli %r, %two : index
  // expected-error @+1 {{'nn.rotary_table' op reads its position along factor s: expected the offset tp.rank "tp" * 4, got tp.rank "tp" * 2}}
  %c, %s = nn.rotary_table offset %offset {attention_scaling = 1.0 : f64, inv_freq = dense<[1.0, 0.5]> : tensor<2xf32>, tp.rule = #table, tp.shardings = [#seq, #seq]} : tensor<4x2xf32>, tensor<4x2xf32>
  return %c : tensor<4x2xf32>
}

// -----

// With one that is no product.
#seq = #tp.sharding<@mesh, [{"tp"}, {}]>
#table = #tp.rule<["s" 8 indexed, "j" 2 whole], -> ([0], [1]), ([0], [1])>
tp.mesh @mesh <["tp"=2]>
func.func @table() -> (tensor<4x2xf32> {tp.global_type = tensor<8x2xf32>, tp.sharding = #seq}) {
  %r = tp.rank @mesh ["tp"]
  %two = arith.constant 2 : index
  %offset = arith.shli %r, %two : index
  // expected-error @+1 {{'nn.rotary_table' op reads its position along factor s: expected the offset tp.rank "tp" * 4, got another function of tp.rank "tp"}}
  %c, %s = nn.rotary_table offset %offset {attention_scaling = 1.0 : f64, inv_freq = dense<[1.0, 0.5]> : tensor<2xf32>, tp.rule = #table, tp.shardings = [#seq, #seq]} : tensor<4x2xf32>, tensor<4x2xf32>
  return %c : tensor<4x2xf32>
}

// -----

// A body that reads its index along a dimension that is cut.
#seq = #tp.sharding<@mesh, [{"tp"}]>
#iota = #tp.rule<["d0" 8 indexed], ([0]) -> ([0])>
tp.mesh @mesh <["tp"=2]>
func.func @body() -> (tensor<4xi64> {tp.global_type = tensor<8xi64>, tp.sharding = #seq}) {
  %e = tensor.empty() {tp.rule = #tp.rule<["d0" 8], -> ([0])>, tp.shardings = [#seq]} : tensor<4xi64>
  // expected-error @+1 {{'linalg.generic' op expected a position along dimension 0, which is cut by {"tp"}, to be the global one: expected the offset tp.rank "tp" * 4, got none}}
  %i = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], tp.rule = #iota, tp.shardings = [#seq]} outs(%e : tensor<4xi64>) {
  ^bb0(%out: i64):
    %at = linalg.index 0 : index
    %n = arith.index_cast %at : index to i64
    linalg.yield %n : i64
  } -> tensor<4xi64>
  return %i : tensor<4xi64>
}

// -----

// A body that reads the rank for itself.
#seq = #tp.sharding<@mesh, [{"tp"}]>
#iota = #tp.rule<["d0" 8], ([0]) -> ([0])>
tp.mesh @mesh <["tp"=2]>
func.func @body() -> (tensor<4xi64> {tp.global_type = tensor<8xi64>, tp.sharding = #seq}) {
  %r = tp.rank @mesh ["tp"]
  %e = tensor.empty() {tp.rule = #tp.rule<["d0" 8], -> ([0])>, tp.shardings = [#seq]} : tensor<4xi64>
  // expected-error @+1 {{'linalg.generic' op expected what it computes to be the same on every rank, got a value that depends on tp.rank "tp"}}
  %i = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"], tp.rule = #iota, tp.shardings = [#seq]} outs(%e : tensor<4xi64>) {
  ^bb0(%out: i64):
    %n = arith.index_cast %r : index to i64
    linalg.yield %n : i64
  } -> tensor<4xi64>
  return %i : tensor<4xi64>
}

// -----

// A scalar taken from a part is not the same on every rank.
#seq = #tp.sharding<@mesh, [{"tp"}]>
tp.mesh @mesh <["tp"=2]>
// expected-note @below {{what it reads is made here}}
func.func @element(%x: tensor<4xf32> {tp.global_type = tensor<8xf32>, tp.sharding = #seq}) -> f32 {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'tensor.extract' op expected tp.rule, by which its result can be derived from [{"tp"}]}}
  %e = tensor.extract %x[%zero] : tensor<4xf32>
  return %e : f32
}

// -----

// What a call does on each rank is not known.
#rep = #tp.sharding<@mesh, [{}]>
tp.mesh @mesh <["tp"=2]>
func.func private @other(tensor<4xf32>) -> tensor<4xf32>
func.func @call(%x: tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) -> (tensor<4xf32> {tp.global_type = tensor<4xf32>, tp.sharding = #rep}) {
  // expected-error @+1 {{'func.call' op expected an operation without effects: no rule says what it does on each rank}}
  %y = func.call @other(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
