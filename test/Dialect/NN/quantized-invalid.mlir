// RUN: tp-opt %s -split-input-file -verify-diagnostics

func.func @rank(%q: tensor<6x10xi4>, %s: tensor<6x3xf16>) {
  // expected-error @below {{expected a group size for each of 2 dimensions, got 1}}
  %0 = nn.dequantize %q, %s {group = array<i64: 4>} : (tensor<6x10xi4>, tensor<6x3xf16>) -> tensor<6x10xf32>
  return
}

// -----

func.func @scales(%q: tensor<6x10xi4>, %s: tensor<6x2xf16>) {
  // expected-error @below {{expected scales of shape [6, 3], got [6, 2]}}
  %0 = nn.dequantize %q, %s {group = array<i64: 1, 4>} : (tensor<6x10xi4>, tensor<6x2xf16>) -> tensor<6x10xf32>
  return
}

// -----

func.func @negative(%q: tensor<6x10xi4>, %s: tensor<6x1xf16>) {
  // expected-error @below {{expected group sizes of at least 0, got -1}}
  %0 = nn.dequantize %q, %s {group = array<i64: 1, -1>} : (tensor<6x10xi4>, tensor<6x1xf16>) -> tensor<6x10xf32>
  return
}

// -----

func.func @zeros(%q: tensor<6x10xi4>, %s: tensor<6x3xf16>, %z: tensor<3x6xi8>) {
  // expected-error @below {{expected zeros of shape [6, 3], got [3, 6]}}
  %0 = nn.dequantize %q, %s zeros %z {group = array<i64: 1, 4>} : (tensor<6x10xi4>, tensor<6x3xf16>, tensor<3x6xi8>) -> tensor<6x10xf32>
  return
}

// -----

func.func @zeros_of_floats(%q: tensor<6x10xf8E4M3FN>, %s: tensor<6x3xf16>, %z: tensor<6x3xi8>) {
  // expected-error @below {{expected no zeros beside values of element type 'f8E4M3FN'}}
  %0 = nn.dequantize %q, %s zeros %z {group = array<i64: 1, 4>} : (tensor<6x10xf8E4M3FN>, tensor<6x3xf16>, tensor<6x3xi8>) -> tensor<6x10xf32>
  return
}

// -----

func.func @groups(%q: tensor<6x10xi4>, %s: tensor<6x3xf16>, %g: tensor<10xi32>) {
  // expected-error @below {{expected group 0 in the last dimension, whose groups are an operand}}
  %0 = nn.dequantize %q, %s groups %g {group = array<i64: 1, 4>} : (tensor<6x10xi4>, tensor<6x3xf16>, tensor<10xi32>) -> tensor<6x10xf32>
  return
}

// -----

func.func @number_of_groups(%q: tensor<6x10xi4>, %s: tensor<6x3xf16>, %g: tensor<6xi32>) {
  // expected-error @below {{expected groups of shape [10], got [6]}}
  %0 = nn.dequantize %q, %s groups %g {group = array<i64: 1, 0>} : (tensor<6x10xi4>, tensor<6x3xf16>, tensor<6xi32>) -> tensor<6x10xf32>
  return
}

// -----

func.func @bytes(%x: tensor<2x10xf32>, %q: tensor<6x10xi8>, %s: tensor<6x3xf16>) {
  // expected-error @below {{expected values of shape [6, 5], got [6, 10]}}
  %0 = nn.quantized_linear %x, %q, %s {element = i4, group = array<i64: 1, 4>} : (tensor<2x10xf32>, tensor<6x10xi8>, tensor<6x3xf16>) -> tensor<2x6xf32>
  return
}

// -----

func.func @element(%x: tensor<2x10xf32>, %q: tensor<6x10xi8>, %s: tensor<6x3xf16>) {
  // expected-error @below {{expected elements of type i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN, got 'i16'}}
  %0 = nn.quantized_linear %x, %q, %s {element = i16, group = array<i64: 1, 4>} : (tensor<2x10xf32>, tensor<6x10xi8>, tensor<6x3xf16>) -> tensor<2x6xf32>
  return
}

// -----

func.func @storage_word() {
  // expected-error @below {{expected bits that divide the 32 of a word of "I32" and a dimension to pack, got bits = 5, dim = 0}}
  %0 = tp.parameter "w" storage <"I32", bits = 5, dim = 0> : tensor<8xi4>
  return
}

// -----

func.func @storage_type() {
  // expected-error @below {{expected an element type of safetensors, got "i32"}}
  %0 = tp.parameter "w" storage <"i32"> : tensor<8xi4>
  return
}

