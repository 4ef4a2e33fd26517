// RUN: tp-opt %s --tp-lower-step=target=cuda --split-input-file --verify-diagnostics

func.func @attention(%q: tensor<1x8x2x64xf16>) -> tensor<1x8x2x64xf16> {
  // expected-error @below {{expected a kernel: run tp-generate-gpu-attention}}
  %o = nn.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x8x2x64xf16>, tensor<1x8x2x64xf16>, tensor<1x8x2x64xf16>) -> tensor<1x8x2x64xf16>
  return %o : tensor<1x8x2x64xf16>
}

// -----

func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64}
func.func @call(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{expected a kernel @k in gpu.module @kernels with tp.grid and tp.block}}
  %0 = call @k(%x) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @write(%k: tensor<4x2x8xf32>, %cells: tensor<4xi32>, %pool: tensor<64x2x8xf32>) -> tensor<64x2x8xf32> {
  // expected-error @below {{expected a kernel: run tp-bind-gpu-kernels}}
  %0 = nn.cache_write %k, %cells, %pool : (tensor<4x2x8xf32>, tensor<4xi32>, tensor<64x2x8xf32>) -> tensor<64x2x8xf32>
  return %0 : tensor<64x2x8xf32>
}
