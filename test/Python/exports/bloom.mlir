module {
  func.func @main(%arg0: tensor<2x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<2x16x97xf32> {tp.name = "logits"}) {
    %c19 = arith.constant dense<"0x000000000000803E0000003F0000403F0000803F0000A03F0000C03F0000E03F0000004000001040000020400000304000004040000050400000604000007040000000000000803D0000003E0000403E0000803E0000A03E0000C03E0000E03E0000003F0000103F0000203F0000303F0000403F0000503F0000603F0000703F000000000000803C0000003D0000403D0000803D0000A03D0000C03D0000E03D0000003E0000103E0000203E0000303E0000403E0000503E0000603E0000703E000000000000803B0000003C0000403C0000803C0000A03C0000C03C0000E03C0000003D0000103D0000203D0000303D0000403D0000503D0000603D0000703D"> : tensor<4x1x16xf32>
    %p1 = tp.parameter "transformer.word_embeddings.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("transformer.word_embeddings.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<2x16xi64>, tensor<97x64xf32>) -> tensor<2x16x64xf32> loc("transformer.word_embeddings")
    %p3 = tp.parameter "transformer.word_embeddings_layernorm.weight" : tensor<64xf32> loc("transformer.word_embeddings_layernorm.weight")
    %p4 = tp.parameter "transformer.word_embeddings_layernorm.bias" : tensor<64xf32> loc("transformer.word_embeddings_layernorm.bias")
    %5 = nn.layer_norm %2, %p3 bias %p4 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.word_embeddings_layernorm")
    %p6 = tp.parameter "transformer.h.0.input_layernorm.weight" : tensor<64xf32> loc("transformer.h.0.input_layernorm.weight")
    %p7 = tp.parameter "transformer.h.0.input_layernorm.bias" : tensor<64xf32> loc("transformer.h.0.input_layernorm.bias")
    %8 = nn.layer_norm %5, %p6 bias %p7 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.h.0.input_layernorm")
    %p9 = tp.parameter "transformer.h.0.self_attention.query_key_value.weight" : tensor<192x64xf32> loc("transformer.h.0.self_attention.query_key_value.weight")
    %p10 = tp.parameter "transformer.h.0.self_attention.query_key_value.bias" : tensor<192xf32> loc("transformer.h.0.self_attention.query_key_value.bias")
    %11 = nn.linear %8, %p9 bias %p10 : (tensor<2x16x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<2x16x192xf32> loc("transformer.h.0.self_attention.query_key_value")
    %12 = tensor.expand_shape %11 [[0], [1], [2, 3, 4]] output_shape [2, 16, 4, 3, 16] : tensor<2x16x192xf32> into tensor<2x16x4x3x16xf32> loc("transformer.h.0.self_attention.query_key_value")
    %13 = tensor.extract_slice %12[0, 0, 0, 0, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xf32> to tensor<2x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %14 = tensor.extract_slice %12[0, 0, 0, 1, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xf32> to tensor<2x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %15 = tensor.extract_slice %12[0, 0, 0, 2, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xf32> to tensor<2x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %16 = tensor.collapse_shape %13 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xf32> into tensor<2x16x4x16xf32> loc("transformer.h.0.self_attention")
    %17 = tensor.collapse_shape %14 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xf32> into tensor<2x16x4x16xf32> loc("transformer.h.0.self_attention")
    %18 = tensor.collapse_shape %15 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xf32> into tensor<2x16x4x16xf32> loc("transformer.h.0.self_attention")
    %22 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c19 : tensor<4x1x16xf32>) outs(%22 : tensor<4x16x16xf32>) {
    ^bb0(%a20: f32, %o21: f32):
      linalg.yield %a20 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %24 = nn.attention %16, %17, %18 bias %23 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<4x16x16xf32>) -> tensor<2x16x4x16xf32> loc("transformer.h.0.self_attention")
    %25 = tensor.collapse_shape %24 [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32> loc("transformer.h.0.self_attention.dense")
    %p26 = tp.parameter "transformer.h.0.self_attention.dense.weight" : tensor<64x64xf32> loc("transformer.h.0.self_attention.dense.weight")
    %p27 = tp.parameter "transformer.h.0.self_attention.dense.bias" : tensor<64xf32> loc("transformer.h.0.self_attention.dense.bias")
    %28 = nn.linear %25, %p26 bias %p27 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.h.0.self_attention.dense")
    %29 = arith.addf %5, %28 : tensor<2x16x64xf32> loc("transformer.h.0.self_attention")
    %p30 = tp.parameter "transformer.h.0.post_attention_layernorm.weight" : tensor<64xf32> loc("transformer.h.0.post_attention_layernorm.weight")
    %p31 = tp.parameter "transformer.h.0.post_attention_layernorm.bias" : tensor<64xf32> loc("transformer.h.0.post_attention_layernorm.bias")
    %32 = nn.layer_norm %29, %p30 bias %p31 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.h.0.post_attention_layernorm")
    %p33 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.weight" : tensor<256x64xf32> loc("transformer.h.0.mlp.dense_h_to_4h.weight")
    %p34 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.bias" : tensor<256xf32> loc("transformer.h.0.mlp.dense_h_to_4h.bias")
    %35 = nn.linear %32, %p33 bias %p34 : (tensor<2x16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<2x16x256xf32> loc("transformer.h.0.mlp.dense_h_to_4h")
    %39 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35 : tensor<2x16x256xf32>) outs(%39 : tensor<2x16x256xf32>) {
    ^bb0(%a36: f32, %o38: f32):
      %s37 = arith.constant 5.000000000e-01 : f32
      %s40 = arith.mulf %a36, %s37 : f32
      linalg.yield %s40 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %45 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35 : tensor<2x16x256xf32>) outs(%45 : tensor<2x16x256xf32>) {
    ^bb0(%a42: f32, %o44: f32):
      %s43 = arith.constant 7.978845835e-01 : f32
      %s46 = arith.mulf %a42, %s43 : f32
      linalg.yield %s46 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %51 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35 : tensor<2x16x256xf32>) outs(%51 : tensor<2x16x256xf32>) {
    ^bb0(%a48: f32, %o50: f32):
      %s49 = arith.constant 4.471499845e-02 : f32
      %s52 = arith.mulf %a48, %s49 : f32
      linalg.yield %s52 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %54 = arith.mulf %53, %35 : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %58 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%54 : tensor<2x16x256xf32>) outs(%58 : tensor<2x16x256xf32>) {
    ^bb0(%a55: f32, %o57: f32):
      %s56 = arith.constant 1.000000000e+00 : f32
      %s59 = arith.addf %a55, %s56 : f32
      linalg.yield %s59 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %61 = arith.mulf %47, %60 : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %64 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%61 : tensor<2x16x256xf32>) outs(%64 : tensor<2x16x256xf32>) {
    ^bb0(%a62: f32, %o63: f32):
      %s65 = math.tanh %a62 : f32
      linalg.yield %s65 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %70 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %72 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%66 : tensor<2x16x256xf32>) outs(%70 : tensor<2x16x256xf32>) {
    ^bb0(%a67: f32, %o69: f32):
      %s68 = arith.constant 1.000000000e+00 : f32
      %s71 = arith.addf %a67, %s68 : f32
      linalg.yield %s71 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %73 = arith.mulf %41, %72 : tensor<2x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %p74 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.weight" : tensor<64x256xf32> loc("transformer.h.0.mlp.dense_4h_to_h.weight")
    %p75 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.bias" : tensor<64xf32> loc("transformer.h.0.mlp.dense_4h_to_h.bias")
    %76 = nn.linear %73, %p74 bias %p75 : (tensor<2x16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.h.0.mlp.dense_4h_to_h")
    %77 = arith.addf %29, %76 : tensor<2x16x64xf32> loc("transformer.h.0.mlp")
    %p78 = tp.parameter "transformer.h.1.input_layernorm.weight" : tensor<64xf32> loc("transformer.h.1.input_layernorm.weight")
    %p79 = tp.parameter "transformer.h.1.input_layernorm.bias" : tensor<64xf32> loc("transformer.h.1.input_layernorm.bias")
    %80 = nn.layer_norm %77, %p78 bias %p79 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.h.1.input_layernorm")
    %p81 = tp.parameter "transformer.h.1.self_attention.query_key_value.weight" : tensor<192x64xf32> loc("transformer.h.1.self_attention.query_key_value.weight")
    %p82 = tp.parameter "transformer.h.1.self_attention.query_key_value.bias" : tensor<192xf32> loc("transformer.h.1.self_attention.query_key_value.bias")
    %83 = nn.linear %80, %p81 bias %p82 : (tensor<2x16x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<2x16x192xf32> loc("transformer.h.1.self_attention.query_key_value")
    %84 = tensor.expand_shape %83 [[0], [1], [2, 3, 4]] output_shape [2, 16, 4, 3, 16] : tensor<2x16x192xf32> into tensor<2x16x4x3x16xf32> loc("transformer.h.1.self_attention.query_key_value")
    %85 = tensor.extract_slice %84[0, 0, 0, 0, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xf32> to tensor<2x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %86 = tensor.extract_slice %84[0, 0, 0, 1, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xf32> to tensor<2x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %87 = tensor.extract_slice %84[0, 0, 0, 2, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xf32> to tensor<2x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %88 = tensor.collapse_shape %85 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xf32> into tensor<2x16x4x16xf32> loc("transformer.h.1.self_attention")
    %89 = tensor.collapse_shape %86 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xf32> into tensor<2x16x4x16xf32> loc("transformer.h.1.self_attention")
    %90 = tensor.collapse_shape %87 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xf32> into tensor<2x16x4x16xf32> loc("transformer.h.1.self_attention")
    %91 = nn.attention %88, %89, %90 bias %23 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<4x16x16xf32>) -> tensor<2x16x4x16xf32> loc("transformer.h.1.self_attention")
    %92 = tensor.collapse_shape %91 [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32> loc("transformer.h.1.self_attention.dense")
    %p93 = tp.parameter "transformer.h.1.self_attention.dense.weight" : tensor<64x64xf32> loc("transformer.h.1.self_attention.dense.weight")
    %p94 = tp.parameter "transformer.h.1.self_attention.dense.bias" : tensor<64xf32> loc("transformer.h.1.self_attention.dense.bias")
    %95 = nn.linear %92, %p93 bias %p94 : (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.h.1.self_attention.dense")
    %96 = arith.addf %77, %95 : tensor<2x16x64xf32> loc("transformer.h.1.self_attention")
    %p97 = tp.parameter "transformer.h.1.post_attention_layernorm.weight" : tensor<64xf32> loc("transformer.h.1.post_attention_layernorm.weight")
    %p98 = tp.parameter "transformer.h.1.post_attention_layernorm.bias" : tensor<64xf32> loc("transformer.h.1.post_attention_layernorm.bias")
    %99 = nn.layer_norm %96, %p97 bias %p98 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.h.1.post_attention_layernorm")
    %p100 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.weight" : tensor<256x64xf32> loc("transformer.h.1.mlp.dense_h_to_4h.weight")
    %p101 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.bias" : tensor<256xf32> loc("transformer.h.1.mlp.dense_h_to_4h.bias")
    %102 = nn.linear %99, %p100 bias %p101 : (tensor<2x16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<2x16x256xf32> loc("transformer.h.1.mlp.dense_h_to_4h")
    %106 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %108 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%102 : tensor<2x16x256xf32>) outs(%106 : tensor<2x16x256xf32>) {
    ^bb0(%a103: f32, %o105: f32):
      %s104 = arith.constant 5.000000000e-01 : f32
      %s107 = arith.mulf %a103, %s104 : f32
      linalg.yield %s107 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %112 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %114 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%102 : tensor<2x16x256xf32>) outs(%112 : tensor<2x16x256xf32>) {
    ^bb0(%a109: f32, %o111: f32):
      %s110 = arith.constant 7.978845835e-01 : f32
      %s113 = arith.mulf %a109, %s110 : f32
      linalg.yield %s113 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %118 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %120 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%102 : tensor<2x16x256xf32>) outs(%118 : tensor<2x16x256xf32>) {
    ^bb0(%a115: f32, %o117: f32):
      %s116 = arith.constant 4.471499845e-02 : f32
      %s119 = arith.mulf %a115, %s116 : f32
      linalg.yield %s119 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %121 = arith.mulf %120, %102 : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %125 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %127 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%121 : tensor<2x16x256xf32>) outs(%125 : tensor<2x16x256xf32>) {
    ^bb0(%a122: f32, %o124: f32):
      %s123 = arith.constant 1.000000000e+00 : f32
      %s126 = arith.addf %a122, %s123 : f32
      linalg.yield %s126 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %128 = arith.mulf %114, %127 : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %131 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %133 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128 : tensor<2x16x256xf32>) outs(%131 : tensor<2x16x256xf32>) {
    ^bb0(%a129: f32, %o130: f32):
      %s132 = math.tanh %a129 : f32
      linalg.yield %s132 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %137 = tensor.empty() : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %139 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133 : tensor<2x16x256xf32>) outs(%137 : tensor<2x16x256xf32>) {
    ^bb0(%a134: f32, %o136: f32):
      %s135 = arith.constant 1.000000000e+00 : f32
      %s138 = arith.addf %a134, %s135 : f32
      linalg.yield %s138 : f32
    } -> tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %140 = arith.mulf %108, %139 : tensor<2x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %p141 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.weight" : tensor<64x256xf32> loc("transformer.h.1.mlp.dense_4h_to_h.weight")
    %p142 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.bias" : tensor<64xf32> loc("transformer.h.1.mlp.dense_4h_to_h.bias")
    %143 = nn.linear %140, %p141 bias %p142 : (tensor<2x16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.h.1.mlp.dense_4h_to_h")
    %144 = arith.addf %96, %143 : tensor<2x16x64xf32> loc("transformer.h.1.mlp")
    %p145 = tp.parameter "transformer.ln_f.weight" : tensor<64xf32> loc("transformer.ln_f.weight")
    %p146 = tp.parameter "transformer.ln_f.bias" : tensor<64xf32> loc("transformer.ln_f.bias")
    %147 = nn.layer_norm %144, %p145 bias %p146 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("transformer.ln_f")
    %148 = nn.linear %147, %p1 : (tensor<2x16x64xf32>, tensor<97x64xf32>) -> tensor<2x16x97xf32> loc("lm_head")
    return %148 : tensor<2x16x97xf32>
  }
}
