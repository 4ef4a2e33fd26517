// What a target has not is refused by name.
// RUN: tp-opt %s --tp-lower-step=target=test --verify-diagnostics
// RUN: not tp-opt %s --tp-lower-step=target=abacus 2>&1 | FileCheck %s

// CHECK: unknown target 'abacus': expected cpu, cpu:native, cpu:x86-64-v3, cpu:x86-64-v4, cuda, cuda:ptx, cuda:sm_90 or test

func.func @main(%q: tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32> {
  // expected-error @below {{is computed by 'attention', which target 'test' has not: expected an operation with a function there, or another target}}
  %0 = nn.attention %q, %q, %q {scale = 0.25 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  return %0 : tensor<1x4x2x8xf32>
}
