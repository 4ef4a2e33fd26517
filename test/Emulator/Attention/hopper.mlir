// Attention of sm_90a, executed: products of warpgroups, boxes of the copy engine and
// barriers of phases; and heads that the copy engine does not take, copied by threads.
// RUN: tp-check-kernels %s --seeds=1 | FileCheck %s

// CHECK: attention_0 (sm_90a): right
// CHECK: attention_1 (sm_90a): right

func.func @causal(%q: tensor<1x100x4x64xbf16>, %k: tensor<1x150x2x64xbf16>, %v: tensor<1x150x2x64xbf16>) -> tensor<1x100x4x64xbf16> {
  %y = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<1x100x4x64xbf16>, tensor<1x150x2x64xbf16>, tensor<1x150x2x64xbf16>) -> tensor<1x100x4x64xbf16>
  return %y : tensor<1x100x4x64xbf16>
}
func.func @odd(%q: tensor<1x70x2x20xf16>, %k: tensor<1x140x2x20xf16>, %v: tensor<1x140x2x20xf16>) -> tensor<1x70x2x20xf16> {
  %y = nn.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<1x70x2x20xf16>, tensor<1x140x2x20xf16>, tensor<1x140x2x20xf16>) -> tensor<1x70x2x20xf16>
  return %y : tensor<1x70x2x20xf16>
}
