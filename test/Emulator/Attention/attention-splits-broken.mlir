// Split attention, broken in both kernels: noticed. A bound or divisor of a split
// that is wrong leaves keys out or takes them twice; the second kernel's sums of
// warps and groups need every lane, store and barrier.
// RUN: tp-check-kernels %s --seeds=1 --break=drop-barrier,skip-init,wrong-lane,overlap-blocks,wrong-part | FileCheck %s

// CHECK: attention_0: drop-barrier: noticed
// CHECK: attention_0_combine: drop-barrier: noticed 1 of 1, first: kernel attention_0_combine: {{data race: shared memory|uninitialised shared memory}}
// CHECK: attention_0: skip-init: noticed
// CHECK: attention_0_combine: skip-init: noticed 1 of 1, first: kernel attention_0_combine: uninitialised shared memory
// CHECK: attention_0_combine: wrong-lane: noticed {{9|10}} of 10
// CHECK: attention_0: overlap-blocks: noticed [[N:[0-9]+]] of [[N]], first: kernel attention_0: data race between blocks: global memory
// CHECK: attention_0_combine: overlap-blocks: noticed [[N:[0-9]+]] of [[N]], first: kernel attention_0_combine: data race between blocks: global memory
// CHECK: attention_0: wrong-part: noticed
// CHECK: attention_0_combine: wrong-part: noticed [[N:[0-9]+]] of [[N]], first

func.func @step(%q: tensor<1x3x2x8xf32>, %k: tensor<1x580x1x8xf32>, %v: tensor<1x580x1x8xf32>) -> tensor<1x3x2x8xf32> {
  %y = nn.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<1x3x2x8xf32>, tensor<1x580x1x8xf32>, tensor<1x580x1x8xf32>) -> tensor<1x3x2x8xf32>
  return %y : tensor<1x3x2x8xf32>
}
