// RUN: tp-opt %s --tp-decompose-cross-entropy | FileCheck %s
// RUN: tp-opt %s --tp-decompose-cross-entropy --test-tp-print-rules 2>&1 | FileCheck %s --check-prefix=RULES

// The maximum, the sum of exponentials and the label's logit are reductions over
// the vocabulary (d2), each of which can be split. Everything else is per row.
// RULES: remark: d0=1, d1=8, d2=100 max: [d0, d1, d2], [d0, d1] initial -> [d0, d1]
// RULES: remark: d0=1, d1=8, d2=100 sum: [d0, d1, d2], [d0, d1], [d0, d1] initial -> [d0, d1]
// RULES: remark: d0=1, d1=8, d2=100 sum index: [d0, d1, d2] additive, [d0, d1], [d0, d1] additive -> [d0, d1]
// RULES-NOT: d2=100 whole

// CHECK-LABEL: func.func @split
// CHECK: nn.silu
// CHECK-NOT: nn.cross_entropy
func.func @split(%logits: tensor<1x8x100xf32>, %labels: tensor<1x8xi64>) -> tensor<1x8xf32> {
  %x = nn.silu %logits : tensor<1x8x100xf32>
  %0 = nn.cross_entropy %x, %labels : (tensor<1x8x100xf32>, tensor<1x8xi64>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}
