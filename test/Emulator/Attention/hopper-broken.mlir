// Faults in attention of sm_90a are noticed: a wait for an mbarrier left out (a tile that
// has not come, a stage that is read still), a wait for products (accumulators that are
// read early), and the fence that shows ordinary writes to products, which threads need
// that copy element by element.
// RUN: tp-check-kernels %s --seeds=1 --break=drop-mbarrier-wait,drop-wgmma-wait,drop-proxy-fence | FileCheck %s

// CHECK: attention_0 (sm_90a): drop-mbarrier-wait: noticed {{[4-9]}} of 8
// CHECK: attention_0 (sm_90a): drop-wgmma-wait: noticed {{[3-5]}} of 5
// CHECK: attention_0 (sm_90a): drop-proxy-fence: noticed {{[1-3]}} of 3

func.func @odd(%q: tensor<1x66x1x20xf16>, %k: tensor<1x140x1x20xf16>, %v: tensor<1x140x1x20xf16>) -> tensor<1x66x1x20xf16> {
  %y = nn.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<1x66x1x20xf16>, tensor<1x140x1x20xf16>, tensor<1x140x1x20xf16>) -> tensor<1x66x1x20xf16>
  return %y : tensor<1x66x1x20xf16>
}
