// The derivative of attention with heads so wide that a block makes dk or dv alone, in
// 16 bits and in 32, for two heads of queries that share one of keys.
// RUN: sed 's/TYPE/f16/g; s/HEAD/200/g; s/QUERIES/17/g; s/KEYS/33/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/HEAD/130/g; s/QUERIES/17/g; s/KEYS/33/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s

// CHECK: attention_backward_0: right
// CHECK: attention_backward_0_keys: right

!q = tensor<1xQUERIESx2xHEADxTYPE>
!k = tensor<1xKEYSx1xHEADxTYPE>
!row = tensor<1xQUERIESx2xf32>
!each = tensor<1xKEYSx2xHEADxf32>
func.func @causal(%do: !q, %q: !q, %k: !k, %v: !k, %delta: !row) -> (!q, !each, !each) {
  %y, %lse = nn.attention %q, %k, %v {causal, scale = 0.5 : f64} : (!q, !k, !k) -> (!q, !row)
  %0:3 = nn.attention_backward %do, %q, %k, %v, %lse, %delta {causal, scale = 0.5 : f64} : (!q, !q, !k, !k, !row, !row) -> (!q, !each, !each)
  return %0#0, %0#1, %0#2 : !q, !each, !each
}
