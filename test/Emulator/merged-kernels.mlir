// Steps of other sizes run one kernel with their own numbers and grids: each is right,
// and a fault in the code that they share is noticed.
// RUN: tp-check-kernels %s --seeds 1 | FileCheck %s
// RUN: tp-check-kernels %s --seeds 1 --break=off-by-one-bound | FileCheck %s --check-prefix=BROKEN
// RUN: tp-compile %s --target cuda:ptx --save-kernels=%t -o %t.tpa
// RUN: FileCheck %s --check-prefix=PTX < %t/kernels.ptx
// RUN: tp-inspect %t.tpa --json | FileCheck %s --check-prefix=MANIFEST

// CHECK-COUNT-5: : right in
// BROKEN: rows_0: off-by-one-bound: noticed
// BROKEN: cache_write_0: off-by-one-bound: noticed
// PTX-COUNT-3: .entry
// PTX-NOT: .entry
// MANIFEST: "code": "rows_0",
// MANIFEST: "code": "cache_write_0",
func.func @step_3(%x: tensor<3x40xf32>, %y: tensor<3x40xf32>) -> tensor<3x40xf32> {
  %0 = arith.mulf %x, %y : tensor<3x40xf32>
  return %0 : tensor<3x40xf32>
}
func.func @step_16(%x: tensor<16x40xf32>, %y: tensor<16x40xf32>) -> tensor<16x40xf32> {
  %0 = arith.mulf %x, %y : tensor<16x40xf32>
  return %0 : tensor<16x40xf32>
}
func.func @step_129(%x: tensor<129x40xf32>, %y: tensor<129x40xf32>) -> tensor<129x40xf32> {
  %0 = arith.mulf %x, %y : tensor<129x40xf32>
  return %0 : tensor<129x40xf32>
}
func.func @write_3(%k: tensor<3x2x64xbf16>, %pool: tensor<16x2x64xbf16>) -> tensor<16x2x64xbf16> {
  %cells = arith.constant dense<[3, 15, 0]> : tensor<3xi32>
  %0 = nn.cache_write %k, %cells, %pool : (tensor<3x2x64xbf16>, tensor<3xi32>, tensor<16x2x64xbf16>) -> tensor<16x2x64xbf16>
  return %0 : tensor<16x2x64xbf16>
}
func.func @write_5(%k: tensor<5x2x64xbf16>, %pool: tensor<16x2x64xbf16>) -> tensor<16x2x64xbf16> {
  %cells = arith.constant dense<[3, 15, -1, 0, 16]> : tensor<5xi32>
  %0 = nn.cache_write %k, %cells, %pool : (tensor<5x2x64xbf16>, tensor<5xi32>, tensor<16x2x64xbf16>) -> tensor<16x2x64xbf16>
  return %0 : tensor<16x2x64xbf16>
}
