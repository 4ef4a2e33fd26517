// RUN: tp-opt %s --split-input-file --verify-diagnostics

func.func @source(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected the result of a collective}}
  %0 = tp.await %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
  // expected-error @below {{expected a collective to be awaited once}}
  %1 = tp.await %0 : tensor<4xf32>
  // expected-note @below {{another use is here}}
  %2 = tp.await %0 : tensor<4xf32>
  %3 = arith.addf %1, %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @early(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
  // expected-note @below {{another use is here}}
  %1 = arith.addf %0, %0 : tensor<4xf32>
  // expected-error @below {{expected to be the only use of the collective}}
  %2 = tp.await %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @other_block(%x: tensor<4xf32>) {
  // expected-note @below {{the collective is started here}}
  %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
  %1 = tp.repeat 2 times iter(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    // expected-error @below {{expected the collective in the same block}}
    %2 = tp.await %0 : tensor<4xf32>
    tp.yield %2 : tensor<4xf32>
  }
  return
}
