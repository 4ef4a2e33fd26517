// RUN: tp-opt %s --tp-form-gemms --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-form-gemms=target=cuda --split-input-file | FileCheck %s --check-prefix=CUDA

// An activation whose result goes to a library joins the GEMM.
// CHECK-LABEL: func @mlp
// CHECK: %[[A:.*]] = call @gemm_0(%arg0, %arg1, %arg2)
// CHECK: %[[B:.*]] = call @gemm_1(%[[A]], %arg3)
// CHECK: return %[[B]]
// CHECK: func private @gemm_0
// CHECK-SAME: tp.kernel = "gemm"
// CHECK: nn.linear
// CHECK-SAME: bias
// CHECK: nn.gelu tanh
// CHECK: func private @gemm_1
// CHECK-NOT: nn.gelu
func.func @mlp(%x: tensor<1x8x64xf32>, %w: tensor<96x64xf32>, %b: tensor<96xf32>, %v: tensor<64x96xf32>) -> tensor<1x8x64xf32> {
  %0 = nn.linear %x, %w bias %b : (tensor<1x8x64xf32>, tensor<96x64xf32>, tensor<96xf32>) -> tensor<1x8x96xf32>
  %1 = nn.gelu tanh %0 : tensor<1x8x96xf32>
  %2 = nn.linear %1, %v : (tensor<1x8x96xf32>, tensor<64x96xf32>) -> tensor<1x8x64xf32>
  return %2 : tensor<1x8x64xf32>
}

// -----

// One that feeds element-wise work stays out: the row kernel computes it in the
// same pass over memory. Products of the same rows are one call, which what reads
// the first has to wait for.
// CHECK-LABEL: func @gated
// CHECK: %[[P:.*]]:2 = call @gemm_0(%arg0, %arg1, %arg2)
// CHECK: %[[S:.*]] = nn.silu %[[P]]#0
// CHECK: arith.mulf %[[S]], %[[P]]#1
// CHECK: func private @gemm_0
// CHECK-SAME: tp.kernel = "gemm"
// CHECK: %[[A:.*]] = nn.linear %arg0, %arg1
// CHECK: %[[B:.*]] = nn.linear %arg0, %arg2
// CHECK: return %[[A]], %[[B]]
// CHECK-NOT: @gemm_1
// CUDA-LABEL: func @gated
// CUDA: %[[P:.*]]:2 = call @gemm_0(%arg0, %arg1, %arg2)
// CUDA: nn.silu %[[P]]#0
// CUDA-NOT: @gemm_1
func.func @gated(%x: tensor<1x8x64xf32>, %g: tensor<96x64xf32>, %u: tensor<96x64xf32>) -> tensor<1x8x96xf32> {
  %0 = nn.linear %x, %g : (tensor<1x8x64xf32>, tensor<96x64xf32>) -> tensor<1x8x96xf32>
  %1 = nn.silu %0 : tensor<1x8x96xf32>
  %2 = nn.linear %x, %u : (tensor<1x8x64xf32>, tensor<96x64xf32>) -> tensor<1x8x96xf32>
  %3 = arith.mulf %1, %2 : tensor<1x8x96xf32>
  return %3 : tensor<1x8x96xf32>
}

// -----

// Three of different heights, one of which has a bias and an activation.
// CUDA-LABEL: func @three
// CHECK-LABEL: func @three
// CHECK: call @gemm_0(%arg0, %arg1, %arg3, %arg2)
// CHECK-NOT: call
// CHECK: func private @gemm_0
// CHECK: nn.linear
// CHECK: %[[B:.*]] = nn.linear %arg0, %arg1 bias %arg2
// CHECK-NEXT: nn.silu %[[B]]
// CHECK-NEXT: nn.linear
// CHECK-NOT: nn.linear
func.func @three(%x: tensor<8x64xf32>, %w: tensor<96x64xf32>, %v: tensor<32x64xf32>, %b: tensor<96xf32>) -> (tensor<8x32xf32>, tensor<8x96xf32>, tensor<8x32xf32>) {
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<96x64xf32>) -> tensor<8x96xf32>
  %1 = nn.linear %x, %w bias %b : (tensor<8x64xf32>, tensor<96x64xf32>, tensor<96xf32>) -> tensor<8x96xf32>
  %2 = nn.silu %1 : tensor<8x96xf32>
  %3 = nn.linear %x, %v : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  %4 = tensor.extract_slice %0[0, 0] [8, 32] [1, 1] : tensor<8x96xf32> to tensor<8x32xf32>
  return %4, %2, %3 : tensor<8x32xf32>, tensor<8x96xf32>, tensor<8x32xf32>
}

// -----

