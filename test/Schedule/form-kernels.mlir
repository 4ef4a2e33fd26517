// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-lower-to-linalg),cse,tp-form-kernels)' --split-input-file | FileCheck %s

// Residual and norm are one kernel with two results, statistics included.
// CHECK-LABEL: func @residual_norm
// CHECK: %[[R:.*]]:2 = call @rows_0(%arg0, %arg1, %arg2)
// CHECK-NOT: call
// CHECK: return %[[R]]#0, %[[R]]#1
// CHECK: func private @rows_0
// CHECK-SAME: tp.kernel = "rows", tp.label = "addf+rms_norm", tp.row_dims = 2 : i64
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: linalg.generic
func.func @residual_norm(%x: tensor<1x64x48xf32>, %y: tensor<1x64x48xf32>, %w: tensor<48xf32>) -> (tensor<1x64x48xf32>, tensor<1x64x48xf32>) {
  %0 = arith.addf %x, %y : tensor<1x64x48xf32>
  %1 = nn.rms_norm %0, %w {epsilon = 1.0e-5 : f64} : (tensor<1x64x48xf32>, tensor<48xf32>) -> tensor<1x64x48xf32>
  return %0, %1 : tensor<1x64x48xf32>, tensor<1x64x48xf32>
}

// -----

// Gate and up are one kernel; the same work twice is one function.
// CHECK-LABEL: func @gated
// CHECK: %[[A:.*]] = call @rows_0(%arg0, %arg1)
// CHECK: %[[G:.*]] = call @gemm(%[[A]])
// CHECK: %[[B:.*]] = call @rows_0(%arg1, %[[G]])
// CHECK: return %[[B]]
// CHECK-NOT: @rows_1
func.func private @gemm(%x: tensor<64x96xf32>) -> tensor<64x96xf32> attributes {tp.kernel = "gemm"}
func.func @gated(%g: tensor<64x96xf32>, %u: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %0 = nn.silu %g : tensor<64x96xf32>
  %1 = arith.mulf %0, %u : tensor<64x96xf32>
  %2 = call @gemm(%1) : (tensor<64x96xf32>) -> tensor<64x96xf32>
  %3 = nn.silu %u : tensor<64x96xf32>
  %4 = arith.mulf %3, %2 : tensor<64x96xf32>
  return %4 : tensor<64x96xf32>
}

// -----

// A transpose is read across rows: two kernels.
// CHECK-LABEL: func @transpose
// CHECK: %[[A:.*]] = call @rows_0(%arg0)
// CHECK: call @rows_1(%[[A]])
func.func @transpose(%x: tensor<64x48xf32>) -> tensor<48x64xf32> {
  %0 = math.exp %x : tensor<64x48xf32>
  %e = tensor.empty() : tensor<48x64xf32>
  %1 = linalg.transpose ins(%0 : tensor<64x48xf32>) outs(%e : tensor<48x64xf32>) permutation = [1, 0]
  %2 = arith.negf %1 : tensor<48x64xf32>
  return %2 : tensor<48x64xf32>
}

// -----

// What a GEMM stands between is not fused around it.
// CHECK-LABEL: func @around
// CHECK: %[[A:.*]] = call @rows_0(%arg0)
// CHECK: %[[B:.*]] = call @gemm(%[[A]])
// CHECK: call @rows_1(%[[A]], %[[B]])
func.func private @gemm(%x: tensor<64x48xf32>) -> tensor<64x48xf32> attributes {tp.kernel = "gemm"}
func.func @around(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %0 = math.exp %x : tensor<64x48xf32>
  %1 = call @gemm(%0) : (tensor<64x48xf32>) -> tensor<64x48xf32>
  %2 = arith.addf %0, %1 : tensor<64x48xf32>
  return %2 : tensor<64x48xf32>
}

// -----

// Rows of a table are read by the kernel that uses them.
// CHECK-LABEL: func @embedding
// CHECK: call @rows_0(
// CHECK-NOT: call
// CHECK: func private @rows_0
// CHECK: tensor.extract
func.func @embedding(%ids: tensor<1x64xi64>, %table: tensor<100x48xf32>) -> tensor<1x64x48xf32> {
  %0 = nn.embedding %ids, %table : (tensor<1x64xi64>, tensor<100x48xf32>) -> tensor<1x64x48xf32>
  %1 = math.exp %0 : tensor<1x64x48xf32>
  return %1 : tensor<1x64x48xf32>
}
