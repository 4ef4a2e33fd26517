// Every way to break an attention kernel is noticed.
// RUN: sed 's/TYPE/bf16/g' %s | tp-check-kernels - --seeds=1 --break=drop-barrier,drop-cp-async-wait,skip-init,wrong-lane,off-by-one-bound,overlap-blocks | FileCheck %s
// RUN: sed 's/TYPE/f32/g' %s | tp-check-kernels - --seeds=1 --break=drop-barrier,skip-init,overlap-blocks | FileCheck %s --check-prefix=F32

// CHECK: attention_0: drop-barrier: noticed {{.*}} first: kernel attention_0:
// CHECK: attention_0: drop-cp-async-wait: noticed {{.*}} first: kernel attention_0: asynchronous copy not waited for: its target is used before cp.async.wait; block ({{.*}}) thread ({{.*}}) at [attention_0 #
// CHECK: attention_0: skip-init: noticed
// CHECK: attention_0: wrong-lane: noticed {{.*}} first: attention_0 (as called): result
// CHECK: attention_0: off-by-one-bound: noticed
// CHECK: attention_0: overlap-blocks: noticed {{.*}} first: kernel attention_0: data race between blocks

// F32: attention_0: drop-barrier: noticed {{.*}} first: kernel attention_0:
// F32: attention_0: overlap-blocks: noticed {{.*}} first: kernel attention_0: data race between blocks

func.func @causal(%q: tensor<1x35x2x16xTYPE>, %k: tensor<1x90x1x16xTYPE>, %v: tensor<1x90x1x16xTYPE>) -> tensor<1x35x2x16xTYPE> {
  %y = nn.attention %q, %k, %v {causal, scale = 0.25 : f64} : (tensor<1x35x2x16xTYPE>, tensor<1x90x1x16xTYPE>, tensor<1x90x1x16xTYPE>) -> tensor<1x35x2x16xTYPE>
  return %y : tensor<1x35x2x16xTYPE>
}
