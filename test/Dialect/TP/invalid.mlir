// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected distinct axis names, got "tp" twice}}
tp.mesh @mesh <["tp"=2, "tp"=4]>

// -----

// expected-error@+1 {{expected axis "tp" to have a positive size, got 0}}
tp.mesh @mesh <["tp"=0]>

// -----

// expected-error@+1 {{expected a mesh of at most 1048576 ranks}}
tp.mesh @mesh <["tp"=1048577]>

// -----

// expected-error@+1 {{expected device_ids to list all 4 ranks, got 3}}
tp.mesh @mesh <["tp"=4], device_ids=[0, 1, 2]>

// -----

// expected-error@+1 {{expected device_ids to be a permutation of 0..3, got 2 twice}}
tp.mesh @mesh <["tp"=4], device_ids=[0, 2, 2, 3]>

// -----

// expected-error@+1 {{expected device_ids to be a permutation of 0..3, got 7}}
tp.mesh @mesh <["tp"=4], device_ids=[0, 1, 2, 7]>

// -----

// expected-note@+1 {{the mesh is declared here}}
tp.mesh @mesh <["tp"=4]>
func.func @unknown_axis(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected an axis of the mesh ("tp"), got "dp"}}
  %0 = tp.sharding_constraint %x <@mesh, [{"dp"}]> : tensor<8xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is declared here}}
tp.mesh @mesh <["tp"=6]>
func.func @sub_axis(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected sub-axis "tp":(1)4 to divide the axis of size 6}}
  %0 = tp.sharding_constraint %x <@mesh, [{"tp":(1)4}]> : tensor<8xf32>
  return
}

// -----

// expected-error@+1 {{expected the sub-axis of "tp" to have a size of 2 or more, got 1}}
func.func private @f(tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp":(1)1}]>})

// -----

// expected-error@+1 {{expected each axis at most once in a sharding, got "tp" twice}}
func.func private @f(tensor<8x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {"tp"}]>})

// -----

func.func @no_mesh(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected @mesh to be a tp.mesh, got no such mesh}}
  %0 = tp.sharding_constraint %x <@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
// expected-error@+1 {{argument 0: expected a sharding of rank 1 for 'tensor<8xf32>', got 2}}
func.func @rank(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}]>}) {
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
// expected-error@+1 {{result 0: expected a ranked tensor to carry a sharding, got 'index'}}
func.func private @scalar() -> (index {tp.sharding = #tp.sharding<@mesh, []>})

// -----

tp.mesh @mesh <["tp"=4]>
func.func @partial(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected a constraint without partial axes: what is partial follows from the program}}
  %0 = tp.sharding_constraint %x <@mesh, [{}], partial sum {"tp"}> : tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
func.func @count(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected tp.shardings to list 1 shardings, one per result}}
  %0 = arith.negf %x {tp.shardings = []} : tensor<8xf32>
  return
}

// -----

func.func @name() {
  // expected-error@+1 {{expected the parameter's name in the checkpoint}}
  %0 = tp.parameter "" : tensor<8xf32>
  return
}

// -----

func.func @template() {
  // expected-error@+1 {{expected 'layers.{i}.w' inside tp.repeat, because '{i}' stands for its iteration index}}
  %0 = tp.parameter "layers.{i}.w" : tensor<8xf32>
  return
}

// -----

func.func @box() {
  // expected-error@+1 {{expected the box [4, 12) to lie in dimension 0 of the source, which has size 10}}
  %0 = tp.parameter "w" source <shape = [10], offsets = [4], permutation = [0]> : tensor<8xf32>
  return
}

// -----

func.func @permutation() {
  // expected-error@+1 {{expected the source's permutation to be one of 0..1}}
  %0 = tp.parameter "w" source <shape = [8, 8], offsets = [0, 0], permutation = [0, 0]> : tensor<8x8xf32>
  return
}

// -----

func.func @negative(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected a count of 0 or more, got -1}}
  %0 = tp.repeat -1 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %h: tensor<8xf32>):
    tp.yield %h : tensor<8xf32>
  }
  return
}

// -----

