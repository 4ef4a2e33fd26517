// Products of one row on a device are row kernels, with what stands around them:
// the two of a gated MLP with activation and gate, the third with its residual, and
// one with a bias, of sizes that fill no vectors. They compute what they say. A norm
// before or behind one has a row and stays out of it: the product's block would be one.
// RUN: tp-opt %s --tp-schedule-pipeline=target=cuda -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tp-check-kernels %t.mlir | FileCheck %s --check-prefix=EXECUTED

// CHECK: func private @gemm_0
// CHECK: tp.label = "rms_norm"
// CHECK: tp.label = "linear+silu+mulf"
// CHECK: tp.label = "linear+addf"
// CHECK: tp.label = "linear+gelu"

// EXECUTED: rows_0: right
// EXECUTED-NEXT: rows_1: right
// EXECUTED-NEXT: rows_2: right
// EXECUTED-NEXT: rows_3: right

// Two rows are a GEMM.
func.func @two(%x: tensor<2x64xf32>, %w: tensor<32x64xf32>) -> tensor<2x32xf32> {
  %0 = nn.linear %x, %w : (tensor<2x64xf32>, tensor<32x64xf32>) -> tensor<2x32xf32>
  return %0 : tensor<2x32xf32>
}

func.func @mlp(%x: tensor<1x1x256xbf16>, %n: tensor<256xbf16>, %g: tensor<520x256xbf16>, %u: tensor<520x256xbf16>, %d: tensor<256x520xbf16>) -> (tensor<1x1x256xbf16>, tensor<1x1x256xbf16>) {
  %y = nn.rms_norm %x, %n {epsilon = 1.0e-5 : f64} : (tensor<1x1x256xbf16>, tensor<256xbf16>) -> tensor<1x1x256xbf16>
  %0 = nn.linear %y, %g : (tensor<1x1x256xbf16>, tensor<520x256xbf16>) -> tensor<1x1x520xbf16>
  %1 = nn.linear %y, %u : (tensor<1x1x256xbf16>, tensor<520x256xbf16>) -> tensor<1x1x520xbf16>
  %2 = nn.silu %0 : tensor<1x1x520xbf16>
  %3 = arith.mulf %2, %1 : tensor<1x1x520xbf16>
  %4 = nn.linear %3, %d : (tensor<1x1x520xbf16>, tensor<256x520xbf16>) -> tensor<1x1x256xbf16>
  %5 = arith.addf %4, %x : tensor<1x1x256xbf16>
  %6 = nn.rms_norm %5, %n {epsilon = 1.0e-5 : f64} : (tensor<1x1x256xbf16>, tensor<256xbf16>) -> tensor<1x1x256xbf16>
  return %5, %6 : tensor<1x1x256xbf16>, tensor<1x1x256xbf16>
}

func.func @bias(%x: tensor<1x83xf32>, %w: tensor<37x83xf32>, %b: tensor<37xf32>) -> tensor<1x37xf32> {
  %0 = nn.linear %x, %w bias %b : (tensor<1x83xf32>, tensor<37x83xf32>, tensor<37xf32>) -> tensor<1x37xf32>
  %1 = nn.gelu tanh %0 : tensor<1x37xf32>
  return %1 : tensor<1x37xf32>
}
