// Gradients of a bias that all heads and batch entries share, and of sinks: what
// the kernels of the derivative leave, and the row kernels that add it up.
// RUN: tp-opt %s --tp-differentiate | tp-check-kernels - --seeds=1 2>/dev/null | FileCheck %s

// CHECK: rows_0: right
// CHECK: rows_1: right
// CHECK: rows_2: right
// CHECK: rows_3: right
// CHECK: attention_backward_0: right
// CHECK: attention_backward_0_keys: right
// CHECK: attention_0: right

!q = tensor<2x20x4x16xf32>
!k = tensor<2x20x2x16xf32>
!v = tensor<2x20x2x24xf32>
!o = tensor<2x20x4x24xf32>
func.func @main(%q: !q, %k: !k, %v: !v, %w: !o) -> (tensor<f32> {tp.loss}) {
  %b = tp.parameter "b" : tensor<1x20x20xf32>
  %s = tp.parameter "s" : tensor<4xf32>
  %y = nn.attention %q, %k, %v bias %b sinks %s {causal, soft_cap = 2.0 : f64, scale = 0.5 : f64} : (!q, !k, !v, tensor<1x20x20xf32>, tensor<4xf32>) -> !o
  %zero = arith.constant dense<0.0> : tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->(a,b,c,d)>, affine_map<(a,b,c,d)->()>], iterator_types = ["reduction","reduction","reduction","reduction"]} ins(%y, %w : !o, !o) outs(%zero : tensor<f32>) {
  ^bb0(%x: f32, %z: f32, %acc: f32):
    %0 = arith.mulf %x, %z : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
