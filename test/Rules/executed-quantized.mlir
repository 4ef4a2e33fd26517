// Quantised weights cut in the ways their rule allows, each value held against the
// one-device program; groups that a degree does not divide are padded whole.
// RUN: tp-verify %s | FileCheck %s
// RUN: tp-verify %s --stages lower | FileCheck %s --check-prefix=LOWER

tp.mesh @mesh <["tp"=4]>

// Outputs over four ranks: scales, zero points and values are cut alike.
// CHECK: partition @columns: equal
// LOWER: lower @columns: equal
func.func @columns(%x: tensor<3x48xf32>) -> tensor<3x22xf32> {
  %q = tp.parameter "c.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<22x48xi4>
  %s = tp.parameter "c.weight_scale" storage <"F16"> : tensor<22x3xf16>
  %z = tp.parameter "c.weight_zero_point" storage <"I32", bits = 4, dim = 0, offset = 8> : tensor<22x3xi8>
  %w = nn.dequantize %q, %s zeros %z {group = array<i64: 1, 16>} : (tensor<22x48xi4>, tensor<22x3xf16>, tensor<22x3xi8>) -> tensor<22x48xf32>
  %y = nn.linear %x, %w : (tensor<3x48xf32>, tensor<22x48xf32>) -> tensor<3x22xf32>
  return %y : tensor<3x22xf32>
}

