// RUN: tp-opt %s --tp-import-pipeline --split-input-file --verify-diagnostics
// RUN: not tp-opt %s --tp-propagate --split-input-file 2>&1 | FileCheck %s --check-prefix=PASS

// Sizes that no table counts, whose products would overflow.
// PASS: 'func.func' op argument 0: expected a tensor of at most 1099511627776 elements, got 'tensor<9223372036854775807xf32>'

tp.mesh @mesh <["tp"=2]>
// expected-error@+1 {{'func.func' op argument 0: expected a tensor of at most 1099511627776 elements, got 'tensor<9223372036854775807xf32>'}}
func.func @dimension(%x: tensor<9223372036854775807xf32>) -> tensor<9223372036854775807xf32> {
  return %x : tensor<9223372036854775807xf32>
}

// -----

// The product of these is 0 modulo 2^64.
// expected-error@+1 {{'func.func' op result 0: expected a tensor of at most 1099511627776 elements, got 'tensor<4294967296x4294967296xf32>'}}
func.func @product() -> tensor<4294967296x4294967296xf32> {
  %0 = tensor.empty() : tensor<4294967296x4294967296xf32>
  return %0 : tensor<4294967296x4294967296xf32>
}

// -----

func.func @inside(%x: tensor<1048577xf32>) -> tensor<1048577xf32> {
  // expected-error@+1 {{'tensor.empty' op result 0: expected a tensor of at most 1099511627776 elements, got 'tensor<1048577x1048577xf32>'}}
  %0 = tensor.empty() : tensor<1048577x1048577xf32>
  return %x : tensor<1048577xf32>
}

// -----

// expected-error@+1 {{'tp.state' op expected a tensor of at most 1099511627776 elements, got 'tensor<1099511627777xf32>'}}
tp.state @s : tensor<1099511627777xf32>
func.func @state() {
  return
}

// -----

func.func @limit(%x: tensor<1048576x1048576xf32>) -> tensor<1048576x1048576xf32> {
  return %x : tensor<1048576x1048576xf32>
}
