module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %cos39, %sin40 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 3.162277639e-01, 1.000000015e-01, 3.162277862e-02, 9.999999776e-03, 3.162277862e-03, 1.000000047e-03, 3.162277862e-04]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
    %p1 = tp.parameter "model.embed_tokens.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("model.embed_tokens.weight")
    %2 = nn.embedding %arg0, %p1 {padding_row = 0 : i64} : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("model.embed_tokens")
    %6 = tensor.empty() : tensor<1x16x64xf32> loc("model.embed_tokens")
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<1x16x64xf32>) outs(%6 : tensor<1x16x64xf32>) {
    ^bb0(%a3: f32, %o5: f32):
      %s4 = arith.constant 8.000000000e+00 : f32
      %s7 = arith.mulf %a3, %s4 : f32
      linalg.yield %s7 : f32
    } -> tensor<1x16x64xf32> loc("model.embed_tokens")
    %p9 = tp.parameter "model.layers.0.input_layernorm.weight" : tensor<64xf32> loc("model.layers.0.input_layernorm.weight")
    %13 = tensor.empty() : tensor<64xf32> loc("model.layers.0.input_layernorm")
    %15 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p9 : tensor<64xf32>) outs(%13 : tensor<64xf32>) {
    ^bb0(%a10: f32, %o12: f32):
      %s11 = arith.constant 1.000000000e+00 : f32
      %s14 = arith.addf %a10, %s11 : f32
      linalg.yield %s14 : f32
    } -> tensor<64xf32> loc("model.layers.0.input_layernorm")
    %16 = nn.rms_norm %8, %15 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.input_layernorm")
    %p17 = tp.parameter "model.layers.0.self_attn.q_norm.weight" : tensor<16xf32> loc("model.layers.0.self_attn.q_norm.weight")
    %21 = tensor.empty() : tensor<16xf32> loc("model.layers.0.self_attn.q_norm")
    %23 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p17 : tensor<16xf32>) outs(%21 : tensor<16xf32>) {
    ^bb0(%a18: f32, %o20: f32):
      %s19 = arith.constant 1.000000000e+00 : f32
      %s22 = arith.addf %a18, %s19 : f32
      linalg.yield %s22 : f32
    } -> tensor<16xf32> loc("model.layers.0.self_attn.q_norm")
    %p24 = tp.parameter "model.layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.q_proj.weight")
    %25 = nn.linear %16, %p24 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.q_proj")
    %26 = tensor.expand_shape %25 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.0.self_attn.q_proj")
    %27 = nn.rms_norm %26, %23 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x4x16xf32>, tensor<16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn.q_norm")
    %p28 = tp.parameter "model.layers.0.self_attn.k_norm.weight" : tensor<16xf32> loc("model.layers.0.self_attn.k_norm.weight")
    %32 = tensor.empty() : tensor<16xf32> loc("model.layers.0.self_attn.k_norm")
    %34 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p28 : tensor<16xf32>) outs(%32 : tensor<16xf32>) {
    ^bb0(%a29: f32, %o31: f32):
      %s30 = arith.constant 1.000000000e+00 : f32
      %s33 = arith.addf %a29, %s30 : f32
      linalg.yield %s33 : f32
    } -> tensor<16xf32> loc("model.layers.0.self_attn.k_norm")
    %p35 = tp.parameter "model.layers.0.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.k_proj.weight")
    %36 = nn.linear %16, %p35 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.k_proj")
    %37 = tensor.expand_shape %36 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.k_proj")
    %38 = nn.rms_norm %37, %34 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x2x16xf32>, tensor<16xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.k_norm")
    %41 = nn.rotary %27, %cos39, %sin40 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %42 = nn.rotary %38, %cos39, %sin40 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.0.self_attn")
    %p43 = tp.parameter "model.layers.0.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.v_proj.weight")
    %44 = nn.linear %16, %p43 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.v_proj")
    %45 = tensor.expand_shape %44 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.v_proj")
    %46 = nn.attention %41, %42, %45 {causal, scale = 2.50000000000000000e-01 : f64, window = 8 : i64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %47 = tensor.collapse_shape %46 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %p48 = tp.parameter "model.layers.0.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_attention_layernorm.weight")
    %52 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %54 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p48 : tensor<64xf32>) outs(%52 : tensor<64xf32>) {
    ^bb0(%a49: f32, %o51: f32):
      %s50 = arith.constant 1.000000000e+00 : f32
      %s53 = arith.addf %a49, %s50 : f32
      linalg.yield %s53 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %p55 = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.o_proj.weight")
    %56 = nn.linear %47, %p55 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %57 = nn.rms_norm %56, %54 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_attention_layernorm")
    %58 = arith.addf %8, %57 : tensor<1x16x64xf32> loc("model.layers.0")
    %p59 = tp.parameter "model.layers.0.pre_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm.weight")
    %63 = tensor.empty() : tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %65 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p59 : tensor<64xf32>) outs(%63 : tensor<64xf32>) {
    ^bb0(%a60: f32, %o62: f32):
      %s61 = arith.constant 1.000000000e+00 : f32
      %s64 = arith.addf %a60, %s61 : f32
      linalg.yield %s64 : f32
    } -> tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %66 = nn.rms_norm %58, %65 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %p67 = tp.parameter "model.layers.0.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.gate_proj.weight")
    %68 = nn.linear %66, %p67 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.gate_proj")
    %69 = nn.gelu tanh %68 : tensor<1x16x128xf32> loc("model.layers.0.mlp.act_fn")
    %p70 = tp.parameter "model.layers.0.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.up_proj.weight")
    %71 = nn.linear %66, %p70 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.up_proj")
    %72 = arith.mulf %69, %71 : tensor<1x16x128xf32> loc("model.layers.0.mlp")
    %p73 = tp.parameter "model.layers.0.post_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm.weight")
    %77 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %79 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p73 : tensor<64xf32>) outs(%77 : tensor<64xf32>) {
    ^bb0(%a74: f32, %o76: f32):
      %s75 = arith.constant 1.000000000e+00 : f32
      %s78 = arith.addf %a74, %s75 : f32
      linalg.yield %s78 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %p80 = tp.parameter "model.layers.0.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.0.mlp.down_proj.weight")
    %81 = nn.linear %72, %p80 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.mlp.down_proj")
    %82 = nn.rms_norm %81, %79 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %83 = arith.addf %58, %82 : tensor<1x16x64xf32> loc("model.layers.0")
    %p84 = tp.parameter "model.layers.1.input_layernorm.weight" : tensor<64xf32> loc("model.layers.1.input_layernorm.weight")
    %88 = tensor.empty() : tensor<64xf32> loc("model.layers.1.input_layernorm")
    %90 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p84 : tensor<64xf32>) outs(%88 : tensor<64xf32>) {
    ^bb0(%a85: f32, %o87: f32):
      %s86 = arith.constant 1.000000000e+00 : f32
      %s89 = arith.addf %a85, %s86 : f32
      linalg.yield %s89 : f32
    } -> tensor<64xf32> loc("model.layers.1.input_layernorm")
    %91 = nn.rms_norm %83, %90 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.input_layernorm")
    %p92 = tp.parameter "model.layers.1.self_attn.q_norm.weight" : tensor<16xf32> loc("model.layers.1.self_attn.q_norm.weight")
    %96 = tensor.empty() : tensor<16xf32> loc("model.layers.1.self_attn.q_norm")
    %98 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p92 : tensor<16xf32>) outs(%96 : tensor<16xf32>) {
    ^bb0(%a93: f32, %o95: f32):
      %s94 = arith.constant 1.000000000e+00 : f32
      %s97 = arith.addf %a93, %s94 : f32
      linalg.yield %s97 : f32
    } -> tensor<16xf32> loc("model.layers.1.self_attn.q_norm")
    %p99 = tp.parameter "model.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.q_proj.weight")
    %100 = nn.linear %91, %p99 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.q_proj")
    %101 = tensor.expand_shape %100 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.1.self_attn.q_proj")
    %102 = nn.rms_norm %101, %98 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x4x16xf32>, tensor<16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn.q_norm")
    %p103 = tp.parameter "model.layers.1.self_attn.k_norm.weight" : tensor<16xf32> loc("model.layers.1.self_attn.k_norm.weight")
    %107 = tensor.empty() : tensor<16xf32> loc("model.layers.1.self_attn.k_norm")
    %109 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p103 : tensor<16xf32>) outs(%107 : tensor<16xf32>) {
    ^bb0(%a104: f32, %o106: f32):
      %s105 = arith.constant 1.000000000e+00 : f32
      %s108 = arith.addf %a104, %s105 : f32
      linalg.yield %s108 : f32
    } -> tensor<16xf32> loc("model.layers.1.self_attn.k_norm")
    %p110 = tp.parameter "model.layers.1.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.k_proj.weight")
    %111 = nn.linear %91, %p110 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.k_proj")
    %112 = tensor.expand_shape %111 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.k_proj")
    %113 = nn.rms_norm %112, %109 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x2x16xf32>, tensor<16xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.k_norm")
    %114 = nn.rotary %102, %cos39, %sin40 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %115 = nn.rotary %113, %cos39, %sin40 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.1.self_attn")
    %p116 = tp.parameter "model.layers.1.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.v_proj.weight")
    %117 = nn.linear %91, %p116 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.v_proj")
    %118 = tensor.expand_shape %117 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.v_proj")
    %119 = nn.attention %114, %115, %118 {causal, scale = 2.50000000000000000e-01 : f64, window = 8 : i64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %120 = tensor.collapse_shape %119 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %p121 = tp.parameter "model.layers.1.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_attention_layernorm.weight")
    %125 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %127 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p121 : tensor<64xf32>) outs(%125 : tensor<64xf32>) {
    ^bb0(%a122: f32, %o124: f32):
      %s123 = arith.constant 1.000000000e+00 : f32
      %s126 = arith.addf %a122, %s123 : f32
      linalg.yield %s126 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %p128 = tp.parameter "model.layers.1.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.o_proj.weight")
    %129 = nn.linear %120, %p128 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %130 = nn.rms_norm %129, %127 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_attention_layernorm")
    %131 = arith.addf %83, %130 : tensor<1x16x64xf32> loc("model.layers.1")
    %p132 = tp.parameter "model.layers.1.pre_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm.weight")
    %136 = tensor.empty() : tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %138 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p132 : tensor<64xf32>) outs(%136 : tensor<64xf32>) {
    ^bb0(%a133: f32, %o135: f32):
      %s134 = arith.constant 1.000000000e+00 : f32
      %s137 = arith.addf %a133, %s134 : f32
      linalg.yield %s137 : f32
    } -> tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %139 = nn.rms_norm %131, %138 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %p140 = tp.parameter "model.layers.1.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.gate_proj.weight")
    %141 = nn.linear %139, %p140 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.gate_proj")
    %142 = nn.gelu tanh %141 : tensor<1x16x128xf32> loc("model.layers.1.mlp.act_fn")
    %p143 = tp.parameter "model.layers.1.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.up_proj.weight")
    %144 = nn.linear %139, %p143 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.up_proj")
    %145 = arith.mulf %142, %144 : tensor<1x16x128xf32> loc("model.layers.1.mlp")
    %p146 = tp.parameter "model.layers.1.post_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm.weight")
    %150 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %152 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p146 : tensor<64xf32>) outs(%150 : tensor<64xf32>) {
    ^bb0(%a147: f32, %o149: f32):
      %s148 = arith.constant 1.000000000e+00 : f32
      %s151 = arith.addf %a147, %s148 : f32
      linalg.yield %s151 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %p153 = tp.parameter "model.layers.1.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.1.mlp.down_proj.weight")
    %154 = nn.linear %145, %p153 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.mlp.down_proj")
    %155 = nn.rms_norm %154, %152 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %156 = arith.addf %131, %155 : tensor<1x16x64xf32> loc("model.layers.1")
    %p157 = tp.parameter "model.norm.weight" : tensor<64xf32> loc("model.norm.weight")
    %161 = tensor.empty() : tensor<64xf32> loc("model.norm")
    %163 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p157 : tensor<64xf32>) outs(%161 : tensor<64xf32>) {
    ^bb0(%a158: f32, %o160: f32):
      %s159 = arith.constant 1.000000000e+00 : f32
      %s162 = arith.addf %a158, %s159 : f32
      linalg.yield %s162 : f32
    } -> tensor<64xf32> loc("model.norm")
    %164 = nn.rms_norm %156, %163 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.norm")
    %165 = nn.linear %164, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    return %165 : tensor<1x16x97xf32>
  }
}