func.func @slices(%x: tensor<2x8xf32>) {
  // expected-error@+1 {{expected a stacked value to have 3 slices in its first dimension, got 'tensor<2x8xf32>'}}
  tp.repeat 3 times stacked(%x) : (tensor<2x8xf32>) -> () {
  ^bb0(%i: index, %h: tensor<8xf32>):
    tp.yield
  }
  return
}

// -----

func.func @yields(%x: tensor<8xf32>) {
  // expected-note @below {{the results are those of this tp.repeat}}
  %0 = tp.repeat 3 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %h: tensor<8xf32>):
    // expected-error@+1 {{expected 1 operands, one per result of tp.repeat, got 0}}
    tp.yield
  }
  return
}

// -----

func.func @arguments(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected 2 block arguments (index, carried, slices), got 1}}
  %0 = tp.repeat 3 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index):
    tp.yield %x : tensor<8xf32>
  }
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
func.func @dim(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected a dimension of 'tensor<8xf32>', got 1}}
  %0 = tp.all_gather %x dim 1 over @mesh ["tp"] : tensor<8xf32> -> tensor<32xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
func.func @parts(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected 4 parts to hold a dimension of 8, got parts of 1}}
  %0 = tp.reduce_scatter sum %x dim 0 over @mesh ["tp"] : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
func.func @other(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected dimension 1 to stay 4, got 2}}
  %0 = tp.slice %x dim 0 over @mesh ["tp"] : tensor<8x4xf32> -> tensor<2x2xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
func.func @reduction(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected 'sum', 'max' or 'min', got 'mean'}}
  %0 = tp.all_reduce mean %x over @mesh ["tp"] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
func.func @axes(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected distinct axes, got "tp" and "tp":(1)2}}
  %0 = tp.all_reduce sum %x over @mesh ["tp", "tp":(1)2] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @target(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected each rank to be a target once, got 0 twice}}
  %0 = tp.collective_permute %x over @mesh ["tp"] pairs dense<[[0, 0], [1, 0]]> : tensor<2x2xi64> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @split(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{expected two dimensions, got 1 twice}}
  %0 = tp.all_to_all %x split 1 gather 1 over @mesh ["tp"] : tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @repeat_first(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected a first index of 0 or more, got -1}}
  %0 = tp.repeat 3 times from -1 iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    tp.yield %c : tensor<8xf32>
  }
  return
}

// -----

func.func @repeat_results(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected a result for each of the 1 carried values, got 0 results}}
  tp.repeat 3 times iter(%x) : (tensor<8xf32>) -> () {
  ^bb0(%i: index, %c: tensor<8xf32>):
    tp.yield
  }
  return
}

// -----

// expected-note@+1 {{the initial value is made here}}
func.func @repeat_type(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected a carried value to keep its type 'tensor<8xf32>', got 'tensor<4xf32>'}}
  %0 = tp.repeat 3 times iter(%x) : (tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    tp.yield %c : tensor<8xf32>
  }
  return
}

// -----

func.func @repeat_index(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected the first block argument to be the index, got 'i64'}}
  %0 = tp.repeat 3 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: i64, %c: tensor<8xf32>):
    tp.yield %c : tensor<8xf32>
  }
  return
}

// -----

// expected-note@+1 {{the initial value is made here}}
func.func @repeat_carried(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected block argument 1 to have type 'tensor<8xf32>', got 'tensor<4xf32>'}}
  %0 = tp.repeat 3 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    tp.yield %x : tensor<8xf32>
  }
  return
}

// -----

// expected-note @below {{the stacked value is made here}}
func.func @repeat_slice(%x: tensor<3x8xf32>) {
  // expected-error@+1 {{expected block argument 1 to have type 'tensor<8xf32>', got 'tensor<3x8xf32>'}}
  tp.repeat 3 times stacked(%x) : (tensor<3x8xf32>) -> () {
  ^bb0(%i: index, %c: tensor<3x8xf32>):
    tp.yield
  }
  return
}

// -----

func.func @repeat_yield(%x: tensor<8xf32>, %y: tensor<4xf32>) {
  // expected-note @below {{the results are those of this tp.repeat}}
  %0 = tp.repeat 3 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    // expected-error@+1 {{expected operand 0 to have type 'tensor<8xf32>', got 'tensor<4xf32>'}}
    tp.yield %y : tensor<4xf32>
  }
  return
}

