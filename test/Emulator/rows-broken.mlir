// Every way to break a row kernel is noticed, at every place of the code that
// the calls reach. A barrier, and shared memory, are there for long rows only.
// RUN: sed 's/COLS/38/g' %s | tp-check-kernels - --break=wrong-lane,overlap-blocks --all | FileCheck %s
// RUN: sed 's/COLS/2102/g' %s | tp-check-kernels - --break=drop-barrier,skip-init,wrong-lane,overlap-blocks | FileCheck %s --check-prefix=LONG
// RUN: sed 's/COLS/38/g' %s | tp-check-kernels - --break=off-by-one-bound | FileCheck %s --check-prefix=BOUND

// CHECK: rows_0: wrong-lane: noticed {{[0-9]+}} of {{[0-9]+}}, first: rows_0: result {{[01]}}, element [{{[0-9]+}}, {{[0-9]+}}]: expected
// CHECK: rows_1: wrong-lane: noticed
// CHECK: rows_0: overlap-blocks: noticed 1 of 1, first: kernel rows_0: data race between blocks: global memory written by block number {{[0-9]+}}; block ({{[0-9]+}}, 0, 0) thread ({{[0-9]+}}, 0, 0) at [rows_0 #{{[0-9]+}}: store
// CHECK: rows_1: overlap-blocks: noticed 1 of 1
// CHECK: rows_2: overlap-blocks: noticed 1 of 1
// CHECK: rows_3: overlap-blocks: noticed 1 of 1

// LONG: rows_0: drop-barrier: noticed {{.*}} first: kernel rows_0: {{data race: shared memory|uninitialised shared memory}}
// LONG: rows_1: drop-barrier: noticed
// LONG: rows_0: skip-init: noticed {{.*}} first: kernel rows_0: uninitialised shared memory
// LONG: rows_1: skip-init: noticed
// LONG: rows_0: wrong-lane: noticed
// LONG: rows_0: overlap-blocks: noticed

// BOUND: rows_0: off-by-one-bound: noticed {{[0-9]+}} of {{[0-9]+}}, first: kernel rows_0: global memory out of bounds: {{[0-9]+}} bytes at offset {{[0-9]+}} of an allocation of {{[0-9]+}} bytes; block

func.func @norms(%x: tensor<3xCOLSxf32>, %r: tensor<3xCOLSxf32>, %w: tensor<COLSxf32>) -> (tensor<3xCOLSxf32>, tensor<3xCOLSxf32>) {
  %s = arith.addf %x, %r : tensor<3xCOLSxf32>
  %y = nn.rms_norm %s, %w {epsilon = 1.0e-5 : f64} : (tensor<3xCOLSxf32>, tensor<COLSxf32>) -> tensor<3xCOLSxf32>
  return %s, %y : tensor<3xCOLSxf32>, tensor<3xCOLSxf32>
}
func.func @layer_norm(%x: tensor<3xCOLSxf32>, %w: tensor<COLSxf32>) -> tensor<3xCOLSxf32> {
  %y = nn.layer_norm %x, %w bias %w {epsilon = 1.0e-5 : f64} : (tensor<3xCOLSxf32>, tensor<COLSxf32>, tensor<COLSxf32>) -> tensor<3xCOLSxf32>
  return %y : tensor<3xCOLSxf32>
}
func.func @swiglu(%x: tensor<33xCOLSxf32>, %g: tensor<33xCOLSxf32>) -> tensor<33xCOLSxf32> {
  %a = nn.silu %g : tensor<33xCOLSxf32>
  %y = arith.mulf %a, %x : tensor<33xCOLSxf32>
  return %y : tensor<33xCOLSxf32>
}
func.func @embedding(%ids: tensor<2x33xi64>, %table: tensor<29xCOLSxf32>) -> tensor<2x33xCOLSxf32> {
  %y = nn.embedding %ids, %table : (tensor<2x33xi64>, tensor<29xCOLSxf32>) -> tensor<2x33xCOLSxf32>
  return %y : tensor<2x33xCOLSxf32>
}
