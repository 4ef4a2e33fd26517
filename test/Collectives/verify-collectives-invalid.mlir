// RUN: tp-opt --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline %s -split-input-file -verify-diagnostics

// Forbidden in a function.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>
// expected-note@+1 {{the budget of this function is #tp.comm_budget<none>}}
func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole}) attributes {tp.comm_budget = #tp.comm_budget<none>} {
  %r = tp.repeat 3 times iter(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %up = tp.parameter "{i}.up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
    %down = tp.parameter "{i}.down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
    %0 = nn.linear %h, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
    %1 = nn.gelu erf %0 : tensor<8x256xf32>
    // expected-error@+1 {{'tp.all_reduce' op exceeds the communication budget: expected no collective, got 3 calls of any collective and 6144 bytes; its cause is: partial sum of nn.linear over factor k; without the annotation '{i}.down.weight dim 1 on "tp"' it is not needed}}
    %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
    tp.yield %2 : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

// Too many calls: three layers.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>
// expected-note@+1 {{the budget of this function is #tp.comm_budget<all_reduce count 2>}}
func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole}) attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 2>} {
  %r = tp.repeat 3 times iter(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %up = tp.parameter "{i}.up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
    %down = tp.parameter "{i}.down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
    %0 = nn.linear %h, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
    %1 = nn.gelu erf %0 : tensor<8x256xf32>
    // expected-error@+1 {{'tp.all_reduce' op exceeds the communication budget: expected at most 2 calls of tp.all_reduce, got 3 calls of tp.all_reduce and 6144 bytes; its cause is: partial sum of nn.linear over factor k; without the annotation '{i}.down.weight dim 1 on "tp"' it is not needed}}
    %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
    tp.yield %2 : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

// Too many bytes in one iteration.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>

func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole}) {
  // expected-note@+1 {{the budget of this repeated layer is #tp.comm_budget<all_reduce bytes 2047>}}
  %r = tp.repeat 3 times iter(%x) {tp.comm_budget = #tp.comm_budget<all_reduce bytes 2047>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %up = tp.parameter "{i}.up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
    %down = tp.parameter "{i}.down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
    %0 = nn.linear %h, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
    %1 = nn.gelu erf %0 : tensor<8x256xf32>
    // expected-error@+1 {{'tp.all_reduce' op exceeds the communication budget: expected at most 2047 bytes of tp.all_reduce, got 1 call of tp.all_reduce and 2048 bytes; its cause is: partial sum of nn.linear over factor k; without the annotation '{i}.down.weight dim 1 on "tp"' it is not needed}}
    %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
    tp.yield %2 : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

// Count and bytes of one kind; the other kinds are forbidden, said or not.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>
// expected-note@+1 {{the budget of this function is #tp.comm_budget<all_reduce count 3 bytes 6000, all_gather none>}}
func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole}) attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 3 bytes 6000, all_gather none>} {
  %r = tp.repeat 3 times iter(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %up = tp.parameter "{i}.up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
    %down = tp.parameter "{i}.down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
    %0 = nn.linear %h, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
    %1 = nn.gelu erf %0 : tensor<8x256xf32>
    // expected-error@+1 {{'tp.all_reduce' op exceeds the communication budget: expected at most 3 calls of tp.all_reduce and 6000 bytes, got 3 calls of tp.all_reduce and 6144 bytes; its cause is: partial sum of nn.linear over factor k; without the annotation '{i}.down.weight dim 1 on "tp"' it is not needed}}
    %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
    tp.yield %2 : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

// Nested: each body counts for the loops between it and the budget, and what never
// runs costs nothing.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>

func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole}) {
  %never = tp.repeat 0 times iter(%x) {tp.comm_budget = #tp.comm_budget<all_reduce count 1>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %z = tp.repeat 0 times iter(%h) {tp.comm_budget = #tp.comm_budget<all_reduce count 1>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%j: index, %g: tensor<8x64xf32>):
      %up = tp.parameter "never.up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
      %down = tp.parameter "never.down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
      %0 = nn.linear %g, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
      %1 = nn.gelu erf %0 : tensor<8x256xf32>
      %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
      tp.yield %2 : tensor<8x64xf32>
    }
    tp.yield %z : tensor<8x64xf32>
  }
  // expected-note@+1 {{the budget of this repeated layer is #tp.comm_budget<all_reduce count 2>}}
  %r = tp.repeat 5 times iter(%never) {tp.comm_budget = #tp.comm_budget<all_reduce count 2>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %s = tp.repeat 3 times iter(%h) {tp.comm_budget = #tp.comm_budget<all_reduce count 1>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%j: index, %g: tensor<8x64xf32>):
      %up = tp.parameter "{i}.up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
      %down = tp.parameter "{i}.down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
      %0 = nn.linear %g, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
      %1 = nn.gelu erf %0 : tensor<8x256xf32>
      // expected-error@+1 {{'tp.all_reduce' op exceeds the communication budget: expected at most 2 calls of tp.all_reduce, got 3 calls of tp.all_reduce and 6144 bytes; its cause is: partial sum of nn.linear over factor k; without the annotation '{i}.down.weight dim 1 on "tp"' it is not needed}}
      %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
      tp.yield %2 : tensor<8x64xf32>
    }
    tp.yield %s : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// -----

