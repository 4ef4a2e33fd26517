// RUN: tp-opt %s --split-input-file --verify-diagnostics

// Attributes that cannot be read, and those in a place that is not theirs.

// expected-error@+1 {{expected a mesh axis to have a name}}
tp.mesh @mesh <[""=2]>

// -----

// expected-error@+1 {{expected a sub-axis to have a size of 2 or more, got 0}}
func.func private @f(tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp":(1)0}]>})

// -----

// expected-error@+1 {{expected the sub-axis of "tp" to begin at 1 or more, got 0}}
func.func private @f(tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp":(0)2}]>})

// -----

// expected-error@+1 {{expected nothing after '?'}}
func.func private @f(tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{?, "tp"}]>})

// -----

// expected-error@+1 {{expected positive blocks and shards of them, got 4 by 0}}
func.func private @f(tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp" block 4 by 0}]>})

// -----

// expected-error@+1 {{expected a positive grain, got 0}}
func.func private @f(tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp" grain 0}]>})

// -----

// expected-error@+1 {{argument 0: expected @mesh to be a tp.mesh, got no such mesh}}
func.func private @f(tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>})

// -----

// expected-error@+1 {{argument 0: expected tp.sharding to be a #tp.sharding, got "tp"}}
func.func private @f(tensor<8xf32> {tp.sharding = "tp"})

// -----

// expected-error@+1 {{argument 0: expected tp.name to be a string, got 3 : i64}}
func.func private @f(tensor<8xf32> {tp.name = 3})

// -----

// expected-error@+1 {{argument 0: expected tp.global_type to be a ranked tensor type, got f32}}
func.func private @f(tensor<8xf32> {tp.global_type = f32})

// -----

tp.mesh @mesh <["tp"=4]>
func.func @shardings(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected tp.shardings to list 1 shardings, one per result, got [unit, unit]}}
  %0 = arith.negf %x {tp.shardings = [unit, unit]} : tensor<8xf32>
  return
}

// -----

func.func @shardings(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected tp.shardings to hold #tp.sharding, got "tp"}}
  %0 = arith.negf %x {tp.shardings = ["tp"]} : tensor<8xf32>
  return
}

// -----

func.func @rule(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected tp.rule to be a #tp.rule, got unit}}
  %0 = arith.negf %x {tp.rule} : tensor<8xf32>
  return
}

// -----

func.func @budget(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected tp.comm_budget on a function or tp.repeat, got it on an operation}}
  %0 = arith.negf %x {tp.comm_budget = #tp.comm_budget<none>} : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{expected tp.comm_budget to be a #tp.comm_budget, got 3 : i64}}
func.func private @f() attributes {tp.comm_budget = 3}

// -----

// expected-error@+1 {{expected 'none', 'unlimited', a count or bytes for 'all_reduce'}}
func.func private @f() attributes {tp.comm_budget = #tp.comm_budget<all_reduce>}

// -----

// expected-error@+1 {{'func.func' op expected tp.comm_budget on a public function or tp.repeat, got it on a private function, whose calls are inlined: give the budget to the function that calls it}}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 1>} {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{expected a limit that is not negative for 'all_reduce', got count -1}}
func.func private @f() attributes {tp.comm_budget = #tp.comm_budget<all_reduce count -1 bytes 8>}

// -----

// expected-error@+1 {{expected a limit that is not negative for 'any', got bytes -8}}
func.func private @f() attributes {tp.comm_budget = #tp.comm_budget<any bytes -8>}

// -----

// expected-error@+1 {{expected each kind once, got 'any' twice}}
func.func private @f() attributes {tp.comm_budget = #tp.comm_budget<any count 1, all_reduce none, any unlimited>}

// -----

// expected-error@+1 {{expected a kind of collective (any, all_reduce, reduce_scatter, all_gather, all_to_all, collective_permute), got 'gather'}}
func.func private @f() attributes {tp.comm_budget = #tp.comm_budget<gather count 1>}

// -----

// expected-error@+1 {{expected each kind once, got 'all_reduce' twice}}
func.func private @f() attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 1, all_reduce bytes 8>}

// -----

func.func @rule(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected factors and grains of at least 1, got "i" of size 0 and grain 1}}
  %0 = arith.negf %x {tp.rule = #tp.rule<["i" 0], ([0]) -> ([0])>} : tensor<8xf32>
  return
}

// -----

func.func @rule(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected one of 1 factors, got number 1}}
  %0 = arith.negf %x {tp.rule = #tp.rule<["i" 8], ([1]) -> ([0])>} : tensor<8xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is declared here}}
tp.mesh @mesh <["tp"=4]>
// expected-error@+1 {{argument 0: expected an axis of the mesh ("tp"), got "dp"}}
func.func private @f(tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}]>})

// -----

// A name that is nobody's would be read by nobody: the nearest is named.

// expected-error@+1 {{unknown attribute 'tp.com_budget', which nothing would read; did you mean 'tp.comm_budget'?}}
func.func private @f() attributes {tp.com_budget = #tp.comm_budget<none>}

// -----

func.func @shardngs(%x: tensor<8xf32>) {
  // expected-error@+1 {{unknown attribute 'tp.shardngs', which nothing would read; did you mean 'tp.shardings'?}}
  %0 = arith.negf %x {tp.shardngs = []} : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{unknown attribute 'tp.whatever', which nothing would read}}
module attributes {tp.whatever} {}

// -----

// A name that is somebody's stands where that is read, and nowhere else.

tp.mesh @mesh <["tp"=4]>
func.func @sharding(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected tp.sharding on an argument or a result of a function, got it on an operation; the nearest that an operation may have is tp.shardings}}
  %0 = arith.negf %x {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>} : tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
// expected-error@+1 {{argument 0: expected tp.shardings on an operation, got it on an argument; the nearest that an argument may have is tp.sharding}}
func.func private @f(tensor<8xf32> {tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]})

// -----

// expected-error@+1 {{result 0: expected tp.range on an argument, got it on a result of a function}}
func.func private @f() -> (tensor<8xi32> {tp.range = array<i64: 0, 9>})

// -----

// expected-error@+1 {{argument 0: expected tp.range to be two numbers, as array<i64: 0, 9>, got [0, 9]}}
func.func private @f(tensor<8xi32> {tp.range = [0, 9]})

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected tp.then to be a list of symbols of kernels, got [3]}}
  %0 = math.exp %x {tp.kernel = @a, tp.then = [3]} : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{argument 2: expected a name of its own, got "x", which argument 0 has}}
func.func private @f(tensor<8xf32> {tp.name = "x"}, tensor<8xf32>, tensor<8xf32> {tp.name = "x"})

// -----

// An argument and a result may have one name.
// expected-error@+1 {{result 1: expected a name of its own, got "y", which result 0 has}}
func.func private @f(tensor<8xf32> {tp.name = "y"}) -> (tensor<8xf32> {tp.name = "y"}, tensor<8xf32> {tp.name = "y"})

// -----

// expected-error@+1 {{argument 0: expected tp.name to be a string, got 5}}
func.func private @f(tensor<8xf32> {tp.name = 5})
