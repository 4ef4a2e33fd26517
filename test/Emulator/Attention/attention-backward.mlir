// The derivative of attention in each element type: causal, windowed, masked and
// neither, capped with a window to both sides, with a bias of each
// head, or of all with its derivative, grouped and single KV heads, head sizes with and without padding, values
// of the size of queries, less and more, lengths that fill tiles and that do not, more keys than queries.
// RUN: sed 's/TYPE/bf16/g; s/HEAD/64/g; s/VALUE/64/g; s/QUERIES/17/g; s/KEYS/80/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/HEAD/7/g; s/VALUE/20/g; s/QUERIES/35/g; s/KEYS/70/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/HEAD/13/g; s/VALUE/8/g; s/QUERIES/19/g; s/KEYS/41/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s

// CHECK: attention_backward_0: right
// CHECK: attention_backward_0_keys: right
// CHECK: attention_backward_1: right
// CHECK: attention_backward_1_keys: right
// CHECK: attention_backward_2: right
// CHECK: attention_backward_2_keys: right
// CHECK: attention_backward_3: right
// CHECK: attention_backward_3_keys: right
// CHECK: attention_backward_4: right
// CHECK: attention_backward_4_keys: right
// CHECK: attention_backward_5: right
// CHECK: attention_backward_5_keys: right
// CHECK: attention_backward_6: right
// CHECK: attention_backward_6_keys: right

!q = tensor<1xQUERIESx4xHEADxTYPE>
!o = tensor<1xQUERIESx4xVALUExTYPE>
!k = tensor<1xKEYSx2xHEADxTYPE>
!v = tensor<1xKEYSx2xVALUExTYPE>
!row = tensor<1xQUERIESx4xf32>
!each = tensor<1xKEYSx4xHEADxf32>
!ofValue = tensor<1xKEYSx4xVALUExf32>
func.func @causal(%do: !o, %q: !q, %k: !k, %v: !v, %delta: !row) -> (!q, !each, !ofValue) {
  %y, %lse = nn.attention %q, %k, %v {causal, scale = 0.5 : f64} : (!q, !k, !v) -> (!o, !row)
  %0:3 = nn.attention_backward %do, %q, %k, %v, %lse, %delta {causal, scale = 0.5 : f64} : (!o, !q, !k, !v, !row, !row) -> (!q, !each, !ofValue)
  return %0#0, %0#1, %0#2 : !q, !each, !ofValue
}

!q2 = tensor<2xQUERIESx2xHEADxTYPE>
!o2 = tensor<2xQUERIESx2xVALUExTYPE>
!k2 = tensor<2xKEYSx2xHEADxTYPE>
!v2 = tensor<2xKEYSx2xVALUExTYPE>
!row2 = tensor<2xQUERIESx2xf32>
!each2 = tensor<2xKEYSx2xHEADxf32>
!ofValue2 = tensor<2xKEYSx2xVALUExf32>
func.func @masked(%do: !o2, %q: !q2, %k: !k2, %v: !v2, %delta: !row2, %m: tensor<2xKEYSxi64>) -> (!q2, !each2, !ofValue2) {
  %y, %lse = nn.attention %q, %k, %v mask %m {scale = 0.25 : f64} : (!q2, !k2, !v2, tensor<2xKEYSxi64>) -> (!o2, !row2)
  %0:3 = nn.attention_backward %do, %q, %k, %v, %lse, %delta mask %m {scale = 0.25 : f64} : (!o2, !q2, !k2, !v2, !row2, !row2, tensor<2xKEYSxi64>) -> (!q2, !each2, !ofValue2)
  return %0#0, %0#1, %0#2 : !q2, !each2, !ofValue2
}

!q3 = tensor<1xQUERIESx3xHEADxTYPE>
!o3 = tensor<1xQUERIESx3xVALUExTYPE>
!k3 = tensor<1xKEYSx1xHEADxTYPE>
!v3 = tensor<1xKEYSx1xVALUExTYPE>
!row3 = tensor<1xQUERIESx3xf32>
!each3 = tensor<1xKEYSx3xHEADxf32>
!ofValue3 = tensor<1xKEYSx3xVALUExf32>
func.func @window(%do: !o3, %q: !q3, %k: !k3, %v: !v3, %delta: !row3, %m: tensor<1xKEYSxi32>) -> (!q3, !each3, !ofValue3) {
  %y, %lse = nn.attention %q, %k, %v mask %m {causal, window = 9 : i64, scale = 1.0 : f64} : (!q3, !k3, !v3, tensor<1xKEYSxi32>) -> (!o3, !row3)
  %0:3 = nn.attention_backward %do, %q, %k, %v, %lse, %delta mask %m {causal, window = 9 : i64, scale = 1.0 : f64} : (!o3, !q3, !k3, !v3, !row3, !row3, tensor<1xKEYSxi32>) -> (!q3, !each3, !ofValue3)
  return %0#0, %0#1, %0#2 : !q3, !each3, !ofValue3
}

