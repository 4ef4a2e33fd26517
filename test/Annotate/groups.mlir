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

// Two groups for four ranks: each is read as two that share a scale, and a zero
// point. The file has scales of inputs by outputs.
// CHECK-LABEL: func.func @smaller
// CHECK: tp.parameter "down_proj.qweight" {{.*}} {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]}
// CHECK: tp.parameter "down_proj.scales" source <shape = [4, 6], offsets = [0, 0], permutation = [1, 0]> storage <"F16", repeat = [2, 1]> : tensor<6x4xf16>
// CHECK: tp.parameter "down_proj.qzeros" source <shape = [4, 6], offsets = [0, 0], permutation = [1, 0]> storage <"I32", bits = 4, dim = 1, offset = 7, repeat = [2, 1]> : tensor<6x4xi8>
// CHECK: nn.dequantize {{.*}} {group = array<i64: 1, 16>}
func.func @smaller(%x: tensor<3x64xf32>) -> tensor<3x6xf32> {
  %q = tp.parameter "down_proj.qweight" source <shape = [64, 6], offsets = [0, 0], permutation = [1, 0]> storage <"I32", bits = 4, dim = 0, offset = 8> : tensor<6x64xi4>
  %s = tp.parameter "down_proj.scales" source <shape = [2, 6], offsets = [0, 0], permutation = [1, 0]> storage <"F16"> : tensor<6x2xf16>
  %z = tp.parameter "down_proj.qzeros" source <shape = [2, 6], offsets = [0, 0], permutation = [1, 0]> storage <"I32", bits = 4, dim = 1, offset = 7> : tensor<6x2xi8>
  %w = nn.dequantize %q, %s zeros %z {group = array<i64: 1, 32>} : (tensor<6x64xi4>, tensor<6x2xf16>, tensor<6x2xi8>) -> tensor<6x64xf32>
  %y = nn.linear %x, %w : (tensor<3x64xf32>, tensor<6x64xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}
