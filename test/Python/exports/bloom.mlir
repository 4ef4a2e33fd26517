module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %c31 = arith.constant dense<"0x000000000000803E0000003F0000403F0000803F0000A03F0000C03F0000E03F0000004000001040000020400000304000004040000050400000604000007040000000000000803D0000003E0000403E0000803E0000A03E0000C03E0000E03E0000003F0000103F0000203F0000303F0000403F0000503F0000603F0000703F000000000000803C0000003D0000403D0000803D0000A03D0000C03D0000E03D0000003E0000103E0000203E0000303E0000403E0000503E0000603E0000703E000000000000803B0000003C0000403C0000803C0000A03C0000C03C0000E03C0000003D0000103D0000203D0000303D0000403D0000503D0000603D0000703D"> : tensor<4x1x16xf32>
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
    %50 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%37 : tensor<4x16x16xf32>) outs(%50 : tensor<4x16x16xf32>) {
    ^bb0(%a38: f32, %o49: f32):
      %s39 = linalg.index 1 : index
      %s40 = arith.index_cast %s39 : index to i64
      %s41 = linalg.index 2 : index
      %s42 = arith.index_cast %s41 : index to i64
      %s43 = arith.subi %s42, %s40 : i64
      %s44 = arith.constant 0 : i64
      %s45 = arith.cmpi sle, %s43, %s44 : i64
      %s46 = arith.constant 0.000000000e+00 : f32
      %s47 = arith.constant -3.402823466e+38 : f32
      %s48 = arith.select %s45, %s46, %s47 : f32
      %s51 = arith.addf %a38, %s48 : f32
      linalg.yield %s51 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %53 = nn.softmax %52 : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %57 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %58 = arith.constant 0.000000000e+00 : f32 loc("transformer.h.0.self_attention")
    %59 = linalg.fill ins(%58 : f32) outs(%57 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3, d0, 0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%53, %15 : tensor<4x16x16xf32>, tensor<1x16x4x1x16xf32>) outs(%59 : tensor<4x16x16xf32>) {
    ^bb0(%a54: f32, %a55: f32, %o56: f32):
      %s60 = arith.mulf %a54, %a55 : f32
      %s61 = arith.addf %o56, %s60 : f32
      linalg.yield %s61 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %63 = tensor.empty() : tensor<16x4x16xf32> loc("transformer.h.0.self_attention.dense")
    %64 = linalg.transpose ins(%62 : tensor<4x16x16xf32>) outs(%63 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("transformer.h.0.self_attention.dense")
    %65 = tensor.collapse_shape %64 [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32> loc("transformer.h.0.self_attention.dense")
    %66 = tensor.expand_shape %65 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("transformer.h.0.self_attention.dense")
    %p67 = tp.parameter "transformer.h.0.self_attention.dense.weight" : tensor<64x64xf32> loc("transformer.h.0.self_attention.dense.weight")
    %p68 = tp.parameter "transformer.h.0.self_attention.dense.bias" : tensor<64xf32> loc("transformer.h.0.self_attention.dense.bias")
    %69 = nn.linear %66, %p67 bias %p68 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.self_attention.dense")
    %70 = arith.addf %5, %69 : tensor<1x16x64xf32> loc("transformer.h.0.self_attention")
    %p71 = tp.parameter "transformer.h.0.post_attention_layernorm.weight" : tensor<64xf32> loc("transformer.h.0.post_attention_layernorm.weight")
    %p72 = tp.parameter "transformer.h.0.post_attention_layernorm.bias" : tensor<64xf32> loc("transformer.h.0.post_attention_layernorm.bias")
    %73 = nn.layer_norm %70, %p71 bias %p72 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.post_attention_layernorm")
    %p74 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.weight" : tensor<256x64xf32> loc("transformer.h.0.mlp.dense_h_to_4h.weight")
    %p75 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.bias" : tensor<256xf32> loc("transformer.h.0.mlp.dense_h_to_4h.bias")
    %76 = nn.linear %73, %p74 bias %p75 : (tensor<1x16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.dense_h_to_4h")
    %80 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %82 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%76 : tensor<1x16x256xf32>) outs(%80 : tensor<1x16x256xf32>) {
    ^bb0(%a77: f32, %o79: f32):
      %s78 = arith.constant 5.000000000e-01 : f32
      %s81 = arith.mulf %a77, %s78 : f32
      linalg.yield %s81 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %86 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %88 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%76 : tensor<1x16x256xf32>) outs(%86 : tensor<1x16x256xf32>) {
    ^bb0(%a83: f32, %o85: f32):
      %s84 = arith.constant 7.978845835e-01 : f32
      %s87 = arith.mulf %a83, %s84 : f32
      linalg.yield %s87 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %92 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %94 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%76 : tensor<1x16x256xf32>) outs(%92 : tensor<1x16x256xf32>) {
    ^bb0(%a89: f32, %o91: f32):
      %s90 = arith.constant 4.471499845e-02 : f32
      %s93 = arith.mulf %a89, %s90 : f32
      linalg.yield %s93 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %95 = arith.mulf %94, %76 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %99 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %101 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%95 : tensor<1x16x256xf32>) outs(%99 : tensor<1x16x256xf32>) {
    ^bb0(%a96: f32, %o98: f32):
      %s97 = arith.constant 1.000000000e+00 : f32
      %s100 = arith.addf %a96, %s97 : f32
      linalg.yield %s100 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %102 = arith.mulf %88, %101 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %105 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %107 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%102 : tensor<1x16x256xf32>) outs(%105 : tensor<1x16x256xf32>) {
    ^bb0(%a103: f32, %o104: f32):
      %s106 = math.tanh %a103 : f32
      linalg.yield %s106 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %111 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %113 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%107 : tensor<1x16x256xf32>) outs(%111 : tensor<1x16x256xf32>) {
    ^bb0(%a108: f32, %o110: f32):
      %s109 = arith.constant 1.000000000e+00 : f32
      %s112 = arith.addf %a108, %s109 : f32
      linalg.yield %s112 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %114 = arith.mulf %82, %113 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %p115 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.weight" : tensor<64x256xf32> loc("transformer.h.0.mlp.dense_4h_to_h.weight")
    %p116 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.bias" : tensor<64xf32> loc("transformer.h.0.mlp.dense_4h_to_h.bias")
    %117 = nn.linear %114, %p115 bias %p116 : (tensor<1x16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.mlp.dense_4h_to_h")
    %118 = arith.addf %70, %117 : tensor<1x16x64xf32> loc("transformer.h.0.mlp")
    %p119 = tp.parameter "transformer.h.1.input_layernorm.weight" : tensor<64xf32> loc("transformer.h.1.input_layernorm.weight")
    %p120 = tp.parameter "transformer.h.1.input_layernorm.bias" : tensor<64xf32> loc("transformer.h.1.input_layernorm.bias")
    %121 = nn.layer_norm %118, %p119 bias %p120 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.input_layernorm")
    %p122 = tp.parameter "transformer.h.1.self_attention.query_key_value.weight" : tensor<192x64xf32> loc("transformer.h.1.self_attention.query_key_value.weight")
    %p123 = tp.parameter "transformer.h.1.self_attention.query_key_value.bias" : tensor<192xf32> loc("transformer.h.1.self_attention.query_key_value.bias")
    %124 = nn.linear %121, %p122 bias %p123 : (tensor<1x16x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<1x16x192xf32> loc("transformer.h.1.self_attention.query_key_value")
    %125 = tensor.expand_shape %124 [[0], [1], [2, 3, 4]] output_shape [1, 16, 4, 3, 16] : tensor<1x16x192xf32> into tensor<1x16x4x3x16xf32> loc("transformer.h.1.self_attention.query_key_value")
    %126 = tensor.extract_slice %125[0, 0, 0, 0, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %127 = tensor.extract_slice %125[0, 0, 0, 1, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %128 = tensor.extract_slice %125[0, 0, 0, 2, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %132 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %133 = arith.constant 0.000000000e+00 : f32 loc("transformer.h.1.self_attention")
    %134 = linalg.fill ins(%133 : f32) outs(%132 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %137 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d2, d0, 0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%126, %127 : tensor<1x16x4x1x16xf32>, tensor<1x16x4x1x16xf32>) outs(%134 : tensor<4x16x16xf32>) {
    ^bb0(%a129: f32, %a130: f32, %o131: f32):
      %s135 = arith.mulf %a129, %a130 : f32
      %s136 = arith.addf %o131, %s135 : f32
      linalg.yield %s136 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %141 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %143 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%137 : tensor<4x16x16xf32>) outs(%141 : tensor<4x16x16xf32>) {
    ^bb0(%a138: f32, %o140: f32):
      %s139 = arith.constant 2.500000000e-01 : f32
      %s142 = arith.mulf %a138, %s139 : f32
      linalg.yield %s142 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %147 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %149 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c31, %143 : tensor<4x1x16xf32>, tensor<4x16x16xf32>) outs(%147 : tensor<4x16x16xf32>) {
    ^bb0(%a144: f32, %a145: f32, %o146: f32):
      %s148 = arith.addf %a144, %a145 : f32
      linalg.yield %s148 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %162 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %164 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%149 : tensor<4x16x16xf32>) outs(%162 : tensor<4x16x16xf32>) {
    ^bb0(%a150: f32, %o161: f32):
      %s151 = linalg.index 1 : index
      %s152 = arith.index_cast %s151 : index to i64
      %s153 = linalg.index 2 : index
      %s154 = arith.index_cast %s153 : index to i64
      %s155 = arith.subi %s154, %s152 : i64
      %s156 = arith.constant 0 : i64
      %s157 = arith.cmpi sle, %s155, %s156 : i64
      %s158 = arith.constant 0.000000000e+00 : f32
      %s159 = arith.constant -3.402823466e+38 : f32
      %s160 = arith.select %s157, %s158, %s159 : f32
      %s163 = arith.addf %a150, %s160 : f32
      linalg.yield %s163 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %165 = nn.softmax %164 : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %169 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %170 = arith.constant 0.000000000e+00 : f32 loc("transformer.h.1.self_attention")
    %171 = linalg.fill ins(%170 : f32) outs(%169 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %174 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3, d0, 0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%165, %128 : tensor<4x16x16xf32>, tensor<1x16x4x1x16xf32>) outs(%171 : tensor<4x16x16xf32>) {
    ^bb0(%a166: f32, %a167: f32, %o168: f32):
      %s172 = arith.mulf %a166, %a167 : f32
      %s173 = arith.addf %o168, %s172 : f32
      linalg.yield %s173 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.1.self_attention")
    %175 = tensor.empty() : tensor<16x4x16xf32> loc("transformer.h.1.self_attention.dense")
    %176 = linalg.transpose ins(%174 : tensor<4x16x16xf32>) outs(%175 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("transformer.h.1.self_attention.dense")
    %177 = tensor.collapse_shape %176 [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32> loc("transformer.h.1.self_attention.dense")
    %178 = tensor.expand_shape %177 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("transformer.h.1.self_attention.dense")
    %p179 = tp.parameter "transformer.h.1.self_attention.dense.weight" : tensor<64x64xf32> loc("transformer.h.1.self_attention.dense.weight")
    %p180 = tp.parameter "transformer.h.1.self_attention.dense.bias" : tensor<64xf32> loc("transformer.h.1.self_attention.dense.bias")
    %181 = nn.linear %178, %p179 bias %p180 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.self_attention.dense")
    %182 = arith.addf %118, %181 : tensor<1x16x64xf32> loc("transformer.h.1.self_attention")
    %p183 = tp.parameter "transformer.h.1.post_attention_layernorm.weight" : tensor<64xf32> loc("transformer.h.1.post_attention_layernorm.weight")
    %p184 = tp.parameter "transformer.h.1.post_attention_layernorm.bias" : tensor<64xf32> loc("transformer.h.1.post_attention_layernorm.bias")
    %185 = nn.layer_norm %182, %p183 bias %p184 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.post_attention_layernorm")
    %p186 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.weight" : tensor<256x64xf32> loc("transformer.h.1.mlp.dense_h_to_4h.weight")
    %p187 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.bias" : tensor<256xf32> loc("transformer.h.1.mlp.dense_h_to_4h.bias")
    %188 = nn.linear %185, %p186 bias %p187 : (tensor<1x16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.dense_h_to_4h")
    %192 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %194 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%188 : tensor<1x16x256xf32>) outs(%192 : tensor<1x16x256xf32>) {
    ^bb0(%a189: f32, %o191: f32):
      %s190 = arith.constant 5.000000000e-01 : f32
      %s193 = arith.mulf %a189, %s190 : f32
      linalg.yield %s193 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %198 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %200 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%188 : tensor<1x16x256xf32>) outs(%198 : tensor<1x16x256xf32>) {
    ^bb0(%a195: f32, %o197: f32):
      %s196 = arith.constant 7.978845835e-01 : f32
      %s199 = arith.mulf %a195, %s196 : f32
      linalg.yield %s199 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %204 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %206 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%188 : tensor<1x16x256xf32>) outs(%204 : tensor<1x16x256xf32>) {
    ^bb0(%a201: f32, %o203: f32):
      %s202 = arith.constant 4.471499845e-02 : f32
      %s205 = arith.mulf %a201, %s202 : f32
      linalg.yield %s205 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %207 = arith.mulf %206, %188 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %211 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %213 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%207 : tensor<1x16x256xf32>) outs(%211 : tensor<1x16x256xf32>) {
    ^bb0(%a208: f32, %o210: f32):
      %s209 = arith.constant 1.000000000e+00 : f32
      %s212 = arith.addf %a208, %s209 : f32
      linalg.yield %s212 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %214 = arith.mulf %200, %213 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %217 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %219 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%214 : tensor<1x16x256xf32>) outs(%217 : tensor<1x16x256xf32>) {
    ^bb0(%a215: f32, %o216: f32):
      %s218 = math.tanh %a215 : f32
      linalg.yield %s218 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %223 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %225 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%219 : tensor<1x16x256xf32>) outs(%223 : tensor<1x16x256xf32>) {
    ^bb0(%a220: f32, %o222: f32):
      %s221 = arith.constant 1.000000000e+00 : f32
      %s224 = arith.addf %a220, %s221 : f32
      linalg.yield %s224 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %226 = arith.mulf %194, %225 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %p227 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.weight" : tensor<64x256xf32> loc("transformer.h.1.mlp.dense_4h_to_h.weight")
    %p228 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.bias" : tensor<64xf32> loc("transformer.h.1.mlp.dense_4h_to_h.bias")
    %229 = nn.linear %226, %p227 bias %p228 : (tensor<1x16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.mlp.dense_4h_to_h")
    %230 = arith.addf %182, %229 : tensor<1x16x64xf32> loc("transformer.h.1.mlp")
    %p231 = tp.parameter "transformer.ln_f.weight" : tensor<64xf32> loc("transformer.ln_f.weight")
    %p232 = tp.parameter "transformer.ln_f.bias" : tensor<64xf32> loc("transformer.ln_f.bias")
    %233 = nn.layer_norm %230, %p231 bias %p232 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.ln_f")
    %234 = nn.linear %233, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    return %234 : tensor<1x16x97xf32>
  }
}
