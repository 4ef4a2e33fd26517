// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a tensor of static shape with at least one element, got 'f32'}}
tp.state @scalar : f32

// -----

// expected-error @below {{expected a tensor of static shape with at least one element, got 'tensor<0x4xf32>'}}
tp.state @empty : tensor<0x4xf32>

// -----

tp.mesh @mesh <["tp"=2]>
// expected-error @below {{expected a state that is not partial: sum it before it is kept}}
tp.state @addends : tensor<4xf32> sharding <@mesh, [{}], partial sum {"tp"}>

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