// -----

func.func @storage_order() {
  // expected-error @below {{expected the order to be one of 0..7}}
  %0 = tp.parameter "w" storage <"I32", bits = 4, dim = 0, order = [0, 1]> : tensor<8xi4>
  return
}

// -----

func.func @storage_dim() {
  // expected-error @below {{expected a packed dimension of 'tensor<8xi4>', got 1}}
  %0 = tp.parameter "w" storage <"I32", bits = 4, dim = 1> : tensor<8xi4>
  return
}

// -----

func.func @storage_repeat() {
  // expected-error @below {{expected 1 counts of repeated elements for 'tensor<8xf32>', got 2}}
  %0 = tp.parameter "w" storage <"F32", repeat = [2, 2]> : tensor<8xf32>
  return
}

// -----

func.func @storage_repeat_zero() {
  // expected-error @below {{expected elements to be repeated at least once}}
  %0 = tp.parameter "w" storage <"F32", repeat = [0]> : tensor<8xf32>
  return
}

// -----

func.func @element(%x: tensor<8x64xf32>) -> tensor<8x1xf32> {
  // expected-error @below {{expected element to be i8, f8E4M3FN or f8E5M2, got 'i4'}}
  %s = nn.activation_scales %x {element = i4, group = 0} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  return %s : tensor<8x1xf32>
}

// -----

func.func @negative(%x: tensor<8x64xf32>) -> tensor<8x1xf32> {
  // expected-error @below {{expected a group size of at least 0, got -1}}
  %s = nn.activation_scales %x {element = i8, group = -1} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  return %s : tensor<8x1xf32>
}

// -----

func.func @bound(%x: tensor<8x64xf32>) -> tensor<8x1xf32> {
  // expected-error @below {{expected bound to be a finite number of at least 0}}
  %s = nn.activation_scales %x {bound = -1.0 : f64, element = i8, group = 0} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  return %s : tensor<8x1xf32>
}

// -----

func.func @quantize(%x: tensor<8x64xf32>, %s: tensor<8x2xf32>) -> tensor<8x64xi8> {
  // expected-error @below {{expected scales of shape [8, 1], got [8, 2]}}
  %q = nn.quantize %x, %s {group = array<i64: 1, 0>} : (tensor<8x64xf32>, tensor<8x2xf32>) -> tensor<8x64xi8>
  return %q : tensor<8x64xi8>
}

// -----

func.func @two(%x: tensor<8x64xf32>, %r: tensor<8x2xf32>, %q: tensor<2x4x64xi8>, %s: tensor<2x4x1xf32>) -> tensor<8x64xf32> {
  // expected-error @below {{expected values and scales, and zeros or none, of gate, up and down, got 2, 3 and 0}}
  %y = nn.quantized_experts %x, %r values %q, %q scales %s, %s, %s {activation = "silu", element = i8, group = array<i64: 1, 1, 0>, down_group = array<i64: 1, 1, 0>} : (tensor<8x64xf32>, tensor<8x2xf32>, tensor<2x4x64xi8>, tensor<2x4x64xi8>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

func.func @order() {
  // expected-error @below {{expected an order for packed elements only}}
  %q = tp.parameter "w" storage <"I8", order = [0]> : tensor<4x8xi8>
  return
}

// -----

func.func @key() {
  // expected-error @below {{expected bits, dim, order, offset or repeat, got width}}
  %q = tp.parameter "w" storage <"I8", width = 3> : tensor<4x8xi8>
  return
}

// -----

func.func @blocks(%x: tensor<3x96xf32>, %q: tensor<8x96xi8>, %s: tensor<8x5xi8>) {
  // expected-error @below {{expected groups in whole blocks of 8, got 3}}
  %0 = nn.quantized_linear %x, %q, %s {element = i8, group = array<i64: 1, 32>, packed = 8} : (tensor<3x96xf32>, tensor<8x96xi8>, tensor<8x5xi8>) -> tensor<3x8xf32>
  return
}

// -----

func.func @bytes(%x: tensor<3x256xf32>, %q: tensor<8x256xi8>, %s: tensor<8x10xf32>) {
  // expected-error @below {{expected packed scales and zeros of type i8, got 'f32'}}
  %0 = nn.quantized_linear %x, %q, %s {element = i8, group = array<i64: 1, 32>, packed = 8} : (tensor<3x256xf32>, tensor<8x256xi8>, tensor<8x10xf32>) -> tensor<3x8xf32>
  return
}
