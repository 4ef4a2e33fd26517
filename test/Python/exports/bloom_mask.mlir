module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<1x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>, tp.default = "ones"}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %c25 = arith.constant dense<"0x0000803E0000803D0000803C0000803B"> : tensor<4x1xf32>
    %p1 = tp.parameter "transformer.word_embeddings.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("transformer.word_embeddings.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("transformer.word_embeddings")
    %p3 = tp.parameter "transformer.word_embeddings_layernorm.weight" : tensor<64xf32> loc("transformer.word_embeddings_layernorm.weight")
    %p4 = tp.parameter "transformer.word_embeddings_layernorm.bias" : tensor<64xf32> loc("transformer.word_embeddings_layernorm.bias")
    %5 = nn.layer_norm %2, %p3 bias %p4 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.word_embeddings_layernorm")
    %8 = tensor.empty() : tensor<1x16xi64> loc("transformer")
    %9 = arith.constant 0 : i64 loc("transformer")
    %10 = linalg.fill ins(%9 : i64) outs(%8 : tensor<1x16xi64>) -> tensor<1x16xi64> loc("transformer")
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg1 : tensor<1x16xi64>) outs(%10 : tensor<1x16xi64>) {
    ^bb0(%a6: i64, %o7: i64):
      %s11 = linalg.index 1 : index
      %s12 = linalg.index 2 : index
      %s13 = arith.cmpi ule, %s12, %s11 : index
      %s14 = arith.constant 0 : i64
      %s15 = arith.select %s13, %a6, %s14 : i64
      %s16 = arith.addi %o7, %s15 : i64
      linalg.yield %s16 : i64
    } -> tensor<1x16xi64> loc("transformer")
    %21 = tensor.empty() : tensor<1x16xi64> loc("transformer")
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<1x16xi64>) outs(%21 : tensor<1x16xi64>) {
    ^bb0(%a18: i64, %o20: i64):
      %s19 = arith.constant 1 : i64
      %s22 = arith.subi %a18, %s19 : i64
      linalg.yield %s22 : i64
    } -> tensor<1x16xi64> loc("transformer")
    %24 = arith.muli %23, %arg1 : tensor<1x16xi64> loc("transformer")
    %29 = tensor.empty() : tensor<1x4x16xf32> loc("transformer")
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, 0)>, affine_map<(d0, d1, d2) -> (0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c25, %24 : tensor<4x1xf32>, tensor<1x16xi64>) outs(%29 : tensor<1x4x16xf32>) {
    ^bb0(%a26: f32, %a27: i64, %o28: f32):
      %s30 = arith.sitofp %a27 : i64 to f32
      %s31 = arith.mulf %a26, %s30 : f32
      linalg.yield %s31 : f32
    } -> tensor<1x4x16xf32> loc("transformer")
    %p33 = tp.parameter "transformer.h.0.input_layernorm.weight" : tensor<64xf32> loc("transformer.h.0.input_layernorm.weight")
    %p34 = tp.parameter "transformer.h.0.input_layernorm.bias" : tensor<64xf32> loc("transformer.h.0.input_layernorm.bias")
    %35 = nn.layer_norm %5, %p33 bias %p34 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.input_layernorm")
    %p36 = tp.parameter "transformer.h.0.self_attention.query_key_value.weight" : tensor<192x64xf32> loc("transformer.h.0.self_attention.query_key_value.weight")
    %p37 = tp.parameter "transformer.h.0.self_attention.query_key_value.bias" : tensor<192xf32> loc("transformer.h.0.self_attention.query_key_value.bias")
    %38 = nn.linear %35, %p36 bias %p37 : (tensor<1x16x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<1x16x192xf32> loc("transformer.h.0.self_attention.query_key_value")
    %39 = tensor.expand_shape %38 [[0], [1], [2, 3, 4]] output_shape [1, 16, 4, 3, 16] : tensor<1x16x192xf32> into tensor<1x16x4x3x16xf32> loc("transformer.h.0.self_attention.query_key_value")
    %40 = tensor.extract_slice %39[0, 0, 0, 0, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %41 = tensor.extract_slice %39[0, 0, 0, 1, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %42 = tensor.extract_slice %39[0, 0, 0, 2, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.0.self_attention")
    %43 = tensor.collapse_shape %40 [[0], [1], [2, 3], [4]] : tensor<1x16x4x1x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.0.self_attention")
    %44 = tensor.collapse_shape %41 [[0], [1], [2, 3], [4]] : tensor<1x16x4x1x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.0.self_attention")
    %45 = tensor.collapse_shape %42 [[0], [1], [2, 3], [4]] : tensor<1x16x4x1x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.0.self_attention")
    %48 = tensor.empty() : tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%32 : tensor<1x4x16xf32>) outs(%48 : tensor<4x16x16xf32>) {
    ^bb0(%a46: f32, %o47: f32):
      linalg.yield %a46 : f32
    } -> tensor<4x16x16xf32> loc("transformer.h.0.self_attention")
    %50 = nn.attention %43, %44, %45 mask %arg1 bias %49 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>, tensor<4x16x16xf32>) -> tensor<1x16x4x16xf32> loc("transformer.h.0.self_attention")
    %51 = tensor.collapse_shape %50 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("transformer.h.0.self_attention.dense")
    %p52 = tp.parameter "transformer.h.0.self_attention.dense.weight" : tensor<64x64xf32> loc("transformer.h.0.self_attention.dense.weight")
    %p53 = tp.parameter "transformer.h.0.self_attention.dense.bias" : tensor<64xf32> loc("transformer.h.0.self_attention.dense.bias")
    %54 = nn.linear %51, %p52 bias %p53 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.self_attention.dense")
    %55 = arith.addf %5, %54 : tensor<1x16x64xf32> loc("transformer.h.0.self_attention")
    %p56 = tp.parameter "transformer.h.0.post_attention_layernorm.weight" : tensor<64xf32> loc("transformer.h.0.post_attention_layernorm.weight")
    %p57 = tp.parameter "transformer.h.0.post_attention_layernorm.bias" : tensor<64xf32> loc("transformer.h.0.post_attention_layernorm.bias")
    %58 = nn.layer_norm %55, %p56 bias %p57 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.post_attention_layernorm")
    %p59 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.weight" : tensor<256x64xf32> loc("transformer.h.0.mlp.dense_h_to_4h.weight")
    %p60 = tp.parameter "transformer.h.0.mlp.dense_h_to_4h.bias" : tensor<256xf32> loc("transformer.h.0.mlp.dense_h_to_4h.bias")
    %61 = nn.linear %58, %p59 bias %p60 : (tensor<1x16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.dense_h_to_4h")
    %65 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%61 : tensor<1x16x256xf32>) outs(%65 : tensor<1x16x256xf32>) {
    ^bb0(%a62: f32, %o64: f32):
      %s63 = arith.constant 5.000000000e-01 : f32
      %s66 = arith.mulf %a62, %s63 : f32
      linalg.yield %s66 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %71 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%61 : tensor<1x16x256xf32>) outs(%71 : tensor<1x16x256xf32>) {
    ^bb0(%a68: f32, %o70: f32):
      %s69 = arith.constant 7.978845835e-01 : f32
      %s72 = arith.mulf %a68, %s69 : f32
      linalg.yield %s72 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %77 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %79 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%61 : tensor<1x16x256xf32>) outs(%77 : tensor<1x16x256xf32>) {
    ^bb0(%a74: f32, %o76: f32):
      %s75 = arith.constant 4.471499845e-02 : f32
      %s78 = arith.mulf %a74, %s75 : f32
      linalg.yield %s78 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %80 = arith.mulf %79, %61 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %84 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %86 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%80 : tensor<1x16x256xf32>) outs(%84 : tensor<1x16x256xf32>) {
    ^bb0(%a81: f32, %o83: f32):
      %s82 = arith.constant 1.000000000e+00 : f32
      %s85 = arith.addf %a81, %s82 : f32
      linalg.yield %s85 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %87 = arith.mulf %73, %86 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %90 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%87 : tensor<1x16x256xf32>) outs(%90 : tensor<1x16x256xf32>) {
    ^bb0(%a88: f32, %o89: f32):
      %s91 = math.tanh %a88 : f32
      linalg.yield %s91 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %96 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%92 : tensor<1x16x256xf32>) outs(%96 : tensor<1x16x256xf32>) {
    ^bb0(%a93: f32, %o95: f32):
      %s94 = arith.constant 1.000000000e+00 : f32
      %s97 = arith.addf %a93, %s94 : f32
      linalg.yield %s97 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %99 = arith.mulf %67, %98 : tensor<1x16x256xf32> loc("transformer.h.0.mlp.gelu_impl")
    %p100 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.weight" : tensor<64x256xf32> loc("transformer.h.0.mlp.dense_4h_to_h.weight")
    %p101 = tp.parameter "transformer.h.0.mlp.dense_4h_to_h.bias" : tensor<64xf32> loc("transformer.h.0.mlp.dense_4h_to_h.bias")
    %102 = nn.linear %99, %p100 bias %p101 : (tensor<1x16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.mlp.dense_4h_to_h")
    %103 = arith.addf %55, %102 : tensor<1x16x64xf32> loc("transformer.h.0.mlp")
    %p104 = tp.parameter "transformer.h.1.input_layernorm.weight" : tensor<64xf32> loc("transformer.h.1.input_layernorm.weight")
    %p105 = tp.parameter "transformer.h.1.input_layernorm.bias" : tensor<64xf32> loc("transformer.h.1.input_layernorm.bias")
    %106 = nn.layer_norm %103, %p104 bias %p105 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.input_layernorm")
    %p107 = tp.parameter "transformer.h.1.self_attention.query_key_value.weight" : tensor<192x64xf32> loc("transformer.h.1.self_attention.query_key_value.weight")
    %p108 = tp.parameter "transformer.h.1.self_attention.query_key_value.bias" : tensor<192xf32> loc("transformer.h.1.self_attention.query_key_value.bias")
    %109 = nn.linear %106, %p107 bias %p108 : (tensor<1x16x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<1x16x192xf32> loc("transformer.h.1.self_attention.query_key_value")
    %110 = tensor.expand_shape %109 [[0], [1], [2, 3, 4]] output_shape [1, 16, 4, 3, 16] : tensor<1x16x192xf32> into tensor<1x16x4x3x16xf32> loc("transformer.h.1.self_attention.query_key_value")
    %111 = tensor.extract_slice %110[0, 0, 0, 0, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %112 = tensor.extract_slice %110[0, 0, 0, 1, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %113 = tensor.extract_slice %110[0, 0, 0, 2, 0] [1, 16, 4, 1, 16] [1, 1, 1, 1, 1] : tensor<1x16x4x3x16xf32> to tensor<1x16x4x1x16xf32> loc("transformer.h.1.self_attention")
    %114 = tensor.collapse_shape %111 [[0], [1], [2, 3], [4]] : tensor<1x16x4x1x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.1.self_attention")
    %115 = tensor.collapse_shape %112 [[0], [1], [2, 3], [4]] : tensor<1x16x4x1x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.1.self_attention")
    %116 = tensor.collapse_shape %113 [[0], [1], [2, 3], [4]] : tensor<1x16x4x1x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.1.self_attention")
    %117 = nn.attention %114, %115, %116 mask %arg1 bias %49 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>, tensor<4x16x16xf32>) -> tensor<1x16x4x16xf32> loc("transformer.h.1.self_attention")
    %118 = tensor.collapse_shape %117 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("transformer.h.1.self_attention.dense")
    %p119 = tp.parameter "transformer.h.1.self_attention.dense.weight" : tensor<64x64xf32> loc("transformer.h.1.self_attention.dense.weight")
    %p120 = tp.parameter "transformer.h.1.self_attention.dense.bias" : tensor<64xf32> loc("transformer.h.1.self_attention.dense.bias")
    %121 = nn.linear %118, %p119 bias %p120 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.self_attention.dense")
    %122 = arith.addf %103, %121 : tensor<1x16x64xf32> loc("transformer.h.1.self_attention")
    %p123 = tp.parameter "transformer.h.1.post_attention_layernorm.weight" : tensor<64xf32> loc("transformer.h.1.post_attention_layernorm.weight")
    %p124 = tp.parameter "transformer.h.1.post_attention_layernorm.bias" : tensor<64xf32> loc("transformer.h.1.post_attention_layernorm.bias")
    %125 = nn.layer_norm %122, %p123 bias %p124 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.post_attention_layernorm")
    %p126 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.weight" : tensor<256x64xf32> loc("transformer.h.1.mlp.dense_h_to_4h.weight")
    %p127 = tp.parameter "transformer.h.1.mlp.dense_h_to_4h.bias" : tensor<256xf32> loc("transformer.h.1.mlp.dense_h_to_4h.bias")
    %128 = nn.linear %125, %p126 bias %p127 : (tensor<1x16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.dense_h_to_4h")
    %132 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %134 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128 : tensor<1x16x256xf32>) outs(%132 : tensor<1x16x256xf32>) {
    ^bb0(%a129: f32, %o131: f32):
      %s130 = arith.constant 5.000000000e-01 : f32
      %s133 = arith.mulf %a129, %s130 : f32
      linalg.yield %s133 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %138 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %140 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128 : tensor<1x16x256xf32>) outs(%138 : tensor<1x16x256xf32>) {
    ^bb0(%a135: f32, %o137: f32):
      %s136 = arith.constant 7.978845835e-01 : f32
      %s139 = arith.mulf %a135, %s136 : f32
      linalg.yield %s139 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %144 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %146 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128 : tensor<1x16x256xf32>) outs(%144 : tensor<1x16x256xf32>) {
    ^bb0(%a141: f32, %o143: f32):
      %s142 = arith.constant 4.471499845e-02 : f32
      %s145 = arith.mulf %a141, %s142 : f32
      linalg.yield %s145 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %147 = arith.mulf %146, %128 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %151 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %153 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%147 : tensor<1x16x256xf32>) outs(%151 : tensor<1x16x256xf32>) {
    ^bb0(%a148: f32, %o150: f32):
      %s149 = arith.constant 1.000000000e+00 : f32
      %s152 = arith.addf %a148, %s149 : f32
      linalg.yield %s152 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %154 = arith.mulf %140, %153 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %157 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %159 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154 : tensor<1x16x256xf32>) outs(%157 : tensor<1x16x256xf32>) {
    ^bb0(%a155: f32, %o156: f32):
      %s158 = math.tanh %a155 : f32
      linalg.yield %s158 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %163 = tensor.empty() : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %165 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%159 : tensor<1x16x256xf32>) outs(%163 : tensor<1x16x256xf32>) {
    ^bb0(%a160: f32, %o162: f32):
      %s161 = arith.constant 1.000000000e+00 : f32
      %s164 = arith.addf %a160, %s161 : f32
      linalg.yield %s164 : f32
    } -> tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %166 = arith.mulf %134, %165 : tensor<1x16x256xf32> loc("transformer.h.1.mlp.gelu_impl")
    %p167 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.weight" : tensor<64x256xf32> loc("transformer.h.1.mlp.dense_4h_to_h.weight")
    %p168 = tp.parameter "transformer.h.1.mlp.dense_4h_to_h.bias" : tensor<64xf32> loc("transformer.h.1.mlp.dense_4h_to_h.bias")
    %169 = nn.linear %166, %p167 bias %p168 : (tensor<1x16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.1.mlp.dense_4h_to_h")
    %170 = arith.addf %122, %169 : tensor<1x16x64xf32> loc("transformer.h.1.mlp")
    %p171 = tp.parameter "transformer.ln_f.weight" : tensor<64xf32> loc("transformer.ln_f.weight")
    %p172 = tp.parameter "transformer.ln_f.bias" : tensor<64xf32> loc("transformer.ln_f.bias")
    %173 = nn.layer_norm %170, %p171 bias %p172 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.ln_f")
    %174 = nn.linear %173, %p1 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    return %174 : tensor<1x16x97xf32>
  }
}
