module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<1x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>, tp.default = "ones"}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %p1 = tp.parameter "model.decoder.embed_tokens.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("model.decoder.embed_tokens.weight")
    %2 = nn.embedding %arg0, %p1 {padding_row = 1 : i64} : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.embed_tokens")
    %5 = tensor.empty() : tensor<1x16xi64> loc("model.decoder")
    %6 = arith.constant 0 : i64 loc("model.decoder")
    %7 = linalg.fill ins(%6 : i64) outs(%5 : tensor<1x16xi64>) -> tensor<1x16xi64> loc("model.decoder")
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg1 : tensor<1x16xi64>) outs(%7 : tensor<1x16xi64>) {
    ^bb0(%a3: i64, %o4: i64):
      %s8 = linalg.index 1 : index
      %s9 = linalg.index 2 : index
      %s10 = arith.cmpi ule, %s9, %s8 : index
      %s11 = arith.constant 0 : i64
      %s12 = arith.select %s10, %a3, %s11 : i64
      %s13 = arith.addi %o4, %s12 : i64
      linalg.yield %s13 : i64
    } -> tensor<1x16xi64> loc("model.decoder")
    %15 = arith.muli %14, %arg1 : tensor<1x16xi64> loc("model.decoder")
    %19 = tensor.empty() : tensor<1x16xi64> loc("model.decoder")
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<1x16xi64>) outs(%19 : tensor<1x16xi64>) {
    ^bb0(%a16: i64, %o18: i64):
      %s17 = arith.constant 1 : i64
      %s20 = arith.subi %a16, %s17 : i64
      linalg.yield %s20 : i64
    } -> tensor<1x16xi64> loc("model.decoder")
    %25 = tensor.empty() : tensor<1x16xi64> loc("model.decoder.embed_positions")
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%21 : tensor<1x16xi64>) outs(%25 : tensor<1x16xi64>) {
    ^bb0(%a22: i64, %o24: i64):
      %s23 = arith.constant 2 : i64
      %s26 = arith.addi %a22, %s23 : i64
      linalg.yield %s26 : i64
    } -> tensor<1x16xi64> loc("model.decoder.embed_positions")
    %p28 = tp.parameter "model.decoder.embed_positions.weight" : tensor<66x64xf32> loc("model.decoder.embed_positions.weight")
    %29 = nn.embedding %27, %p28 : (tensor<1x16xi64>, tensor<66x64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.embed_positions")
    %30 = arith.addf %2, %29 : tensor<1x16x64xf32> loc("model.decoder")
    %p31 = tp.parameter "model.decoder.layers.0.self_attn_layer_norm.weight" : tensor<64xf32> loc("model.decoder.layers.0.self_attn_layer_norm.weight")
    %p32 = tp.parameter "model.decoder.layers.0.self_attn_layer_norm.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn_layer_norm.bias")
    %33 = nn.layer_norm %30, %p31 bias %p32 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.0.self_attn_layer_norm")
    %p34 = tp.parameter "model.decoder.layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.0.self_attn.q_proj.weight")
    %p35 = tp.parameter "model.decoder.layers.0.self_attn.q_proj.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn.q_proj.bias")
    %36 = nn.linear %33, %p34 bias %p35 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.0.self_attn.q_proj")
    %40 = tensor.empty() : tensor<1x16x64xf32> loc("model.decoder.layers.0.self_attn")
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%36 : tensor<1x16x64xf32>) outs(%40 : tensor<1x16x64xf32>) {
    ^bb0(%a37: f32, %o39: f32):
      %s38 = arith.constant 2.500000000e-01 : f32
      %s41 = arith.mulf %a37, %s38 : f32
      linalg.yield %s41 : f32
    } -> tensor<1x16x64xf32> loc("model.decoder.layers.0.self_attn")
    %43 = tensor.expand_shape %42 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.decoder.layers.0.self_attn")
    %p44 = tp.parameter "model.decoder.layers.0.self_attn.k_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.0.self_attn.k_proj.weight")
    %p45 = tp.parameter "model.decoder.layers.0.self_attn.k_proj.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn.k_proj.bias")
    %46 = nn.linear %33, %p44 bias %p45 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.0.self_attn.k_proj")
    %47 = tensor.expand_shape %46 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.decoder.layers.0.self_attn.k_proj")
    %p48 = tp.parameter "model.decoder.layers.0.self_attn.v_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.0.self_attn.v_proj.weight")
    %p49 = tp.parameter "model.decoder.layers.0.self_attn.v_proj.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn.v_proj.bias")
    %50 = nn.linear %33, %p48 bias %p49 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.0.self_attn.v_proj")
    %51 = tensor.expand_shape %50 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.decoder.layers.0.self_attn.v_proj")
    %52 = nn.attention %43, %47, %51 mask %arg1 {causal, scale = 1.00000000000000000e+00 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>) -> tensor<1x16x4x16xf32> loc("model.decoder.layers.0.self_attn")
    %53 = tensor.collapse_shape %52 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.decoder.layers.0.self_attn.out_proj")
    %p54 = tp.parameter "model.decoder.layers.0.self_attn.out_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.0.self_attn.out_proj.weight")
    %p55 = tp.parameter "model.decoder.layers.0.self_attn.out_proj.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn.out_proj.bias")
    %56 = nn.linear %53, %p54 bias %p55 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.0.self_attn.out_proj")
    %57 = arith.addf %30, %56 : tensor<1x16x64xf32> loc("model.decoder.layers.0")
    %p58 = tp.parameter "model.decoder.layers.0.final_layer_norm.weight" : tensor<64xf32> loc("model.decoder.layers.0.final_layer_norm.weight")
    %p59 = tp.parameter "model.decoder.layers.0.final_layer_norm.bias" : tensor<64xf32> loc("model.decoder.layers.0.final_layer_norm.bias")
    %60 = nn.layer_norm %57, %p58 bias %p59 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.0.final_layer_norm")
    %p61 = tp.parameter "model.decoder.layers.0.fc1.weight" : tensor<128x64xf32> loc("model.decoder.layers.0.fc1.weight")
    %p62 = tp.parameter "model.decoder.layers.0.fc1.bias" : tensor<128xf32> loc("model.decoder.layers.0.fc1.bias")
    %63 = nn.linear %60, %p61 bias %p62 : (tensor<1x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<1x16x128xf32> loc("model.decoder.layers.0.fc1")
    %67 = tensor.empty() : tensor<1x16x128xf32> loc("model.decoder.layers.0.activation_fn")
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%63 : tensor<1x16x128xf32>) outs(%67 : tensor<1x16x128xf32>) {
    ^bb0(%a64: f32, %o66: f32):
      %s65 = arith.constant 0.000000000e+00 : f32
      %s68 = arith.maximumf %a64, %s65 : f32
      linalg.yield %s68 : f32
    } -> tensor<1x16x128xf32> loc("model.decoder.layers.0.activation_fn")
    %p70 = tp.parameter "model.decoder.layers.0.fc2.weight" : tensor<64x128xf32> loc("model.decoder.layers.0.fc2.weight")
    %p71 = tp.parameter "model.decoder.layers.0.fc2.bias" : tensor<64xf32> loc("model.decoder.layers.0.fc2.bias")
    %72 = nn.linear %69, %p70 bias %p71 : (tensor<1x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.0.fc2")
    %73 = arith.addf %57, %72 : tensor<1x16x64xf32> loc("model.decoder.layers.0")
    %p74 = tp.parameter "model.decoder.layers.1.self_attn_layer_norm.weight" : tensor<64xf32> loc("model.decoder.layers.1.self_attn_layer_norm.weight")
    %p75 = tp.parameter "model.decoder.layers.1.self_attn_layer_norm.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn_layer_norm.bias")
    %76 = nn.layer_norm %73, %p74 bias %p75 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.1.self_attn_layer_norm")
    %p77 = tp.parameter "model.decoder.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.1.self_attn.q_proj.weight")
    %p78 = tp.parameter "model.decoder.layers.1.self_attn.q_proj.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn.q_proj.bias")
    %79 = nn.linear %76, %p77 bias %p78 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.1.self_attn.q_proj")
    %83 = tensor.empty() : tensor<1x16x64xf32> loc("model.decoder.layers.1.self_attn")
    %85 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%79 : tensor<1x16x64xf32>) outs(%83 : tensor<1x16x64xf32>) {
    ^bb0(%a80: f32, %o82: f32):
      %s81 = arith.constant 2.500000000e-01 : f32
      %s84 = arith.mulf %a80, %s81 : f32
      linalg.yield %s84 : f32
    } -> tensor<1x16x64xf32> loc("model.decoder.layers.1.self_attn")
    %86 = tensor.expand_shape %85 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.decoder.layers.1.self_attn")
    %p87 = tp.parameter "model.decoder.layers.1.self_attn.k_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.1.self_attn.k_proj.weight")
    %p88 = tp.parameter "model.decoder.layers.1.self_attn.k_proj.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn.k_proj.bias")
    %89 = nn.linear %76, %p87 bias %p88 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.1.self_attn.k_proj")
    %90 = tensor.expand_shape %89 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.decoder.layers.1.self_attn.k_proj")
    %p91 = tp.parameter "model.decoder.layers.1.self_attn.v_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.1.self_attn.v_proj.weight")
    %p92 = tp.parameter "model.decoder.layers.1.self_attn.v_proj.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn.v_proj.bias")
    %93 = nn.linear %76, %p91 bias %p92 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.1.self_attn.v_proj")
    %94 = tensor.expand_shape %93 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.decoder.layers.1.self_attn.v_proj")
    %95 = nn.attention %86, %90, %94 mask %arg1 {causal, scale = 1.00000000000000000e+00 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>) -> tensor<1x16x4x16xf32> loc("model.decoder.layers.1.self_attn")
    %96 = tensor.collapse_shape %95 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.decoder.layers.1.self_attn.out_proj")
    %p97 = tp.parameter "model.decoder.layers.1.self_attn.out_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.1.self_attn.out_proj.weight")
    %p98 = tp.parameter "model.decoder.layers.1.self_attn.out_proj.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn.out_proj.bias")
    %99 = nn.linear %96, %p97 bias %p98 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.1.self_attn.out_proj")
    %100 = arith.addf %73, %99 : tensor<1x16x64xf32> loc("model.decoder.layers.1")
    %p101 = tp.parameter "model.decoder.layers.1.final_layer_norm.weight" : tensor<64xf32> loc("model.decoder.layers.1.final_layer_norm.weight")
    %p102 = tp.parameter "model.decoder.layers.1.final_layer_norm.bias" : tensor<64xf32> loc("model.decoder.layers.1.final_layer_norm.bias")
    %103 = nn.layer_norm %100, %p101 bias %p102 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.1.final_layer_norm")
    %p104 = tp.parameter "model.decoder.layers.1.fc1.weight" : tensor<128x64xf32> loc("model.decoder.layers.1.fc1.weight")
    %p105 = tp.parameter "model.decoder.layers.1.fc1.bias" : tensor<128xf32> loc("model.decoder.layers.1.fc1.bias")
    %106 = nn.linear %103, %p104 bias %p105 : (tensor<1x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<1x16x128xf32> loc("model.decoder.layers.1.fc1")
    %110 = tensor.empty() : tensor<1x16x128xf32> loc("model.decoder.layers.1.activation_fn")
    %112 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%106 : tensor<1x16x128xf32>) outs(%110 : tensor<1x16x128xf32>) {
    ^bb0(%a107: f32, %o109: f32):
      %s108 = arith.constant 0.000000000e+00 : f32
      %s111 = arith.maximumf %a107, %s108 : f32
      linalg.yield %s111 : f32
    } -> tensor<1x16x128xf32> loc("model.decoder.layers.1.activation_fn")
    %p113 = tp.parameter "model.decoder.layers.1.fc2.weight" : tensor<64x128xf32> loc("model.decoder.layers.1.fc2.weight")
    %p114 = tp.parameter "model.decoder.layers.1.fc2.bias" : tensor<64xf32> loc("model.decoder.layers.1.fc2.bias")
    %115 = nn.linear %112, %p113 bias %p114 : (tensor<1x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.layers.1.fc2")
    %116 = arith.addf %100, %115 : tensor<1x16x64xf32> loc("model.decoder.layers.1")
    %p117 = tp.parameter "model.decoder.final_layer_norm.weight" : tensor<64xf32> loc("model.decoder.final_layer_norm.weight")
    %p118 = tp.parameter "model.decoder.final_layer_norm.bias" : tensor<64xf32> loc("model.decoder.final_layer_norm.bias")
    %119 = nn.layer_norm %116, %p117 bias %p118 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.decoder.final_layer_norm")
    %120 = nn.linear %119, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    return %120 : tensor<1x16x97xf32>
  }
}
