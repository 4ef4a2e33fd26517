// Enough blocks to fill a card: warps have rows of their own, 16 each (SHARING
// 64) or 32 (128), the last of them none (72). Elsewhere blocks are few, and the
// warps split the keys.
// RUN: sed 's/TYPE/bf16/g; s/SHARING/128/g; s/HEAD/16/g; s/KEYS/70/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f16/g; s/SHARING/64/g; s/HEAD/24/g; s/KEYS/30/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/SHARING/72/g; s/HEAD/5/g; s/KEYS/34/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s

// CHECK: attention_0: right

func.func @causal(%q: tensor<128x1xSHARINGxHEADxTYPE>, %k: tensor<128xKEYSx1xHEADxTYPE>, %v: tensor<128xKEYSx1xHEADxTYPE>) -> tensor<128x1xSHARINGxHEADxTYPE> {
  %y = nn.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<128x1xSHARINGxHEADxTYPE>, tensor<128xKEYSx1xHEADxTYPE>, tensor<128xKEYSx1xHEADxTYPE>) -> tensor<128x1xSHARINGxHEADxTYPE>
  return %y : tensor<128x1xSHARINGxHEADxTYPE>
}
