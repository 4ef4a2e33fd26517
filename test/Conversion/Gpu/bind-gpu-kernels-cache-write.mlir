// RUN: tp-opt %s --tp-bind-gpu-kernels --split-input-file --verify-diagnostics | FileCheck %s

// A row of 256 bytes is 16 vectors of 16: one warp of each block. Writes of one
// shape share a kernel. What it does is in kernels/device/cache_write.cu and held by
// device-sources.mlir.

// CHECK-LABEL: func.func @step
// CHECK: nn.cache_write {{.*}} {tp.kernel = @cache_write_0}
// CHECK: nn.cache_write {{.*}} {tp.kernel = @cache_write_0}
// CHECK: llvm.func @cache_write_0(i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK-SAME: tp.block = array<i64: 32, 1, 1>
// CHECK-SAME: tp.device_entry = {entry = "cache_write_2_16", shape = {cells = 1024 : i64, parts = 1 : i64, rowBytes = 256 : i64}, source = "cache_write"}
// CHECK-SAME: tp.grid = array<i64: 16, 1, 1>
// CHECK-NOT: llvm.func
func.func @step(%k: tensor<16x2x64xbf16>, %cells: tensor<16xi32>, %keys: tensor<1024x2x64xbf16>, %values: tensor<1024x2x64xbf16>) -> (tensor<1024x2x64xbf16>, tensor<1024x2x64xbf16>) {
  %0 = nn.cache_write %k, %cells, %keys : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<1024x2x64xbf16>) -> tensor<1024x2x64xbf16>
  %1 = nn.cache_write %k, %cells, %values : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<1024x2x64xbf16>) -> tensor<1024x2x64xbf16>
  return %0, %1 : tensor<1024x2x64xbf16>, tensor<1024x2x64xbf16>
}

// -----

// Rows of 33 elements are moved one by one, of more than 256 vectors by several
// blocks.

// CHECK-LABEL: func.func @sizes
// CHECK: llvm.func @cache_write_0({{.*}}tp.block = array<i64: 64, 1, 1>, tp.device_entry = {entry = "cache_write_2_2", {{.*}}tp.grid = array<i64: 1, 1, 1>
// CHECK: llvm.func @cache_write_1({{.*}}tp.block = array<i64: 256, 1, 1>, tp.device_entry = {entry = "cache_write_4_16", {{.*}}tp.grid = array<i64: 2, 3, 1>
func.func @sizes(%a: tensor<1x3x11xbf16>, %b: tensor<2x17x160xf32>, %one: tensor<1xi32>, %two: tensor<2xi32>, %p: tensor<8x3x11xbf16>, %q: tensor<8x17x160xf32>) -> (tensor<8x3x11xbf16>, tensor<8x17x160xf32>) {
  %0 = nn.cache_write %a, %one, %p : (tensor<1x3x11xbf16>, tensor<1xi32>, tensor<8x3x11xbf16>) -> tensor<8x3x11xbf16>
  %1 = nn.cache_write %b, %two, %q : (tensor<2x17x160xf32>, tensor<2xi32>, tensor<8x17x160xf32>) -> tensor<8x17x160xf32>
  return %0, %1 : tensor<8x3x11xbf16>, tensor<8x17x160xf32>
}

// -----

func.func @empty(%k: tensor<0x2x8xf32>, %cells: tensor<0xi32>, %pool: tensor<64x2x8xf32>) -> tensor<64x2x8xf32> {
  // expected-error @below {{expected 1 or more tokens, of fewer elements than a grid has room for, got 'tensor<0x2x8xf32>' and 'tensor<64x2x8xf32>'}}
  %0 = nn.cache_write %k, %cells, %pool : (tensor<0x2x8xf32>, tensor<0xi32>, tensor<64x2x8xf32>) -> tensor<64x2x8xf32>
  return %0 : tensor<64x2x8xf32>
}

// -----

func.func @wide(%k: tensor<2x2x8xf64>, %cells: tensor<2xi32>, %pool: tensor<64x2x8xf64>) -> tensor<64x2x8xf64> {
  // expected-error @below {{expected elements of at most 4 bytes for a device, got 'tensor<64x2x8xf64>'}}
  %0 = nn.cache_write %k, %cells, %pool : (tensor<2x2x8xf64>, tensor<2xi32>, tensor<64x2x8xf64>) -> tensor<64x2x8xf64>
  return %0 : tensor<64x2x8xf64>
}
