// RUN: tp-opt %s --tp-propagate-pipeline --split-input-file --verify-diagnostics

tp.mesh @mesh <["tp"=2]>
// expected-note @below {{the state is declared here}}
tp.state @s : tensor<8xf32> sharding <@mesh, [{}], partial sum {"tp"}>
func.func @main(%s: tensor<8xf32> {tp.state = @s}) -> (tensor<8xf32> {tp.state = @s}) {
  // expected-error @below {{needs the reduced value of the partial state @s to make its successor, so each step would reduce it; expected operations that keep what is partial so, or a state that is complete}}
  %0 = math.sqrt %s : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A later operation is the one at fault.
tp.mesh @mesh <["tp"=2]>
// expected-note @below {{the state is declared here}}
tp.state @s : tensor<8xf32> sharding <@mesh, [{}], partial sum {"tp"}>
func.func @main(%x: tensor<8xf32>, %s: tensor<8xf32> {tp.state = @s}) -> (tensor<8xf32> {tp.state = @s}) {
  %0 = arith.addf %s, %x : tensor<8xf32>
  // expected-error @below {{'arith.mulf' op needs the reduced value of the partial state @s}}
  %1 = arith.mulf %0, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// What the state is added to is cut over the same axis.
tp.mesh @mesh <["tp"=2]>
// expected-note @below {{the state is declared here}}
tp.state @s : tensor<8xf32> sharding <@mesh, [{}], partial sum {"tp"}>
func.func @main(%x: tensor<8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}, %s: tensor<8xf32> {tp.state = @s}) -> (tensor<8xf32> {tp.state = @s}) {
  // expected-error @below {{'arith.addf' op needs the reduced value of the partial state @s}}
  %0 = arith.addf %s, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A maximum is no sum.
tp.mesh @mesh <["tp"=2]>
// expected-note @below {{the state is declared here}}
tp.state @s : tensor<8xf32> sharding <@mesh, [{}], partial max {"tp"}>
func.func @main(%x: tensor<8xf32>, %s: tensor<8xf32> {tp.state = @s}) -> (tensor<8xf32> {tp.state = @s}) {
  // expected-error @below {{'arith.addf' op needs the reduced value of the partial state @s}}
  %0 = arith.addf %s, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A layer that needs the sum, by way of what the one before carried on.
tp.mesh @mesh <["tp"=2]>
// expected-note @below {{the state is declared here}}
tp.state @s : tensor<3x4xf32> sharding <@mesh, [{}, {}], partial sum {"tp"}>
func.func @main(%x: tensor<4xf32>, %s: tensor<3x4xf32> {tp.state = @s}) -> (tensor<3x4xf32> {tp.state = @s}) {
  %0:2 = tp.repeat 3 times iter(%x) stacked(%s) : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%i: index, %carried: tensor<4xf32>, %slice: tensor<4xf32>):
    // expected-error @below {{'arith.mulf' op needs the reduced value of the partial state @s}}
    %next = arith.mulf %slice, %slice : tensor<4xf32>
    %sum = arith.addf %slice, %carried : tensor<4xf32>
    tp.yield %next, %sum : tensor<4xf32>, tensor<4xf32>
  }
  return %0#1 : tensor<3x4xf32>
}
