// Experts with biases, bounds and inputs that are scaled, for whose derivative
// devices have no kernel (library-forms.mlir has all others).
// RUN: tp-verify %s --stages lower | FileCheck %s
// RUN: not tp-compile %s --plan replicated --target cuda -o %t.tpa 2>&1 | FileCheck %s --check-prefix=DEVICE

// DEVICE: error: 'nn.experts_backward' op with biases, limit, alpha or up_offset has no kernel on a device: expected none of them with this target; --target cpu:native computes them

// Bounded sides with biases, as gpt-oss has them, and weights of what is read, as Llama 4.
// CHECK: lower @gated_experts: equal
func.func @gated_experts(%x: tensor<6x40xf32>) -> (tensor<6x24xf32>, tensor<6x24xf32>) {
  %routing = arith.constant dense<[[0.5, 0.0, 0.25, 0.0], [0.0, 0.0, 1.0, 0.0], [0.125, 0.0, -0.5, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.25, 0.75], [1.0, 0.0, 2.0, 0.5]]> : tensor<6x4xf32>
  %gate = tp.parameter "experts.{e}.gate" : tensor<4x36x40xf32>
  %up = tp.parameter "experts.{e}.up" : tensor<4x36x40xf32>
  %down = tp.parameter "experts.{e}.down" : tensor<4x24x36xf32>
  %gb = tp.parameter "experts.gate_bias" : tensor<4x36xf32>
  %ub = tp.parameter "experts.up_bias" : tensor<4x36xf32>
  %0 = nn.experts %x, %routing, %gate, %up, %down biases %gb, %ub {activation = "silu", alpha = 1.702 : f64, limit = 0.75 : f64, up_offset = 1.0 : f64} : (tensor<6x40xf32>, tensor<6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>, tensor<4x36xf32>, tensor<4x36xf32>) -> tensor<6x24xf32>
  %1 = nn.experts %x, %routing, %gate, %up, %down {activation = "silu", scales_input} : (tensor<6x40xf32>, tensor<6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>) -> tensor<6x24xf32>
  return %0, %1 : tensor<6x24xf32>, tensor<6x24xf32>
}

// CHECK: lower @gated_experts_backward: equal
func.func @gated_experts_backward(%x: tensor<6x40xf32>, %dy: tensor<6x24xf32>) -> (tensor<6x40xf32>, tensor<6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>, tensor<4x36xf32>, tensor<4x36xf32>) {
  %routing = arith.constant dense<[[0.5, 0.0, 0.25, 0.0], [0.0, 0.0, 1.0, 0.0], [0.125, 0.0, -0.5, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.25, 0.75], [1.0, 0.0, 2.0, 0.5]]> : tensor<6x4xf32>
  %gate = tp.parameter "experts.{e}.gate" : tensor<4x36x40xf32>
  %up = tp.parameter "experts.{e}.up" : tensor<4x36x40xf32>
  %down = tp.parameter "experts.{e}.down" : tensor<4x24x36xf32>
  %gb = tp.parameter "experts.gate_bias" : tensor<4x36xf32>
  %ub = tp.parameter "experts.up_bias" : tensor<4x36xf32>
  %0:7 = nn.experts_backward %dy, %x, %routing, %gate, %up, %down biases %gb, %ub {activation = "silu", alpha = 1.702 : f64, limit = 0.75 : f64, up_offset = 1.0 : f64} : (tensor<6x24xf32>, tensor<6x40xf32>, tensor<6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>, tensor<4x36xf32>, tensor<4x36xf32>) -> (tensor<6x40xf32>, tensor<6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>, tensor<4x36xf32>, tensor<4x36xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 : tensor<6x40xf32>, tensor<6x4xf32>, tensor<4x36x40xf32>, tensor<4x36x40xf32>, tensor<4x24x36xf32>, tensor<4x36xf32>, tensor<4x36xf32>
}
