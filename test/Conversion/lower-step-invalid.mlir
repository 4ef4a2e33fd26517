// RUN: tp-opt %s --tp-lower-step --split-input-file --verify-diagnostics

// expected-error @below {{expected tensors of static shape with elements f32, bf16, f16, i64, i32, i8 or i1, got 'tensor<8xf64>'}}
func.func @double(%x: tensor<8xf64>) -> tensor<8xf32> {
  %0 = arith.constant dense<0.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @statistics(%q: tensor<1x8x4x64xf32>) -> tensor<1x8x4xf32> {
  // expected-error @below {{expected no use of the log-sum-exp: artifacts are forward programs alone}}
  %0, %1 = nn.attention %q, %q, %q {scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>) -> (tensor<1x8x4x64xf32>, tensor<1x8x4xf32>)
  return %1 : tensor<1x8x4xf32>
}

// -----

func.func private @other(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.kernel = "body"}
func.func @call(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{expected a kernel, got @missing_mark}}
  %0 = call @missing_mark(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @missing_mark(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
