// RUN: tp-opt %s --tp-bind-gpu-kernels --split-input-file --verify-diagnostics | FileCheck %s

// One row of 4 bits: a block of as many warps as 512 bytes of a line are in it makes
// four columns. Products of one shape share a kernel. What it does is in
// kernels/device/quantized_linear.cu.

// CHECK-LABEL: func.func @one
// CHECK: nn.quantized_linear {{.*}}tp.kernel = @quantized_gemm_0
// CHECK: nn.quantized_linear {{.*}}tp.kernel = @quantized_gemm_0
// CHECK: llvm.func @quantized_gemm_0(i64, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
// CHECK-SAME: tp.block = array<i64: 128, 1, 1>
// CHECK-SAME: tp.device_entry = {entry = "quantized_linear_1", shape = {activation = 0 : i64, biasType = 1 : i64, element = 0 : i64, groupK = 128 : i64, groupN = 1 : i64, hasBias = 0 : i64, hasFloatZeros = 0 : i64, hasGroups = 0 : i64, hasResidual = 0 : i64, hasZeros = 0 : i64, k = 4096 : i64, lateScales = 1 : i64, n = 1024 : i64, parts = 1 : i64, rows = 1 : i64, scale = 1.000000e+00 : f32, scaleColumns = 32 : i64, scaleType = 2 : i64, xType = 1 : i64, yType = 1 : i64}, source = "quantized_linear"}
// CHECK-SAME: tp.grid = array<i64: 256, 1, 1>
// CHECK-NOT: llvm.func
func.func @one(%x: tensor<1x4096xbf16>, %w: tensor<1024x2048xi8>, %v: tensor<1024x2048xi8>, %s: tensor<1024x32xf16>) -> (tensor<1x1024xbf16>, tensor<1x1024xbf16>) {
  %0 = nn.quantized_linear %x, %w, %s {element = i4, group = array<i64: 1, 128>} : (tensor<1x4096xbf16>, tensor<1024x2048xi8>, tensor<1024x32xf16>) -> tensor<1x1024xbf16>
  %1 = nn.quantized_linear %x, %v, %s {element = i4, group = array<i64: 1, 128>} : (tensor<1x4096xbf16>, tensor<1024x2048xi8>, tensor<1024x32xf16>) -> tensor<1x1024xbf16>
  return %0, %1 : tensor<1x1024xbf16>, tensor<1x1024xbf16>
}

// -----

// Many rows: the largest tiles of which there are blocks for a card.

// CHECK-LABEL: func.func @many
// CHECK: llvm.func @quantized_gemm_0({{.*}}entry = "quantized_tiles_128_128", {{.*}}element = 2 : i64, {{.*}}tp.grid = array<i64: 32, 16, 1>, tp.shared_bytes = 73728
// CHECK: llvm.func @quantized_gemm_1({{.*}}entry = "quantized_tiles_32_32", {{.*}}tp.grid = array<i64: 128, 1, 1>, tp.shared_bytes = 18432
// An input of f32 is wider, and two numbers of bf16 beside a result of 16 bits.
// CHECK: llvm.func @quantized_gemm_2({{.*}}entry = "quantized_tiles_64_128", {{.*}}parts = 2 : i64, {{.*}}tp.grid = array<i64: 32, 32, 1>, tp.shared_bytes = 73728
// Without tiles where its scales would have to be multiplied before.
// CHECK: llvm.func @quantized_gemm_3({{.*}}entry = "quantized_linear_8", {{.*}}lateScales = 0 : i64, {{.*}}tp.grid = array<i64: 1024, 256, 1>
func.func @many(%x: tensor<2048x4096xbf16>, %y: tensor<24x4096xbf16>, %z: tensor<2048x4096xf32>, %w: tensor<4096x4096xi8>, %s: tensor<4096x1xf32>, %b: tensor<32x32xf32>, %t: tensor<4096x512xf32>) -> (tensor<2048x4096xbf16>, tensor<24x4096xbf16>, tensor<2048x4096xbf16>, tensor<2048x4096xf32>) {
  %0 = nn.quantized_linear %x, %w, %s {element = f8E4M3FN, group = array<i64: 1, 0>} : (tensor<2048x4096xbf16>, tensor<4096x4096xi8>, tensor<4096x1xf32>) -> tensor<2048x4096xbf16>
  %1 = nn.quantized_linear %y, %w, %s {element = f8E4M3FN, group = array<i64: 1, 0>} : (tensor<24x4096xbf16>, tensor<4096x4096xi8>, tensor<4096x1xf32>) -> tensor<24x4096xbf16>
  %2 = nn.quantized_linear %z, %w, %b {element = f8E4M3FN, group = array<i64: 128, 128>} : (tensor<2048x4096xf32>, tensor<4096x4096xi8>, tensor<32x32xf32>) -> tensor<2048x4096xbf16>
  %3 = nn.quantized_linear %z, %w, %t {element = i8, group = array<i64: 1, 8>} : (tensor<2048x4096xf32>, tensor<4096x4096xi8>, tensor<4096x512xf32>) -> tensor<2048x4096xf32>
  return %0, %1, %2, %3 : tensor<2048x4096xbf16>, tensor<24x4096xbf16>, tensor<2048x4096xbf16>, tensor<2048x4096xf32>
}