// A kind that the budget does not list is forbidden.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>
// expected-note@+1 {{the budget of this function is #tp.comm_budget<all_reduce count 1>, which forbids what it does not list; 'all_gather unlimited' in it, or 'any unlimited' for all others, allows it}}
func.func @main(%x: tensor<8x64xf32> {tp.name = "x", tp.sharding = #row}) -> (tensor<8x64xf32> {tp.sharding = #whole}) attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 1>} {
  // expected-error@+1 {{'tp.all_gather' op exceeds the communication budget: expected no tp.all_gather, got 1 call of tp.all_gather and 2048 bytes; its cause is: }}
  %0 = nn.gelu erf %x : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// `any` is for what is not listed, all of it together.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>
// expected-note@+1 {{the budget of this function is #tp.comm_budget<all_reduce count 3, any bytes 2047>}}
func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}, %y: tensor<8x64xf32> {tp.name = "y", tp.sharding = #row}) -> (tensor<8x64xf32> {tp.sharding = #whole}, tensor<8x64xf32> {tp.sharding = #whole}) attributes {tp.comm_budget = #tp.comm_budget<all_reduce count 3, any bytes 2047>} {
  // expected-error@+1 {{'tp.all_gather' op exceeds the communication budget: expected at most 2047 bytes of any other collective, got 1 call of any other collective and 2048 bytes; its cause is: }}
  %0 = nn.gelu erf %y : tensor<8x64xf32>
  %up = tp.parameter "up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
  %down = tp.parameter "down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
  %1 = nn.linear %x, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
  %2 = nn.gelu erf %1 : tensor<8x256xf32>
  %3 = nn.linear %2, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
  return %3, %0 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// None of the others, in a layer.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>

func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole}) {
  // expected-note@+1 {{the budget of this repeated layer is #tp.comm_budget<all_gather count 1, any none>}}
  %r = tp.repeat 3 times iter(%x) {tp.comm_budget = #tp.comm_budget<all_gather count 1, any none>} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %up = tp.parameter "{i}.up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
    %down = tp.parameter "{i}.down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
    %0 = nn.linear %h, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
    %1 = nn.gelu erf %0 : tensor<8x256xf32>
    // expected-error@+1 {{'tp.all_reduce' op exceeds the communication budget: expected no other collective, got 1 call of any other collective and 2048 bytes; its cause is: partial sum of nn.linear over factor k; without the annotation '{i}.down.weight dim 1 on "tp"' it is not needed}}
    %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
    tp.yield %2 : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}
