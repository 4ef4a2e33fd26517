// REQUIRES: ptxas
// RUN: tp-compile %s --target cuda:sm_80,sm_90,sm_100 --save-kernels=%t -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t/kernels.json 14 sm_80,sm_90,sm_100

// No attention kernel spills, on any architecture: the widest head of either
// kind, the largest tiles with every mask, warps that split the keys, values of another size, and blocks
// (whose second kernels are two of them).

func.func @wide(%q: tensor<8x512x32x128xbf16>, %k: tensor<8x512x8x128xbf16>) -> tensor<8x512x32x128xbf16> {
  %y = nn.attention %q, %k, %k {causal, scale = 0.1 : f64} : (tensor<8x512x32x128xbf16>, tensor<8x512x8x128xbf16>, tensor<8x512x8x128xbf16>) -> tensor<8x512x32x128xbf16>
  return %y : tensor<8x512x32x128xbf16>
}

func.func @masked(%q: tensor<8x512x32x128xbf16>, %k: tensor<8x512x8x128xbf16>, %m: tensor<8x512xi64>) -> tensor<8x512x32x128xbf16> {
  %y = nn.attention %q, %k, %k mask %m {causal, window = 99 : i64, scale = 0.1 : f64} : (tensor<8x512x32x128xbf16>, tensor<8x512x8x128xbf16>, tensor<8x512x8x128xbf16>, tensor<8x512xi64>) -> tensor<8x512x32x128xbf16>
  return %y : tensor<8x512x32x128xbf16>
}

func.func @common(%q: tensor<8x512x32x64xf16>, %k: tensor<8x512x8x64xf16>) -> tensor<8x512x32x64xf16> {
  %y = nn.attention %q, %k, %k {causal, scale = 0.1 : f64} : (tensor<8x512x32x64xf16>, tensor<8x512x8x64xf16>, tensor<8x512x8x64xf16>) -> tensor<8x512x32x64xf16>
  return %y : tensor<8x512x32x64xf16>
}

func.func @widest(%q: tensor<1x512x8x256xbf16>, %k: tensor<1x512x4x256xbf16>, %m: tensor<1x512xi8>) -> tensor<1x512x8x256xbf16> {
  %y = nn.attention %q, %k, %k mask %m {causal, scale = 0.1 : f64} : (tensor<1x512x8x256xbf16>, tensor<1x512x4x256xbf16>, tensor<1x512x4x256xbf16>, tensor<1x512xi8>) -> tensor<1x512x8x256xbf16>
  return %y : tensor<1x512x8x256xbf16>
}

func.func @step(%q: tensor<1x1x7x128xbf16>, %k: tensor<1x512x1x128xbf16>) -> tensor<1x1x7x128xbf16> {
  %y = nn.attention %q, %k, %k {causal, scale = 0.1 : f64} : (tensor<1x1x7x128xbf16>, tensor<1x512x1x128xbf16>, tensor<1x512x1x128xbf16>) -> tensor<1x1x7x128xbf16>
  return %y : tensor<1x1x7x128xbf16>
}

func.func @widestStep(%q: tensor<1x1x7x256xf16>, %k: tensor<1x512x1x256xf16>) -> tensor<1x1x7x256xf16> {
  %y = nn.attention %q, %k, %k {causal, scale = 0.1 : f64} : (tensor<1x1x7x256xf16>, tensor<1x512x1x256xf16>, tensor<1x512x1x256xf16>) -> tensor<1x1x7x256xf16>
  return %y : tensor<1x1x7x256xf16>
}

func.func @single(%q: tensor<8x512x32x64xf32>, %k: tensor<8x512x8x64xf32>) -> tensor<8x512x32x64xf32> {
  %y = nn.attention %q, %k, %k {causal, scale = 0.1 : f64} : (tensor<8x512x32x64xf32>, tensor<8x512x8x64xf32>, tensor<8x512x8x64xf32>) -> tensor<8x512x32x64xf32>
  return %y : tensor<8x512x32x64xf32>
}

func.func @singleWidest(%q: tensor<1x65x2x256xf32>, %k: tensor<1x65x1x256xf32>, %m: tensor<1x65xi32>) -> tensor<1x65x2x256xf32> {
  %y = nn.attention %q, %k, %k mask %m {scale = 0.1 : f64} : (tensor<1x65x2x256xf32>, tensor<1x65x1x256xf32>, tensor<1x65x1x256xf32>, tensor<1x65xi32>) -> tensor<1x65x2x256xf32>
  return %y : tensor<1x65x2x256xf32>
}

func.func @longStep(%q: tensor<1x1x4x128xf32>, %k: tensor<1x65536x1x128xf32>) -> tensor<1x1x4x128xf32> {
  %y = nn.attention %q, %k, %k {causal, scale = 0.1 : f64} : (tensor<1x1x4x128xf32>, tensor<1x65536x1x128xf32>, tensor<1x65536x1x128xf32>) -> tensor<1x1x4x128xf32>
  return %y : tensor<1x1x4x128xf32>
}

func.func @latent(%q: tensor<1x2048x128x192xbf16>, %v: tensor<1x2048x128x128xbf16>) -> tensor<1x2048x128x128xbf16> {
  %y = nn.attention %q, %q, %v {causal, scale = 0.1 : f64} : (tensor<1x2048x128x192xbf16>, tensor<1x2048x128x192xbf16>, tensor<1x2048x128x128xbf16>) -> tensor<1x2048x128x128xbf16>
  return %y : tensor<1x2048x128x128xbf16>
}

func.func @wideValues(%q: tensor<8x512x32x64xf32>, %v: tensor<8x512x32x256xf32>) -> tensor<8x512x32x256xf32> {
  %y = nn.attention %q, %q, %v {causal, scale = 0.1 : f64} : (tensor<8x512x32x64xf32>, tensor<8x512x32x64xf32>, tensor<8x512x32x256xf32>) -> tensor<8x512x32x256xf32>
  return %y : tensor<8x512x32x256xf32>
}