!q4 = tensor<1xQUERIESx1xHEADxTYPE>
!o4 = tensor<1xQUERIESx1xVALUExTYPE>
!row4 = tensor<1xQUERIESx1xf32>
!each4 = tensor<1xKEYSx1xHEADxf32>
!ofValue4 = tensor<1xKEYSx1xVALUExf32>
func.func @plain(%do: !o4, %q: !q4, %k: !k3, %v: !v3, %delta: !row4) -> (!q4, !each4, !ofValue4) {
  %y, %lse = nn.attention %q, %k, %v {scale = -0.5 : f64} : (!q4, !k3, !v3) -> (!o4, !row4)
  %0:3 = nn.attention_backward %do, %q, %k, %v, %lse, %delta {scale = -0.5 : f64} : (!o4, !q4, !k3, !v3, !row4, !row4) -> (!q4, !each4, !ofValue4)
  return %0#0, %0#1, %0#2 : !q4, !each4, !ofValue4
}

func.func @capped(%do: !o4, %q: !q4, %k: !k3, %v: !v3, %delta: !row4) -> (!q4, !each4, !ofValue4) {
  %y, %lse = nn.attention %q, %k, %v {window = 9 : i64, soft_cap = 1.5 : f64, scale = 0.5 : f64} : (!q4, !k3, !v3) -> (!o4, !row4)
  %0:3 = nn.attention_backward %do, %q, %k, %v, %lse, %delta {window = 9 : i64, soft_cap = 1.5 : f64, scale = 0.5 : f64} : (!o4, !q4, !k3, !v3, !row4, !row4) -> (!q4, !each4, !ofValue4)
  return %0#0, %0#1, %0#2 : !q4, !each4, !ofValue4
}

!b = tensor<4xQUERIESxKEYSxTYPE>
!db = tensor<1x4xQUERIESxKEYSxf32>
func.func @biased(%do: !o, %q: !q, %k: !k, %v: !v, %delta: !row, %b: !b, %s: tensor<4xf32>) -> (!q, !each, !ofValue, !db) {
  %y, %lse = nn.attention %q, %k, %v bias %b sinks %s {causal, window = 9 : i64, soft_cap = 2.0 : f64, scale = 0.5 : f64} : (!q, !k, !v, !b, tensor<4xf32>) -> (!o, !row)
  %0:4 = nn.attention_backward %do, %q, %k, %v, %lse, %delta bias %b {causal, window = 9 : i64, soft_cap = 2.0 : f64, scale = 0.5 : f64} : (!o, !q, !k, !v, !row, !row, !b) -> (!q, !each, !ofValue, !db)
  return %0#0, %0#1, %0#2, %0#3 : !q, !each, !ofValue, !db
}

!b2 = tensor<1xQUERIESxKEYSxf32>
!db2 = tensor<2x2xQUERIESxKEYSxf32>
func.func @shared_bias(%do: !o2, %q: !q2, %k: !k2, %v: !v2, %delta: !row2, %b: !b2, %m: tensor<2xKEYSxi64>) -> (!q2, !each2, !ofValue2, !db2) {
  %y, %lse = nn.attention %q, %k, %v mask %m bias %b {scale = 0.25 : f64} : (!q2, !k2, !v2, tensor<2xKEYSxi64>, !b2) -> (!o2, !row2)
  %0:4 = nn.attention_backward %do, %q, %k, %v, %lse, %delta mask %m bias %b {scale = 0.25 : f64} : (!o2, !q2, !k2, !v2, !row2, !row2, tensor<2xKEYSxi64>, !b2) -> (!q2, !each2, !ofValue2, !db2)
  return %0#0, %0#1, %0#2, %0#3 : !q2, !each2, !ofValue2, !db2
}
