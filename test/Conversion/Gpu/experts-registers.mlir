// REQUIRES: ptxas
// Rows that 16 bytes do not divide take more registers than two blocks of a
// multiprocessor leave: such a kernel is content with one, and none spills.
// RUN: rm -rf %t && tp-compile %s --target cuda:sm_80,sm_90 --save-kernels=%t -o %t.tpa
// RUN: %python %S/Inputs/check-resources.py %t/kernels.json 5 sm_80,sm_90
// RUN: FileCheck %s < %t/kernels.ptx

// CHECK-DAG: .minnctapersm 1
// CHECK-DAG: .minnctapersm 2

func.func @main(%x: tensor<2048x1000xbf16>, %r: tensor<2048x128xf32>, %g: tensor<128x300x1000xbf16>, %u: tensor<128x300x1000xbf16>, %d: tensor<128x1000x300xbf16>) -> tensor<2048x1000xbf16> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.0625 : f64, top_k = 8 : i64} : (tensor<2048x1000xbf16>, tensor<2048x128xf32>, tensor<128x300x1000xbf16>, tensor<128x300x1000xbf16>, tensor<128x1000x300xbf16>) -> tensor<2048x1000xbf16>
  return %y : tensor<2048x1000xbf16>
}