// Inputs in five groups over four ranks: two on each of two, one on the third and
// none on the last.
// CHECK: partition @rows: equal
// LOWER: lower @rows: equal
func.func @rows(%x: tensor<3x80xf32>) -> tensor<3x6xf32> {
  %q = tp.parameter "r.weight" storage <"F8_E4M3"> {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp" grain 16}]>]} : tensor<6x80xf8E4M3FN>
  %s = tp.parameter "r.weight_scale_inv" storage <"F32", repeat = [4, 1]> : tensor<6x5xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 16>} : (tensor<6x80xf8E4M3FN>, tensor<6x5xf32>) -> tensor<6x80xf32>
  %y = nn.linear %x, %w : (tensor<3x80xf32>, tensor<6x80xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// Every rank has all scales where an operand says the groups: any cut will do.
// CHECK: partition @ordered: equal
// LOWER: lower @ordered: equal
func.func @ordered(%x: tensor<3x40xbf16>) -> tensor<3x6xf32> {
  %q = tp.parameter "o.qweight" source <shape = [40, 6], offsets = [0, 0], permutation = [1, 0]> storage <"I32", bits = 4, dim = 0, offset = 8> {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<6x40xi4>
  %s = tp.parameter "o.scales" source <shape = [3, 6], offsets = [0, 0], permutation = [1, 0]> storage <"F16"> : tensor<6x3xf16>
  %z = tp.parameter "o.qzeros" source <shape = [3, 6], offsets = [0, 0], permutation = [1, 0]> storage <"I32", bits = 4, dim = 1, offset = 7> : tensor<6x3xi8>
  %g = tp.parameter "o.g_idx" storage <"I32"> : tensor<40xi32>
  %w = nn.dequantize %q, %s zeros %z groups %g {group = array<i64: 1, 0>} : (tensor<6x40xi4>, tensor<6x3xf16>, tensor<6x3xi8>, tensor<40xi32>) -> tensor<6x40xf32>
  %y = nn.linear %x, %w : (tensor<3x40xbf16>, tensor<6x40xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// One scale, a scale of each output, blocks of both.
// CHECK: partition @scales: equal
// LOWER: lower @scales: equal
func.func @scales(%x: tensor<3x24xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) {
  %q = tp.parameter "t.weight" storage <"F8_E4M3"> {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x24xf8E4M3FN>
  %t = tp.parameter "t.weight_scale" storage <"F32"> : tensor<1x1xf32>
  %c = tp.parameter "t.channel" storage <"F32"> : tensor<8x1xf32>
  %b = tp.parameter "t.blocks" storage <"F32"> : tensor<2x3xf32>
  %r = tp.parameter "b.weight" storage <"F8_E4M3"> : tensor<8x24xf8E4M3FN>
  %0 = nn.dequantize %q, %t {group = array<i64: 0, 0>} : (tensor<8x24xf8E4M3FN>, tensor<1x1xf32>) -> tensor<8x24xf32>
  %1 = nn.dequantize %q, %c {group = array<i64: 1, 0>} : (tensor<8x24xf8E4M3FN>, tensor<8x1xf32>) -> tensor<8x24xf32>
  %2 = nn.dequantize %r, %b {group = array<i64: 4, 8>} : (tensor<8x24xf8E4M3FN>, tensor<2x3xf32>) -> tensor<8x24xf32>
  %y0 = nn.linear %x, %0 : (tensor<3x24xf32>, tensor<8x24xf32>) -> tensor<3x8xf32>
  %y1 = nn.linear %x, %1 : (tensor<3x24xf32>, tensor<8x24xf32>) -> tensor<3x8xf32>
  %y2 = nn.linear %x, %2 : (tensor<3x24xf32>, tensor<8x24xf32>) -> tensor<3x8xf32>
  return %y0, %y1, %y2 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
}

// Activations: a scale of a token is the largest of all ranks', one of a group is
// its own; what is rounded is cut as the layer's inputs are.
// CHECK: partition @token: equal
// LOWER: lower @token: equal
func.func @token(%x: tensor<3x48xf32>) -> tensor<3x6xf32> {
  %u = tp.parameter "a.up" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<22x48xf32>
  %h = nn.linear %x, %u : (tensor<3x48xf32>, tensor<22x48xf32>) -> tensor<3x22xf32>
  %as = nn.activation_scales %h {element = f8E4M3FN, group = 0} : (tensor<3x22xf32>) -> tensor<3x1xf32>
  %aq = nn.quantize %h, %as {group = array<i64: 1, 0>} : (tensor<3x22xf32>, tensor<3x1xf32>) -> tensor<3x22xf8E4M3FN>
  %a = nn.dequantize %aq, %as {group = array<i64: 1, 0>} : (tensor<3x22xf8E4M3FN>, tensor<3x1xf32>) -> tensor<3x22xf32>
  %q = tp.parameter "a.weight" storage <"F8_E4M3"> {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<6x22xf8E4M3FN>
  %s = tp.parameter "a.weight_scale" storage <"F32"> : tensor<6x1xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 0>} : (tensor<6x22xf8E4M3FN>, tensor<6x1xf32>) -> tensor<6x22xf32>
  %y = nn.linear %a, %w : (tensor<3x22xf32>, tensor<6x22xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// CHECK: partition @group: equal
// LOWER: lower @group: equal
func.func @group(%x: tensor<3x80xbf16>) -> tensor<3x6xbf16> {
  %as = nn.activation_scales %x {bound = 2.5 : f64, element = i8, group = 16} : (tensor<3x80xbf16>) -> tensor<3x5xf32>
  %aq = nn.quantize %x, %as {group = array<i64: 1, 16>} : (tensor<3x80xbf16>, tensor<3x5xf32>) -> tensor<3x80xi8>
  %a = nn.dequantize %aq, %as {group = array<i64: 1, 16>} : (tensor<3x80xi8>, tensor<3x5xf32>) -> tensor<3x80xf32>
  %q = tp.parameter "g.weight" storage <"I8"> {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp" grain 16}]>]} : tensor<6x80xi8>
  %s = tp.parameter "g.weight_scale" storage <"F32"> : tensor<6x1xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 0>} : (tensor<6x80xi8>, tensor<6x1xf32>) -> tensor<6x80xf32>
  %y = nn.linear %a, %w : (tensor<3x80xf32>, tensor<6x80xf32>) -> tensor<3x6xbf16>
  return %y : tensor<3x6xbf16>
}

// A last group that is short, and a format with a wider range.
// CHECK: partition @short: equal
// LOWER: lower @short: equal
func.func @short(%x: tensor<8x37xf32>) -> tensor<8x37xf32> {
  %as = nn.activation_scales %x {element = f8E5M2, group = 16} : (tensor<8x37xf32>) -> tensor<8x3xf32>
  %aq = nn.quantize %x, %as {group = array<i64: 1, 16>, tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : (tensor<8x37xf32>, tensor<8x3xf32>) -> tensor<8x37xf8E5M2>
  %a = nn.dequantize %aq, %as {group = array<i64: 1, 16>} : (tensor<8x37xf8E5M2>, tensor<8x3xf32>) -> tensor<8x37xf32>
  return %a : tensor<8x37xf32>
}
