// What the runtime cannot read is refused before it is written.
// RUN: not tp-compile %s -o %t.tpa 2>&1 | FileCheck %s
// RUN: not ls %t.tpa

// CHECK: error: the artifact's manifest is wrong: {{.*}}: expected at most 8 dimensions, got 9
func.func @main(%x: tensor<1x1x1x1x1x1x1x1x4xf32>) -> tensor<1x1x1x1x1x1x1x1x4xf32> {
  %0 = nn.silu %x : tensor<1x1x1x1x1x1x1x1x4xf32>
  return %0 : tensor<1x1x1x1x1x1x1x1x4xf32>
}
