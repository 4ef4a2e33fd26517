// RUN: not tp-compile %s --target cuda:ptx -o %t.tpa 2>&1 | FileCheck %s
// RUN: not ls %t.tpa

// Quantised experts have no kernel on a device.

// CHECK: error: 'nn.quantized_experts' op is computed by 'quantized_experts', which target 'cuda' has not: expected an operation with a function there, or another target
func.func @experts(%x: tensor<9x40xf32>, %logits: tensor<9x6xf32>) -> tensor<9x24xf32> {
  %routing = nn.router %logits {normalized, top_k = 2 : i64} : (tensor<9x6xf32>) -> tensor<9x6xf32>
  %gate = tp.parameter "quantized.{e}.gate" storage <"F8_E4M3"> : tensor<6x8x40xf8E4M3FN>
  %up = tp.parameter "quantized.{e}.up" storage <"F8_E4M3"> : tensor<6x8x40xf8E4M3FN>
  %down = tp.parameter "quantized.{e}.down" storage <"F8_E4M3"> : tensor<6x24x8xf8E4M3FN>
  %gs = tp.parameter "quantized.{e}.gate_scale" storage <"F32"> : tensor<6x8x1xf32>
  %us = tp.parameter "quantized.{e}.up_scale" storage <"F32"> : tensor<6x8x1xf32>
  %ds = tp.parameter "quantized.{e}.down_scale" storage <"F32"> : tensor<6x24x1xf32>
  %g = nn.dequantize %gate, %gs {group = array<i64: 1, 1, 0>} : (tensor<6x8x40xf8E4M3FN>, tensor<6x8x1xf32>) -> tensor<6x8x40xf32>
  %u = nn.dequantize %up, %us {group = array<i64: 1, 1, 0>} : (tensor<6x8x40xf8E4M3FN>, tensor<6x8x1xf32>) -> tensor<6x8x40xf32>
  %d = nn.dequantize %down, %ds {group = array<i64: 1, 1, 0>} : (tensor<6x24x8xf8E4M3FN>, tensor<6x24x1xf32>) -> tensor<6x24x8xf32>
  %0 = nn.experts %x, %routing, %g, %u, %d {activation = "silu", active = 0.5 : f64} : (tensor<9x40xf32>, tensor<9x6xf32>, tensor<6x8x40xf32>, tensor<6x8x40xf32>, tensor<6x24x8xf32>) -> tensor<9x24xf32>
  return %0 : tensor<9x24xf32>
}
