module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %cos11, %sin12 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 3.162277639e-01, 1.000000015e-01, 3.162277862e-02, 9.999999776e-03, 3.162277862e-03, 1.000000047e-03, 3.162277862e-04]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
    %p1 = tp.parameter "model.embed_tokens.weight" : tensor<97x64xf32> loc("model.embed_tokens.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("model.embed_tokens")
    %6 = tensor.empty() : tensor<1x16x64xf32> loc("model")
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<1x16x64xf32>) outs(%6 : tensor<1x16x64xf32>) {
    ^bb0(%a3: f32, %o5: f32):
      %s4 = arith.constant 1.000000000e+00 : f32
      %s7 = arith.mulf %a3, %s4 : f32
      linalg.yield %s7 : f32
    } -> tensor<1x16x64xf32> loc("model")
    %p9 = tp.parameter "model.layers.0.input_layernorm.weight" : tensor<64xf32> loc("model.layers.0.input_layernorm.weight")
    %10 = nn.rms_norm %8, %p9 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.input_layernorm")
    %p13 = tp.parameter "model.layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.q_proj.weight")
    %14 = nn.linear %10, %p13 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.q_proj")
    %15 = tensor.expand_shape %14 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.0.self_attn.q_proj")
    %16 = nn.rotary %15, %cos11, %sin12 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %p17 = tp.parameter "model.layers.0.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.k_proj.weight")
    %18 = nn.linear %10, %p17 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.k_proj")
    %19 = tensor.expand_shape %18 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.k_proj")
    %20 = nn.rotary %19, %cos11, %sin12 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.0.self_attn")
    %p21 = tp.parameter "model.layers.0.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.v_proj.weight")
    %22 = nn.linear %10, %p21 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.v_proj")
    %23 = tensor.expand_shape %22 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.v_proj")
    %24 = nn.attention %16, %20, %23 {causal, scale = 1.00000000000000000e+00 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %25 = tensor.collapse_shape %24 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %p26 = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.o_proj.weight")
    %27 = nn.linear %25, %p26 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %31 = tensor.empty() : tensor<1x16x64xf32> loc("model.layers.0")
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%27 : tensor<1x16x64xf32>) outs(%31 : tensor<1x16x64xf32>) {
    ^bb0(%a28: f32, %o30: f32):
      %s29 = arith.constant 1.000000000e+00 : f32
      %s32 = arith.mulf %a28, %s29 : f32
      linalg.yield %s32 : f32
    } -> tensor<1x16x64xf32> loc("model.layers.0")
    %34 = arith.addf %8, %33 : tensor<1x16x64xf32> loc("model.layers.0")
    %p35 = tp.parameter "model.layers.0.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_attention_layernorm.weight")
    %36 = nn.rms_norm %34, %p35 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_attention_layernorm")
    %p37 = tp.parameter "model.layers.0.block_sparse_moe.router.weight" : tensor<4x64xf32> loc("model.layers.0.block_sparse_moe.router.weight")
    %38 = nn.linear %36, %p37 : (tensor<1x16x64xf32>, tensor<4x64xf32>) -> tensor<1x16x4xf32> loc("model.layers.0.block_sparse_moe.router")
    %39 = nn.router %38 {normalized, top_k = 2 : i64} : (tensor<1x16x4xf32>) -> tensor<1x16x4xf32> loc("model.layers.0.block_sparse_moe.experts")
    %p40 = tp.parameter "model.layers.0.block_sparse_moe.experts.gate_up_proj" source <shape = [4, 256, 64], offsets = [0, 0, 0], permutation = [0, 1, 2]> : tensor<4x128x64xf32> loc("model.layers.0.block_sparse_moe.experts.gate_up_proj")
    %p41 = tp.parameter "model.layers.0.block_sparse_moe.experts.gate_up_proj" source <shape = [4, 256, 64], offsets = [0, 128, 0], permutation = [0, 1, 2]> : tensor<4x128x64xf32> loc("model.layers.0.block_sparse_moe.experts.gate_up_proj")
    %p42 = tp.parameter "model.layers.0.block_sparse_moe.experts.down_proj" : tensor<4x64x128xf32> loc("model.layers.0.block_sparse_moe.experts.down_proj")
    %43 = nn.experts %36, %39, %p40, %p41, %p42 {activation = "silu", active = 5.00000000000000000e-01 : f64, top_k = 2 : i64} : (tensor<1x16x64xf32>, tensor<1x16x4xf32>, tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<4x64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.block_sparse_moe.experts")
    %47 = tensor.empty() : tensor<1x16x64xf32> loc("model.layers.0")
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%43 : tensor<1x16x64xf32>) outs(%47 : tensor<1x16x64xf32>) {
    ^bb0(%a44: f32, %o46: f32):
      %s45 = arith.constant 1.000000000e+00 : f32
      %s48 = arith.mulf %a44, %s45 : f32
      linalg.yield %s48 : f32
    } -> tensor<1x16x64xf32> loc("model.layers.0")
    %50 = arith.addf %34, %49 : tensor<1x16x64xf32> loc("model.layers.0")
    %p51 = tp.parameter "model.layers.1.input_layernorm.weight" : tensor<64xf32> loc("model.layers.1.input_layernorm.weight")
    %52 = nn.rms_norm %50, %p51 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.input_layernorm")
    %p53 = tp.parameter "model.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.q_proj.weight")
    %54 = nn.linear %52, %p53 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.q_proj")
    %55 = tensor.expand_shape %54 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.1.self_attn.q_proj")
    %56 = nn.rotary %55, %cos11, %sin12 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %p57 = tp.parameter "model.layers.1.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.k_proj.weight")
    %58 = nn.linear %52, %p57 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.k_proj")
    %59 = tensor.expand_shape %58 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.k_proj")
    %60 = nn.rotary %59, %cos11, %sin12 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.1.self_attn")
    %p61 = tp.parameter "model.layers.1.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.v_proj.weight")
    %62 = nn.linear %52, %p61 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.v_proj")
    %63 = tensor.expand_shape %62 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.v_proj")
    %64 = nn.attention %56, %60, %63 {causal, scale = 1.00000000000000000e+00 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %65 = tensor.collapse_shape %64 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %p66 = tp.parameter "model.layers.1.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.o_proj.weight")
    %67 = nn.linear %65, %p66 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %71 = tensor.empty() : tensor<1x16x64xf32> loc("model.layers.1")
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%67 : tensor<1x16x64xf32>) outs(%71 : tensor<1x16x64xf32>) {
    ^bb0(%a68: f32, %o70: f32):
      %s69 = arith.constant 1.000000000e+00 : f32
      %s72 = arith.mulf %a68, %s69 : f32
      linalg.yield %s72 : f32
    } -> tensor<1x16x64xf32> loc("model.layers.1")
    %74 = arith.addf %50, %73 : tensor<1x16x64xf32> loc("model.layers.1")
    %p75 = tp.parameter "model.layers.1.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_attention_layernorm.weight")
    %76 = nn.rms_norm %74, %p75 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_attention_layernorm")
    %p77 = tp.parameter "model.layers.1.block_sparse_moe.router.weight" : tensor<4x64xf32> loc("model.layers.1.block_sparse_moe.router.weight")
    %78 = nn.linear %76, %p77 : (tensor<1x16x64xf32>, tensor<4x64xf32>) -> tensor<1x16x4xf32> loc("model.layers.1.block_sparse_moe.router")
    %79 = nn.router %78 {normalized, top_k = 2 : i64} : (tensor<1x16x4xf32>) -> tensor<1x16x4xf32> loc("model.layers.1.block_sparse_moe.experts")
    %p80 = tp.parameter "model.layers.1.block_sparse_moe.experts.gate_up_proj" source <shape = [4, 256, 64], offsets = [0, 0, 0], permutation = [0, 1, 2]> : tensor<4x128x64xf32> loc("model.layers.1.block_sparse_moe.experts.gate_up_proj")
    %p81 = tp.parameter "model.layers.1.block_sparse_moe.experts.gate_up_proj" source <shape = [4, 256, 64], offsets = [0, 128, 0], permutation = [0, 1, 2]> : tensor<4x128x64xf32> loc("model.layers.1.block_sparse_moe.experts.gate_up_proj")
    %p82 = tp.parameter "model.layers.1.block_sparse_moe.experts.down_proj" : tensor<4x64x128xf32> loc("model.layers.1.block_sparse_moe.experts.down_proj")
    %83 = nn.experts %76, %79, %p80, %p81, %p82 {activation = "silu", active = 5.00000000000000000e-01 : f64, top_k = 2 : i64} : (tensor<1x16x64xf32>, tensor<1x16x4xf32>, tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<4x64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.block_sparse_moe.experts")
    %87 = tensor.empty() : tensor<1x16x64xf32> loc("model.layers.1")
    %89 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%83 : tensor<1x16x64xf32>) outs(%87 : tensor<1x16x64xf32>) {
    ^bb0(%a84: f32, %o86: f32):
      %s85 = arith.constant 1.000000000e+00 : f32
      %s88 = arith.mulf %a84, %s85 : f32
      linalg.yield %s88 : f32
    } -> tensor<1x16x64xf32> loc("model.layers.1")
    %90 = arith.addf %74, %89 : tensor<1x16x64xf32> loc("model.layers.1")
    %p91 = tp.parameter "model.norm.weight" : tensor<64xf32> loc("model.norm.weight")
    %92 = nn.rms_norm %90, %p91 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.norm")
    %p93 = tp.parameter "lm_head.weight" : tensor<97x64xf32> loc("lm_head.weight")
    %94 = nn.linear %92, %p93 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    %98 = tensor.empty() : tensor<1x16x97xf32>
    %100 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%94 : tensor<1x16x97xf32>) outs(%98 : tensor<1x16x97xf32>) {
    ^bb0(%a95: f32, %o97: f32):
      %s96 = arith.constant 1.000000000e+00 : f32
      %s99 = arith.divf %a95, %s96 : f32
      linalg.yield %s99 : f32
    } -> tensor<1x16x97xf32>
    return %100 : tensor<1x16x97xf32>
  }
}
