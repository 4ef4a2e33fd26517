// RUN: tp-opt %s --split-input-file --verify-diagnostics

tp.mesh @mesh <["tp"=2]>
func.func @rank(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected the element type and rank of 'tensor<8xf32>', got 'tensor<8xf16>'}}
  %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<8xf32> -> tensor<8xf16>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @reduction(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected reduction sum, max or min, got "mean"}}
  %0 = "tp.all_reduce"(%x) <{mesh = @mesh, axes = #tp<axes["tp"]>, reduction = "mean"}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @permuted_type(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected the element type and rank of 'tensor<8xf32>', got 'tensor<8x1xf32>'}}
  %0 = tp.collective_permute %x over @mesh ["tp"] pairs dense<[[0, 1], [1, 0]]> : tensor<2x2xi64> : tensor<8xf32> -> tensor<8x1xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @pairs(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected pairs of shape [2, 2], got 'tensor<3x2xi64>'}}
  %0 = tp.collective_permute %x over @mesh ["tp"] pairs dense<[[0, 1], [1, 0], [1, 1]]> : tensor<3x2xi64> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @ranks(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected ranks below 2, got [0, 2]}}
  %0 = tp.collective_permute %x over @mesh ["tp"] pairs dense<[[0, 2], [1, 0]]> : tensor<2x2xi64> : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func @scattered(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected reduction sum, max or min, got "mean"}}
  %0 = "tp.reduce_scatter"(%x) <{mesh = @mesh, axes = #tp<axes["tp"]>, reduction = "mean", dim = 0 : i64}> : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is declared here}}
tp.mesh @mesh <["tp"=2]>
func.func @axis(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected an axis of the mesh ("tp"), got "dp"}}
  %0 = tp.all_reduce sum %x over @mesh ["dp"] : tensor<8xf32> -> tensor<8xf32>
  return
}