// -----

// What the product's function does behind it is the kernel's: a factor,
// relu and a sum.

// CHECK: llvm.func @quantized_gemm_0({{.*}}activation = 1 : i64, {{.*}}hasResidual = 1 : i64, {{.*}}scale = 5.000000e-01 : f32
func.func private @gemm_0(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x1xf32>, %r: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {tp.kernel = "gemm"} {
  %half = arith.constant dense<0.5> : tensor<2x8xf32>
  %zero = arith.constant dense<0.0> : tensor<2x8xf32>
  %0 = nn.quantized_linear %x, %w, %s {element = i8, group = array<i64: 1, 0>} : (tensor<2x64xf32>, tensor<8x64xi8>, tensor<8x1xf32>) -> tensor<2x8xf32>
  %1 = arith.mulf %0, %half : tensor<2x8xf32>
  %2 = arith.maximumf %1, %zero fastmath<nnan> : tensor<2x8xf32>
  %3 = arith.addf %2, %r : tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}

// -----

func.func @empty(%x: tensor<0x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x1xf32>) -> tensor<0x8xf32> {
  // expected-error @below {{expected 1 or more rows, and no more than a grid has room for, got 'tensor<0x64xf32>' and 'tensor<0x8xf32>'}}
  %0 = nn.quantized_linear %x, %w, %s {element = i8, group = array<i64: 1, 0>} : (tensor<0x64xf32>, tensor<8x64xi8>, tensor<8x1xf32>) -> tensor<0x8xf32>
  return %0 : tensor<0x8xf32>
}

// -----

func.func @wide(%x: tensor<2x64xf64>, %w: tensor<8x64xi8>, %s: tensor<8x1xf32>) -> tensor<2x8xf64> {
  // expected-error @below {{expected an input, bias and result of f32, bf16 or f16 for a device, got 'tensor<2x64xf64>', 'f64' and 'tensor<2x8xf64>'}}
  %0 = nn.quantized_linear %x, %w, %s {element = i8, group = array<i64: 1, 0>} : (tensor<2x64xf64>, tensor<8x64xi8>, tensor<8x1xf32>) -> tensor<2x8xf64>
  return %0 : tensor<2x8xf64>
}

// -----

func.func private @gemm_0(%x: tensor<2x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x1xf32>) -> tensor<2x8xf32> attributes {tp.kernel = "gemm"} {
  // expected-error @below {{expected no activation, relu or gelu_tanh behind a product for a device, got silu}}
  %0 = nn.quantized_linear %x, %w, %s {element = i8, group = array<i64: 1, 0>} : (tensor<2x64xf32>, tensor<8x64xi8>, tensor<8x1xf32>) -> tensor<2x8xf32>
  %1 = nn.silu %0 : tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
