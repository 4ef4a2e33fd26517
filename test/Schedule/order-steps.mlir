// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-order-steps))' --split-input-file | FileCheck %s
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-order-steps{least-bytes=1024}))' --split-input-file | FileCheck %s --check-prefix=LONG

tp.mesh @mesh <["tp"=2]>
func.func private @gemm(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"}
func.func private @rows(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "rows"}

// A product that does not need the sum comes before what does, with the kernel
// that makes its operand; another kernel stays, and so does a product that
// needs the sum. A sum of fewer bytes than asked for has nothing moved.
// CHECK-LABEL: func.func @products
// CHECK:      %[[P:.*]] = call @gemm(%arg0)
// CHECK-NEXT: %[[T:.*]] = call @rows(%arg1)
// CHECK-NEXT: %[[W:.*]] = call @gemm(%[[T]])
// CHECK-NEXT: %[[S:.*]] = tp.all_reduce sum %[[P]]
// CHECK-NEXT: %[[R:.*]] = call @rows(%[[S]])
// CHECK-NEXT: %[[N:.*]] = call @gemm(%[[R]])
// CHECK-NEXT: %[[O:.*]] = call @rows(%arg1)
// CHECK-NEXT: return %[[N]], %[[W]], %[[O]]
// LONG-LABEL: func.func @products
// LONG:      tp.all_reduce
// LONG-NEXT: call @rows
// LONG-NEXT: call @gemm
// LONG-NEXT: call @rows
// LONG-NEXT: call @gemm
// LONG-NEXT: call @rows
func.func @products(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %p = call @gemm(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = tp.all_reduce sum %p over @mesh ["tp"] : tensor<8x8xf32> -> tensor<8x8xf32>
  %r = call @rows(%s) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = call @gemm(%r) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = call @rows(%y) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %w = call @gemm(%t) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %o = call @rows(%y) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %n, %w, %o : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func private @gemm(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"}
func.func private @wide(%x: tensor<8x8xf32>) -> tensor<64x8xf32> attributes {tp.kernel = "gemm"}
func.func private @narrow(%x: tensor<64x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"}
func.func private @last(%x: tensor<64x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "rows"}

// The product's result would live beside the other large tensor.
// CHECK-LABEL: func.func @memory
// CHECK:      tp.all_reduce
// CHECK-NEXT: call @wide
// CHECK-NEXT: call @narrow
// CHECK-NEXT: call @wide
// CHECK-NEXT: call @last
func.func @memory(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %p = call @gemm(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = tp.all_reduce sum %p over @mesh ["tp"] : tensor<8x8xf32> -> tensor<8x8xf32>
  %r = call @wide(%s) : (tensor<8x8xf32>) -> tensor<64x8xf32>
  %n = call @narrow(%r) : (tensor<64x8xf32>) -> tensor<8x8xf32>
  %t = call @wide(%y) : (tensor<8x8xf32>) -> tensor<64x8xf32>
  %w = call @last(%t, %n) : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %w : tensor<8x8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func private @gemm(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"}
func.func private @both(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"}

// The gather that is needed last no longer comes first, and follows no view of
// its result.
// CHECK-LABEL: func.func @gathers
// CHECK:      %[[B:.*]] = tp.all_gather %arg1
// CHECK-NEXT: %[[G:.*]] = call @gemm(%[[B]])
// CHECK-NEXT: %[[A:.*]] = tp.all_gather %arg0
// CHECK-NEXT: %[[V:.*]] = tensor.expand_shape %[[A]]
// CHECK-NEXT: %[[W:.*]] = tensor.collapse_shape %[[V]]
// CHECK-NEXT: call @both(%[[G]], %[[W]])
func.func @gathers(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %a = tp.all_gather %x dim 0 over @mesh ["tp"] : tensor<4x8xf32> -> tensor<8x8xf32>
  %v = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 4, 8] : tensor<8x8xf32> into tensor<2x4x8xf32>
  %w = tensor.collapse_shape %v [[0, 1], [2]] : tensor<2x4x8xf32> into tensor<8x8xf32>
  %b = tp.all_gather %y dim 0 over @mesh ["tp"] : tensor<4x8xf32> -> tensor<8x8xf32>
  %g = call @gemm(%b) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = call @both(%g, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
