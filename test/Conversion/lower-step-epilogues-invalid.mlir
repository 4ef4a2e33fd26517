// RUN: tp-opt %s --tp-lower-step=target=cuda --split-input-file --verify-diagnostics

// The library adds a bias behind the factor.
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w, %b) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w bias %b : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  %c = arith.constant dense<0.3> : tensor<8x8xf32>
  // expected-error @below {{scales a GEMM: expected one without a bias}}
  %1 = arith.mulf %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = arith.constant dense<0.3> : tensor<8x8xf32>
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %1 = arith.maximumf %0, %zero fastmath<nnan> : tensor<8x8xf32>
  // expected-error @below {{expected scale, activation and sum of a GEMM in this order, each at most once}}
  %2 = arith.mulf %1, %c : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Nor has it all factors, or sums with what is not in memory.
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  // expected-error @below {{is not known in a GEMM}}
  %1 = arith.mulf %0, %zero : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = arith.constant dense<0.3> : tensor<8x8xf32>
  // expected-error @below {{is not known in a GEMM}}
  %1 = arith.addf %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// expected-error @below {{expected a kernel with a body of one block}}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"}

// -----

func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %w = arith.constant dense<0.5> : tensor<8x8xf32>
  // expected-error @below {{expected to read arguments of its GEMM alone}}
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
