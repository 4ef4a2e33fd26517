// Few rows over many keys: several blocks share the keys of the same rows, and a
// second kernel puts their parts together. Grouped heads, a window, a mask of
// padding, short queries, batches, a bias and sinks, values of another size; calls with fewer keys than there are splits
// leave some without a tile, rows without a key, and all without one.
// RUN: sed 's/TYPE/bf16/g; s/HEAD/128/g; s/VALUE/128/g; s/KEYS/600/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f16/g; s/HEAD/24/g; s/VALUE/40/g; s/KEYS/1031/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s
// RUN: sed 's/TYPE/f32/g; s/HEAD/13/g; s/VALUE/8/g; s/KEYS/600/g' %s | tp-check-kernels - --seeds=1 | FileCheck %s

// CHECK: attention_0: right in 6 runs
// CHECK: attention_0_combine: right in 6 runs
// CHECK: attention_1: right in 6 runs
// CHECK: attention_1_combine: right in 6 runs
// CHECK: attention_2: right in 6 runs
// CHECK: attention_2_combine: right in 6 runs
// CHECK: attention_3: right in 6 runs
// CHECK: attention_3_combine: right in 6 runs
// CHECK: attention_4: right in 6 runs
// CHECK: attention_4_combine: right in 6 runs

func.func @step(%q: tensor<1x1x8xHEADxTYPE>, %k: tensor<1xKEYSx2xHEADxTYPE>, %v: tensor<1xKEYSx2xVALUExTYPE>) -> tensor<1x1x8xVALUExTYPE> {
  %y = nn.attention %q, %k, %v {causal, scale = 0.25 : f64} : (tensor<1x1x8xHEADxTYPE>, tensor<1xKEYSx2xHEADxTYPE>, tensor<1xKEYSx2xVALUExTYPE>) -> tensor<1x1x8xVALUExTYPE>
  return %y : tensor<1x1x8xVALUExTYPE>
}

func.func @masked(%q: tensor<2x1x3xHEADxTYPE>, %k: tensor<2xKEYSx1xHEADxTYPE>, %v: tensor<2xKEYSx1xVALUExTYPE>, %m: tensor<2xKEYSxi64>) -> tensor<2x1x3xVALUExTYPE> {
  %y = nn.attention %q, %k, %v mask %m {scale = 0.25 : f64} : (tensor<2x1x3xHEADxTYPE>, tensor<2xKEYSx1xHEADxTYPE>, tensor<2xKEYSx1xVALUExTYPE>, tensor<2xKEYSxi64>) -> tensor<2x1x3xVALUExTYPE>
  return %y : tensor<2x1x3xVALUExTYPE>
}

func.func @window(%q: tensor<1x5x4xHEADxTYPE>, %k: tensor<1xKEYSx1xHEADxTYPE>, %v: tensor<1xKEYSx1xVALUExTYPE>, %m: tensor<1xKEYSxi32>) -> tensor<1x5x4xVALUExTYPE> {
  %y = nn.attention %q, %k, %v mask %m {causal, window = 515 : i64, scale = 0.5 : f64} : (tensor<1x5x4xHEADxTYPE>, tensor<1xKEYSx1xHEADxTYPE>, tensor<1xKEYSx1xVALUExTYPE>, tensor<1xKEYSxi32>) -> tensor<1x5x4xVALUExTYPE>
  return %y : tensor<1x5x4xVALUExTYPE>
}

func.func @negative(%q: tensor<1x2x1xHEADxTYPE>, %k: tensor<1xKEYSx1xHEADxTYPE>, %v: tensor<1xKEYSx1xVALUExTYPE>) -> tensor<1x2x1xVALUExTYPE> {
  %y = nn.attention %q, %k, %v {scale = -0.5 : f64} : (tensor<1x2x1xHEADxTYPE>, tensor<1xKEYSx1xHEADxTYPE>, tensor<1xKEYSx1xVALUExTYPE>) -> tensor<1x2x1xVALUExTYPE>
  return %y : tensor<1x2x1xVALUExTYPE>
}

func.func @sinks(%q: tensor<1x2x2xHEADxTYPE>, %k: tensor<1xKEYSx1xHEADxTYPE>, %v: tensor<1xKEYSx1xVALUExTYPE>, %b: tensor<1x2xKEYSxf32>, %s: tensor<2xTYPE>) -> tensor<1x2x2xVALUExTYPE> {
  %y = nn.attention %q, %k, %v bias %b sinks %s {causal, soft_cap = 3.0 : f64, scale = 0.5 : f64} : (tensor<1x2x2xHEADxTYPE>, tensor<1xKEYSx1xHEADxTYPE>, tensor<1xKEYSx1xVALUExTYPE>, tensor<1x2xKEYSxf32>, tensor<2xTYPE>) -> tensor<1x2x2xVALUExTYPE>
  return %y : tensor<1x2x2xVALUExTYPE>
}
