// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-store-quantized))' | FileCheck %s

// A linear layer reads the bytes; two of four bits are one.
// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<8x63xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  // CHECK: %[[Q:.*]] = tp.parameter "l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> {tp.stored_type = tensor<32x63xi4>} : tensor<32x32xi8>
  %q = tp.parameter "l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<32x63xi4>
  // CHECK: %[[S:.*]] = tp.parameter "l.weight_scale"
  %s = tp.parameter "l.weight_scale" storage <"F16"> : tensor<32x2xf16>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 32>} : (tensor<32x63xi4>, tensor<32x2xf16>) -> tensor<32x63xf32>
  // CHECK-NOT: nn.dequantize
  // CHECK: nn.quantized_linear %{{.*}}, %[[Q]], %[[S]] bias %{{.*}} {element = i4, group = array<i64: 1, 32>} : (tensor<8x63xf32>, tensor<32x32xi8>, tensor<32x2xf16>, tensor<32xf32>) -> tensor<8x32xf32>
  %y = nn.linear %x, %w bias %b : (tensor<8x63xf32>, tensor<32x63xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// Whoever else reads a weight gets its numbers, with a warning that the tools print.
// CHECK-LABEL: func.func @other
func.func @other() -> tensor<4x8xf32> {
  // CHECK: tp.parameter "o.weight" {{.*}} : tensor<4x8xi8>
  %q = tp.parameter "o.weight" storage <"F8_E4M3"> : tensor<4x8xf8E4M3FN>
  %s = tp.parameter "o.weight_scale" storage <"F32"> : tensor<1x1xf32>
  // CHECK: linalg.generic
  // CHECK: tensor.extract
  // CHECK: arith.extui %{{.*}} : i8 to i32
  %w = nn.dequantize %q, %s {group = array<i64: 0, 0>} : (tensor<4x8xf8E4M3FN>, tensor<1x1xf32>) -> tensor<4x8xf32>
  return %w : tensor<4x8xf32>
}

// Elements of a token's input are multiplied; its scale comes after. Where groups
// of inputs have scales, the input is rounded and remains a number.
// CHECK-LABEL: func.func @token
func.func @token(%x: tensor<8x64xbf16>, %b: tensor<32xbf16>) -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %q = tp.parameter "t.weight" storage <"I8"> : tensor<32x64xi8>
  %s = tp.parameter "t.weight_scale" storage <"F32"> : tensor<32x1xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 0>} : (tensor<32x64xi8>, tensor<32x1xf32>) -> tensor<32x64xf32>
  // CHECK: %[[A:.*]] = nn.activation_scales
  // CHECK: %[[E:.*]] = linalg.generic
  // CHECK: math.roundeven
  // CHECK: -> tensor<8x64xbf16>
  // CHECK: %[[P:.*]] = nn.quantized_linear %[[E]], {{.*}}tp.integer_input{{.*}} : (tensor<8x64xbf16>, tensor<32x64xi8>, tensor<32x1xf32>) -> tensor<8x32xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<8x32xf32>, tensor<32xbf16>)
  // CHECK: tensor.extract %[[A]]
  %as = nn.activation_scales %x {element = i8, group = 0} : (tensor<8x64xbf16>) -> tensor<8x1xf32>
  %aq = nn.quantize %x, %as {group = array<i64: 1, 0>} : (tensor<8x64xbf16>, tensor<8x1xf32>) -> tensor<8x64xi8>
  %a = nn.dequantize %aq, %as {group = array<i64: 1, 0>} : (tensor<8x64xi8>, tensor<8x1xf32>) -> tensor<8x64xf32>
  %y = nn.linear %a, %w bias %b : (tensor<8x64xf32>, tensor<32x64xf32>, tensor<32xbf16>) -> tensor<8x32xbf16>
  // CHECK: nn.quantized_linear {{.*}} : (tensor<8x64xf32>, tensor<32x64xi8>, tensor<32x1xf32>) -> tensor<8x32xbf16>
  %gs = nn.activation_scales %x {element = i8, group = 32} : (tensor<8x64xbf16>) -> tensor<8x2xf32>
  %gq = nn.quantize %x, %gs {group = array<i64: 1, 32>} : (tensor<8x64xbf16>, tensor<8x2xf32>) -> tensor<8x64xi8>
  %g = nn.dequantize %gq, %gs {group = array<i64: 1, 32>} : (tensor<8x64xi8>, tensor<8x2xf32>) -> tensor<8x64xf32>
  %z = nn.linear %g, %w : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xbf16>
  return %y, %z : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// A table gives the rows that ids name, and a head that is the table multiplies by
// its bytes.
// CHECK-LABEL: func.func @table
// CHECK-SAME: %[[IDS:.*]]: tensor<5xi64>
func.func @table(%ids: tensor<5xi64>, %x: tensor<5x64xf32>) -> (tensor<5x64xf32>, tensor<5x70xf32>) {
  // CHECK: %[[Q:.*]] = tp.parameter "e.weight_packed" {{.*}} : tensor<70x32xi8>
  %q = tp.parameter "e.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<70x64xi4>
  %s = tp.parameter "e.weight_scale" storage <"F32"> : tensor<70x2xf32>
  // CHECK: %[[Z:.*]] = tp.parameter "e.weight_zero_point"
  %z = tp.parameter "e.weight_zero_point" storage <"F32"> : tensor<70x2xf32>
  %w = nn.dequantize %q, %s zeros %z {group = array<i64: 1, 32>} : (tensor<70x64xi4>, tensor<70x2xf32>, tensor<70x2xf32>) -> tensor<70x64xf32>
  // CHECK-NOT: nn.embedding
  // CHECK: linalg.generic {{.*}} ins(%[[IDS]] : tensor<5xi64>)
  // CHECK: tensor.extract %[[Q]]
  // CHECK: tensor.extract %[[Z]]
  %e = nn.embedding %ids, %w : (tensor<5xi64>, tensor<70x64xf32>) -> tensor<5x64xf32>
  // CHECK: nn.quantized_linear %{{.*}}, %[[Q]], %{{.*}} zeros %[[Z]] {element = i4
  %y = nn.linear %x, %w : (tensor<5x64xf32>, tensor<70x64xf32>) -> tensor<5x70xf32>
  return %e, %y : tensor<5x64xf32>, tensor<5x70xf32>
}
