module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<1x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>, tp.default = "ones"}) -> (tensor<1x16x64xf32> {tp.name = "last_hidden_state"}) {
    %p1 = tp.parameter "embeddings.token_embedding.weight" : tensor<97x64xf32> loc("embeddings.token_embedding.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("embeddings.token_embedding")
    %p3 = tp.parameter "embeddings.position_embedding.weight" source <shape = [64, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<16x64xf32> loc("embeddings.position_embedding.weight")
    %7 = tensor.empty() : tensor<1x16x64xf32> loc("embeddings")
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %p3 : tensor<1x16x64xf32>, tensor<16x64xf32>) outs(%7 : tensor<1x16x64xf32>) {
    ^bb0(%a4: f32, %a5: f32, %o6: f32):
      %s8 = arith.addf %a4, %a5 : f32
      linalg.yield %s8 : f32
    } -> tensor<1x16x64xf32> loc("embeddings")
    %p10 = tp.parameter "encoder.layers.0.layer_norm1.weight" : tensor<64xf32> loc("encoder.layers.0.layer_norm1.weight")
    %p11 = tp.parameter "encoder.layers.0.layer_norm1.bias" : tensor<64xf32> loc("encoder.layers.0.layer_norm1.bias")
    %12 = nn.layer_norm %9, %p10 bias %p11 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.0.layer_norm1")
    %p13 = tp.parameter "encoder.layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("encoder.layers.0.self_attn.q_proj.weight")
    %p14 = tp.parameter "encoder.layers.0.self_attn.q_proj.bias" : tensor<64xf32> loc("encoder.layers.0.self_attn.q_proj.bias")
    %15 = nn.linear %12, %p13 bias %p14 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.0.self_attn.q_proj")
    %16 = tensor.expand_shape %15 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layers.0.self_attn.q_proj")
    %p17 = tp.parameter "encoder.layers.0.self_attn.k_proj.weight" : tensor<64x64xf32> loc("encoder.layers.0.self_attn.k_proj.weight")
    %p18 = tp.parameter "encoder.layers.0.self_attn.k_proj.bias" : tensor<64xf32> loc("encoder.layers.0.self_attn.k_proj.bias")
    %19 = nn.linear %12, %p17 bias %p18 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.0.self_attn.k_proj")
    %20 = tensor.expand_shape %19 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layers.0.self_attn.k_proj")
    %p21 = tp.parameter "encoder.layers.0.self_attn.v_proj.weight" : tensor<64x64xf32> loc("encoder.layers.0.self_attn.v_proj.weight")
    %p22 = tp.parameter "encoder.layers.0.self_attn.v_proj.bias" : tensor<64xf32> loc("encoder.layers.0.self_attn.v_proj.bias")
    %23 = nn.linear %12, %p21 bias %p22 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.0.self_attn.v_proj")
    %24 = tensor.expand_shape %23 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layers.0.self_attn.v_proj")
    %25 = nn.attention %16, %20, %24 mask %arg1 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>) -> tensor<1x16x4x16xf32> loc("encoder.layers.0.self_attn")
    %26 = tensor.collapse_shape %25 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("encoder.layers.0.self_attn.out_proj")
    %p27 = tp.parameter "encoder.layers.0.self_attn.out_proj.weight" : tensor<64x64xf32> loc("encoder.layers.0.self_attn.out_proj.weight")
    %p28 = tp.parameter "encoder.layers.0.self_attn.out_proj.bias" : tensor<64xf32> loc("encoder.layers.0.self_attn.out_proj.bias")
    %29 = nn.linear %26, %p27 bias %p28 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.0.self_attn.out_proj")
    %30 = arith.addf %9, %29 : tensor<1x16x64xf32> loc("encoder.layers.0")
    %p31 = tp.parameter "encoder.layers.0.layer_norm2.weight" : tensor<64xf32> loc("encoder.layers.0.layer_norm2.weight")
    %p32 = tp.parameter "encoder.layers.0.layer_norm2.bias" : tensor<64xf32> loc("encoder.layers.0.layer_norm2.bias")
    %33 = nn.layer_norm %30, %p31 bias %p32 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.0.layer_norm2")
    %p34 = tp.parameter "encoder.layers.0.mlp.fc1.weight" : tensor<128x64xf32> loc("encoder.layers.0.mlp.fc1.weight")
    %p35 = tp.parameter "encoder.layers.0.mlp.fc1.bias" : tensor<128xf32> loc("encoder.layers.0.mlp.fc1.bias")
    %36 = nn.linear %33, %p34 bias %p35 : (tensor<1x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<1x16x128xf32> loc("encoder.layers.0.mlp.fc1")
    %40 = tensor.empty() : tensor<1x16x128xf32> loc("encoder.layers.0.mlp.activation_fn")
    %42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%36 : tensor<1x16x128xf32>) outs(%40 : tensor<1x16x128xf32>) {
    ^bb0(%a37: f32, %o39: f32):
      %s38 = arith.constant 1.702000022e+00 : f32
      %s41 = arith.mulf %a37, %s38 : f32
      linalg.yield %s41 : f32
    } -> tensor<1x16x128xf32> loc("encoder.layers.0.mlp.activation_fn")
    %45 = tensor.empty() : tensor<1x16x128xf32> loc("encoder.layers.0.mlp.activation_fn")
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%42 : tensor<1x16x128xf32>) outs(%45 : tensor<1x16x128xf32>) {
    ^bb0(%a43: f32, %o44: f32):
      %s46 = arith.constant 1.000000000e+00 : f32
      %s47 = arith.negf %a43 : f32
      %s48 = math.exp %s47 : f32
      %s49 = arith.addf %s48, %s46 : f32
      %s50 = arith.divf %s46, %s49 : f32
      linalg.yield %s50 : f32
    } -> tensor<1x16x128xf32> loc("encoder.layers.0.mlp.activation_fn")
    %52 = arith.mulf %36, %51 : tensor<1x16x128xf32> loc("encoder.layers.0.mlp.activation_fn")
    %p53 = tp.parameter "encoder.layers.0.mlp.fc2.weight" : tensor<64x128xf32> loc("encoder.layers.0.mlp.fc2.weight")
    %p54 = tp.parameter "encoder.layers.0.mlp.fc2.bias" : tensor<64xf32> loc("encoder.layers.0.mlp.fc2.bias")
    %55 = nn.linear %52, %p53 bias %p54 : (tensor<1x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.0.mlp.fc2")
    %56 = arith.addf %30, %55 : tensor<1x16x64xf32> loc("encoder.layers.0")
    %p57 = tp.parameter "encoder.layers.1.layer_norm1.weight" : tensor<64xf32> loc("encoder.layers.1.layer_norm1.weight")
    %p58 = tp.parameter "encoder.layers.1.layer_norm1.bias" : tensor<64xf32> loc("encoder.layers.1.layer_norm1.bias")
    %59 = nn.layer_norm %56, %p57 bias %p58 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.1.layer_norm1")
    %p60 = tp.parameter "encoder.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("encoder.layers.1.self_attn.q_proj.weight")
    %p61 = tp.parameter "encoder.layers.1.self_attn.q_proj.bias" : tensor<64xf32> loc("encoder.layers.1.self_attn.q_proj.bias")
    %62 = nn.linear %59, %p60 bias %p61 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.1.self_attn.q_proj")
    %63 = tensor.expand_shape %62 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layers.1.self_attn.q_proj")
    %p64 = tp.parameter "encoder.layers.1.self_attn.k_proj.weight" : tensor<64x64xf32> loc("encoder.layers.1.self_attn.k_proj.weight")
    %p65 = tp.parameter "encoder.layers.1.self_attn.k_proj.bias" : tensor<64xf32> loc("encoder.layers.1.self_attn.k_proj.bias")
    %66 = nn.linear %59, %p64 bias %p65 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.1.self_attn.k_proj")
    %67 = tensor.expand_shape %66 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layers.1.self_attn.k_proj")
    %p68 = tp.parameter "encoder.layers.1.self_attn.v_proj.weight" : tensor<64x64xf32> loc("encoder.layers.1.self_attn.v_proj.weight")
    %p69 = tp.parameter "encoder.layers.1.self_attn.v_proj.bias" : tensor<64xf32> loc("encoder.layers.1.self_attn.v_proj.bias")
    %70 = nn.linear %59, %p68 bias %p69 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.1.self_attn.v_proj")
    %71 = tensor.expand_shape %70 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layers.1.self_attn.v_proj")
    %72 = nn.attention %63, %67, %71 mask %arg1 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>) -> tensor<1x16x4x16xf32> loc("encoder.layers.1.self_attn")
    %73 = tensor.collapse_shape %72 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("encoder.layers.1.self_attn.out_proj")
    %p74 = tp.parameter "encoder.layers.1.self_attn.out_proj.weight" : tensor<64x64xf32> loc("encoder.layers.1.self_attn.out_proj.weight")
    %p75 = tp.parameter "encoder.layers.1.self_attn.out_proj.bias" : tensor<64xf32> loc("encoder.layers.1.self_attn.out_proj.bias")
    %76 = nn.linear %73, %p74 bias %p75 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.1.self_attn.out_proj")
    %77 = arith.addf %56, %76 : tensor<1x16x64xf32> loc("encoder.layers.1")
    %p78 = tp.parameter "encoder.layers.1.layer_norm2.weight" : tensor<64xf32> loc("encoder.layers.1.layer_norm2.weight")
    %p79 = tp.parameter "encoder.layers.1.layer_norm2.bias" : tensor<64xf32> loc("encoder.layers.1.layer_norm2.bias")
    %80 = nn.layer_norm %77, %p78 bias %p79 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.1.layer_norm2")
    %p81 = tp.parameter "encoder.layers.1.mlp.fc1.weight" : tensor<128x64xf32> loc("encoder.layers.1.mlp.fc1.weight")
    %p82 = tp.parameter "encoder.layers.1.mlp.fc1.bias" : tensor<128xf32> loc("encoder.layers.1.mlp.fc1.bias")
    %83 = nn.linear %80, %p81 bias %p82 : (tensor<1x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<1x16x128xf32> loc("encoder.layers.1.mlp.fc1")
    %87 = tensor.empty() : tensor<1x16x128xf32> loc("encoder.layers.1.mlp.activation_fn")
    %89 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%83 : tensor<1x16x128xf32>) outs(%87 : tensor<1x16x128xf32>) {
    ^bb0(%a84: f32, %o86: f32):
      %s85 = arith.constant 1.702000022e+00 : f32
      %s88 = arith.mulf %a84, %s85 : f32
      linalg.yield %s88 : f32
    } -> tensor<1x16x128xf32> loc("encoder.layers.1.mlp.activation_fn")
    %92 = tensor.empty() : tensor<1x16x128xf32> loc("encoder.layers.1.mlp.activation_fn")
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%89 : tensor<1x16x128xf32>) outs(%92 : tensor<1x16x128xf32>) {
    ^bb0(%a90: f32, %o91: f32):
      %s93 = arith.constant 1.000000000e+00 : f32
      %s94 = arith.negf %a90 : f32
      %s95 = math.exp %s94 : f32
      %s96 = arith.addf %s95, %s93 : f32
      %s97 = arith.divf %s93, %s96 : f32
      linalg.yield %s97 : f32
    } -> tensor<1x16x128xf32> loc("encoder.layers.1.mlp.activation_fn")
    %99 = arith.mulf %83, %98 : tensor<1x16x128xf32> loc("encoder.layers.1.mlp.activation_fn")
    %p100 = tp.parameter "encoder.layers.1.mlp.fc2.weight" : tensor<64x128xf32> loc("encoder.layers.1.mlp.fc2.weight")
    %p101 = tp.parameter "encoder.layers.1.mlp.fc2.bias" : tensor<64xf32> loc("encoder.layers.1.mlp.fc2.bias")
    %102 = nn.linear %99, %p100 bias %p101 : (tensor<1x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layers.1.mlp.fc2")
    %103 = arith.addf %77, %102 : tensor<1x16x64xf32> loc("encoder.layers.1")
    %p104 = tp.parameter "final_layer_norm.weight" : tensor<64xf32> loc("final_layer_norm.weight")
    %p105 = tp.parameter "final_layer_norm.bias" : tensor<64xf32> loc("final_layer_norm.bias")
    %106 = nn.layer_norm %103, %p104 bias %p105 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("final_layer_norm")
    return %106 : tensor<1x16x64xf32>
  }
}
