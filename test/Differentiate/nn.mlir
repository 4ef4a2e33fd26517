// Every nn operation with a derivative, by each of its operands: a gradient that
// differs names the operation. Ids and labels are also outside of the vocabulary,
// and in the second row no key is seen.
// RUN: tp-verify %s --derivative | FileCheck %s
// RUN: tp-verify %s --derivative --seed 2 | FileCheck %s
// CHECK: derivative: equal, gradients of 43 parameters compared
// CHECK-NOT: cannot judge

func.func @main(%r: tensor<96xf32>, %ids: tensor<2x3xi64> {tp.range = array<i64: -2, 9>}, %labels: tensor<2x3xi64> {tp.range = array<i64: -2, 9>}) -> (tensor<f32> {tp.loss}) {
  %l0 = arith.constant dense<0.0> : tensor<f32>
  %mask = arith.constant dense<[[1, 1, 0, 1, 0], [0, 0, 0, 0, 0]]> : tensor<2x5xi64>
  %linear_input = tp.parameter "linear.input" : tensor<2x3x4xf32>
  %linear_weight = tp.parameter "linear.weight" : tensor<5x4xf32>
  %linear_bias = tp.parameter "linear.bias" : tensor<5xf32>
  %linear = nn.linear %linear_input, %linear_weight bias %linear_bias : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %f0 = tensor.collapse_shape %linear [[0, 1, 2]] : tensor<2x3x5xf32> into tensor<30xf32>
  %r0 = tensor.extract_slice %r[0] [30] [1] : tensor<96xf32> to tensor<30xf32>
  %l1 = linalg.dot ins(%f0, %r0 : tensor<30xf32>, tensor<30xf32>) outs(%l0 : tensor<f32>) -> tensor<f32>
  %rows = nn.linear %linear_input, %linear_weight : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  %f1 = tensor.collapse_shape %rows [[0, 1, 2]] : tensor<2x3x5xf32> into tensor<30xf32>
  %r1 = tensor.extract_slice %r[0] [30] [1] : tensor<96xf32> to tensor<30xf32>
  %l2 = linalg.dot ins(%f1, %r1 : tensor<30xf32>, tensor<30xf32>) outs(%l1 : tensor<f32>) -> tensor<f32>
  %all_query = tp.parameter "all.query" : tensor<2x3x4x4xf32>
  %all_key = tp.parameter "all.key" : tensor<2x5x2x4xf32>
  %all_value = tp.parameter "all.value" : tensor<2x5x2x4xf32>
  %all:2 = nn.attention %all_query, %all_key, %all_value {scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4xf32>)
  %f2 = tensor.collapse_shape %all#0 [[0, 1, 2, 3]] : tensor<2x3x4x4xf32> into tensor<96xf32>
  %r2 = tensor.extract_slice %r[0] [96] [1] : tensor<96xf32> to tensor<96xf32>
  %l3 = linalg.dot ins(%f2, %r2 : tensor<96xf32>, tensor<96xf32>) outs(%l2 : tensor<f32>) -> tensor<f32>
  %f3 = tensor.collapse_shape %all#1 [[0, 1, 2]] : tensor<2x3x4xf32> into tensor<24xf32>
  %r3 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l4 = linalg.dot ins(%f3, %r3 : tensor<24xf32>, tensor<24xf32>) outs(%l3 : tensor<f32>) -> tensor<f32>
  %causal_query = tp.parameter "causal.query" : tensor<2x3x4x4xf32>
  %causal_key = tp.parameter "causal.key" : tensor<2x5x2x4xf32>
  %causal_value = tp.parameter "causal.value" : tensor<2x5x2x4xf32>
  %causal:2 = nn.attention %causal_query, %causal_key, %causal_value {causal, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4xf32>)
  %f4 = tensor.collapse_shape %causal#0 [[0, 1, 2, 3]] : tensor<2x3x4x4xf32> into tensor<96xf32>
  %r4 = tensor.extract_slice %r[0] [96] [1] : tensor<96xf32> to tensor<96xf32>
  %l5 = linalg.dot ins(%f4, %r4 : tensor<96xf32>, tensor<96xf32>) outs(%l4 : tensor<f32>) -> tensor<f32>
  %f5 = tensor.collapse_shape %causal#1 [[0, 1, 2]] : tensor<2x3x4xf32> into tensor<24xf32>
  %r5 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l6 = linalg.dot ins(%f5, %r5 : tensor<24xf32>, tensor<24xf32>) outs(%l5 : tensor<f32>) -> tensor<f32>
  %window_query = tp.parameter "window.query" : tensor<2x3x4x4xf32>
  %window_key = tp.parameter "window.key" : tensor<2x5x2x4xf32>
  %window_value = tp.parameter "window.value" : tensor<2x5x2x4xf32>
  %window:2 = nn.attention %window_query, %window_key, %window_value {causal, window = 2 : i64, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4xf32>)
  %f6 = tensor.collapse_shape %window#0 [[0, 1, 2, 3]] : tensor<2x3x4x4xf32> into tensor<96xf32>
  %r6 = tensor.extract_slice %r[0] [96] [1] : tensor<96xf32> to tensor<96xf32>
  %l7 = linalg.dot ins(%f6, %r6 : tensor<96xf32>, tensor<96xf32>) outs(%l6 : tensor<f32>) -> tensor<f32>
  %f7 = tensor.collapse_shape %window#1 [[0, 1, 2]] : tensor<2x3x4xf32> into tensor<24xf32>
  %r7 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l8 = linalg.dot ins(%f7, %r7 : tensor<24xf32>, tensor<24xf32>) outs(%l7 : tensor<f32>) -> tensor<f32>
  %masked_query = tp.parameter "masked.query" : tensor<2x3x4x4xf32>
  %masked_key = tp.parameter "masked.key" : tensor<2x5x2x4xf32>
  %masked_value = tp.parameter "masked.value" : tensor<2x5x2x4xf32>
  %masked:2 = nn.attention %masked_query, %masked_key, %masked_value mask %mask {scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5xi64>) -> (tensor<2x3x4x4xf32>, tensor<2x3x4xf32>)
  %f8 = tensor.collapse_shape %masked#0 [[0, 1, 2, 3]] : tensor<2x3x4x4xf32> into tensor<96xf32>
  %r8 = tensor.extract_slice %r[0] [96] [1] : tensor<96xf32> to tensor<96xf32>
  %l9 = linalg.dot ins(%f8, %r8 : tensor<96xf32>, tensor<96xf32>) outs(%l8 : tensor<f32>) -> tensor<f32>
  %rms_norm_input = tp.parameter "rms_norm.input" : tensor<2x3x6xf32>
  %rms_norm_weight = tp.parameter "rms_norm.weight" : tensor<6xf32>
  %rms = nn.rms_norm %rms_norm_input, %rms_norm_weight {epsilon = 0.01 : f64} : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
  %f9 = tensor.collapse_shape %rms [[0, 1, 2]] : tensor<2x3x6xf32> into tensor<36xf32>
  %r9 = tensor.extract_slice %r[0] [36] [1] : tensor<96xf32> to tensor<36xf32>
  %l10 = linalg.dot ins(%f9, %r9 : tensor<36xf32>, tensor<36xf32>) outs(%l9 : tensor<f32>) -> tensor<f32>
  %layer_norm_input = tp.parameter "layer_norm.input" : tensor<2x3x6xf32>
  %layer_norm_weight = tp.parameter "layer_norm.weight" : tensor<6xf32>
  %layer_norm_bias = tp.parameter "layer_norm.bias" : tensor<6xf32>
  %ln = nn.layer_norm %layer_norm_input, %layer_norm_weight bias %layer_norm_bias {epsilon = 0.01 : f64} : (tensor<2x3x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
  %f10 = tensor.collapse_shape %ln [[0, 1, 2]] : tensor<2x3x6xf32> into tensor<36xf32>
  %r10 = tensor.extract_slice %r[0] [36] [1] : tensor<96xf32> to tensor<36xf32>
  %l11 = linalg.dot ins(%f10, %r10 : tensor<36xf32>, tensor<36xf32>) outs(%l10 : tensor<f32>) -> tensor<f32>
  %plain = nn.layer_norm %layer_norm_input, %layer_norm_weight {epsilon = 0.01 : f64} : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
  %f11 = tensor.collapse_shape %plain [[0, 1, 2]] : tensor<2x3x6xf32> into tensor<36xf32>
  %r11 = tensor.extract_slice %r[0] [36] [1] : tensor<96xf32> to tensor<36xf32>
  %l12 = linalg.dot ins(%f11, %r11 : tensor<36xf32>, tensor<36xf32>) outs(%l11 : tensor<f32>) -> tensor<f32>
  %rotary_input = tp.parameter "rotary.input" : tensor<2x3x2x6xf32>
  %zero = arith.constant 0 : index
  %cos, %sin = nn.rotary_table offset %zero {inv_freq = dense<[1.0, 0.3]> : tensor<2xf32>} : tensor<3x2xf32>, tensor<3x2xf32>
  %rotary = nn.rotary %rotary_input, %cos, %sin : (tensor<2x3x2x6xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x3x2x6xf32>
  %f12 = tensor.collapse_shape %rotary [[0, 1, 2, 3]] : tensor<2x3x2x6xf32> into tensor<72xf32>
  %r12 = tensor.extract_slice %r[0] [72] [1] : tensor<96xf32> to tensor<72xf32>
  %l13 = linalg.dot ins(%f12, %r12 : tensor<72xf32>, tensor<72xf32>) outs(%l12 : tensor<f32>) -> tensor<f32>
  %embedding_table = tp.parameter "embedding.table" : tensor<7x4xf32>
  %embedding = nn.embedding %ids, %embedding_table : (tensor<2x3xi64>, tensor<7x4xf32>) -> tensor<2x3x4xf32>
  %f13 = tensor.collapse_shape %embedding [[0, 1, 2]] : tensor<2x3x4xf32> into tensor<24xf32>
  %r13 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l14 = linalg.dot ins(%f13, %r13 : tensor<24xf32>, tensor<24xf32>) outs(%l13 : tensor<f32>) -> tensor<f32>
  %cross_entropy_logits = tp.parameter "cross_entropy.logits" : tensor<2x3x7xf32>
  %ce:2 = nn.cross_entropy %cross_entropy_logits, %labels : (tensor<2x3x7xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %f14 = tensor.collapse_shape %ce#0 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %r14 = tensor.extract_slice %r[0] [6] [1] : tensor<96xf32> to tensor<6xf32>
  %l15 = linalg.dot ins(%f14, %r14 : tensor<6xf32>, tensor<6xf32>) outs(%l14 : tensor<f32>) -> tensor<f32>
  %f15 = tensor.collapse_shape %ce#1 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %r15 = tensor.extract_slice %r[0] [6] [1] : tensor<96xf32> to tensor<6xf32>
  %l16 = linalg.dot ins(%f15, %r15 : tensor<6xf32>, tensor<6xf32>) outs(%l15 : tensor<f32>) -> tensor<f32>
  %softmax_input = tp.parameter "softmax.input" : tensor<3x8xf32>
  %softmax = nn.softmax %softmax_input : tensor<3x8xf32>
  %f16 = tensor.collapse_shape %softmax [[0, 1]] : tensor<3x8xf32> into tensor<24xf32>
  %r16 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l17 = linalg.dot ins(%f16, %r16 : tensor<24xf32>, tensor<24xf32>) outs(%l16 : tensor<f32>) -> tensor<f32>
  %gelu_erf_input = tp.parameter "gelu_erf.input" : tensor<3x8xf32>
  %gelu_erf = nn.gelu erf %gelu_erf_input : tensor<3x8xf32>
  %f17 = tensor.collapse_shape %gelu_erf [[0, 1]] : tensor<3x8xf32> into tensor<24xf32>
  %r17 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l18 = linalg.dot ins(%f17, %r17 : tensor<24xf32>, tensor<24xf32>) outs(%l17 : tensor<f32>) -> tensor<f32>
  %gelu_tanh_input = tp.parameter "gelu_tanh.input" : tensor<3x8xf32>
  %gelu_tanh = nn.gelu tanh %gelu_tanh_input : tensor<3x8xf32>
  %f18 = tensor.collapse_shape %gelu_tanh [[0, 1]] : tensor<3x8xf32> into tensor<24xf32>
  %r18 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l19 = linalg.dot ins(%f18, %r18 : tensor<24xf32>, tensor<24xf32>) outs(%l18 : tensor<f32>) -> tensor<f32>
  %silu_input = tp.parameter "silu.input" : tensor<3x8xf32>
  %silu = nn.silu %silu_input : tensor<3x8xf32>
  %f19 = tensor.collapse_shape %silu [[0, 1]] : tensor<3x8xf32> into tensor<24xf32>
  %r19 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l20 = linalg.dot ins(%f19, %r19 : tensor<24xf32>, tensor<24xf32>) outs(%l19 : tensor<f32>) -> tensor<f32>
  %dropout_input = tp.parameter "dropout.input" : tensor<3x8xf32>
  %seed = arith.constant dense<7> : tensor<i64>
  %dropout = nn.dropout %dropout_input, %seed, %seed {op_id = 3 : i64, probability = 0.25 : f64} : tensor<3x8xf32>
  %f20 = tensor.collapse_shape %dropout [[0, 1]] : tensor<3x8xf32> into tensor<24xf32>
  %r20 = tensor.extract_slice %r[0] [24] [1] : tensor<96xf32> to tensor<24xf32>
  %l21 = linalg.dot ins(%f20, %r20 : tensor<24xf32>, tensor<24xf32>) outs(%l20 : tensor<f32>) -> tensor<f32>
  %matmul_weight = tp.parameter "matmul.weight" : tensor<4x5xf32>
  %matmul = nn.matmul %linear_input, %matmul_weight : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %f21 = tensor.collapse_shape %matmul [[0, 1, 2]] : tensor<2x3x5xf32> into tensor<30xf32>
  %l22 = linalg.dot ins(%f21, %r0 : tensor<30xf32>, tensor<30xf32>) outs(%l21 : tensor<f32>) -> tensor<f32>
  %matmul_rows = tp.parameter "matmul.rows" : tensor<2x3x5xf32>
  %outer = nn.matmul %linear_input, %matmul_rows {transposed} : (tensor<2x3x4xf32>, tensor<2x3x5xf32>) -> tensor<4x5xf32>
  %f22 = tensor.collapse_shape %outer [[0, 1]] : tensor<4x5xf32> into tensor<20xf32>
  %r22 = tensor.extract_slice %r[0] [20] [1] : tensor<96xf32> to tensor<20xf32>
  %l23 = linalg.dot ins(%f22, %r22 : tensor<20xf32>, tensor<20xf32>) outs(%l22 : tensor<f32>) -> tensor<f32>
  %formed_query = tp.parameter "formed.query" : tensor<2x3x4x4xf32>
  %formed_key = tp.parameter "formed.key" : tensor<2x5x2x4xf32>
  %formed_value = tp.parameter "formed.value" : tensor<2x5x2x3xf32>
  %formed_bias = tp.parameter "formed.bias" : tensor<4x3x5xf32>
  %formed_sinks = tp.parameter "formed.sinks" : tensor<4xf32>
  %formed:2 = nn.attention %formed_query, %formed_key, %formed_value mask %mask bias %formed_bias sinks %formed_sinks {soft_cap = 1.5 : f64, window = 4 : i64, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x3xf32>, tensor<2x5xi64>, tensor<4x3x5xf32>, tensor<4xf32>) -> (tensor<2x3x4x3xf32>, tensor<2x3x4xf32>)
  %f23 = tensor.collapse_shape %formed#0 [[0, 1, 2, 3]] : tensor<2x3x4x3xf32> into tensor<72xf32>
  %r23 = tensor.extract_slice %r[0] [72] [1] : tensor<96xf32> to tensor<72xf32>
  %l24 = linalg.dot ins(%f23, %r23 : tensor<72xf32>, tensor<72xf32>) outs(%l23 : tensor<f32>) -> tensor<f32>
  %shared_bias = tp.parameter "shared.bias" : tensor<1x3x5xf32>
  %shared = nn.attention %all_query, %all_key, %all_value bias %shared_bias {causal, scale = 0.5 : f64} : (tensor<2x3x4x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<1x3x5xf32>) -> tensor<2x3x4x4xf32>
  %f24 = tensor.collapse_shape %shared [[0, 1, 2, 3]] : tensor<2x3x4x4xf32> into tensor<96xf32>
  %l25 = linalg.dot ins(%f24, %r : tensor<96xf32>, tensor<96xf32>) outs(%l24 : tensor<f32>) -> tensor<f32>
  %r48 = tensor.extract_slice %r[0] [48] [1] : tensor<96xf32> to tensor<48xf32>
  %e_x = tp.parameter "experts.input" : tensor<2x3x4xf32>
  %e_w = tp.parameter "experts.router" : tensor<5x4xf32>
  %e_gate = tp.parameter "experts.gate" : tensor<5x6x4xf32>
  %e_up = tp.parameter "experts.up" : tensor<5x6x4xf32>
  %e_down = tp.parameter "experts.down" : tensor<5x8x6xf32>
  %e_logits = nn.linear %e_x, %e_w : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  %e_w0 = nn.router %e_logits {normalized, top_k = 2 : i64, scale = 1.5 : f64} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %e_y0 = nn.experts %e_x, %e_w0, %e_gate, %e_up, %e_down {activation = "silu"} : (tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<5x8x6xf32>) -> tensor<2x3x8xf32>
  %e_f0 = tensor.collapse_shape %e_y0 [[0, 1, 2]] : tensor<2x3x8xf32> into tensor<48xf32>
  %l26 = linalg.dot ins(%e_f0, %r48 : tensor<48xf32>, tensor<48xf32>) outs(%l25 : tensor<f32>) -> tensor<f32>
  %e_w1 = nn.router %e_logits {top_k = 3 : i64, scale = 0.75 : f64} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %e_y1 = nn.experts %e_x, %e_w1, %e_gate, %e_up, %e_down {activation = "gelu_erf"} : (tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<5x8x6xf32>) -> tensor<2x3x8xf32>
  %e_f1 = tensor.collapse_shape %e_y1 [[0, 1, 2]] : tensor<2x3x8xf32> into tensor<48xf32>
  %l27 = linalg.dot ins(%e_f1, %r48 : tensor<48xf32>, tensor<48xf32>) outs(%l26 : tensor<f32>) -> tensor<f32>
  %e_w2 = nn.router %e_logits {normalized, sigmoid, top_k = 2 : i64, scale = 2.5 : f64} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %e_y2 = nn.experts %e_x, %e_w2, %e_gate, %e_up, %e_down {activation = "gelu_tanh"} : (tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<5x8x6xf32>) -> tensor<2x3x8xf32>
  %e_f2 = tensor.collapse_shape %e_y2 [[0, 1, 2]] : tensor<2x3x8xf32> into tensor<48xf32>
  %l28 = linalg.dot ins(%e_f2, %r48 : tensor<48xf32>, tensor<48xf32>) outs(%l27 : tensor<f32>) -> tensor<f32>
  %e_w3 = nn.router %e_logits {sigmoid, top_k = 4 : i64} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %e_in = arith.constant dense<[1, 1, 0, 1, 1, 0]> : tensor<6xi32>
  %e_y3 = nn.experts %e_x, %e_w3, %e_gate, %e_up, %e_down inside %e_in {activation = "silu"} : (tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<5x8x6xf32>, tensor<6xi32>) -> tensor<2x3x8xf32>
  %e_f3 = tensor.collapse_shape %e_y3 [[0, 1, 2]] : tensor<2x3x8xf32> into tensor<48xf32>
  %l29 = linalg.dot ins(%e_f3, %r48 : tensor<48xf32>, tensor<48xf32>) outs(%l28 : tensor<f32>) -> tensor<f32>
  %e_gb = tp.parameter "experts.gate_bias" : tensor<5x6xf32>
  %e_ub = tp.parameter "experts.up_bias" : tensor<5x6xf32>
  %e_y4 = nn.experts %e_x, %e_w1, %e_gate, %e_up, %e_down biases %e_gb, %e_ub {activation = "silu", alpha = 1.702 : f64, limit = 0.3 : f64, up_offset = 1.0 : f64} : (tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<5x8x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>) -> tensor<2x3x8xf32>
  %e_f4 = tensor.collapse_shape %e_y4 [[0, 1, 2]] : tensor<2x3x8xf32> into tensor<48xf32>
  %l30 = linalg.dot ins(%e_f4, %r48 : tensor<48xf32>, tensor<48xf32>) outs(%l29 : tensor<f32>) -> tensor<f32>
  return %l30 : tensor<f32>
}
