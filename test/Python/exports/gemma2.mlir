module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %cos17, %sin18 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 3.162277639e-01, 1.000000015e-01, 3.162277862e-02, 9.999999776e-03, 3.162277862e-03, 1.000000047e-03, 3.162277862e-04]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
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
    %75 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %77 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%59 : tensor<2x2x16x16xf32>) outs(%75 : tensor<2x2x16x16xf32>) {
    ^bb0(%a60: f32, %o74: f32):
      %s61 = linalg.index 2 : index
      %s62 = arith.index_cast %s61 : index to i64
      %s63 = linalg.index 3 : index
      %s64 = arith.index_cast %s63 : index to i64
      %s65 = arith.subi %s64, %s62 : i64
      %s66 = arith.constant -7 : i64
      %s67 = arith.cmpi sge, %s65, %s66 : i64
      %s68 = arith.constant 0 : i64
      %s69 = arith.cmpi sle, %s65, %s68 : i64
      %s70 = arith.andi %s67, %s69 : i1
      %s71 = arith.constant 0.000000000e+00 : f32
      %s72 = arith.constant -3.402823466e+38 : f32
      %s73 = arith.select %s70, %s71, %s72 : f32
      %s76 = arith.addf %a60, %s73 : f32
      linalg.yield %s76 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %78 = nn.softmax %77 : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %p79 = tp.parameter "model.layers.0.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.v_proj.weight")
    %80 = nn.linear %16, %p79 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.v_proj")
    %81 = tensor.expand_shape %80 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.v_proj")
    %85 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %86 = arith.constant 0.000000000e+00 : f32 loc("model.layers.0.self_attn")
    %87 = linalg.fill ins(%86 : f32) outs(%85 : tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %90 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, d4, d0, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%78, %81 : tensor<2x2x16x16xf32>, tensor<1x16x2x16xf32>) outs(%87 : tensor<2x2x16x16xf32>) {
    ^bb0(%a82: f32, %a83: f32, %o84: f32):
      %s88 = arith.mulf %a82, %a83 : f32
      %s89 = arith.addf %o84, %s88 : f32
      linalg.yield %s89 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.0.self_attn")
    %91 = tensor.empty() : tensor<16x2x2x16xf32> loc("model.layers.0.self_attn.o_proj")
    %92 = linalg.transpose ins(%90 : tensor<2x2x16x16xf32>) outs(%91 : tensor<16x2x2x16xf32>) permutation = [2, 0, 1, 3] loc("model.layers.0.self_attn.o_proj")
    %93 = tensor.collapse_shape %92 [[0], [1, 2, 3]] : tensor<16x2x2x16xf32> into tensor<16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %94 = tensor.expand_shape %93 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %p95 = tp.parameter "model.layers.0.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_attention_layernorm.weight")
    %99 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %101 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p95 : tensor<64xf32>) outs(%99 : tensor<64xf32>) {
    ^bb0(%a96: f32, %o98: f32):
      %s97 = arith.constant 1.000000000e+00 : f32
      %s100 = arith.addf %a96, %s97 : f32
      linalg.yield %s100 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_attention_layernorm")
    %p102 = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.o_proj.weight")
    %103 = nn.linear %94, %p102 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %104 = nn.rms_norm %103, %101 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_attention_layernorm")
    %105 = arith.addf %8, %104 : tensor<1x16x64xf32> loc("model.layers.0")
    %p106 = tp.parameter "model.layers.0.pre_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm.weight")
    %110 = tensor.empty() : tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %112 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p106 : tensor<64xf32>) outs(%110 : tensor<64xf32>) {
    ^bb0(%a107: f32, %o109: f32):
      %s108 = arith.constant 1.000000000e+00 : f32
      %s111 = arith.addf %a107, %s108 : f32
      linalg.yield %s111 : f32
    } -> tensor<64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %113 = nn.rms_norm %105, %112 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.pre_feedforward_layernorm")
    %p114 = tp.parameter "model.layers.0.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.gate_proj.weight")
    %115 = nn.linear %113, %p114 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.gate_proj")
    %116 = nn.gelu tanh %115 : tensor<1x16x128xf32> loc("model.layers.0.mlp.act_fn")
    %p117 = tp.parameter "model.layers.0.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.up_proj.weight")
    %118 = nn.linear %113, %p117 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.0.mlp.up_proj")
    %119 = arith.mulf %116, %118 : tensor<1x16x128xf32> loc("model.layers.0.mlp")
    %p120 = tp.parameter "model.layers.0.post_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm.weight")
    %124 = tensor.empty() : tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %126 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p120 : tensor<64xf32>) outs(%124 : tensor<64xf32>) {
    ^bb0(%a121: f32, %o123: f32):
      %s122 = arith.constant 1.000000000e+00 : f32
      %s125 = arith.addf %a121, %s122 : f32
      linalg.yield %s125 : f32
    } -> tensor<64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %p127 = tp.parameter "model.layers.0.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.0.mlp.down_proj.weight")
    %128 = nn.linear %119, %p127 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.mlp.down_proj")
    %129 = nn.rms_norm %128, %126 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_feedforward_layernorm")
    %130 = arith.addf %105, %129 : tensor<1x16x64xf32> loc("model.layers.0")
    %p131 = tp.parameter "model.layers.1.input_layernorm.weight" : tensor<64xf32> loc("model.layers.1.input_layernorm.weight")
    %135 = tensor.empty() : tensor<64xf32> loc("model.layers.1.input_layernorm")
    %137 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p131 : tensor<64xf32>) outs(%135 : tensor<64xf32>) {
    ^bb0(%a132: f32, %o134: f32):
      %s133 = arith.constant 1.000000000e+00 : f32
      %s136 = arith.addf %a132, %s133 : f32
      linalg.yield %s136 : f32
    } -> tensor<64xf32> loc("model.layers.1.input_layernorm")
    %138 = nn.rms_norm %130, %137 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.input_layernorm")
    %p139 = tp.parameter "model.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.q_proj.weight")
    %140 = nn.linear %138, %p139 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.q_proj")
    %141 = tensor.expand_shape %140 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.1.self_attn.q_proj")
    %142 = nn.rotary %141, %cos17, %sin18 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %p143 = tp.parameter "model.layers.1.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.k_proj.weight")
    %144 = nn.linear %138, %p143 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.k_proj")
    %145 = tensor.expand_shape %144 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.k_proj")
    %146 = nn.rotary %145, %cos17, %sin18 : (tensor<1x16x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x2x16xf32> loc("model.layers.1.self_attn")
    %147 = tensor.expand_shape %142 [[0], [1], [2, 3], [4]] output_shape [1, 16, 2, 2, 16] : tensor<1x16x4x16xf32> into tensor<1x16x2x2x16xf32> loc("model.layers.1.self_attn")
    %151 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %152 = arith.constant 0.000000000e+00 : f32 loc("model.layers.1.self_attn")
    %153 = linalg.fill ins(%152 : f32) outs(%151 : tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %156 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (0, d2, d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, d3, d0, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%147, %146 : tensor<1x16x2x2x16xf32>, tensor<1x16x2x16xf32>) outs(%153 : tensor<2x2x16x16xf32>) {
    ^bb0(%a148: f32, %a149: f32, %o150: f32):
      %s154 = arith.mulf %a148, %a149 : f32
      %s155 = arith.addf %o150, %s154 : f32
      linalg.yield %s155 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %160 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %162 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%156 : tensor<2x2x16x16xf32>) outs(%160 : tensor<2x2x16x16xf32>) {
    ^bb0(%a157: f32, %o159: f32):
      %s158 = arith.constant 2.500000000e-01 : f32
      %s161 = arith.mulf %a157, %s158 : f32
      linalg.yield %s161 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %166 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %168 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%162 : tensor<2x2x16x16xf32>) outs(%166 : tensor<2x2x16x16xf32>) {
    ^bb0(%a163: f32, %o165: f32):
      %s164 = arith.constant 5.000000000e+01 : f32
      %s167 = arith.divf %a163, %s164 : f32
      linalg.yield %s167 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %171 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %173 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%168 : tensor<2x2x16x16xf32>) outs(%171 : tensor<2x2x16x16xf32>) {
    ^bb0(%a169: f32, %o170: f32):
      %s172 = math.tanh %a169 : f32
      linalg.yield %s172 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %177 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %179 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%173 : tensor<2x2x16x16xf32>) outs(%177 : tensor<2x2x16x16xf32>) {
    ^bb0(%a174: f32, %o176: f32):
      %s175 = arith.constant 5.000000000e+01 : f32
      %s178 = arith.mulf %a174, %s175 : f32
      linalg.yield %s178 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %192 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %194 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%179 : tensor<2x2x16x16xf32>) outs(%192 : tensor<2x2x16x16xf32>) {
    ^bb0(%a180: f32, %o191: f32):
      %s181 = linalg.index 2 : index
      %s182 = arith.index_cast %s181 : index to i64
      %s183 = linalg.index 3 : index
      %s184 = arith.index_cast %s183 : index to i64
      %s185 = arith.subi %s184, %s182 : i64
      %s186 = arith.constant 0 : i64
      %s187 = arith.cmpi sle, %s185, %s186 : i64
      %s188 = arith.constant 0.000000000e+00 : f32
      %s189 = arith.constant -3.402823466e+38 : f32
      %s190 = arith.select %s187, %s188, %s189 : f32
      %s193 = arith.addf %a180, %s190 : f32
      linalg.yield %s193 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %195 = nn.softmax %194 : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %p196 = tp.parameter "model.layers.1.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.v_proj.weight")
    %197 = nn.linear %138, %p196 : (tensor<1x16x64xf32>, tensor<32x64xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.v_proj")
    %198 = tensor.expand_shape %197 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.v_proj")
    %202 = tensor.empty() : tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %203 = arith.constant 0.000000000e+00 : f32 loc("model.layers.1.self_attn")
    %204 = linalg.fill ins(%203 : f32) outs(%202 : tensor<2x2x16x16xf32>) -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %207 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, d4, d0, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%195, %198 : tensor<2x2x16x16xf32>, tensor<1x16x2x16xf32>) outs(%204 : tensor<2x2x16x16xf32>) {
    ^bb0(%a199: f32, %a200: f32, %o201: f32):
      %s205 = arith.mulf %a199, %a200 : f32
      %s206 = arith.addf %o201, %s205 : f32
      linalg.yield %s206 : f32
    } -> tensor<2x2x16x16xf32> loc("model.layers.1.self_attn")
    %208 = tensor.empty() : tensor<16x2x2x16xf32> loc("model.layers.1.self_attn.o_proj")
    %209 = linalg.transpose ins(%207 : tensor<2x2x16x16xf32>) outs(%208 : tensor<16x2x2x16xf32>) permutation = [2, 0, 1, 3] loc("model.layers.1.self_attn.o_proj")
    %210 = tensor.collapse_shape %209 [[0], [1, 2, 3]] : tensor<16x2x2x16xf32> into tensor<16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %211 = tensor.expand_shape %210 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %p212 = tp.parameter "model.layers.1.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_attention_layernorm.weight")
    %216 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %218 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p212 : tensor<64xf32>) outs(%216 : tensor<64xf32>) {
    ^bb0(%a213: f32, %o215: f32):
      %s214 = arith.constant 1.000000000e+00 : f32
      %s217 = arith.addf %a213, %s214 : f32
      linalg.yield %s217 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_attention_layernorm")
    %p219 = tp.parameter "model.layers.1.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.o_proj.weight")
    %220 = nn.linear %211, %p219 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %221 = nn.rms_norm %220, %218 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_attention_layernorm")
    %222 = arith.addf %130, %221 : tensor<1x16x64xf32> loc("model.layers.1")
    %p223 = tp.parameter "model.layers.1.pre_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm.weight")
    %227 = tensor.empty() : tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %229 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p223 : tensor<64xf32>) outs(%227 : tensor<64xf32>) {
    ^bb0(%a224: f32, %o226: f32):
      %s225 = arith.constant 1.000000000e+00 : f32
      %s228 = arith.addf %a224, %s225 : f32
      linalg.yield %s228 : f32
    } -> tensor<64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %230 = nn.rms_norm %222, %229 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.pre_feedforward_layernorm")
    %p231 = tp.parameter "model.layers.1.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.gate_proj.weight")
    %232 = nn.linear %230, %p231 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.gate_proj")
    %233 = nn.gelu tanh %232 : tensor<1x16x128xf32> loc("model.layers.1.mlp.act_fn")
    %p234 = tp.parameter "model.layers.1.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.up_proj.weight")
    %235 = nn.linear %230, %p234 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("model.layers.1.mlp.up_proj")
    %236 = arith.mulf %233, %235 : tensor<1x16x128xf32> loc("model.layers.1.mlp")
    %p237 = tp.parameter "model.layers.1.post_feedforward_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm.weight")
    %241 = tensor.empty() : tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %243 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p237 : tensor<64xf32>) outs(%241 : tensor<64xf32>) {
    ^bb0(%a238: f32, %o240: f32):
      %s239 = arith.constant 1.000000000e+00 : f32
      %s242 = arith.addf %a238, %s239 : f32
      linalg.yield %s242 : f32
    } -> tensor<64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %p244 = tp.parameter "model.layers.1.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.1.mlp.down_proj.weight")
    %245 = nn.linear %236, %p244 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.mlp.down_proj")
    %246 = nn.rms_norm %245, %243 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_feedforward_layernorm")
    %247 = arith.addf %222, %246 : tensor<1x16x64xf32> loc("model.layers.1")
    %p248 = tp.parameter "model.norm.weight" : tensor<64xf32> loc("model.norm.weight")
    %252 = tensor.empty() : tensor<64xf32> loc("model.norm")
    %254 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p248 : tensor<64xf32>) outs(%252 : tensor<64xf32>) {
    ^bb0(%a249: f32, %o251: f32):
      %s250 = arith.constant 1.000000000e+00 : f32
      %s253 = arith.addf %a249, %s250 : f32
      linalg.yield %s253 : f32
    } -> tensor<64xf32> loc("model.norm")
    %255 = nn.rms_norm %247, %254 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.norm")
    %256 = nn.linear %255, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    %260 = tensor.empty() : tensor<1x16x97xf32>
    %262 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%256 : tensor<1x16x97xf32>) outs(%260 : tensor<1x16x97xf32>) {
    ^bb0(%a257: f32, %o259: f32):
      %s258 = arith.constant 3.000000000e+01 : f32
      %s261 = arith.divf %a257, %s258 : f32
      linalg.yield %s261 : f32
    } -> tensor<1x16x97xf32>
    %265 = tensor.empty() : tensor<1x16x97xf32>
    %267 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%262 : tensor<1x16x97xf32>) outs(%265 : tensor<1x16x97xf32>) {
    ^bb0(%a263: f32, %o264: f32):
      %s266 = math.tanh %a263 : f32
      linalg.yield %s266 : f32
    } -> tensor<1x16x97xf32>
    %271 = tensor.empty() : tensor<1x16x97xf32>
    %273 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%267 : tensor<1x16x97xf32>) outs(%271 : tensor<1x16x97xf32>) {
    ^bb0(%a268: f32, %o270: f32):
      %s269 = arith.constant 3.000000000e+01 : f32
      %s272 = arith.mulf %a268, %s269 : f32
      linalg.yield %s272 : f32
    } -> tensor<1x16x97xf32>
    return %273 : tensor<1x16x97xf32>
  }
}
