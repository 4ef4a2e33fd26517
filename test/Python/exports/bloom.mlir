module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %c31 = arith.constant dense<"0x000000000000803E0000003F0000403F0000803F0000A03F0000C03F0000E03F0000004000001040000020400000304000004040000050400000604000007040000000000000803D0000003E0000403E0000803E0000A03E0000C03E0000E03E0000003F0000103F0000203F0000303F0000403F0000503F0000603F0000703F000000000000803C0000003D0000403D0000803D0000A03D0000C03D0000E03D0000003E0000103E0000203E0000303E0000403E0000503E0000603E0000703E000000000000803B0000003C0000403C0000803C0000A03C0000C03C0000E03C0000003D0000103D0000203D0000303D0000403D0000503D0000603D0000703D"> : tensor<4x1x16xf32>
    %c38 = arith.constant dense<"0x00000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFFFFFF7FFF00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFFFFFF7FFF0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFFFFFF7FFF000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000FFFF7FFF00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"> : tensor<1x1x16x16xf32>
    %p1 = tp.parameter "transformer.word_embeddings.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("transformer.word_embeddings.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("transformer.word_embeddings")
    %p3 = tp.parameter "transformer.word_embeddings_layernorm.weight" : tensor<64xf32> loc("transformer.word_embeddings_layernorm.weight")
    %p4 = tp.parameter "transformer.word_embeddings_layernorm.bias" : tensor<64xf32> loc("transformer.word_embeddings_layernorm.bias")
    %5 = nn.layer_norm %2, %p3 bias %p4 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.word_embeddings_layernorm")
    %p6 = tp.parameter "transformer.h.0.input_layernorm.weight" : tensor<64xf32> loc("transformer.h.0.input_layernorm.weight")
    %p7 = tp.parameter "transformer.h.0.input_layernorm.bias" : tensor<64xf32> loc("transformer.h.0.input_layernorm.bias")
    %8 = nn.layer_norm %5, %p6 bias %p7 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.input_layernorm")
    %p9 = tp.parameter "transformer.h.0.self_attention.query_key_value.weight" : tensor<192x64xf32> loc("transformer.h.0.self_attention.query_key_value.weight")
    %p10 = tp.parameter "transformer.h.0.self_attention.query_key_value.bias" : tensor<192xf32> loc("transformer.h.0.self_attention.query_key_value.bias")
    %11 = nn.linear %8, %p9 bias %p10 : (tensor<1x16x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<1x16x192xf32> loc("transformer.h.0.self_attention.query_key_value")
    %12 = tensor.expand_shape %11 [[0], [1], [2, 3, 4]] output_shape [1, 16, 4, 3, 16] : tensor<1x16x192xf32> into tensor<1x16x4x3x16xf32> loc("transformer.h.0.self_attention.query_key_value")
    %13 = tensor.extract_slice %12[0, 0, 0, 0, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %14 = tensor.extract_slice %12[0, 0, 0, 1, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %15 = tensor.extract_slice %12[0, 0, 0, 2, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %19 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %20 = arith.constant 0.000000000e+00 : f32 loc("transformer.h.0.self_attention")
    %21 = linalg.fill ins(%20 : f32) outs(%19 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d2, d0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%13, %14 : tensor<1x16x4x1x16xf32>, tensor<1x16x4x1x16xf32>) outs(%21 : tensor<4x16x16xf32>) {
    ^bb0(%a16: f32, %a17: f32, %o18: f32):
      %s22 = arith.mulf %a16, %a17 : f32
      %s23 = arith.addf %o18, %s22 : f32
      linalg.yield %s23 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %28 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24 : tensor<4x16x16xf32>) outs(%28 : tensor<4x16x16xf32>) {
    ^bb0(%a25: f32, %o27: f32):
      %s26 = arith.constant 2.500000000e-01 : f32
      %s29 = arith.mulf %a25, %s26 : f32
      linalg.yield %s29 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %35 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c31, %30 : tensor<4x1x16xf32>, tensor<4x16x16xf32>) outs(%35 : tensor<4x16x16xf32>) {
    ^bb0(%a32: f32, %a33: f32, %o34: f32):
      %s36 = arith.addf %a32, %a33 : f32
      linalg.yield %s36 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %42 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, 0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%37, %c38 : tensor<4x16x16xf32>, tensor<1x1x16x16xf32>) outs(%42 : tensor<4x16x16xf32>) {
    ^bb0(%a39: f32, %a40: f32, %o41: f32):
      %s43 = arith.addf %a39, %a40 : f32
      linalg.yield %s43 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %45 = nn.softmax %44 : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %49 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %50 = arith.constant 0.000000000e+00 : f32 loc("transformer.h.0.self_attention")
    %51 = linalg.fill ins(%50 : f32) outs(%49 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3, d0, 0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%45, %15 : tensor<4x16x16xf32>, tensor<1x16x4x1x16xf32>) outs(%51 : tensor<4x16x16xf32>) {
    ^bb0(%a46: f32, %a47: f32, %o48: f32):
      %s52 = arith.mulf %a46, %a47 : f32
      %s53 = arith.addf %o48, %s52 : f32
      linalg.yield %s53 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %55 = tensor.empty() : tensor<16x4x16xf32> loc("transformer.h.0.self_attention.dense")
    %56 = linalg.transpose ins(%54 : tensor<4x16x16xf32>) outs(%55 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("transformer.h.0.self_attention.dense")
    %57 = tensor.collapse_shape %56 [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32> loc("transformer.h.0.self_attention.dense")
    %58 = tensor.expand_shape %57 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("transformer.h.0.self_attention.dense")
    %p59 = tp.parameter "transformer.h.0.self_attention.dense.weight" : tensor<64x64xf32> loc("transformer.h.0.self_attention.dense.weight")
    %p60 = tp.parameter "transformer.h.0.self_attention.dense.bias" : tensor<64xf32> loc("transformer.h.0.self_attention.dense.bias")
    %61 = nn.linear %58, %p59 bias %p60 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.self_attention.dense")
    %62 = arith.addf %5, %61 : tensor<1x16x64xf32> loc("transformer.h.0.self_attention")
    %p63 = tp.parameter "transformer.h.0.post_attention_layernorm.weight" : tensor<64xf32> loc("transformer.h.0.post_attention_layernorm.weight")
    %p64 = tp.parameter "transformer.h.0.post_attention_layernorm.bias" : tensor<64xf32> loc("transformer.h.0.post_attention_layernorm.bias")
    %65 = nn.layer_norm %62, %p63 bias %p64 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.post_attention_layernorm")
    %p66 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.weight" : tensor<256x64xf32> loc("transformer.h.0.mlp.dense_h_to_4h.weight")
    %p67 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.bias" : tensor<256xf32> loc("transformer.h.0.mlp.dense_h_to_4h.bias")
    %68 = nn.linear %65, %p66 bias %p67 : (tensor<1x16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.dense_h_to_4h")
    %72 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %74 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%68 : tensor<1x16x256xf32>) outs(%72 : tensor<1x16x256xf32>) {
    ^bb0(%a69: f32, %o71: f32):
      %s70 = arith.constant 5.000000000e-01 : f32
      %s73 = arith.mulf %a69, %s70 : f32
      linalg.yield %s73 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %78 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%68 : tensor<1x16x256xf32>) outs(%78 : tensor<1x16x256xf32>) {
    ^bb0(%a75: f32, %o77: f32):
      %s76 = arith.constant 7.978845835e-01 : f32
      %s79 = arith.mulf %a75, %s76 : f32
      linalg.yield %s79 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %84 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %86 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%68 : tensor<1x16x256xf32>) outs(%84 : tensor<1x16x256xf32>) {
    ^bb0(%a81: f32, %o83: f32):
      %s82 = arith.constant 4.471499845e-02 : f32
      %s85 = arith.mulf %a81, %s82 : f32
      linalg.yield %s85 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %87 = arith.mulf %86, %68 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %91 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%87 : tensor<1x16x256xf32>) outs(%91 : tensor<1x16x256xf32>) {
    ^bb0(%a88: f32, %o90: f32):
      %s89 = arith.constant 1.000000000e+00 : f32
      %s92 = arith.addf %a88, %s89 : f32
      linalg.yield %s92 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %94 = arith.mulf %80, %93 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %97 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %99 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%94 : tensor<1x16x256xf32>) outs(%97 : tensor<1x16x256xf32>) {
    ^bb0(%a95: f32, %o96: f32):
      %s98 = math.tanh %a95 : f32
      linalg.yield %s98 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %103 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %105 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%99 : tensor<1x16x256xf32>) outs(%103 : tensor<1x16x256xf32>) {
    ^bb0(%a100: f32, %o102: f32):
      %s101 = arith.constant 1.000000000e+00 : f32
      %s104 = arith.addf %a100, %s101 : f32
      linalg.yield %s104 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %106 = arith.mulf %74, %105 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %p107 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.weight" : tensor<64x256xf32> loc("transformer.h.0.mlp.dense_4h_to_h.weight")
    %p108 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.bias" : tensor<64xf32> loc("transformer.h.0.mlp.dense_4h_to_h.bias")
    %109 = nn.linear %106, %p107 bias %p108 : (tensor<1x16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.mlp.dense_4h_to_h")
    %110 = arith.addf %62, %109 : tensor<1x16x64xf32> loc("transformer.h.0.mlp")
    %p111 = tp.parameter "transformer.h.1.input_layernorm.weight" : tensor<64xf32> loc("transformer.h.1.input_layernorm.weight")
    %p112 = tp.parameter "transformer.h.1.input_layernorm.bias" : tensor<64xf32> loc("transformer.h.1.input_layernorm.bias")
    %113 = nn.layer_norm %110, %p111 bias %p112 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.input_layernorm")
    %p114 = tp.parameter "transformer.h.1.self_attention.query_key_value.weight" : tensor<192x64xf32> loc("transformer.h.1.self_attention.query_key_value.weight")
    %p115 = tp.parameter "transformer.h.1.self_attention.query_key_value.bias" : tensor<192xf32> loc("transformer.h.1.self_attention.query_key_value.bias")
    %116 = nn.linear %113, %p114 bias %p115 : (tensor<1x16x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<1x16x192xf32> loc("transformer.h.1.self_attention.query_key_value")
    %117 = tensor.expand_shape %116 [[0], [1], [2, 3, 4]] output_shape [1, 16, 4, 3, 16] : tensor<1x16x192xf32> into tensor<1x16x4x3x16xf32> loc("transformer.h.1.self_attention.query_key_value")
    %118 = tensor.extract_slice %117[0, 0, 0, 0, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %119 = tensor.extract_slice %117[0, 0, 0, 1, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %120 = tensor.extract_slice %117[0, 0, 0, 2, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %124 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %125 = arith.constant 0.000000000e+00 : f32 loc("transformer.h.1.self_attention")
    %126 = linalg.fill ins(%125 : f32) outs(%124 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d2, d0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%118, %119 : tensor<1x16x4x1x16xf32>, tensor<1x16x4x1x16xf32>) outs(%126 : tensor<4x16x16xf32>) {
    ^bb0(%a121: f32, %a122: f32, %o123: f32):
      %s127 = arith.mulf %a121, %a122 : f32
      %s128 = arith.addf %o123, %s127 : f32
      linalg.yield %s128 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %133 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %135 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%129 : tensor<4x16x16xf32>) outs(%133 : tensor<4x16x16xf32>) {
    ^bb0(%a130: f32, %o132: f32):
      %s131 = arith.constant 2.500000000e-01 : f32
      %s134 = arith.mulf %a130, %s131 : f32
      linalg.yield %s134 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %139 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %141 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c31, %135 : tensor<4x1x16xf32>, tensor<4x16x16xf32>) outs(%139 : tensor<4x16x16xf32>) {
    ^bb0(%a136: f32, %a137: f32, %o138: f32):
      %s140 = arith.addf %a136, %a137 : f32
      linalg.yield %s140 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %145 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %147 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, 0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%141, %c38 : tensor<4x16x16xf32>, tensor<1x1x16x16xf32>) outs(%145 : tensor<4x16x16xf32>) {
    ^bb0(%a142: f32, %a143: f32, %o144: f32):
      %s146 = arith.addf %a142, %a143 : f32
      linalg.yield %s146 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %148 = nn.softmax %147 : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %152 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %153 = arith.constant 0.000000000e+00 : f32 loc("transformer.h.1.self_attention")
    %154 = linalg.fill ins(%153 : f32) outs(%152 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %157 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3, d0, 0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%148, %120 : tensor<4x16x16xf32>, tensor<1x16x4x1x16xf32>) outs(%154 : tensor<4x16x16xf32>) {
    ^bb0(%a149: f32, %a150: f32, %o151: f32):
      %s155 = arith.mulf %a149, %a150 : f32
      %s156 = arith.addf %o151, %s155 : f32
      linalg.yield %s156 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %158 = tensor.empty() : tensor<16x4x16xf32> loc("transformer.h.1.self_attention.dense")
    %159 = linalg.transpose ins(%157 : tensor<4x16x16xf32>) outs(%158 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("transformer.h.1.self_attention.dense")
    %160 = tensor.collapse_shape %159 [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32> loc("transformer.h.1.self_attention.dense")
    %161 = tensor.expand_shape %160 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("transformer.h.1.self_attention.dense")
    %p162 = tp.parameter "transformer.h.1.self_attention.dense.weight" : tensor<64x64xf32> loc("transformer.h.1.self_attention.dense.weight")
    %p163 = tp.parameter "transformer.h.1.self_attention.dense.bias" : tensor<64xf32> loc("transformer.h.1.self_attention.dense.bias")
    %164 = nn.linear %161, %p162 bias %p163 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.self_attention.dense")
    %165 = arith.addf %110, %164 : tensor<1x16x64xf32> loc("transformer.h.1.self_attention")
    %p166 = tp.parameter "transformer.h.1.post_attention_layernorm.weight" : tensor<64xf32> loc("transformer.h.1.post_attention_layernorm.weight")
    %p167 = tp.parameter "transformer.h.1.post_attention_layernorm.bias" : tensor<64xf32> loc("transformer.h.1.post_attention_layernorm.bias")
    %168 = nn.layer_norm %165, %p166 bias %p167 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.post_attention_layernorm")
    %p169 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.weight" : tensor<256x64xf32> loc("transformer.h.1.mlp.dense_h_to_4h.weight")
    %p170 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.bias" : tensor<256xf32> loc("transformer.h.1.mlp.dense_h_to_4h.bias")
    %171 = nn.linear %168, %p169 bias %p170 : (tensor<1x16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.dense_h_to_4h")
    %175 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %177 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%171 : tensor<1x16x256xf32>) outs(%175 : tensor<1x16x256xf32>) {
    ^bb0(%a172: f32, %o174: f32):
      %s173 = arith.constant 5.000000000e-01 : f32
      %s176 = arith.mulf %a172, %s173 : f32
      linalg.yield %s176 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %181 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %183 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%171 : tensor<1x16x256xf32>) outs(%181 : tensor<1x16x256xf32>) {
    ^bb0(%a178: f32, %o180: f32):
      %s179 = arith.constant 7.978845835e-01 : f32
      %s182 = arith.mulf %a178, %s179 : f32
      linalg.yield %s182 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %187 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %189 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%171 : tensor<1x16x256xf32>) outs(%187 : tensor<1x16x256xf32>) {
    ^bb0(%a184: f32, %o186: f32):
      %s185 = arith.constant 4.471499845e-02 : f32
      %s188 = arith.mulf %a184, %s185 : f32
      linalg.yield %s188 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %190 = arith.mulf %189, %171 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %194 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %196 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%190 : tensor<1x16x256xf32>) outs(%194 : tensor<1x16x256xf32>) {
    ^bb0(%a191: f32, %o193: f32):
      %s192 = arith.constant 1.000000000e+00 : f32
      %s195 = arith.addf %a191, %s192 : f32
      linalg.yield %s195 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %197 = arith.mulf %183, %196 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %200 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %202 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%197 : tensor<1x16x256xf32>) outs(%200 : tensor<1x16x256xf32>) {
    ^bb0(%a198: f32, %o199: f32):
      %s201 = math.tanh %a198 : f32
      linalg.yield %s201 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %206 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %208 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%202 : tensor<1x16x256xf32>) outs(%206 : tensor<1x16x256xf32>) {
    ^bb0(%a203: f32, %o205: f32):
      %s204 = arith.constant 1.000000000e+00 : f32
      %s207 = arith.addf %a203, %s204 : f32
      linalg.yield %s207 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %209 = arith.mulf %177, %208 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %p210 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.weight" : tensor<64x256xf32> loc("transformer.h.1.mlp.dense_4h_to_h.weight")
    %p211 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.bias" : tensor<64xf32> loc("transformer.h.1.mlp.dense_4h_to_h.bias")
    %212 = nn.linear %209, %p210 bias %p211 : (tensor<1x16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.mlp.dense_4h_to_h")
    %213 = arith.addf %165, %212 : tensor<1x16x64xf32> loc("transformer.h.1.mlp")
    %p214 = tp.parameter "transformer.ln_f.weight" : tensor<64xf32> loc("transformer.ln_f.weight")
    %p215 = tp.parameter "transformer.ln_f.bias" : tensor<64xf32> loc("transformer.ln_f.bias")
    %216 = nn.layer_norm %213, %p214 bias %p215 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.ln_f")
    %217 = nn.linear %216, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    return %217 : tensor<1x16x97xf32>
  }
}
