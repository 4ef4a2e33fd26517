// The derivative of attention, broken in both kernels: noticed. Tiles need their
// barriers and waits, and no two blocks may make one result.
// RUN: tp-check-kernels %s --seeds=1 --break=drop-barrier,drop-cp-async-wait,overlap-blocks | FileCheck %s

// CHECK: attention_backward_0: drop-barrier: noticed 3 of 3,
// CHECK: attention_backward_0_keys: drop-barrier: noticed 2 of 3,
// CHECK: attention_backward_0: drop-cp-async-wait: noticed 1 of 2, first: {{.*}} asynchronous copy not waited for
// CHECK: attention_backward_0_keys: drop-cp-async-wait: noticed 2 of 3, first: {{.*}} asynchronous copy not waited for
// CHECK: attention_backward_0: overlap-blocks: noticed [[N:[0-9]+]] of [[N]], first: {{.*}} data race between blocks: global memory
// CHECK: attention_backward_0_keys: overlap-blocks: noticed [[N:[0-9]+]] of [[N]], first: {{.*}} data race between blocks: global memory

!q = tensor<1x17x2x8xf32>
!k = tensor<1x35x1x8xf32>
!r = tensor<1x17x2xf32>
!e = tensor<1x35x2x8xf32>
func.func @step(%do: !q, %q: !q, %k: !k, %v: !k, %lse: !r, %delta: !r) -> (!q, !e, !e) {
  %0:3 = nn.attention_backward %do, %q, %k, %v, %lse, %delta {causal, scale = 0.5 : f64} : (!q, !q, !k, !k, !r, !r) -> (!q, !e, !e)
  return %0#0, %0#1, %0#2 : !q, !e, !e
}
