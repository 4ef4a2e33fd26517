// A Llama with grouped heads and a table that is also the head, of 2 layers.
func.func @main(%ids: tensor<2x8xi64> {tp.name = "input_ids"}, %labels: tensor<2x8xi64> {tp.name = "labels"}) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}) {
  %table = tp.parameter "model.embed_tokens.weight" : tensor<21x16xf32>
  %e = nn.embedding %ids, %table : (tensor<2x8xi64>, tensor<21x16xf32>) -> tensor<2x8x16xf32>
  %zero = arith.constant 0 : index
  %cos, %sin = nn.rotary_table offset %zero {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  %last = tp.repeat 2 times iter(%e) : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32> {
  ^bb0(%i: index, %h: tensor<2x8x16xf32>):
    %w_n1 = tp.parameter "model.layers.{i}.input_layernorm.weight" : tensor<16xf32>
    %n1 = nn.rms_norm %h, %w_n1 {epsilon = 1.0e-5 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>) -> tensor<2x8x16xf32>
    %w_q = tp.parameter "model.layers.{i}.self_attn.q_proj.weight" : tensor<16x16xf32>
    %q = nn.linear %n1, %w_q : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 8, 4, 4] : tensor<2x8x16xf32> into tensor<2x8x4x4xf32>
    %w_k = tp.parameter "model.layers.{i}.self_attn.k_proj.weight" : tensor<8x16xf32>
    %k = nn.linear %n1, %w_k : (tensor<2x8x16xf32>, tensor<8x16xf32>) -> tensor<2x8x8xf32>
    %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %w_v = tp.parameter "model.layers.{i}.self_attn.v_proj.weight" : tensor<8x16xf32>
    %v = nn.linear %n1, %w_v : (tensor<2x8x16xf32>, tensor<8x16xf32>) -> tensor<2x8x8xf32>
    %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
    %qr = nn.rotary %qh, %cos, %sin : (tensor<2x8x4x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2x8x4x4xf32>
    %kr = nn.rotary %kh, %cos, %sin : (tensor<2x8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2x8x2x4xf32>
    %o = nn.attention %qr, %kr, %vh {causal, scale = 0.5 : f64} : (tensor<2x8x4x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>) -> tensor<2x8x4x4xf32>
    %oj = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
    %w_attn = tp.parameter "model.layers.{i}.self_attn.o_proj.weight" : tensor<16x16xf32>
    %attn = nn.linear %oj, %w_attn : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    %h1 = arith.addf %h, %attn : tensor<2x8x16xf32>
    %w_n2 = tp.parameter "model.layers.{i}.post_attention_layernorm.weight" : tensor<16xf32>
    %n2 = nn.rms_norm %h1, %w_n2 {epsilon = 1.0e-5 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>) -> tensor<2x8x16xf32>
    %w_gate = tp.parameter "model.layers.{i}.mlp.gate_proj.weight" : tensor<24x16xf32>
    %gate = nn.linear %n2, %w_gate : (tensor<2x8x16xf32>, tensor<24x16xf32>) -> tensor<2x8x24xf32>
    %w_up = tp.parameter "model.layers.{i}.mlp.up_proj.weight" : tensor<24x16xf32>
    %up = nn.linear %n2, %w_up : (tensor<2x8x16xf32>, tensor<24x16xf32>) -> tensor<2x8x24xf32>
    %act = nn.silu %gate : tensor<2x8x24xf32>
    %gated = arith.mulf %act, %up : tensor<2x8x24xf32>
    %w_down = tp.parameter "model.layers.{i}.mlp.down_proj.weight" : tensor<16x24xf32>
    %down = nn.linear %gated, %w_down : (tensor<2x8x24xf32>, tensor<16x24xf32>) -> tensor<2x8x16xf32>
    %h2 = arith.addf %h1, %down : tensor<2x8x16xf32>
    tp.yield %h2 : tensor<2x8x16xf32>
  }
  %w_norm = tp.parameter "model.norm.weight" : tensor<16xf32>
  %n = nn.rms_norm %last, %w_norm {epsilon = 1.0e-5 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>) -> tensor<2x8x16xf32>
  %logits = nn.linear %n, %table : (tensor<2x8x16xf32>, tensor<21x16xf32>) -> tensor<2x8x21xf32>
  %each = nn.cross_entropy %logits, %labels : (tensor<2x8x21xf32>, tensor<2x8xi64>) -> tensor<2x8xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce ins(%each : tensor<2x8xf32>) outs(%none : tensor<f32>) dimensions = [0, 1] (%in: f32, %out: f32) {
    %sum = arith.addf %out, %in : f32
    linalg.yield %sum : f32
  }
  return %loss : tensor<f32>
}
