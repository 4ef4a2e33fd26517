// RUN: tp-opt %s --tp-schedule-pipeline=target=cuda --tp-generate-gpu-kernels --tp-lower-step=target=cuda | FileCheck %s

// What a GEMM of a device does beside the product is in the manifest, a factor
// as f32 has it. GEMMs that differ in it are different.

// CHECK: \22activation\22:\22relu\22,\22bias\22:false
// CHECK-SAME: \22residual\22:false,\22scale\22:0.3333333432674408,
// CHECK-SAME: \22activation\22:\22none\22,\22bias\22:false
// CHECK-SAME: \22residual\22:true,\22scale\22:-0.5,
// CHECK-SAME: \22activation\22:\22none\22,\22bias\22:false
// CHECK-SAME: \22residual\22:false,\22w_type
// CHECK-SAME: \22activation\22:\22relu\22,\22bias\22:true
// CHECK-SAME: \22residual\22:false,\22w_type
// CHECK-NOT: \22scale
// CHECK-LABEL: func.func private @main.step
// CHECK-NOT: linalg
func.func @main(%x: tensor<8x64xbf16>) -> (tensor<8x64xbf16>, tensor<8x64xbf16>) {
  %w = tp.parameter "w" : tensor<64x64xbf16>
  %b = tp.parameter "b" : tensor<64xbf16>
  %three = arith.constant dense<3.0> : tensor<8x64xbf16>
  %half = arith.constant dense<-0.5> : tensor<8x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<8x64xbf16>
  %0 = nn.linear %x, %w : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  %1 = arith.divf %0, %three : tensor<8x64xbf16>
  %2 = arith.maximumf %1, %zero fastmath<nnan> : tensor<8x64xbf16>
  %3 = nn.linear %2, %w : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  %4 = arith.mulf %3, %half : tensor<8x64xbf16>
  %5 = arith.addf %x, %4 : tensor<8x64xbf16>
  %6 = nn.linear %5, %w : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  %7 = nn.linear %6, %w bias %b : (tensor<8x64xbf16>, tensor<64x64xbf16>, tensor<64xbf16>) -> tensor<8x64xbf16>
  %8 = arith.maximumf %7, %zero fastmath<nnan> : tensor<8x64xbf16>
  return %5, %8 : tensor<8x64xbf16>, tensor<8x64xbf16>
}
