module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %cos17, %sin18 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 3.162277639e-01, 1.000000015e-01, 3.162277862e-02, 9.999999776e-03, 3.162277862e-03, 1.000000047e-03, 3.162277862e-04]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
    %c60 = arith.constant dense<"0x00000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000"> : tensor<1x1x16x16xf32>
    %c169 = arith.constant dense<"0x00000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFF00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"> : tensor<1x1x16x16xf32>
    %p1 = tp.parameter "model.embed_tokens.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("model.embed_tokens.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("model.embed_tokens")
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
    %27 = tensor.expand_shape %22 [[0], [1], [2, 3], [4]] output_shape [1, 16, 2, 2, 16] : tensor<1x16x4x16xf32> into tensor<1x16x2x2x16xf32> loc("model.layers.0.self_attn")
    %31 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %32 = arith.constant 0.000000000e+00 : f32 loc("model.layers.0.self_attn")
    %33 = linalg.fill ins(%32 : f32) outs(%31 : tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (0, d2, d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%27, %26 : tensor<1x16x2x2x16xf32>, tensor<1x16x2x16xf32>) outs(%33 : tensor<2x2x16x16xf32>) {
    ^bb0(%a28: f32, %a29: f32, %o30: f32):
      %s34 = arith.mulf %a28, %a29 : f32
      %s35 = arith.addf %o30, %s34 : f32
      linalg.yield %s35 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %40 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x2x16x16xf32>) outs(%40 : tensor<2x2x16x16xf32>) {
    ^bb0(%a37: f32, %o39: f32):
      %s38 = arith.constant 2.500000000e-01 : f32
      %s41 = arith.mulf %a37, %s38 : f32
      linalg.yield %s41 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %46 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42 : tensor<2x2x16x16xf32>) outs(%46 : tensor<2x2x16x16xf32>) {
    ^bb0(%a43: f32, %o45: f32):
      %s44 = arith.constant 5.000000000e+01 : f32
      %s47 = arith.divf %a43, %s44 : f32
      linalg.yield %s47 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %51 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<2x2x16x16xf32>) outs(%51 : tensor<2x2x16x16xf32>) {
    ^bb0(%a49: f32, %o50: f32):
      %s52 = math.tanh %a49 : f32
      linalg.yield %s52 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %57 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<2x2x16x16xf32>) outs(%57 : tensor<2x2x16x16xf32>) {
    ^bb0(%a54: f32, %o56: f32):
      %s55 = arith.constant 5.000000000e+01 : f32
      %s58 = arith.mulf %a54, %s55 : f32
      linalg.yield %s58 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %64 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%59, %c60 : tensor<2x2x16x16xf32>, tensor<1x1x16x16xf32>) outs(%64 : tensor<2x2x16x16xf32>) {
    ^bb0(%a61: f32, %a62: f32, %o63: f32):
      %s65 = arith.addf %a61, %a62 : f32
      linalg.yield %s65 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %67 = nn.softmax %66 : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %p68 = tp.parameter "model.layers.0.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.v_proj.weight")
    %69 = nn.linear %16, %p68 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.v_proj")
    %70 = tensor.expand_shape %69 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.v_proj")
    %74 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %75 = arith.constant 0.000000000e+00 : f32 loc("model.layers.0.self_attn")
    %76 = linalg.fill ins(%75 : f32) outs(%74 : tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %79 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, d4, d0, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%67, %70 : tensor<2x2x16x16xf32>, tensor<1x16x2x16xf32>) outs(%76 : tensor<2x2x16x16xf32>) {
    ^bb0(%a71: f32, %a72: f32, %o73: f32):
      %s77 = arith.mulf %a71, %a72 : f32
      %s78 = arith.addf %o73, %s77 : f32
      linalg.yield %s78 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %80 = tensor.empty() : tensor<16x2x2x16xf32> loc("model.layers.0.self_attn.o_proj")
    %81 = linalg.transpose ins(%79 : tensor<2x2x16x16xf32>) outs(%80 : tensor<16x2x2x16xf32>) permutation = [2, 0, 1, 3] loc("model.layers.0.self_attn.o_proj")
    %82 = tensor.collapse_shape %81 [[0], [1, 2, 3]] : tensor<16x2x2x16xf32> into tensor<16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %83 = tensor.expand_shape %82 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %p84 = tp.parameter "model.layers.0.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_attention_layernorm.weight")
    %88 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %90 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p84 : tensor<64xf32>) outs(%88 : tensor<64xf32>) {
    ^bb0(%a85: f32, %o87: f32):
      %s86 = arith.constant 1.000000000e+00 : f32
      %s89 = arith.addf %a85, %s86 : f32
      linalg.yield %s89 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %p91 = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.o_proj.weight")
    %92 = nn.linear %83, %p91 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %93 = nn.rms_norm %92, %90 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_attention_layernorm")
    %94 = arith.addf %8, %93 : tensor<1x16x64xf32> loc("model.layers.0")
    %p95 = tp.parameter "model.layers.0.pre_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm.weight")
    %99 = tensor.empty() : tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %101 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p95 : tensor<64xf32>) outs(%99 : tensor<64xf32>) {
    ^bb0(%a96: f32, %o98: f32):
      %s97 = arith.constant 1.000000000e+00 : f32
      %s100 = arith.addf %a96, %s97 : f32
      linalg.yield %s100 : f32
    } -> tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %102 = nn.rms_norm %94, %101 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %p103 = tp.parameter "model.layers.0.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.gate_proj.weight")
    %104 = nn.linear %102, %p103 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.gate_proj")
    %105 = nn.gelu tanh %104 : tensor<1x16x128xf32> loc("model.layers.0.mlp.act_fn")
    %p106 = tp.parameter "model.layers.0.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.up_proj.weight")
    %107 = nn.linear %102, %p106 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.up_proj")
    %108 = arith.mulf %105, %107 : tensor<1x16x128xf32> loc("model.layers.0.mlp")
    %p109 = tp.parameter "model.layers.0.post_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm.weight")
    %113 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %115 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p109 : tensor<64xf32>) outs(%113 : tensor<64xf32>) {
    ^bb0(%a110: f32, %o112: f32):
      %s111 = arith.constant 1.000000000e+00 : f32
      %s114 = arith.addf %a110, %s111 : f32
      linalg.yield %s114 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %p116 = tp.parameter "model.layers.0.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.0.mlp.down_proj.weight")
    %117 = nn.linear %108, %p116 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.mlp.down_proj")
    %118 = nn.rms_norm %117, %115 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %119 = arith.addf %94, %118 : tensor<1x16x64xf32> loc("model.layers.0")
    %p120 = tp.parameter "model.layers.1.input_layernorm.weight" : tensor<64xf32> loc("model.layers.1.input_layernorm.weight")
    %124 = tensor.empty() : tensor<64xf32> loc("model.layers.1.input_layernorm")
    %126 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p120 : tensor<64xf32>) outs(%124 : tensor<64xf32>) {
    ^bb0(%a121: f32, %o123: f32):
      %s122 = arith.constant 1.000000000e+00 : f32
      %s125 = arith.addf %a121, %s122 : f32
      linalg.yield %s125 : f32
    } -> tensor<64xf32> loc("model.layers.1.input_layernorm")
    %127 = nn.rms_norm %119, %126 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.input_layernorm")
    %p128 = tp.parameter "model.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.q_proj.weight")
    %129 = nn.linear %127, %p128 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.q_proj")
    %130 = tensor.expand_shape %129 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.1.self_attn.q_proj")
    %131 = nn.rotary %130, %cos17, %sin18 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %p132 = tp.parameter "model.layers.1.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.k_proj.weight")
    %133 = nn.linear %127, %p132 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.k_proj")
    %134 = tensor.expand_shape %133 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.k_proj")
    %135 = nn.rotary %134, %cos17, %sin18 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.1.self_attn")
    %136 = tensor.expand_shape %131 [[0], [1], [2, 3], [4]] output_shape [1, 16, 2, 2, 16] : tensor<1x16x4x16xf32> into tensor<1x16x2x2x16xf32> loc("model.layers.1.self_attn")
    %140 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %141 = arith.constant 0.000000000e+00 : f32 loc("model.layers.1.self_attn")
    %142 = linalg.fill ins(%141 : f32) outs(%140 : tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %145 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (0, d2, d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%136, %135 : tensor<1x16x2x2x16xf32>, tensor<1x16x2x16xf32>) outs(%142 : tensor<2x2x16x16xf32>) {
    ^bb0(%a137: f32, %a138: f32, %o139: f32):
      %s143 = arith.mulf %a137, %a138 : f32
      %s144 = arith.addf %o139, %s143 : f32
      linalg.yield %s144 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %149 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %151 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%145 : tensor<2x2x16x16xf32>) outs(%149 : tensor<2x2x16x16xf32>) {
    ^bb0(%a146: f32, %o148: f32):
      %s147 = arith.constant 2.500000000e-01 : f32
      %s150 = arith.mulf %a146, %s147 : f32
      linalg.yield %s150 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %155 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %157 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%151 : tensor<2x2x16x16xf32>) outs(%155 : tensor<2x2x16x16xf32>) {
    ^bb0(%a152: f32, %o154: f32):
      %s153 = arith.constant 5.000000000e+01 : f32
      %s156 = arith.divf %a152, %s153 : f32
      linalg.yield %s156 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %160 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %162 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%157 : tensor<2x2x16x16xf32>) outs(%160 : tensor<2x2x16x16xf32>) {
    ^bb0(%a158: f32, %o159: f32):
      %s161 = math.tanh %a158 : f32
      linalg.yield %s161 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %166 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %168 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%162 : tensor<2x2x16x16xf32>) outs(%166 : tensor<2x2x16x16xf32>) {
    ^bb0(%a163: f32, %o165: f32):
      %s164 = arith.constant 5.000000000e+01 : f32
      %s167 = arith.mulf %a163, %s164 : f32
      linalg.yield %s167 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %173 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %175 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%168, %c169 : tensor<2x2x16x16xf32>, tensor<1x1x16x16xf32>) outs(%173 : tensor<2x2x16x16xf32>) {
    ^bb0(%a170: f32, %a171: f32, %o172: f32):
      %s174 = arith.addf %a170, %a171 : f32
      linalg.yield %s174 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %176 = nn.softmax %175 : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %p177 = tp.parameter "model.layers.1.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.v_proj.weight")
    %178 = nn.linear %127, %p177 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.v_proj")
    %179 = tensor.expand_shape %178 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.v_proj")
    %183 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %184 = arith.constant 0.000000000e+00 : f32 loc("model.layers.1.self_attn")
    %185 = linalg.fill ins(%184 : f32) outs(%183 : tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %188 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, d4, d0, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%176, %179 : tensor<2x2x16x16xf32>, tensor<1x16x2x16xf32>) outs(%185 : tensor<2x2x16x16xf32>) {
    ^bb0(%a180: f32, %a181: f32, %o182: f32):
      %s186 = arith.mulf %a180, %a181 : f32
      %s187 = arith.addf %o182, %s186 : f32
      linalg.yield %s187 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %189 = tensor.empty() : tensor<16x2x2x16xf32> loc("model.layers.1.self_attn.o_proj")
    %190 = linalg.transpose ins(%188 : tensor<2x2x16x16xf32>) outs(%189 : tensor<16x2x2x16xf32>) permutation = [2, 0, 1, 3] loc("model.layers.1.self_attn.o_proj")
    %191 = tensor.collapse_shape %190 [[0], [1, 2, 3]] : tensor<16x2x2x16xf32> into tensor<16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %192 = tensor.expand_shape %191 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %p193 = tp.parameter "model.layers.1.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_attention_layernorm.weight")
    %197 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %199 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p193 : tensor<64xf32>) outs(%197 : tensor<64xf32>) {
    ^bb0(%a194: f32, %o196: f32):
      %s195 = arith.constant 1.000000000e+00 : f32
      %s198 = arith.addf %a194, %s195 : f32
      linalg.yield %s198 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %p200 = tp.parameter "model.layers.1.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.o_proj.weight")
    %201 = nn.linear %192, %p200 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %202 = nn.rms_norm %201, %199 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_attention_layernorm")
    %203 = arith.addf %119, %202 : tensor<1x16x64xf32> loc("model.layers.1")
    %p204 = tp.parameter "model.layers.1.pre_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm.weight")
    %208 = tensor.empty() : tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %210 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p204 : tensor<64xf32>) outs(%208 : tensor<64xf32>) {
    ^bb0(%a205: f32, %o207: f32):
      %s206 = arith.constant 1.000000000e+00 : f32
      %s209 = arith.addf %a205, %s206 : f32
      linalg.yield %s209 : f32
    } -> tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %211 = nn.rms_norm %203, %210 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %p212 = tp.parameter "model.layers.1.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.gate_proj.weight")
    %213 = nn.linear %211, %p212 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.gate_proj")
    %214 = nn.gelu tanh %213 : tensor<1x16x128xf32> loc("model.layers.1.mlp.act_fn")
    %p215 = tp.parameter "model.layers.1.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.up_proj.weight")
    %216 = nn.linear %211, %p215 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.up_proj")
    %217 = arith.mulf %214, %216 : tensor<1x16x128xf32> loc("model.layers.1.mlp")
    %p218 = tp.parameter "model.layers.1.post_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm.weight")
    %222 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %224 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p218 : tensor<64xf32>) outs(%222 : tensor<64xf32>) {
    ^bb0(%a219: f32, %o221: f32):
      %s220 = arith.constant 1.000000000e+00 : f32
      %s223 = arith.addf %a219, %s220 : f32
      linalg.yield %s223 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %p225 = tp.parameter "model.layers.1.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.1.mlp.down_proj.weight")
    %226 = nn.linear %217, %p225 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.mlp.down_proj")
    %227 = nn.rms_norm %226, %224 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %228 = arith.addf %203, %227 : tensor<1x16x64xf32> loc("model.layers.1")
    %p229 = tp.parameter "model.norm.weight" : tensor<64xf32> loc("model.norm.weight")
    %233 = tensor.empty() : tensor<64xf32> loc("model.norm")
    %235 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p229 : tensor<64xf32>) outs(%233 : tensor<64xf32>) {
    ^bb0(%a230: f32, %o232: f32):
      %s231 = arith.constant 1.000000000e+00 : f32
      %s234 = arith.addf %a230, %s231 : f32
      linalg.yield %s234 : f32
    } -> tensor<64xf32> loc("model.norm")
    %236 = nn.rms_norm %228, %235 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.norm")
    %237 = nn.linear %236, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    %241 = tensor.empty() : tensor<1x16x97xf32>
    %243 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%237 : tensor<1x16x97xf32>) outs(%241 : tensor<1x16x97xf32>) {
    ^bb0(%a238: f32, %o240: f32):
      %s239 = arith.constant 3.000000000e+01 : f32
      %s242 = arith.divf %a238, %s239 : f32
      linalg.yield %s242 : f32
    } -> tensor<1x16x97xf32>
    %246 = tensor.empty() : tensor<1x16x97xf32>
    %248 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%243 : tensor<1x16x97xf32>) outs(%246 : tensor<1x16x97xf32>) {
    ^bb0(%a244: f32, %o245: f32):
      %s247 = math.tanh %a244 : f32
      linalg.yield %s247 : f32
    } -> tensor<1x16x97xf32>
    %252 = tensor.empty() : tensor<1x16x97xf32>
    %254 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%248 : tensor<1x16x97xf32>) outs(%252 : tensor<1x16x97xf32>) {
    ^bb0(%a249: f32, %o251: f32):
      %s250 = arith.constant 3.000000000e+01 : f32
      %s253 = arith.mulf %a249, %s250 : f32
      linalg.yield %s253 : f32
    } -> tensor<1x16x97xf32>
    return %254 : tensor<1x16x97xf32>
  }
}