// Not of other rows, of results of another type, of what the first makes, or with
// a library call between them.
// CHECK-LABEL: func @apart
// CHECK-COUNT-6: {{%[^:]*}} = call @gemm_
// CHECK: nn.cache_write
// CHECK-NEXT: {{%[^:]*}} = call @gemm_
func.func @apart(%x: tensor<8x64xf32>, %z: tensor<64x64xf32>, %h: tensor<8x64xbf16>, %w: tensor<64x64xf32>, %u: tensor<64x64xbf16>, %cells: tensor<8xi32>, %pool: tensor<32x1x64xf32>) -> (tensor<8x64xf32>, tensor<64x64xf32>, tensor<8x64xbf16>, tensor<8x64xf32>, tensor<32x1x64xf32>, tensor<8x64xf32>) {
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = nn.linear %z, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %v = arith.mulf %1, %1 : tensor<64x64xf32>
  %made = nn.linear %z, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = nn.linear %h, %u : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  %3 = nn.linear %h, %u : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xf32>
  %4 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %heads = tensor.expand_shape %4 [[0, 1], [2]] output_shape [8, 1, 64] : tensor<8x64xf32> into tensor<8x1x64xf32>
  %5 = nn.cache_write %heads, %cells, %pool : (tensor<8x1x64xf32>, tensor<8xi32>, tensor<32x1x64xf32>) -> tensor<32x1x64xf32>
  %6 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %0, %made, %2, %3, %5, %6 : tensor<8x64xf32>, tensor<64x64xf32>, tensor<8x64xbf16>, tensor<8x64xf32>, tensor<32x1x64xf32>, tensor<8x64xf32>
}

// -----

// The library reads a constant bias from memory.
// CHECK-LABEL: func @constant_bias
// CHECK: %[[B:.*]] = arith.constant dense<5.0
// CHECK: call @gemm_0(%arg0, %arg1, %[[B]])
func.func @constant_bias(%x: tensor<1x8x64xf32>, %w: tensor<96x64xf32>) -> tensor<1x8x96xf32> {
  %b = arith.constant dense<5.0> : tensor<96xf32>
  %0 = nn.linear %x, %w bias %b : (tensor<1x8x64xf32>, tensor<96x64xf32>, tensor<96xf32>) -> tensor<1x8x96xf32>
  return %0 : tensor<1x8x96xf32>
}

// -----

// A device's library adds a residual that is read more than once; one that only
// a row kernel reads is added there, and so are the activations it lacks.
// CHECK-LABEL: func @residual
// CHECK: call @gemm_0
// CHECK: arith.addf
// CUDA-LABEL: func @residual
// CUDA: %[[H:.*]] = call @gemm_0(%arg0, %arg1, %arg2)
// CUDA-NEXT: %[[G:.*]] = call @gemm_1(%[[H]], %arg1)
// CUDA-NEXT: nn.gelu erf %[[G]]
// CUDA: %[[P:.*]] = call @gemm_1
// CUDA-NEXT: %[[T:.*]] = arith.addf %[[P]], %[[H]]
// CUDA-NEXT: arith.negf %[[T]]
// CUDA: func private @gemm_0
// CUDA: %[[Y:.*]] = nn.linear
// CUDA-NEXT: arith.addf %[[Y]], %arg2
// CUDA: func private @gemm_1
// CUDA-NOT: nn.gelu
func.func @residual(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %r: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %h = arith.addf %0, %r : tensor<8x64xf32>
  %1 = nn.linear %h, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %2 = nn.gelu erf %1 : tensor<8x64xf32>
  %3 = nn.linear %2, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %4 = arith.addf %3, %h : tensor<8x64xf32>
  %5 = arith.negf %4 : tensor<8x64xf32>
  return %5, %2 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// What nothing reads is dropped, and what only that read.
// CHECK-LABEL: func @unread
// CHECK-NEXT: return %arg0
// CHECK-NOT: gemm_
func.func @unread(%x: tensor<5x4xf32>, %w: tensor<4x4xf32>) -> tensor<5x4xf32> {
  %0 = nn.linear %x, %w : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %1 = nn.linear %0, %w : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  return %x : tensor<5x4xf32>
}

// -----

// A device multiplies factors of one type, and adds what has the result's: narrower
// ones become f32 before, a result that is neither behind.
// CHECK-LABEL: func @types
// CHECK-NOT: arith.extf
// CHECK: call @gemm_0(%arg0, %arg1, %arg2)
// CHECK: call @gemm_1(%arg3, %arg1)
// CUDA-LABEL: func @types
// CUDA: %[[B:.*]] = arith.extf %arg2 : tensor<32xbf16> to tensor<32xf32>
// CUDA: call @gemm_0(%arg0, %arg1, %[[B]]) : (tensor<8x64xbf16>, tensor<32x64xbf16>, tensor<32xf32>) -> tensor<8x32xf32>
// CUDA: %[[W:.*]] = arith.extf %arg1 : tensor<32x64xbf16> to tensor<32x64xf32>
// CUDA: %[[D:.*]] = call @gemm_1(%arg3, %[[W]]) : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
// CUDA: arith.truncf %[[D]] : tensor<8x64xf32> to tensor<8x64xbf16>
func.func @types(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>, %d: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x64xbf16>) {
  %0 = nn.linear %x, %w bias %b : (tensor<8x64xbf16>, tensor<32x64xbf16>, tensor<32xbf16>) -> tensor<8x32xf32>
  %1 = nn.matmul %d, %w : (tensor<8x32xf32>, tensor<32x64xbf16>) -> tensor<8x64xbf16>
  return %0, %1 : tensor<8x32xf32>, tensor<8x64xbf16>
}
