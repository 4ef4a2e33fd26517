// REQUIRES: ptxas
// RUN: tp-compile %s --target cuda:%architectures --save-kernels=%t -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t/kernels.json 22 %architectures

// No kernel of attention's derivative spills: the usual heads with every mask, values
// of another size, a bias and its derivative, the widest of either kind, whose blocks make one result each, and few rows; and no
// kernel of an embedding's.

!q = tensor<2x2048x32x128xbf16>
!k = tensor<2x2048x8x128xbf16>
!r = tensor<2x2048x32xf32>
!e = tensor<2x2048x32x128xf32>
func.func @usual(%do: !q, %k: !k, %r: !r) -> (!q, !e, !e) {
  %0:3 = nn.attention_backward %do, %do, %k, %k, %r, %r {causal, scale = 0.1 : f64} : (!q, !q, !k, !k, !r, !r) -> (!q, !e, !e)
  return %0#0, %0#1, %0#2 : !q, !e, !e
}

!m = tensor<2x2048xi64>
func.func @masked(%do: !q, %k: !k, %r: !r, %m: !m) -> (!q, !e, !e) {
  %0:3 = nn.attention_backward %do, %do, %k, %k, %r, %r mask %m {causal, window = 99 : i64, scale = 0.1 : f64} : (!q, !q, !k, !k, !r, !r, !m) -> (!q, !e, !e)
  return %0#0, %0#1, %0#2 : !q, !e, !e
}

!q64 = tensor<8x512x32x64xf16>
!k64 = tensor<8x512x8x64xf16>
!r64 = tensor<8x512x32xf32>
!e64 = tensor<8x512x32x64xf32>
func.func @common(%do: !q64, %k: !k64, %r: !r64) -> (!q64, !e64, !e64) {
  %0:3 = nn.attention_backward %do, %do, %k, %k, %r, %r {causal, scale = 0.1 : f64} : (!q64, !q64, !k64, !k64, !r64, !r64) -> (!q64, !e64, !e64)
  return %0#0, %0#1, %0#2 : !q64, !e64, !e64
}

!q256 = tensor<4x512x8x256xbf16>
!k256 = tensor<4x512x4x256xbf16>
!r256 = tensor<4x512x8xf32>
!e256 = tensor<4x512x8x256xf32>
func.func @widest(%do: !q256, %k: !k256, %r: !r256, %m: tensor<4x512xi8>) -> (!q256, !e256, !e256) {
  %0:3 = nn.attention_backward %do, %do, %k, %k, %r, %r mask %m {causal, scale = 0.1 : f64} : (!q256, !q256, !k256, !k256, !r256, !r256, tensor<4x512xi8>) -> (!q256, !e256, !e256)
  return %0#0, %0#1, %0#2 : !q256, !e256, !e256
}

!qs = tensor<8x512x32x64xf32>
!ks = tensor<8x512x8x64xf32>
!rs = tensor<8x512x32xf32>
func.func @single(%do: !qs, %k: !ks, %r: !rs) -> (!qs, !qs, !qs) {
  %0:3 = nn.attention_backward %do, %do, %k, %k, %r, %r {causal, scale = 0.1 : f64} : (!qs, !qs, !ks, !ks, !rs, !rs) -> (!qs, !qs, !qs)
  return %0#0, %0#1, %0#2 : !qs, !qs, !qs
}

!qt = tensor<2x65x4x128xf32>
!kt = tensor<2x65x1x128xf32>
!rt = tensor<2x65x4xf32>
func.func @singleWide(%do: !qt, %k: !kt, %r: !rt) -> (!qt, !qt, !qt) {
  %0:3 = nn.attention_backward %do, %do, %k, %k, %r, %r {causal, scale = 0.1 : f64} : (!qt, !qt, !kt, !kt, !rt, !rt) -> (!qt, !qt, !qt)
  return %0#0, %0#1, %0#2 : !qt, !qt, !qt
}

!qu = tensor<1x65x2x256xf32>
!ku = tensor<1x65x1x256xf32>
!ru = tensor<1x65x2xf32>
func.func @singleWidest(%do: !qu, %k: !ku, %r: !ru, %m: tensor<1x65xi32>) -> (!qu, !qu, !qu) {
  %0:3 = nn.attention_backward %do, %do, %k, %k, %r, %r mask %m {causal, scale = 0.1 : f64} : (!qu, !qu, !ku, !ku, !ru, !ru, tensor<1x65xi32>) -> (!qu, !qu, !qu)
  return %0#0, %0#1, %0#2 : !qu, !qu, !qu
}

func.func @embedding(%ids: tensor<2048xi32>, %dx: tensor<2048x4096xf32>, %old: tensor<128256x4096xf32>) -> tensor<128256x4096xf32> {
  %new = nn.embedding_backward %ids, %dx into %old : (tensor<2048xi32>, tensor<2048x4096xf32>, tensor<128256x4096xf32>) -> tensor<128256x4096xf32>
  return %new : tensor<128256x4096xf32>
}

!ql = tensor<1x2048x128x192xbf16>
!vl = tensor<1x2048x128x128xbf16>
!rl = tensor<1x2048x128xf32>
!kl = tensor<1x2048x128x192xf32>
!el = tensor<1x2048x128x128xf32>
func.func @latent(%do: !vl, %q: !ql, %r: !rl) -> (!ql, !kl, !el) {
  %0:3 = nn.attention_backward %do, %q, %q, %do, %r, %r {causal, scale = 0.1 : f64} : (!vl, !ql, !ql, !vl, !rl, !rl) -> (!ql, !kl, !el)
  return %0#0, %0#1, %0#2 : !ql, !kl, !el
}

!bias = tensor<32x2048x2048xbf16>
!dbias = tensor<2x32x2048x2048xf32>
func.func @biased(%do: !q, %k: !k, %r: !r, %b: !bias) -> (!q, !e, !e, !dbias) {
  %0:4 = nn.attention_backward %do, %do, %k, %k, %r, %r bias %b {causal, soft_cap = 30.0 : f64, scale = 0.1 : f64} : (!q, !q, !k, !k, !r, !r, !bias) -> (!q, !e, !e, !dbias)
  return %0#0, %0#1, %0#2, %0#3 : !q, !e, !e, !dbias
}

!biass = tensor<1x512x512xf32>
!dbiass = tensor<8x32x512x512xf32>
func.func @singleBiased(%do: !qs, %k: !ks, %r: !rs, %b: !biass) -> (!qs, !qs, !qs, !dbiass) {
  %0:4 = nn.attention_backward %do, %do, %k, %k, %r, %r bias %b {soft_cap = 30.0 : f64, scale = 0.1 : f64} : (!qs, !qs, !ks, !ks, !rs, !rs, !biass) -> (!qs, !qs, !qs, !dbiass)
  return %0#0, %0#1, %0#2, %0#3 : !qs, !qs, !qs, !dbiass
}
