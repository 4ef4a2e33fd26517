module {
  func.func @main(%arg0: tensor<2x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<2x16x97xf32> {tp.name = "logits"}) {
    %p1 = tp.parameter "model.decoder.embed_tokens.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("model.decoder.embed_tokens.weight")
    %2 = nn.embedding %arg0, %p1 {padding_row = 1 : i64} : (tensor<2x16xi64>, tensor<97x64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.embed_tokens")
    %p3 = tp.parameter "model.decoder.embed_positions.weight" source <shape = [66, 64], offsets = [2, 0], permutation = [0, 1]> : tensor<16x64xf32> loc("model.decoder.embed_positions.weight")
    %7 = tensor.empty() : tensor<2x16x64xf32> loc("model.decoder")
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %p3 : tensor<2x16x64xf32>, tensor<16x64xf32>) outs(%7 : tensor<2x16x64xf32>) {
    ^bb0(%a4: f32, %a5: f32, %o6: f32):
      %s8 = arith.addf %a4, %a5 : f32
      linalg.yield %s8 : f32
    } -> tensor<2x16x64xf32> loc("model.decoder")
    %p10 = tp.parameter "model.decoder.layers.0.self_attn_layer_norm.weight" : tensor<64xf32> loc("model.decoder.layers.0.self_attn_layer_norm.weight")
    %p11 = tp.parameter "model.decoder.layers.0.self_attn_layer_norm.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn_layer_norm.bias")
    %12 = nn.layer_norm %9, %p10 bias %p11 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.0.self_attn_layer_norm")
    %p13 = tp.parameter "model.decoder.layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.0.self_attn.q_proj.weight")
    %p14 = tp.parameter "model.decoder.layers.0.self_attn.q_proj.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn.q_proj.bias")
    %15 = nn.linear %12, %p13 bias %p14 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.0.self_attn.q_proj")
    %19 = tensor.empty() : tensor<2x16x64xf32> loc("model.decoder.layers.0.self_attn")
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15 : tensor<2x16x64xf32>) outs(%19 : tensor<2x16x64xf32>) {
    ^bb0(%a16: f32, %o18: f32):
      %s17 = arith.constant 2.500000000e-01 : f32
      %s20 = arith.mulf %a16, %s17 : f32
      linalg.yield %s20 : f32
    } -> tensor<2x16x64xf32> loc("model.decoder.layers.0.self_attn")
    %22 = tensor.expand_shape %21 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("model.decoder.layers.0.self_attn")
    %p23 = tp.parameter "model.decoder.layers.0.self_attn.k_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.0.self_attn.k_proj.weight")
    %p24 = tp.parameter "model.decoder.layers.0.self_attn.k_proj.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn.k_proj.bias")
    %25 = nn.linear %12, %p23 bias %p24 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.0.self_attn.k_proj")
    %26 = tensor.expand_shape %25 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("model.decoder.layers.0.self_attn.k_proj")
    %p27 = tp.parameter "model.decoder.layers.0.self_attn.v_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.0.self_attn.v_proj.weight")
    %p28 = tp.parameter "model.decoder.layers.0.self_attn.v_proj.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn.v_proj.bias")
    %29 = nn.linear %12, %p27 bias %p28 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.0.self_attn.v_proj")
    %30 = tensor.expand_shape %29 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("model.decoder.layers.0.self_attn.v_proj")
    %31 = nn.attention %22, %26, %30 {causal, scale = 1.00000000000000000e+00 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x16x4x16xf32> loc("model.decoder.layers.0.self_attn")
    %32 = tensor.collapse_shape %31 [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32> loc("model.decoder.layers.0.self_attn.out_proj")
    %p33 = tp.parameter "model.decoder.layers.0.self_attn.out_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.0.self_attn.out_proj.weight")
    %p34 = tp.parameter "model.decoder.layers.0.self_attn.out_proj.bias" : tensor<64xf32> loc("model.decoder.layers.0.self_attn.out_proj.bias")
    %35 = nn.linear %32, %p33 bias %p34 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.0.self_attn.out_proj")
    %36 = arith.addf %9, %35 : tensor<2x16x64xf32> loc("model.decoder.layers.0")
    %p37 = tp.parameter "model.decoder.layers.0.final_layer_norm.weight" : tensor<64xf32> loc("model.decoder.layers.0.final_layer_norm.weight")
    %p38 = tp.parameter "model.decoder.layers.0.final_layer_norm.bias" : tensor<64xf32> loc("model.decoder.layers.0.final_layer_norm.bias")
    %39 = nn.layer_norm %36, %p37 bias %p38 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.0.final_layer_norm")
    %p40 = tp.parameter "model.decoder.layers.0.fc1.weight" : tensor<128x64xf32> loc("model.decoder.layers.0.fc1.weight")
    %p41 = tp.parameter "model.decoder.layers.0.fc1.bias" : tensor<128xf32> loc("model.decoder.layers.0.fc1.bias")
    %42 = nn.linear %39, %p40 bias %p41 : (tensor<2x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<2x16x128xf32> loc("model.decoder.layers.0.fc1")
    %46 = tensor.empty() : tensor<2x16x128xf32> loc("model.decoder.layers.0.activation_fn")
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%42 : tensor<2x16x128xf32>) outs(%46 : tensor<2x16x128xf32>) {
    ^bb0(%a43: f32, %o45: f32):
      %s44 = arith.constant 0.000000000e+00 : f32
      %s47 = arith.maximumf %a43, %s44 : f32
      linalg.yield %s47 : f32
    } -> tensor<2x16x128xf32> loc("model.decoder.layers.0.activation_fn")
    %p49 = tp.parameter "model.decoder.layers.0.fc2.weight" : tensor<64x128xf32> loc("model.decoder.layers.0.fc2.weight")
    %p50 = tp.parameter "model.decoder.layers.0.fc2.bias" : tensor<64xf32> loc("model.decoder.layers.0.fc2.bias")
    %51 = nn.linear %48, %p49 bias %p50 : (tensor<2x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.0.fc2")
    %52 = arith.addf %36, %51 : tensor<2x16x64xf32> loc("model.decoder.layers.0")
    %p53 = tp.parameter "model.decoder.layers.1.self_attn_layer_norm.weight" : tensor<64xf32> loc("model.decoder.layers.1.self_attn_layer_norm.weight")
    %p54 = tp.parameter "model.decoder.layers.1.self_attn_layer_norm.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn_layer_norm.bias")
    %55 = nn.layer_norm %52, %p53 bias %p54 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.1.self_attn_layer_norm")
    %p56 = tp.parameter "model.decoder.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.1.self_attn.q_proj.weight")
    %p57 = tp.parameter "model.decoder.layers.1.self_attn.q_proj.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn.q_proj.bias")
    %58 = nn.linear %55, %p56 bias %p57 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.1.self_attn.q_proj")
    %62 = tensor.empty() : tensor<2x16x64xf32> loc("model.decoder.layers.1.self_attn")
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%58 : tensor<2x16x64xf32>) outs(%62 : tensor<2x16x64xf32>) {
    ^bb0(%a59: f32, %o61: f32):
      %s60 = arith.constant 2.500000000e-01 : f32
      %s63 = arith.mulf %a59, %s60 : f32
      linalg.yield %s63 : f32
    } -> tensor<2x16x64xf32> loc("model.decoder.layers.1.self_attn")
    %65 = tensor.expand_shape %64 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("model.decoder.layers.1.self_attn")
    %p66 = tp.parameter "model.decoder.layers.1.self_attn.k_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.1.self_attn.k_proj.weight")
    %p67 = tp.parameter "model.decoder.layers.1.self_attn.k_proj.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn.k_proj.bias")
    %68 = nn.linear %55, %p66 bias %p67 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.1.self_attn.k_proj")
    %69 = tensor.expand_shape %68 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("model.decoder.layers.1.self_attn.k_proj")
    %p70 = tp.parameter "model.decoder.layers.1.self_attn.v_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.1.self_attn.v_proj.weight")
    %p71 = tp.parameter "model.decoder.layers.1.self_attn.v_proj.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn.v_proj.bias")
    %72 = nn.linear %55, %p70 bias %p71 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.1.self_attn.v_proj")
    %73 = tensor.expand_shape %72 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("model.decoder.layers.1.self_attn.v_proj")
    %74 = nn.attention %65, %69, %73 {causal, scale = 1.00000000000000000e+00 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>) -> tensor<2x16x4x16xf32> loc("model.decoder.layers.1.self_attn")
    %75 = tensor.collapse_shape %74 [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32> loc("model.decoder.layers.1.self_attn.out_proj")
    %p76 = tp.parameter "model.decoder.layers.1.self_attn.out_proj.weight" : tensor<64x64xf32> loc("model.decoder.layers.1.self_attn.out_proj.weight")
    %p77 = tp.parameter "model.decoder.layers.1.self_attn.out_proj.bias" : tensor<64xf32> loc("model.decoder.layers.1.self_attn.out_proj.bias")
    %78 = nn.linear %75, %p76 bias %p77 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.1.self_attn.out_proj")
    %79 = arith.addf %52, %78 : tensor<2x16x64xf32> loc("model.decoder.layers.1")
    %p80 = tp.parameter "model.decoder.layers.1.final_layer_norm.weight" : tensor<64xf32> loc("model.decoder.layers.1.final_layer_norm.weight")
    %p81 = tp.parameter "model.decoder.layers.1.final_layer_norm.bias" : tensor<64xf32> loc("model.decoder.layers.1.final_layer_norm.bias")
    %82 = nn.layer_norm %79, %p80 bias %p81 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.1.final_layer_norm")
    %p83 = tp.parameter "model.decoder.layers.1.fc1.weight" : tensor<128x64xf32> loc("model.decoder.layers.1.fc1.weight")
    %p84 = tp.parameter "model.decoder.layers.1.fc1.bias" : tensor<128xf32> loc("model.decoder.layers.1.fc1.bias")
    %85 = nn.linear %82, %p83 bias %p84 : (tensor<2x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<2x16x128xf32> loc("model.decoder.layers.1.fc1")
    %89 = tensor.empty() : tensor<2x16x128xf32> loc("model.decoder.layers.1.activation_fn")
    %91 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%85 : tensor<2x16x128xf32>) outs(%89 : tensor<2x16x128xf32>) {
    ^bb0(%a86: f32, %o88: f32):
      %s87 = arith.constant 0.000000000e+00 : f32
      %s90 = arith.maximumf %a86, %s87 : f32
      linalg.yield %s90 : f32
    } -> tensor<2x16x128xf32> loc("model.decoder.layers.1.activation_fn")
    %p92 = tp.parameter "model.decoder.layers.1.fc2.weight" : tensor<64x128xf32> loc("model.decoder.layers.1.fc2.weight")
    %p93 = tp.parameter "model.decoder.layers.1.fc2.bias" : tensor<64xf32> loc("model.decoder.layers.1.fc2.bias")
    %94 = nn.linear %91, %p92 bias %p93 : (tensor<2x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.layers.1.fc2")
    %95 = arith.addf %79, %94 : tensor<2x16x64xf32> loc("model.decoder.layers.1")
    %p96 = tp.parameter "model.decoder.final_layer_norm.weight" : tensor<64xf32> loc("model.decoder.final_layer_norm.weight")
    %p97 = tp.parameter "model.decoder.final_layer_norm.bias" : tensor<64xf32> loc("model.decoder.final_layer_norm.bias")
    %98 = nn.layer_norm %95, %p96 bias %p97 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("model.decoder.final_layer_norm")
    %99 = nn.linear %98, %p1 : (tensor<2x16x64xf32>, tensor<97x64xf32>) -> tensor<2x16x97xf32> loc("lm_head")
    return %99 : tensor<2x16x97xf32>
  }
}
