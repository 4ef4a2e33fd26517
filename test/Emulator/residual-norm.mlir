// A residual and a norm in one kernel, an odd length: right, and each way to
// break it is noticed.
// RUN: tp-check-kernels %s | FileCheck %s
// RUN: tp-check-kernels %s --break=wrong-lane,off-by-one-bound,overlap-blocks | FileCheck %s --check-prefix=BROKEN

// CHECK: rows_0: right in 2 runs

// BROKEN: rows_0: wrong-lane: rows_0: result {{.*}}expected
// BROKEN: rows_0: wrong-lane: noticed 5 of 5
// BROKEN: rows_0: off-by-one-bound: kernel rows_0: global memory out of bounds: {{[0-9]+}} bytes at offset {{[0-9]+}} of an allocation of {{[0-9]+}} bytes; block ({{[0-9]+}}, 0, 0) thread ({{[0-9]+}}, 0, 0) at [rows_0 #{{[0-9]+}}: %{{.*}} = load float
// BROKEN: rows_0: off-by-one-bound: noticed 1 of 1
// BROKEN: rows_0: overlap-blocks: kernel rows_0: data race between blocks: global memory written by block number 0; block (1, 0, 0)
// BROKEN: rows_0: overlap-blocks: noticed 1 of 1
func.func @main(%x: tensor<3x37xf32>, %r: tensor<3x37xf32>, %w: tensor<37xf32>) -> (tensor<3x37xf32>, tensor<3x37xf32>) {
  %s = arith.addf %x, %r : tensor<3x37xf32>
  %y = nn.rms_norm %s, %w {epsilon = 1.0e-5 : f64} : (tensor<3x37xf32>, tensor<37xf32>) -> tensor<3x37xf32>
  return %s, %y : tensor<3x37xf32>, tensor<3x37xf32>
}
