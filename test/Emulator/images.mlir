// A kernel that one architecture runs otherwise, here with other chunks and blocks, is
// checked beside the portable one; a fault in it is noticed there.
// RUN: tp-check-kernels %s | FileCheck %s
// RUN: tp-check-kernels %s --seeds=1 --break=overlap-blocks | FileCheck %s --check-prefix=BROKEN

// CHECK: cache_write_0: right
// CHECK: cache_write_0 (sm_90a): right
// CHECK-NOT: (sm_90a)

// BROKEN: cache_write_0: overlap-blocks: noticed
// BROKEN: cache_write_0 (sm_90a): overlap-blocks: noticed

func.func @step(%k: tensor<5x2x24xbf16>, %pool: tensor<16x2x24xbf16>) -> (tensor<16x2x24xbf16>, tensor<16x2x24xbf16>) {
  %cells = arith.constant dense<[3, 15, -1, 0, 16]> : tensor<5xi32>
  %0 = nn.cache_write %k, %cells, %pool {tp.kernel = @cache_write_0} : (tensor<5x2x24xbf16>, tensor<5xi32>, tensor<16x2x24xbf16>) -> tensor<16x2x24xbf16>
  %1 = nn.cache_write %k, %cells, %0 {tp.kernel = @cache_write_1} : (tensor<5x2x24xbf16>, tensor<5xi32>, tensor<16x2x24xbf16>) -> tensor<16x2x24xbf16>
  return %0, %1 : tensor<16x2x24xbf16>, tensor<16x2x24xbf16>
}
gpu.module @kernels {
  llvm.func @cache_write_0(i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tp.block = array<i64: 32, 1, 1>, tp.device_entry = {entry = "cache_write_2_16", shape = {cells = 16 : i64, parts = 1 : i64, rowBytes = 96 : i64}, source = "cache_write"}, tp.grid = array<i64: 5, 1, 1>, tp.images = {sm_90a = {block = array<i64: 32, 1, 1>, entry = "cache_write_2_2", grid = array<i64: 5, 2, 1>, shape = {cells = 16 : i64, parts = 2 : i64, rowBytes = 96 : i64}, shared_bytes = 0 : i64, source = "cache_write"}}, tp.shared_bytes = 0 : i64}
  llvm.func @cache_write_1(i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tp.block = array<i64: 64, 1, 1>, tp.device_entry = {entry = "cache_write_2_2", shape = {cells = 16 : i64, parts = 1 : i64, rowBytes = 96 : i64}, source = "cache_write"}, tp.grid = array<i64: 5, 1, 1>, tp.shared_bytes = 0 : i64}
}
