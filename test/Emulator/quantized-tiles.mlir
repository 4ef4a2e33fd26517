// The tiles of quantized_tiles.cu that products of this size are too small for: their
// entry, grid and shared memory are put in the place of those chosen.
// DEFINE: %{tile} = 64_32
// DEFINE: %{grid} = 5, 3
// DEFINE: %{bytes} = 27648
// DEFINE: %{check} = tp-opt %s --tp-bind-gpu-kernels | sed 's/quantized_tiles_[0-9]*_[0-9]*/quantized_tiles_%{tile}/; s/tp.grid = array<i64: [0-9, ]*>/tp.grid = array<i64: %{grid}, 1>/; s/tp.shared_bytes = [0-9]*/tp.shared_bytes = %{bytes}/' | tp-check-kernels - --seeds=1 --plan=none
// RUN: %{check} | FileCheck %s
// REDEFINE: %{tile} = 64_128
// REDEFINE: %{grid} = 2, 3
// REDEFINE: %{bytes} = 55296
// RUN: %{check} | FileCheck %s
// REDEFINE: %{tile} = 128_128
// REDEFINE: %{grid} = 2, 2
// REDEFINE: %{bytes} = 73728
// RUN: %{check} | FileCheck %s
// RUN: %{check} --break=drop-barrier,drop-cp-async-wait | FileCheck %s --check-prefix=BROKEN

// CHECK: quantized_gemm_0: right
// CHECK: quantized_gemm_1: right

// BROKEN: quantized_gemm_0: drop-barrier: noticed 1 of 1
// BROKEN: quantized_gemm_0: drop-cp-async-wait: noticed 1 of 1

func.func @narrow(%x: tensor<131x144xbf16>, %w: tensor<140x72xi8>, %s: tensor<140x3xf16>, %z: tensor<140x3xi8>) -> tensor<131x140xbf16> {
  %0 = nn.quantized_linear %x, %w, %s zeros %z {element = i4, group = array<i64: 1, 48>} : (tensor<131x144xbf16>, tensor<140x72xi8>, tensor<140x3xf16>, tensor<140x3xi8>) -> tensor<131x140xbf16>
  return %0 : tensor<131x140xbf16>
}
func.func @wide(%x: tensor<131x72xf16>, %w: tensor<140x72xi8>, %s: tensor<140x1xf32>) -> tensor<131x140xf16> {
  %0 = nn.quantized_linear %x, %w, %s {element = i8, group = array<i64: 1, 0>} : (tensor<131x72xf16>, tensor<140x72xi8>, tensor<140x1xf32>) -> tensor<131x140xf16>
  return %0 : tensor<131x140xf16>
}
