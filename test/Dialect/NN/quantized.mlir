// RUN: tp-opt %s | tp-opt | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s
// RUN: tp-opt %s --tp-decompose-nn | FileCheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
func.func @forms(%q: tensor<6x10xi4>, %f: tensor<6x10xf8E4M3FN>, %s: tensor<6x3xf16>, %z: tensor<6x3xi8>, %g: tensor<10xi32>, %one: tensor<1x1xf32>, %b: tensor<2x3xf32>) {
  // CHECK: nn.dequantize %{{.*}}, %{{.*}} {group = array<i64: 1, 4>} : (tensor<6x10xi4>, tensor<6x3xf16>) -> tensor<6x10xf32>
  %0 = nn.dequantize %q, %s {group = array<i64: 1, 4>} : (tensor<6x10xi4>, tensor<6x3xf16>) -> tensor<6x10xf32>
  // CHECK: nn.dequantize %{{.*}}, %{{.*}} zeros %{{.*}} groups %{{.*}} {group = array<i64: 1, 0>} : (tensor<6x10xi4>, tensor<6x3xf16>, tensor<6x3xi8>, tensor<10xi32>) -> tensor<6x10xf32>
  %1 = nn.dequantize %q, %s zeros %z groups %g {group = array<i64: 1, 0>} : (tensor<6x10xi4>, tensor<6x3xf16>, tensor<6x3xi8>, tensor<10xi32>) -> tensor<6x10xf32>
  // CHECK: nn.dequantize %{{.*}}, %{{.*}} {group = array<i64: 0, 0>} : (tensor<6x10xf8E4M3FN>, tensor<1x1xf32>) -> tensor<6x10xf32>
  %2 = nn.dequantize %f, %one {group = array<i64: 0, 0>} : (tensor<6x10xf8E4M3FN>, tensor<1x1xf32>) -> tensor<6x10xf32>
  // CHECK: nn.dequantize %{{.*}}, %{{.*}} {group = array<i64: 4, 4>} : (tensor<6x10xf8E4M3FN>, tensor<2x3xf32>) -> tensor<6x10xf32>
  %3 = nn.dequantize %f, %b {group = array<i64: 4, 4>} : (tensor<6x10xf8E4M3FN>, tensor<2x3xf32>) -> tensor<6x10xf32>
  return
}

// The definition: (value - zero) * scale in f32, of the group that the operand
// says.
// LOOPS-LABEL: func.func @definition
// LOOPS: linalg.generic
// LOOPS: ^bb0(%[[Q:.*]]: i4, %{{.*}}: f32):
// LOOPS: %[[K:.*]] = linalg.index 1
// LOOPS: %[[VALUE:.*]] = arith.sitofp %[[Q]] : i4 to f32
// LOOPS: %[[NUMBER:.*]] = tensor.extract %{{.*}}[%[[K]]] : tensor<10xi32>
// LOOPS: arith.index_cast %[[NUMBER]] : i32 to index
// LOOPS: %[[ZERO:.*]] = arith.sitofp %{{.*}} : i8 to f32
// LOOPS: %[[DIFFERENCE:.*]] = arith.subf %[[VALUE]], %[[ZERO]] : f32
// LOOPS: %[[SCALE:.*]] = arith.extf %{{.*}} : f16 to f32
// LOOPS: arith.mulf %[[DIFFERENCE]], %[[SCALE]] : f32
func.func @definition(%q: tensor<6x10xi4>, %s: tensor<6x3xf16>, %z: tensor<6x3xi8>, %g: tensor<10xi32>) -> tensor<6x10xf32> {
  %0 = nn.dequantize %q, %s zeros %z groups %g {group = array<i64: 1, 0>} : (tensor<6x10xi4>, tensor<6x3xf16>, tensor<6x3xi8>, tensor<10xi32>) -> tensor<6x10xf32>
  return %0 : tensor<6x10xf32>
}

// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<2x10xbf16>, %q: tensor<6x5xi8>, %s: tensor<6x3xf16>, %z: tensor<6x3xi8>, %b: tensor<6xf32>) {
  // CHECK: nn.quantized_linear %{{.*}}, %{{.*}}, %{{.*}} zeros %{{.*}} bias %{{.*}} {element = i4, group = array<i64: 1, 4>} : (tensor<2x10xbf16>, tensor<6x5xi8>, tensor<6x3xf16>, tensor<6x3xi8>, tensor<6xf32>) -> tensor<2x6xf32>
  %0 = nn.quantized_linear %x, %q, %s zeros %z bias %b {element = i4, group = array<i64: 1, 4>} : (tensor<2x10xbf16>, tensor<6x5xi8>, tensor<6x3xf16>, tensor<6x3xi8>, tensor<6xf32>) -> tensor<2x6xf32>
  return
}
