// RUN: tp-opt %s --tp-verify-propagated --split-input-file --verify-diagnostics

// expected-error @below {{expected exactly one tp.mesh in the module: did tp-annotate run}}
module {
}

// -----

tp.mesh @mesh <["tp"=2]>
// expected-error @below {{argument 0: expected a sharding, got none: an operation was made or changed after tp-propagate, or it did not run}}
func.func @f(%x: tensor<4xf32>) {
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @f(%x: tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @below {{result 0: expected closed dimensions, got dimension 0 open: tp-propagate did not run after it was annotated}}
  %0 = nn.silu %x {tp.shardings = [#tp.sharding<@mesh, [{?}]>]} : tensor<4xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
// expected-error @below {{argument 0: expected a complete value, got one that is partial over "tp"}}
func.func @f(%x: tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}], partial sum {"tp"}>}) {
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @f(%x: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}]>}) {
  // expected-error @below {{result 0: expected a sharding that the operation can give, [{}, {}], got [{}, {"tp"}]: the sharding was written by hand, or an operand's was changed after tp-propagate}}
  %0 = nn.softmax %x {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<4x8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @f(%x: tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}]>}) {
  // expected-error @below {{expected no collectives and reshards before partition: did partition run already}}
  %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
  return
}
