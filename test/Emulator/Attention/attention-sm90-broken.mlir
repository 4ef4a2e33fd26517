// Attention of sm_90a, broken as only such kernels can be. Rows of 64 elements come
// by the copy engine, of 12 bytes by ordinary stores, which need the proxy fence.
// A wait before the first product, or a fence behind another with nothing between, is left out unnoticed.
// RUN: sed 's/SIZE/64/g' %s | tp-check-kernels - --seeds=1 --break=drop-wgmma-wait,drop-wgmma-fence,drop-mbarrier-wait,drop-mbarrier-arrive,wrong-bytes | FileCheck %s
// RUN: sed 's/SIZE/6/g' %s | tp-check-kernels - --seeds=1 --break=drop-proxy-fence | FileCheck %s --check-prefix=FENCE

// CHECK: attention_0 (sm_90a): drop-wgmma-wait: noticed {{.*}} first: kernel attention_0: {{accumulator of a running product|product not waited for}}
// CHECK: attention_0 (sm_90a): drop-wgmma-fence: noticed {{.*}} first: kernel attention_0: {{accumulator touched|product without tp_wgmma_fence|operand in registers written}}
// CHECK: attention_0 (sm_90a): drop-mbarrier-wait: noticed
// CHECK: attention_0 (sm_90a): drop-mbarrier-arrive: noticed {{.*}} first: kernel attention_0: threads wait for each other for ever: {{.*}} of the mbarrier at byte {{[0-9]+}} of @dynamic_shared_memory lacks
// CHECK: attention_0 (sm_90a): wrong-bytes: noticed {{.*}} first: kernel attention_0: threads wait for each other for ever: {{.*}} of the mbarrier at byte {{[0-9]+}} of @dynamic_shared_memory lacks 0 of 1 arrivals and 16 bytes

// FENCE: attention_0 (sm_90a): drop-proxy-fence: noticed {{.*}} first: kernel attention_0: no tp_proxy_fence: an operand written by thread

func.func @plain(%q: tensor<1x33x2xSIZExbf16>, %k: tensor<1x400x1xSIZExbf16>, %v: tensor<1x400x1xSIZExbf16>) -> tensor<1x33x2xSIZExbf16> {
  %y = nn.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<1x33x2xSIZExbf16>, tensor<1x400x1xSIZExbf16>, tensor<1x400x1xSIZExbf16>) -> tensor<1x33x2xSIZExbf16>
  return %y : tensor<1x33x2xSIZExbf16>
}
