// Scales of a GGUF file's K types stay blocks of an f16 and a byte for each group,
// and so do the minima; where a rank has no whole blocks, they are f32.
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-store-quantized))' | FileCheck %s
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-store-quantized{pack-groups=false}))' | FileCheck %s --check-prefix=OFF
// OFF-NOT: blocks

// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<8x256xf32>) -> tensor<8x32xf32> {
  %q = tp.parameter "l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<32x256xi4>
  // CHECK: %[[S:.*]] = tp.parameter "l.weight_scale_blocks" storage <"I8"> {tp.global_type = tensor<64x10xi8>, tp.packed_groups = 8 : i64} : tensor<32x10xi8>
  %s = tp.parameter "l.weight_scale" storage <"F32"> {tp.global_type = tensor<64x8xf32>, tp.packed_groups = 8 : i64} : tensor<32x8xf32>
  // CHECK: %[[Z:.*]] = tp.parameter "l.weight_zero_point_blocks" storage <"I8"> {{.*}} : tensor<32x10xi8>
  %z = tp.parameter "l.weight_zero_point" storage <"F32"> {tp.global_type = tensor<64x8xf32>, tp.packed_groups = 8 : i64} : tensor<32x8xf32>
  // CHECK-NOT: xf32> {tp
  %w = nn.dequantize %q, %s zeros %z {group = array<i64: 1, 32>} : (tensor<32x256xi4>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x256xf32>
  // CHECK: nn.quantized_linear %{{.*}}, %{{.*}}, %[[S]] zeros %[[Z]] {element = i4, group = array<i64: 1, 32>, packed = 8 : i64}
  %y = nn.linear %x, %w : (tensor<8x256xf32>, tensor<32x256xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// CHECK-LABEL: func.func @cut
func.func @cut(%x: tensor<8x128xf32>) -> tensor<8x32xf32> {
  %q = tp.parameter "l.weight" storage <"I8"> : tensor<32x128xi8>
  // CHECK: tp.parameter "l.weight_scale" storage <"F32">
  %s = tp.parameter "l.weight_scale" storage <"F32"> {tp.packed_groups = 16 : i64} : tensor<32x8xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 16>} : (tensor<32x128xi8>, tensor<32x8xf32>) -> tensor<32x128xf32>
  // CHECK: nn.quantized_linear
  // CHECK-NOT: packed
  %y = nn.linear %x, %w : (tensor<8x128xf32>, tensor<32x128xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
