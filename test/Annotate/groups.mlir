// RUN: tp-opt %s --tp-annotate="mesh=tp=4" | FileCheck %s

// Five groups over four ranks: two, two, one and none. What makes the inputs is cut
// at the same places, scales wherever propagation finds.
// CHECK: tp.parameter "gate_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp" grain 16}, {}]>]}
// CHECK: tp.parameter "up_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp" grain 16}, {}]>]}
// CHECK: tp.parameter "down_proj.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp" grain 16}]>]}
// CHECK: tp.parameter "down_proj.weight_scale" storage <"F16"> : tensor<6x5xf16>
func.func @main(%x: tensor<3x10xf32>) -> tensor<3x6xf32> {
  %gw = tp.parameter "gate_proj.weight" : tensor<80x10xf32>
  %uw = tp.parameter "up_proj.weight" : tensor<80x10xf32>
  %g = nn.linear %x, %gw : (tensor<3x10xf32>, tensor<80x10xf32>) -> tensor<3x80xf32>
  %u = nn.linear %x, %uw : (tensor<3x10xf32>, tensor<80x10xf32>) -> tensor<3x80xf32>
  %a = nn.silu %g : tensor<3x80xf32>
  %h = arith.mulf %a, %u : tensor<3x80xf32>
  %q = tp.parameter "down_proj.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<6x80xi4>
  %s = tp.parameter "down_proj.weight_scale" storage <"F16"> : tensor<6x5xf16>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 16>} : (tensor<6x80xi4>, tensor<6x5xf16>) -> tensor<6x80xf32>
  %y = nn.linear %h, %w : (tensor<3x80xf32>, tensor<6x80xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}
