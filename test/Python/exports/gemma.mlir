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
    %30 = nn.attention %22, %26, %29 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %31 = tensor.collapse_shape %30 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %p32 = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.o_proj.weight")
    %33 = nn.linear %31, %p32 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %34 = arith.addf %8, %33 : tensor<1x16x64xf32> loc("model.layers.0")
    %p35 = tp.parameter "model.layers.0.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_attention_layernorm.weight")
    %39 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %41 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p35 : tensor<64xf32>) outs(%39 : tensor<64xf32>) {
    ^bb0(%a36: f32, %o38: f32):
      %s37 = arith.constant 1.000000000e+00 : f32
      %s40 = arith.addf %a36, %s37 : f32
      linalg.yield %s40 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %42 = nn.rms_norm %34, %41 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_attention_layernorm")
    %p43 = tp.parameter "model.layers.0.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.gate_proj.weight")
    %44 = nn.linear %42, %p43 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.gate_proj")
    %45 = nn.gelu tanh %44 : tensor<1x16x128xf32> loc("model.layers.0.mlp.act_fn")
    %p46 = tp.parameter "model.layers.0.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.up_proj.weight")
    %47 = nn.linear %42, %p46 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.up_proj")
    %48 = arith.mulf %45, %47 : tensor<1x16x128xf32> loc("model.layers.0.mlp")
    %p49 = tp.parameter "model.layers.0.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.0.mlp.down_proj.weight")
    %50 = nn.linear %48, %p49 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.mlp.down_proj")
    %51 = arith.addf %34, %50 : tensor<1x16x64xf32> loc("model.layers.0")
    %p52 = tp.parameter "model.layers.1.input_layernorm.weight" : tensor<64xf32> loc("model.layers.1.input_layernorm.weight")
    %56 = tensor.empty() : tensor<64xf32> loc("model.layers.1.input_layernorm")
    %58 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p52 : tensor<64xf32>) outs(%56 : tensor<64xf32>) {
    ^bb0(%a53: f32, %o55: f32):
      %s54 = arith.constant 1.000000000e+00 : f32
      %s57 = arith.addf %a53, %s54 : f32
      linalg.yield %s57 : f32
    } -> tensor<64xf32> loc("model.layers.1.input_layernorm")
    %59 = nn.rms_norm %51, %58 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.input_layernorm")
    %p60 = tp.parameter "model.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.q_proj.weight")
    %61 = nn.linear %59, %p60 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.q_proj")
    %62 = tensor.expand_shape %61 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.1.self_attn.q_proj")
    %63 = nn.rotary %62, %cos17, %sin18 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %p64 = tp.parameter "model.layers.1.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.k_proj.weight")
    %65 = nn.linear %59, %p64 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.k_proj")
    %66 = tensor.expand_shape %65 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.k_proj")
    %67 = nn.rotary %66, %cos17, %sin18 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.1.self_attn")
    %p68 = tp.parameter "model.layers.1.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.v_proj.weight")
    %69 = nn.linear %59, %p68 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.v_proj")
    %70 = tensor.expand_shape %69 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.v_proj")
    %71 = nn.attention %63, %67, %70 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %72 = tensor.collapse_shape %71 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %p73 = tp.parameter "model.layers.1.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.o_proj.weight")
    %74 = nn.linear %72, %p73 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %75 = arith.addf %51, %74 : tensor<1x16x64xf32> loc("model.layers.1")
    %p76 = tp.parameter "model.layers.1.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_attention_layernorm.weight")
    %80 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %82 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p76 : tensor<64xf32>) outs(%80 : tensor<64xf32>) {
    ^bb0(%a77: f32, %o79: f32):
      %s78 = arith.constant 1.000000000e+00 : f32
      %s81 = arith.addf %a77, %s78 : f32
      linalg.yield %s81 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %83 = nn.rms_norm %75, %82 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_attention_layernorm")
    %p84 = tp.parameter "model.layers.1.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.gate_proj.weight")
    %85 = nn.linear %83, %p84 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.gate_proj")
    %86 = nn.gelu tanh %85 : tensor<1x16x128xf32> loc("model.layers.1.mlp.act_fn")
    %p87 = tp.parameter "model.layers.1.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.up_proj.weight")
    %88 = nn.linear %83, %p87 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.up_proj")
    %89 = arith.mulf %86, %88 : tensor<1x16x128xf32> loc("model.layers.1.mlp")
    %p90 = tp.parameter "model.layers.1.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.1.mlp.down_proj.weight")
    %91 = nn.linear %89, %p90 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.mlp.down_proj")
    %92 = arith.addf %75, %91 : tensor<1x16x64xf32> loc("model.layers.1")
    %p93 = tp.parameter "model.norm.weight" : tensor<64xf32> loc("model.norm.weight")
    %97 = tensor.empty() : tensor<64xf32> loc("model.norm")
    %99 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p93 : tensor<64xf32>) outs(%97 : tensor<64xf32>) {
    ^bb0(%a94: f32, %o96: f32):
      %s95 = arith.constant 1.000000000e+00 : f32
      %s98 = arith.addf %a94, %s95 : f32
      linalg.yield %s98 : f32
    } -> tensor<64xf32> loc("model.norm")
    %100 = nn.rms_norm %92, %99 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.norm")
    %101 = nn.linear %100, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    return %101 : tensor<1x16x97xf32>
  }
}
