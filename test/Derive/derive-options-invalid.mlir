// RUN: tp-opt %s --tp-derive-steps="kv-dtype=f8" --verify-diagnostics

// expected-error @below {{for kv-dtype: expected f32, bf16, f16, fp8 or int8, got 'f8'}}
module {
  func.func @main(%ids: tensor<1x8xi64>) -> tensor<1x8xi64> {
    return %ids : tensor<1x8xi64>
  }
}
