module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %cos17, %sin18 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 3.162277639e-01, 1.000000015e-01, 3.162277862e-02, 9.999999776e-03, 3.162277862e-03, 1.000000047e-03, 3.162277862e-04]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
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
    %p19 = tp.parameter "model.layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.q_proj.weight")
    %20 = nn.linear %16, %p19 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.q_proj")
    %21 = tensor.expand_shape %20 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.0.self_attn.q_proj")
    %22 = nn.rotary %21, %cos17, %sin18 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %p23 = tp.parameter "model.layers.0.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.k_proj.weight")
    %24 = nn.linear %16, %p23 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.k_proj")
    %25 = tensor.expand_shape %24 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.k_proj")
    %26 = nn.rotary %25, %cos17, %sin18 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.0.self_attn")
    %p27 = tp.parameter "model.layers.0.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.v_proj.weight")
    %28 = nn.linear %16, %p27 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.v_proj")
    %29 = tensor.expand_shape %28 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.v_proj")
    %30 = nn.attention %22, %26, %29 {causal, scale = 2.50000000000000000e-01 : f64, soft_cap = 5.00000000000000000e+01 : f64, window = 8 : i64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %31 = tensor.collapse_shape %30 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %p32 = tp.parameter "model.layers.0.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_attention_layernorm.weight")
    %36 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %38 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p32 : tensor<64xf32>) outs(%36 : tensor<64xf32>) {
    ^bb0(%a33: f32, %o35: f32):
      %s34 = arith.constant 1.000000000e+00 : f32
      %s37 = arith.addf %a33, %s34 : f32
      linalg.yield %s37 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %p39 = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.o_proj.weight")
    %40 = nn.linear %31, %p39 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %41 = nn.rms_norm %40, %38 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_attention_layernorm")
    %42 = arith.addf %8, %41 : tensor<1x16x64xf32> loc("model.layers.0")
    %p43 = tp.parameter "model.layers.0.pre_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm.weight")
    %47 = tensor.empty() : tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %49 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p43 : tensor<64xf32>) outs(%47 : tensor<64xf32>) {
    ^bb0(%a44: f32, %o46: f32):
      %s45 = arith.constant 1.000000000e+00 : f32
      %s48 = arith.addf %a44, %s45 : f32
      linalg.yield %s48 : f32
    } -> tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %50 = nn.rms_norm %42, %49 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %p51 = tp.parameter "model.layers.0.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.gate_proj.weight")
    %52 = nn.linear %50, %p51 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.gate_proj")
    %53 = nn.gelu tanh %52 : tensor<1x16x128xf32> loc("model.layers.0.mlp.act_fn")
    %p54 = tp.parameter "model.layers.0.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.up_proj.weight")
    %55 = nn.linear %50, %p54 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.up_proj")
    %56 = arith.mulf %53, %55 : tensor<1x16x128xf32> loc("model.layers.0.mlp")
    %p57 = tp.parameter "model.layers.0.post_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm.weight")
    %61 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %63 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p57 : tensor<64xf32>) outs(%61 : tensor<64xf32>) {
    ^bb0(%a58: f32, %o60: f32):
      %s59 = arith.constant 1.000000000e+00 : f32
      %s62 = arith.addf %a58, %s59 : f32
      linalg.yield %s62 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %p64 = tp.parameter "model.layers.0.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.0.mlp.down_proj.weight")
    %65 = nn.linear %56, %p64 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.mlp.down_proj")
    %66 = nn.rms_norm %65, %63 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %67 = arith.addf %42, %66 : tensor<1x16x64xf32> loc("model.layers.0")
    %p68 = tp.parameter "model.layers.1.input_layernorm.weight" : tensor<64xf32> loc("model.layers.1.input_layernorm.weight")
    %72 = tensor.empty() : tensor<64xf32> loc("model.layers.1.input_layernorm")
    %74 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p68 : tensor<64xf32>) outs(%72 : tensor<64xf32>) {
    ^bb0(%a69: f32, %o71: f32):
      %s70 = arith.constant 1.000000000e+00 : f32
      %s73 = arith.addf %a69, %s70 : f32
      linalg.yield %s73 : f32
    } -> tensor<64xf32> loc("model.layers.1.input_layernorm")
    %75 = nn.rms_norm %67, %74 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.input_layernorm")
    %p76 = tp.parameter "model.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.q_proj.weight")
    %77 = nn.linear %75, %p76 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.q_proj")
    %78 = tensor.expand_shape %77 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.1.self_attn.q_proj")
    %79 = nn.rotary %78, %cos17, %sin18 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %p80 = tp.parameter "model.layers.1.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.k_proj.weight")
    %81 = nn.linear %75, %p80 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.k_proj")
    %82 = tensor.expand_shape %81 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.k_proj")
    %83 = nn.rotary %82, %cos17, %sin18 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.1.self_attn")
    %p84 = tp.parameter "model.layers.1.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.v_proj.weight")
    %85 = nn.linear %75, %p84 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.v_proj")
    %86 = tensor.expand_shape %85 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.v_proj")
    %87 = nn.attention %79, %83, %86 {causal, scale = 2.50000000000000000e-01 : f64, soft_cap = 5.00000000000000000e+01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %88 = tensor.collapse_shape %87 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %p89 = tp.parameter "model.layers.1.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_attention_layernorm.weight")
    %93 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %95 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p89 : tensor<64xf32>) outs(%93 : tensor<64xf32>) {
    ^bb0(%a90: f32, %o92: f32):
      %s91 = arith.constant 1.000000000e+00 : f32
      %s94 = arith.addf %a90, %s91 : f32
      linalg.yield %s94 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %p96 = tp.parameter "model.layers.1.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.o_proj.weight")
    %97 = nn.linear %88, %p96 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %98 = nn.rms_norm %97, %95 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_attention_layernorm")
    %99 = arith.addf %67, %98 : tensor<1x16x64xf32> loc("model.layers.1")
    %p100 = tp.parameter "model.layers.1.pre_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm.weight")
    %104 = tensor.empty() : tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %106 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p100 : tensor<64xf32>) outs(%104 : tensor<64xf32>) {
    ^bb0(%a101: f32, %o103: f32):
      %s102 = arith.constant 1.000000000e+00 : f32
      %s105 = arith.addf %a101, %s102 : f32
      linalg.yield %s105 : f32
    } -> tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %107 = nn.rms_norm %99, %106 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %p108 = tp.parameter "model.layers.1.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.gate_proj.weight")
    %109 = nn.linear %107, %p108 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.gate_proj")
    %110 = nn.gelu tanh %109 : tensor<1x16x128xf32> loc("model.layers.1.mlp.act_fn")
    %p111 = tp.parameter "model.layers.1.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.up_proj.weight")
    %112 = nn.linear %107, %p111 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.up_proj")
    %113 = arith.mulf %110, %112 : tensor<1x16x128xf32> loc("model.layers.1.mlp")
    %p114 = tp.parameter "model.layers.1.post_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm.weight")
    %118 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %120 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p114 : tensor<64xf32>) outs(%118 : tensor<64xf32>) {
    ^bb0(%a115: f32, %o117: f32):
      %s116 = arith.constant 1.000000000e+00 : f32
      %s119 = arith.addf %a115, %s116 : f32
      linalg.yield %s119 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %p121 = tp.parameter "model.layers.1.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.1.mlp.down_proj.weight")
    %122 = nn.linear %113, %p121 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.mlp.down_proj")
    %123 = nn.rms_norm %122, %120 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %124 = arith.addf %99, %123 : tensor<1x16x64xf32> loc("model.layers.1")
    %p125 = tp.parameter "model.norm.weight" : tensor<64xf32> loc("model.norm.weight")
    %129 = tensor.empty() : tensor<64xf32> loc("model.norm")
    %131 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p125 : tensor<64xf32>) outs(%129 : tensor<64xf32>) {
    ^bb0(%a126: f32, %o128: f32):
      %s127 = arith.constant 1.000000000e+00 : f32
      %s130 = arith.addf %a126, %s127 : f32
      linalg.yield %s130 : f32
    } -> tensor<64xf32> loc("model.norm")
    %132 = nn.rms_norm %124, %131 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.norm")
    %133 = nn.linear %132, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    %137 = tensor.empty() : tensor<1x16x97xf32>
    %139 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133 : tensor<1x16x97xf32>) outs(%137 : tensor<1x16x97xf32>) {
    ^bb0(%a134: f32, %o136: f32):
      %s135 = arith.constant 3.000000000e+01 : f32
      %s138 = arith.divf %a134, %s135 : f32
      linalg.yield %s138 : f32
    } -> tensor<1x16x97xf32>
    %142 = tensor.empty() : tensor<1x16x97xf32>
    %144 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%139 : tensor<1x16x97xf32>) outs(%142 : tensor<1x16x97xf32>) {
    ^bb0(%a140: f32, %o141: f32):
      %s143 = math.tanh %a140 : f32
      linalg.yield %s143 : f32
    } -> tensor<1x16x97xf32>
    %148 = tensor.empty() : tensor<1x16x97xf32>
    %150 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%144 : tensor<1x16x97xf32>) outs(%148 : tensor<1x16x97xf32>) {
    ^bb0(%a145: f32, %o147: f32):
      %s146 = arith.constant 3.000000000e+01 : f32
      %s149 = arith.mulf %a145, %s146 : f32
      linalg.yield %s149 : f32
    } -> tensor<1x16x97xf32>
    return %150 : tensor<1x16x97xf32>
  }
}
