module {
  func.func @main(%arg0: tensor<2x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<2x16x97xbf16> {tp.name = "logits"}) {
    %c19 = arith.constant dense<"0x000000000000803E0000003F0000403F0000803F0000A03F0000C03F0000E03F0000004000001040000020400000304000004040000050400000604000007040000000000000803D0000003E0000403E0000803E0000A03E0000C03E0000E03E0000003F0000103F0000203F0000303F0000403F0000503F0000603F0000703F000000000000803C0000003D0000403D0000803D0000A03D0000C03D0000E03D0000003E0000103E0000203E0000303E0000403E0000503E0000603E0000703E000000000000803B0000003C0000403C0000803C0000A03C0000C03C0000E03C0000003D0000103D0000203D0000303D0000403D0000503D0000603D0000703D"> : tensor<4x1x16xf32>
    %p1 = tp.parameter "transformer.word_embeddings.weight" alternatives ["lm_head.weight"] : tensor<97x64xbf16> loc("transformer.word_embeddings.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<2x16xi64>, tensor<97x64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.word_embeddings")
    %p3 = tp.parameter "transformer.word_embeddings_layernorm.weight" : tensor<64xbf16> loc("transformer.word_embeddings_layernorm.weight")
    %p4 = tp.parameter "transformer.word_embeddings_layernorm.bias" : tensor<64xbf16> loc("transformer.word_embeddings_layernorm.bias")
    %5 = nn.layer_norm %2, %p3 bias %p4 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.word_embeddings_layernorm")
    %p6 = tp.parameter "transformer.h.0.input_layernorm.weight" : tensor<64xbf16> loc("transformer.h.0.input_layernorm.weight")
    %p7 = tp.parameter "transformer.h.0.input_layernorm.bias" : tensor<64xbf16> loc("transformer.h.0.input_layernorm.bias")
    %8 = nn.layer_norm %5, %p6 bias %p7 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.h.0.input_layernorm")
    %p9 = tp.parameter "transformer.h.0.self_attention.query_key_value.weight" : tensor<192x64xbf16> loc("transformer.h.0.self_attention.query_key_value.weight")
    %p10 = tp.parameter "transformer.h.0.self_attention.query_key_value.bias" : tensor<192xbf16> loc("transformer.h.0.self_attention.query_key_value.bias")
    %11 = nn.linear %8, %p9 bias %p10 : (tensor<2x16x64xbf16>, tensor<192x64xbf16>, tensor<192xbf16>) -> tensor<2x16x192xbf16> loc("transformer.h.0.self_attention.query_key_value")
    %12 = tensor.expand_shape %11 [[0], [1], [2, 3, 4]] output_shape [2, 16, 4, 3, 16] : tensor<2x16x192xbf16> into tensor<2x16x4x3x16xbf16> loc("transformer.h.0.self_attention.query_key_value")
    %13 = tensor.extract_slice %12[0, 0, 0, 0, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xbf16> to tensor<2x16x4x1x16xbf16> loc("transformer.h.0.self_attention")
    %14 = tensor.extract_slice %12[0, 0, 0, 1, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xbf16> to tensor<2x16x4x1x16xbf16> loc("transformer.h.0.self_attention")
    %15 = tensor.extract_slice %12[0, 0, 0, 2, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xbf16> to tensor<2x16x4x1x16xbf16> loc("transformer.h.0.self_attention")
    %16 = tensor.collapse_shape %13 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xbf16> into tensor<2x16x4x16xbf16> loc("transformer.h.0.self_attention")
    %17 = tensor.collapse_shape %14 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xbf16> into tensor<2x16x4x16xbf16> loc("transformer.h.0.self_attention")
    %18 = tensor.collapse_shape %15 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xbf16> into tensor<2x16x4x16xbf16> loc("transformer.h.0.self_attention")
    %22 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c19 : tensor<4x1x16xf32>) outs(%22 : tensor<4x16x16xf32>) {
    ^bb0(%a20: f32, %o21: f32):
      linalg.yield %a20 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %24 = nn.attention %16, %17, %18 bias %23 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<4x16x16xf32>) -> tensor<2x16x4x16xbf16> loc("transformer.h.0.self_attention")
    %25 = tensor.collapse_shape %24 [[0], [1], [2, 3]] : tensor<2x16x4x16xbf16> into tensor<2x16x64xbf16> loc("transformer.h.0.self_attention.dense")
    %p26 = tp.parameter "transformer.h.0.self_attention.dense.weight" : tensor<64x64xbf16> loc("transformer.h.0.self_attention.dense.weight")
    %p27 = tp.parameter "transformer.h.0.self_attention.dense.bias" : tensor<64xbf16> loc("transformer.h.0.self_attention.dense.bias")
    %28 = nn.linear %25, %p26 bias %p27 : (tensor<2x16x64xbf16>, tensor<64x64xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.h.0.self_attention.dense")
    %29 = arith.addf %5, %28 : tensor<2x16x64xbf16> loc("transformer.h.0.self_attention")
    %p30 = tp.parameter "transformer.h.0.post_attention_layernorm.weight" : tensor<64xbf16> loc("transformer.h.0.post_attention_layernorm.weight")
    %p31 = tp.parameter "transformer.h.0.post_attention_layernorm.bias" : tensor<64xbf16> loc("transformer.h.0.post_attention_layernorm.bias")
    %32 = nn.layer_norm %29, %p30 bias %p31 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.h.0.post_attention_layernorm")
    %p33 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.weight" : tensor<256x64xbf16> loc("transformer.h.0.mlp.dense_h_to_4h.weight")
    %p34 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.bias" : tensor<256xbf16> loc("transformer.h.0.mlp.dense_h_to_4h.bias")
    %35 = nn.linear %32, %p33 bias %p34 : (tensor<2x16x64xbf16>, tensor<256x64xbf16>, tensor<256xbf16>) -> tensor<2x16x256xbf16> loc("transformer.h.0.mlp.dense_h_to_4h")
    %39 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35 : tensor<2x16x256xbf16>) outs(%39 : tensor<2x16x256xbf16>) {
    ^bb0(%a36: bf16, %o38: bf16):
      %s37 = arith.constant 5.000000000e-01 : bf16
      %s40 = arith.mulf %a36, %s37 : bf16
      linalg.yield %s40 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %45 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35 : tensor<2x16x256xbf16>) outs(%45 : tensor<2x16x256xbf16>) {
    ^bb0(%a42: bf16, %o44: bf16):
      %s43 = arith.constant 7.968750000e-01 : bf16
      %s46 = arith.mulf %a42, %s43 : bf16
      linalg.yield %s46 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %51 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35 : tensor<2x16x256xbf16>) outs(%51 : tensor<2x16x256xbf16>) {
    ^bb0(%a48: bf16, %o50: bf16):
      %s49 = arith.constant 4.467773438e-02 : bf16
      %s52 = arith.mulf %a48, %s49 : bf16
      linalg.yield %s52 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %54 = arith.mulf %53, %35 : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %58 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %60 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%54 : tensor<2x16x256xbf16>) outs(%58 : tensor<2x16x256xbf16>) {
    ^bb0(%a55: bf16, %o57: bf16):
      %s56 = arith.constant 1.000000000e+00 : bf16
      %s59 = arith.addf %a55, %s56 : bf16
      linalg.yield %s59 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %61 = arith.mulf %47, %60 : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %64 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %68 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%61 : tensor<2x16x256xbf16>) outs(%64 : tensor<2x16x256xbf16>) {
    ^bb0(%a62: bf16, %o63: bf16):
      %s65 = arith.extf %a62 : bf16 to f32
      %s66 = math.tanh %s65 : f32
      %s67 = arith.truncf %s66 : f32 to bf16
      linalg.yield %s67 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %72 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %74 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%68 : tensor<2x16x256xbf16>) outs(%72 : tensor<2x16x256xbf16>) {
    ^bb0(%a69: bf16, %o71: bf16):
      %s70 = arith.constant 1.000000000e+00 : bf16
      %s73 = arith.addf %a69, %s70 : bf16
      linalg.yield %s73 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %75 = arith.mulf %41, %74 : tensor<2x16x256xbf16> loc("transformer.h.0.mlp.gelu_impl")
    %p76 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.weight" : tensor<64x256xbf16> loc("transformer.h.0.mlp.dense_4h_to_h.weight")
    %p77 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.bias" : tensor<64xbf16> loc("transformer.h.0.mlp.dense_4h_to_h.bias")
    %78 = nn.linear %75, %p76 bias %p77 : (tensor<2x16x256xbf16>, tensor<64x256xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.h.0.mlp.dense_4h_to_h")
    %79 = arith.addf %29, %78 : tensor<2x16x64xbf16> loc("transformer.h.0.mlp")
    %p80 = tp.parameter "transformer.h.1.input_layernorm.weight" : tensor<64xbf16> loc("transformer.h.1.input_layernorm.weight")
    %p81 = tp.parameter "transformer.h.1.input_layernorm.bias" : tensor<64xbf16> loc("transformer.h.1.input_layernorm.bias")
    %82 = nn.layer_norm %79, %p80 bias %p81 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.h.1.input_layernorm")
    %p83 = tp.parameter "transformer.h.1.self_attention.query_key_value.weight" : tensor<192x64xbf16> loc("transformer.h.1.self_attention.query_key_value.weight")
    %p84 = tp.parameter "transformer.h.1.self_attention.query_key_value.bias" : tensor<192xbf16> loc("transformer.h.1.self_attention.query_key_value.bias")
    %85 = nn.linear %82, %p83 bias %p84 : (tensor<2x16x64xbf16>, tensor<192x64xbf16>, tensor<192xbf16>) -> tensor<2x16x192xbf16> loc("transformer.h.1.self_attention.query_key_value")
    %86 = tensor.expand_shape %85 [[0], [1], [2, 3, 4]] output_shape [2, 16, 4, 3, 16] : tensor<2x16x192xbf16> into tensor<2x16x4x3x16xbf16> loc("transformer.h.1.self_attention.query_key_value")
    %87 = tensor.extract_slice %86[0, 0, 0, 0, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xbf16> to tensor<2x16x4x1x16xbf16> loc("transformer.h.1.self_attention")
    %88 = tensor.extract_slice %86[0, 0, 0, 1, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xbf16> to tensor<2x16x4x1x16xbf16> loc("transformer.h.1.self_attention")
    %89 = tensor.extract_slice %86[0, 0, 0, 2, 0] [2, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<2x16x4x3x16xbf16> to tensor<2x16x4x1x16xbf16> loc("transformer.h.1.self_attention")
    %90 = tensor.collapse_shape %87 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xbf16> into tensor<2x16x4x16xbf16> loc("transformer.h.1.self_attention")
    %91 = tensor.collapse_shape %88 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xbf16> into tensor<2x16x4x16xbf16> loc("transformer.h.1.self_attention")
    %92 = tensor.collapse_shape %89 [[0], [1], [2, 3], [4]] : tensor<2x16x4x1x16xbf16> into tensor<2x16x4x16xbf16> loc("transformer.h.1.self_attention")
    %93 = nn.attention %90, %91, %92 bias %23 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<2x16x4x16xbf16>, tensor<4x16x16xf32>) -> tensor<2x16x4x16xbf16> loc("transformer.h.1.self_attention")
    %94 = tensor.collapse_shape %93 [[0], [1], [2, 3]] : tensor<2x16x4x16xbf16> into tensor<2x16x64xbf16> loc("transformer.h.1.self_attention.dense")
    %p95 = tp.parameter "transformer.h.1.self_attention.dense.weight" : tensor<64x64xbf16> loc("transformer.h.1.self_attention.dense.weight")
    %p96 = tp.parameter "transformer.h.1.self_attention.dense.bias" : tensor<64xbf16> loc("transformer.h.1.self_attention.dense.bias")
    %97 = nn.linear %94, %p95 bias %p96 : (tensor<2x16x64xbf16>, tensor<64x64xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.h.1.self_attention.dense")
    %98 = arith.addf %79, %97 : tensor<2x16x64xbf16> loc("transformer.h.1.self_attention")
    %p99 = tp.parameter "transformer.h.1.post_attention_layernorm.weight" : tensor<64xbf16> loc("transformer.h.1.post_attention_layernorm.weight")
    %p100 = tp.parameter "transformer.h.1.post_attention_layernorm.bias" : tensor<64xbf16> loc("transformer.h.1.post_attention_layernorm.bias")
    %101 = nn.layer_norm %98, %p99 bias %p100 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.h.1.post_attention_layernorm")
    %p102 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.weight" : tensor<256x64xbf16> loc("transformer.h.1.mlp.dense_h_to_4h.weight")
    %p103 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.bias" : tensor<256xbf16> loc("transformer.h.1.mlp.dense_h_to_4h.bias")
    %104 = nn.linear %101, %p102 bias %p103 : (tensor<2x16x64xbf16>, tensor<256x64xbf16>, tensor<256xbf16>) -> tensor<2x16x256xbf16> loc("transformer.h.1.mlp.dense_h_to_4h")
    %108 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %110 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%104 : tensor<2x16x256xbf16>) outs(%108 : tensor<2x16x256xbf16>) {
    ^bb0(%a105: bf16, %o107: bf16):
      %s106 = arith.constant 5.000000000e-01 : bf16
      %s109 = arith.mulf %a105, %s106 : bf16
      linalg.yield %s109 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %114 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %116 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%104 : tensor<2x16x256xbf16>) outs(%114 : tensor<2x16x256xbf16>) {
    ^bb0(%a111: bf16, %o113: bf16):
      %s112 = arith.constant 7.968750000e-01 : bf16
      %s115 = arith.mulf %a111, %s112 : bf16
      linalg.yield %s115 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %120 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %122 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%104 : tensor<2x16x256xbf16>) outs(%120 : tensor<2x16x256xbf16>) {
    ^bb0(%a117: bf16, %o119: bf16):
      %s118 = arith.constant 4.467773438e-02 : bf16
      %s121 = arith.mulf %a117, %s118 : bf16
      linalg.yield %s121 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %123 = arith.mulf %122, %104 : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %127 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%123 : tensor<2x16x256xbf16>) outs(%127 : tensor<2x16x256xbf16>) {
    ^bb0(%a124: bf16, %o126: bf16):
      %s125 = arith.constant 1.000000000e+00 : bf16
      %s128 = arith.addf %a124, %s125 : bf16
      linalg.yield %s128 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %130 = arith.mulf %116, %129 : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %133 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %137 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%130 : tensor<2x16x256xbf16>) outs(%133 : tensor<2x16x256xbf16>) {
    ^bb0(%a131: bf16, %o132: bf16):
      %s134 = arith.extf %a131 : bf16 to f32
      %s135 = math.tanh %s134 : f32
      %s136 = arith.truncf %s135 : f32 to bf16
      linalg.yield %s136 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %141 = tensor.empty() : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %143 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%137 : tensor<2x16x256xbf16>) outs(%141 : tensor<2x16x256xbf16>) {
    ^bb0(%a138: bf16, %o140: bf16):
      %s139 = arith.constant 1.000000000e+00 : bf16
      %s142 = arith.addf %a138, %s139 : bf16
      linalg.yield %s142 : bf16
    } -> tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %144 = arith.mulf %110, %143 : tensor<2x16x256xbf16> loc("transformer.h.1.mlp.gelu_impl")
    %p145 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.weight" : tensor<64x256xbf16> loc("transformer.h.1.mlp.dense_4h_to_h.weight")
    %p146 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.bias" : tensor<64xbf16> loc("transformer.h.1.mlp.dense_4h_to_h.bias")
    %147 = nn.linear %144, %p145 bias %p146 : (tensor<2x16x256xbf16>, tensor<64x256xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.h.1.mlp.dense_4h_to_h")
    %148 = arith.addf %98, %147 : tensor<2x16x64xbf16> loc("transformer.h.1.mlp")
    %p149 = tp.parameter "transformer.ln_f.weight" : tensor<64xbf16> loc("transformer.ln_f.weight")
    %p150 = tp.parameter "transformer.ln_f.bias" : tensor<64xbf16> loc("transformer.ln_f.bias")
    %151 = nn.layer_norm %148, %p149 bias %p150 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> tensor<2x16x64xbf16> loc("transformer.ln_f")
    %152 = nn.linear %151, %p1 : (tensor<2x16x64xbf16>, tensor<97x64xbf16>) -> tensor<2x16x97xbf16> loc("lm_head")
    return %152 : tensor<2x16x97xbf16>
  }
}
