// Attention in each element type: causal, windowed (to one side and to both), masked and neither, capped, with a
// bias and sinks, grouped
// and single KV heads, head sizes with and without padding, values of the size of
// queries, less and more, lengths that fill tiles and that do not. Each is also called with wider rows, with the
// log-sum-exp asked for, and with fewer keys than the buffers have room for, or none. Scores of @steep rise from tile to
// tile by more than what was summed is kept for.
// RUN: sed 's/TYPE/bf16/g; s/HEAD/64/g; s/VALUE/64/g; s/QUERIES/64/g; s/KEYS/128/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/HEAD/24/g; s/VALUE/40/g; s/QUERIES/37/g; s/KEYS/101/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/bf16/g; s/HEAD/7/g; s/VALUE/7/g; s/QUERIES/70/g; s/KEYS/70/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f16/g; s/HEAD/128/g; s/VALUE/128/g; s/QUERIES/1/g; s/KEYS/67/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f16/g; s/HEAD/200/g; s/VALUE/33/g; s/QUERIES/33/g; s/KEYS/70/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/HEAD/13/g; s/VALUE/8/g; s/QUERIES/19/g; s/KEYS/41/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/HEAD/8/g; s/VALUE/8/g; s/QUERIES/1/g; s/KEYS/1/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s

// CHECK: attention_0: right
// CHECK: attention_1: right
// CHECK: attention_2: right
// CHECK: attention_3: right
// CHECK: attention_4: right
// CHECK: attention_5: right
// CHECK: attention_6: right

func.func @causal(%q: tensor<1xQUERIESx4xHEADxTYPE>, %k: tensor<1xKEYSx2xHEADxTYPE>, %v: tensor<1xKEYSx2xVALUExTYPE>) -> tensor<1xQUERIESx4xVALUExTYPE> {
  %y = nn.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<1xQUERIESx4xHEADxTYPE>, tensor<1xKEYSx2xHEADxTYPE>, tensor<1xKEYSx2xVALUExTYPE>) -> tensor<1xQUERIESx4xVALUExTYPE>
  return %y : tensor<1xQUERIESx4xVALUExTYPE>
}

func.func @masked(%q: tensor<2xQUERIESx2xHEADxTYPE>, %k: tensor<2xKEYSx2xHEADxTYPE>, %v: tensor<2xKEYSx2xVALUExTYPE>, %m: tensor<2xKEYSxi64>) -> tensor<2xQUERIESx2xVALUExTYPE> {
  %y = nn.attention %q, %k, %v mask %m {scale = 0.25 : f64} : (tensor<2xQUERIESx2xHEADxTYPE>, tensor<2xKEYSx2xHEADxTYPE>, tensor<2xKEYSx2xVALUExTYPE>, tensor<2xKEYSxi64>) -> tensor<2xQUERIESx2xVALUExTYPE>
  return %y : tensor<2xQUERIESx2xVALUExTYPE>
}

func.func @window(%q: tensor<1xQUERIESx3xHEADxTYPE>, %k: tensor<1xKEYSx1xHEADxTYPE>, %v: tensor<1xKEYSx1xVALUExTYPE>, %m: tensor<1xKEYSxi32>) -> tensor<1xQUERIESx3xVALUExTYPE> {
  %y = nn.attention %q, %k, %v mask %m {causal, window = 9 : i64, scale = 1.0 : f64} : (tensor<1xQUERIESx3xHEADxTYPE>, tensor<1xKEYSx1xHEADxTYPE>, tensor<1xKEYSx1xVALUExTYPE>, tensor<1xKEYSxi32>) -> tensor<1xQUERIESx3xVALUExTYPE>
  return %y : tensor<1xQUERIESx3xVALUExTYPE>
}

func.func @plain(%q: tensor<1xQUERIESx1xHEADxTYPE>, %k: tensor<1xKEYSx1xHEADxTYPE>, %v: tensor<1xKEYSx1xVALUExTYPE>) -> tensor<1xQUERIESx1xVALUExTYPE> {
  %y = nn.attention %q, %k, %v {scale = 2.0 : f64} : (tensor<1xQUERIESx1xHEADxTYPE>, tensor<1xKEYSx1xHEADxTYPE>, tensor<1xKEYSx1xVALUExTYPE>) -> tensor<1xQUERIESx1xVALUExTYPE>
  return %y : tensor<1xQUERIESx1xVALUExTYPE>
}

func.func @biased(%q: tensor<2xQUERIESx4xHEADxTYPE>, %k: tensor<2xKEYSx2xHEADxTYPE>, %v: tensor<2xKEYSx2xVALUExTYPE>, %b: tensor<4xQUERIESxKEYSxTYPE>, %s: tensor<4xf32>) -> tensor<2xQUERIESx4xVALUExTYPE> {
  %y = nn.attention %q, %k, %v bias %b sinks %s {causal, soft_cap = 2.0 : f64, scale = 0.5 : f64} : (tensor<2xQUERIESx4xHEADxTYPE>, tensor<2xKEYSx2xHEADxTYPE>, tensor<2xKEYSx2xVALUExTYPE>, tensor<4xQUERIESxKEYSxTYPE>, tensor<4xf32>) -> tensor<2xQUERIESx4xVALUExTYPE>
  return %y : tensor<2xQUERIESx4xVALUExTYPE>
}

func.func @both_sides(%q: tensor<1xQUERIESx2xHEADxTYPE>, %k: tensor<1xKEYSx2xHEADxTYPE>, %v: tensor<1xKEYSx2xVALUExTYPE>, %m: tensor<1xKEYSxi1>, %b: tensor<1xQUERIESxKEYSxf32>) -> tensor<1xQUERIESx2xVALUExTYPE> {
  %y = nn.attention %q, %k, %v mask %m bias %b {window = 7 : i64, scale = 0.5 : f64} : (tensor<1xQUERIESx2xHEADxTYPE>, tensor<1xKEYSx2xHEADxTYPE>, tensor<1xKEYSx2xVALUExTYPE>, tensor<1xKEYSxi1>, tensor<1xQUERIESxKEYSxf32>) -> tensor<1xQUERIESx2xVALUExTYPE>
  return %y : tensor<1xQUERIESx2xVALUExTYPE>
}

func.func @steep(%q: tensor<1xQUERIESx2xHEADxTYPE>, %k: tensor<1xKEYSx1xHEADxTYPE>, %v: tensor<1xKEYSx1xVALUExTYPE>) -> tensor<1xQUERIESx2xVALUExTYPE> {
  %y = nn.attention %q, %k, %v {scale = 30.0 : f64} : (tensor<1xQUERIESx2xHEADxTYPE>, tensor<1xKEYSx1xHEADxTYPE>, tensor<1xKEYSx1xVALUExTYPE>) -> tensor<1xQUERIESx2xVALUExTYPE>
  return %y : tensor<1xQUERIESx2xVALUExTYPE>
}
