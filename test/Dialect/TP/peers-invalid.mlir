// RUN: tp-opt %s --split-input-file -verify-diagnostics

tp.mesh @mesh <["tp"=4]>

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected a result for each of 4 ranks of a group, got 2}}
  %a, %b = tp.peers sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected addends of type 'tensor<4xf32>', got 'tensor<8xf32>'}}
  %a, %b = tp.peers sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>, tensor<8xf32>
  return %a : tensor<4xf32>
}

// -----

func.func @main() {
  // expected-error @below {{expected @mesh to be a tp.mesh, got no such mesh}}
  tp.meet over @mesh ["tp"]
  return
}
