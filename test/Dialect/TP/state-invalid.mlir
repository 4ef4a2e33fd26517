// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a tensor of static shape with at least one element, got 'f32'}}
tp.state @scalar : f32

// -----

// expected-error @below {{expected a tensor of static shape with at least one element, got 'tensor<0x4xf32>'}}
tp.state @empty : tensor<0x4xf32>

// -----

// expected-error @below {{its sharding: expected @mesh to be a tp.mesh, got no such mesh}}
tp.state @addends : tensor<4xf32> sharding <@mesh, [{}], partial sum {"tp"}>

// -----

// expected-error @below {{expected one initial value, got ones and 'w'}}
tp.state @both : tensor<4xf32> ones parameter "w"

// -----

// expected-error @below {{expected the parameter's name in the checkpoint}}
tp.state @unnamed : tensor<4xf32> parameter ""

// -----

// expected-error @below {{expected floats for the parameter 'w', got 'tensor<4xi64>'}}
tp.state @integers : tensor<4xi64> parameter "w"

// -----

// expected-error @below {{expected 'w.{i}' for a tensor whose first dimension is the layers, got 'tensor<f32>'}}
tp.state @scalar : tensor<f32> parameter "w.{i}"

// -----

// expected-error @below {{expected 'w' to have '{i}', which stands for the layers from the one given}}
tp.state @one : tensor<4xf32> parameter "w" from 2

// -----

// expected-error @below {{expected a first layer of 0 or more, got -1}}
tp.state @before : tensor<4xf32> parameter "w.{i}" from -1

// -----

// expected-error @below {{expected '{i}' in 'w.{i}' and in its alternative "v", or in neither}}
tp.state @other : tensor<4x2xf32> parameter "w.{i}" alternatives ["v"]

// -----

// expected-error @below {{expected `from`, `source` and `alternatives` beside a parameter of the checkpoint alone}}
"tp.state"() <{sym_name = "s", type = tensor<4xf32>, first = 1 : i64}> : () -> ()

// -----

tp.mesh @mesh <["tp"=2]>
// expected-error @below {{expected dimension 0 not to be split, whose elements are the tensors that 'w.{i}' stands for, got #tp.sharding<@mesh, [{"tp"}, {}]>}}
tp.state @layers : tensor<4x2xf32> parameter "w.{i}" sharding <@mesh, [{"tp"}, {}]>

// -----

// expected-error @below {{expected the box [2, 6) to lie in dimension 0 of the source, which has size 5}}
tp.state @box : tensor<3x4xf32> parameter "w.{i}" source <shape = [5], offsets = [2], permutation = [0]>

// -----

// expected-error @below {{argument 0: expected tp.state to name a tp.state, got @nothing}}
func.func @main(%x: tensor<4xf32> {tp.state = @nothing}) {
  return
}

// -----

// expected-note @below {{the state is declared here}}
tp.state @s : tensor<4xf32>
// expected-error @below {{result 0: expected the type of @s, 'tensor<4xf32>', got 'tensor<5xf32>'}}
func.func @main(%x: tensor<5xf32>) -> (tensor<5xf32> {tp.state = @s}) {
  return %x : tensor<5xf32>
}

// -----

tp.state @s : tensor<4xf32>
// expected-error @below {{argument 1: expected one argument for @s, which argument 0 is already}}
func.func @main(%x: tensor<4xf32> {tp.state = @s}, %y: tensor<4xf32> {tp.state = @s}) {
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
// expected-note @below {{the state is declared here}}
tp.state @s : tensor<4xf32> sharding <@mesh, [{"tp"}]>
// expected-error @below {{argument 0: expected the sharding of @s, #tp.sharding<@mesh, [{"tp"}]>, got #tp.sharding<@mesh, [{}]>}}
func.func @main(%x: tensor<4xf32> {tp.state = @s, tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  return
}

// -----

// expected-error @below {{'tp.state' op expected a dimension for '{e}' in 'layers.{i}.experts.{e}.w' to stand for, got 'tensor<f32>'}}
tp.state @experts : tensor<4xf32> parameter "layers.{i}.experts.{e}.w"

// -----

// expected-error @below {{'tp.state' op expected '{e}' in 'experts.{e}.w' and in its alternative 'experts', or in neither}}
tp.state @experts : tensor<4x8xf32> parameter "experts.{e}.w" alternatives ["experts"]