// -----

func.func @source_rank() {
  // expected-error@+1 {{expected a source of rank 1 for 'tensor<8xf32>', got a shape of 2, offsets of 1 and a permutation of 1}}
  %0 = tp.parameter "w" source <shape = [8, 8], offsets = [0], permutation = [0]> : tensor<8xf32>
  return
}

// -----

tp.mesh @a <["tp"=2]>
tp.mesh @b <["tp"=2]>
func.func @meshes(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected both shardings on one mesh, got @a and @b}}
  %0 = tp.reshard %x from <@a, [{"tp"}]> to <@b, [{}]> : tensor<8xf32>
  return
}

// -----

func.func @repeat_far(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected a first index of at most 1048576, got 1048577}}
  %0 = tp.repeat 3 times from 1048577 iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    tp.yield %c : tensor<8xf32>
  }
  return
}

// -----

func.func @repeat_often(%x: tensor<8xf32>) {
  %0 = tp.repeat 1024 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    // expected-error@+1 {{expected at most 1048576 iterations, those of the loops around it multiplied}}
    %1 = tp.repeat 1025 times iter(%c) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%j: index, %d: tensor<8xf32>):
      tp.yield %d : tensor<8xf32>
    }
    tp.yield %1 : tensor<8xf32>
  }
  return
}

// -----

func.func @no_layers(%x: tensor<0x8xf32>) {
  // expected-error@+1 {{expected a count of 1 or more where values are stacked, because a stack of no layers has no elements, got 0}}
  tp.repeat 0 times stacked(%x) : (tensor<0x8xf32>) -> () {
  ^bb0(%i: index, %h: tensor<8xf32>):
    tp.yield
  }
  return
}

// -----

func.func @nested_template(%x: tensor<8xf32>) {
  %0 = tp.repeat 2 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    // expected-note@+1 {{the outer loop names it here}}
    %w = tp.parameter "layers.{i}.w" : tensor<8xf32>
    %1 = tp.repeat 3 times iter(%c) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%j: index, %d: tensor<8xf32>):
      // expected-error@+1 {{expected 'layers.{i}.w' in one of two nested tp.repeat, because '{i}' is another iteration in each; to read the outer loop's, use its value}}
      %v = tp.parameter "layers.{i}.w" : tensor<8xf32>
      %2 = arith.addf %d, %v : tensor<8xf32>
      tp.yield %2 : tensor<8xf32>
    }
    tp.yield %1 : tensor<8xf32>
  }
  return
}

// -----

func.func @alternative() {
  // expected-error@+1 {{expected no '{i}' in the alternative 'x.{i}', because 'w' has none}}
  %0 = tp.parameter "w" alternatives ["x.{i}"] : tensor<8xf32>
  return
}

// -----

func.func @carried_scalar(%n: index) {
  // expected-error@+1 {{expected a carried value to be a ranked tensor, got 'index'}}
  %0 = tp.repeat 3 times iter(%n) : (index) -> index {
  ^bb0(%i: index, %m: index):
    tp.yield %i : index
  }
  return
}

// -----

func.func @stack() {
  // expected-error @below {{'tp.parameter' op expected '{e}' in 'experts.{e}.w' and in its alternative 'experts.w', or in neither}}
  %0 = tp.parameter "experts.{e}.w" alternatives ["experts.w"] : tensor<4x8x8xf32>
  return
}

// -----

func.func @stack_of_nothing() {
  // expected-error @below {{'tp.parameter' op expected a dimension for '{e}' in 'experts.{e}.w' to stand for, got 'tensor<f32>'}}
  %0 = tp.parameter "experts.{e}.w" : tensor<f32>
  return
}

// -----

func.func @source_steps() {
  // expected-error@+1 {{expected the box [1, 10) to lie in dimension 0 of the source, which has size 9}}
  %0 = tp.parameter "w" source <shape = [9], offsets = [1], permutation = [0], steps = [2]> : tensor<5xf32>
  return
}

// -----

func.func @source_steps() {
  // expected-error@+1 {{expected the source to have 1 steps of at least 1, or none, got [0]}}
  %0 = tp.parameter "w" source <shape = [9], offsets = [1], permutation = [0], steps = [0]> : tensor<4xf32>
  return
}
