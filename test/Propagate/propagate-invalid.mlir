// RUN: tp-opt %s --tp-propagate --split-input-file --verify-diagnostics

// expected-error @below {{expected a tp.mesh in the module, got none: run tp-annotate, or declare one, such as tp.mesh @mesh <["tp"=2]>}}
module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-note @below {{the first is here}}
tp.mesh @a <["tp"=2]>
// expected-error @below {{expected one mesh in the module, got a second}}
tp.mesh @b <["tp"=2]>

// -----

tp.mesh @mesh <["tp"=2]>
// expected-error @below {{argument 0: expected an annotation without partial axes: what is partial follows from the program}}
func.func @f(%x: tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}], partial sum {"tp"}>}) {
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected a program before partition, which has no collectives}}
  %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
// expected-error @below {{cannot be sharded: expected one block, got control flow between several}}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<4xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
// expected-note @below {{declared here}}
func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{cannot be sharded: @outside has no body to propagate through}}
  %0 = func.call @outside(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

tp.mesh @mesh <["tp"=4]>
// expected-error @below {{argument 0: dimension 1 has 3 elements, which cannot be cut into 4 shards}}
func.func @f(%x: tensor<8x3xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) {
  return
}

// -----

tp.mesh @mesh <["tp"=4]>
// expected-error @below {{argument 1: expected a tensor of at least one element, got 'tensor<0x3xf32>'}}
func.func @f(%x: tensor<8x3xf32>, %y: tensor<0x3xf32>) {
  return
}
