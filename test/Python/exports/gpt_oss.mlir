module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %c11 = arith.constant dense<"0x865CAC3F865CAC3F865CAC3F865CAC3F865CAC3F865CAC3F865CAC3F865CAC3F2B413A3F3500A83F9223AC3F815BAC3F855CAC3F865CAC3F865CAC3F865CAC3F90740FBFBE239B3FDC78AB3F7358AC3F815CAC3F865CAC3F865CAC3F865CAC3FF2A2AABFB76D863FD65CAA3F5B53AC3F7B5CAC3F865CAC3F865CAC3F865CAC3F6D5361BFD5D4553F3AD0A83F3A4CAC3F735CAC3F865CAC3F865CAC3F865CAC3FD691C33E6BFC133F0ED4A63F0F43AC3F685CAC3F865CAC3F865CAC3F865CAC3F0E7FA53F384E953EA369A43FDC37AC3F5C5CAC3F865CAC3F865CAC3F865CAC3F94F1813FD84B1DBC9192A13F9E2AAC3F4C5CAC3F865CAC3F865CAC3F865CAC3FF5A048BE4AE39EBEB9509E3F591BAC3F3B5CAC3F865CAC3F865CAC3F865CAC3F300B9DBF0F6918BF42A69A3F0A0AAC3F265CAC3F865CAC3F865CAC3F865CAC3FA19F90BF40AA59BF9795963FB2F6AB3F105CAC3F865CAC3F865CAC3F865CAC3F2548C33B00F487BF6921923F53E1AB3FF85BAC3F865CAC3F865CAC3F865CAC3FA772913FD8319CBFA94C8D3FECC9AB3FDC5BAC3F865CAC3F865CAC3F865CAC3FA8689C3F7688A8BF891A883F7CB0AB3FBF5BAC3F865CAC3F865CAC3F865CAC3FB78B3C3E0958ACBF778E823F0595AB3F9F5BAC3F865CAC3F865CAC3F865CAC3FDEF082BF356FA7BF3C58793F8777AB3F7D5BAC3F855CAC3F865CAC3F865CAC3F"> : tensor<1x1x16x8xf32>
    %c18 = arith.constant dense<"0x00000000000000000000000000000000000000000000000000000000000000008109913FC3199A3E59128C3D39E9153C1723213A0774CD375D40B9363909A73551BA9C3FB633163F10E40B3E56E8953C1723A13A07744D385D40393739092736D396423EF2C0573F8262513E49DAE03C9EB4F13A05179A3846F08A37D68D7A368D7182BFBD31873F4B2B8B3ECAE4153D1223213B0774CD385D40B9373909A7361448A5BFCEAB9B3F5B49AD3EAB5A3B3DD26B493B856800397590E73787CBD0364DA4C0BE6E45A83FE9F4CE3E53CE603D90B4713B05171A3946F00A38D68DFA36717A623F675BAC3FB217F03EAA1F833DA5FE8C3B86C533395218223812281237F686AA3FCCB8A73FE84D083F9ED6953D0023A13B07744D395D4039383909273710110E3FA8999A3FE435183FCD8BA83D5A47B53B882267396A68503860EA3B3759893BBFF3A7853F49B9273FFD3EBB3DB16BC93B856880397590673887CB5037185CACBFEEE5533FD8CD363FF7EFCD3D0490DD3BC53F8D3980B87E38AFAC65370DF838BF31C3113F9969453F829EE03D54B4F13B05179A3946F08A38D68D7A3757D7103FC280903EE282533F644AF33D51EC023C46EEA6394C8496387EB7873714BEAA3FD24A9DBC6710613FB3F9023E76FE0C3C86C5B3395218A23812289237492B603FBBAAA3BE2F096E3FA84C0C3E9910173CC79CC03957ACAD38A6989C37"> : tensor<1x1x16x8xf32>
    %p1 = tp.parameter "model.embed_tokens.weight" : tensor<97x64xf32> loc("model.embed_tokens.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("model.embed_tokens")
    %p3 = tp.parameter "model.layers.0.input_layernorm.weight" : tensor<64xf32> loc("model.layers.0.input_layernorm.weight")
    %4 = nn.rms_norm %2, %p3 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.input_layernorm")
    %p5 = tp.parameter "model.layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.q_proj.weight")
    %p6 = tp.parameter "model.layers.0.self_attn.q_proj.bias" : tensor<64xf32> loc("model.layers.0.self_attn.q_proj.bias")
    %7 = nn.linear %4, %p5 bias %p6 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.q_proj")
    %8 = tensor.expand_shape %7 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.0.self_attn.q_proj")
    %9 = tensor.extract_slice %8[0, 0, 0, 0] [1, 16, 4, 8] [1, 1, 1, 1] : tensor<1x16x4x16xf32> to tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %10 = tensor.extract_slice %8[0, 0, 0, 8] [1, 16, 4, 8] [1, 1, 1, 1] : tensor<1x16x4x16xf32> to tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %15 = tensor.empty() : tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %c11 : tensor<1x16x4x8xf32>, tensor<1x1x16x8xf32>) outs(%15 : tensor<1x16x4x8xf32>) {
    ^bb0(%a12: f32, %a13: f32, %o14: f32):
      %s16 = arith.mulf %a12, %a13 : f32
      linalg.yield %s16 : f32
    } -> tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %22 = tensor.empty() : tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %c18 : tensor<1x16x4x8xf32>, tensor<1x1x16x8xf32>) outs(%22 : tensor<1x16x4x8xf32>) {
    ^bb0(%a19: f32, %a20: f32, %o21: f32):
      %s23 = arith.mulf %a19, %a20 : f32
      linalg.yield %s23 : f32
    } -> tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %25 = arith.subf %17, %24 : tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %29 = tensor.empty() : tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %c11 : tensor<1x16x4x8xf32>, tensor<1x1x16x8xf32>) outs(%29 : tensor<1x16x4x8xf32>) {
    ^bb0(%a26: f32, %a27: f32, %o28: f32):
      %s30 = arith.mulf %a26, %a27 : f32
      linalg.yield %s30 : f32
    } -> tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %35 = tensor.empty() : tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %c18 : tensor<1x16x4x8xf32>, tensor<1x1x16x8xf32>) outs(%35 : tensor<1x16x4x8xf32>) {
    ^bb0(%a32: f32, %a33: f32, %o34: f32):
      %s36 = arith.mulf %a32, %a33 : f32
      linalg.yield %s36 : f32
    } -> tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %38 = arith.addf %31, %37 : tensor<1x16x4x8xf32> loc("model.layers.0.self_attn")
    %39 = tensor.collapse_shape %25 [[0, 1], [2], [3]] : tensor<1x16x4x8xf32> into tensor<16x4x8xf32> loc("model.layers.0.self_attn")
    %40 = tensor.empty() : tensor<4x16x8xf32> loc("model.layers.0.self_attn")
    %41 = linalg.transpose ins(%39 : tensor<16x4x8xf32>) outs(%40 : tensor<4x16x8xf32>) permutation = [1, 0, 2] loc("model.layers.0.self_attn")
    %42 = tensor.expand_shape %41 [[0, 1], [2], [3]] output_shape [1, 4, 16, 8] : tensor<4x16x8xf32> into tensor<1x4x16x8xf32> loc("model.layers.0.self_attn")
    %43 = tensor.collapse_shape %38 [[0, 1], [2], [3]] : tensor<1x16x4x8xf32> into tensor<16x4x8xf32> loc("model.layers.0.self_attn")
    %44 = tensor.empty() : tensor<4x16x8xf32> loc("model.layers.0.self_attn")
    %45 = linalg.transpose ins(%43 : tensor<16x4x8xf32>) outs(%44 : tensor<4x16x8xf32>) permutation = [1, 0, 2] loc("model.layers.0.self_attn")
    %46 = tensor.expand_shape %45 [[0, 1], [2], [3]] output_shape [1, 4, 16, 8] : tensor<4x16x8xf32> into tensor<1x4x16x8xf32> loc("model.layers.0.self_attn")
    %47 = tensor.concat dim(3) %42, %46 : (tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>) -> tensor<1x4x16x16xf32> loc("model.layers.0.self_attn")
    %p48 = tp.parameter "model.layers.0.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.k_proj.weight")
    %p49 = tp.parameter "model.layers.0.self_attn.k_proj.bias" : tensor<32xf32> loc("model.layers.0.self_attn.k_proj.bias")
    %50 = nn.linear %4, %p48 bias %p49 : (tensor<1x16x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.k_proj")
    %51 = tensor.expand_shape %50 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.k_proj")
    %52 = tensor.extract_slice %51[0, 0, 0, 0] [1, 16, 2, 8] [1, 1, 1, 1] : tensor<1x16x2x16xf32> to tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %53 = tensor.extract_slice %51[0, 0, 0, 8] [1, 16, 2, 8] [1, 1, 1, 1] : tensor<1x16x2x16xf32> to tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %57 = tensor.empty() : tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%52, %c11 : tensor<1x16x2x8xf32>, tensor<1x1x16x8xf32>) outs(%57 : tensor<1x16x2x8xf32>) {
    ^bb0(%a54: f32, %a55: f32, %o56: f32):
      %s58 = arith.mulf %a54, %a55 : f32
      linalg.yield %s58 : f32
    } -> tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %63 = tensor.empty() : tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53, %c18 : tensor<1x16x2x8xf32>, tensor<1x1x16x8xf32>) outs(%63 : tensor<1x16x2x8xf32>) {
    ^bb0(%a60: f32, %a61: f32, %o62: f32):
      %s64 = arith.mulf %a60, %a61 : f32
      linalg.yield %s64 : f32
    } -> tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %66 = arith.subf %59, %65 : tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %70 = tensor.empty() : tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %72 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53, %c11 : tensor<1x16x2x8xf32>, tensor<1x1x16x8xf32>) outs(%70 : tensor<1x16x2x8xf32>) {
    ^bb0(%a67: f32, %a68: f32, %o69: f32):
      %s71 = arith.mulf %a67, %a68 : f32
      linalg.yield %s71 : f32
    } -> tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %76 = tensor.empty() : tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%52, %c18 : tensor<1x16x2x8xf32>, tensor<1x1x16x8xf32>) outs(%76 : tensor<1x16x2x8xf32>) {
    ^bb0(%a73: f32, %a74: f32, %o75: f32):
      %s77 = arith.mulf %a73, %a74 : f32
      linalg.yield %s77 : f32
    } -> tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %79 = arith.addf %72, %78 : tensor<1x16x2x8xf32> loc("model.layers.0.self_attn")
    %80 = tensor.collapse_shape %66 [[0, 1], [2], [3]] : tensor<1x16x2x8xf32> into tensor<16x2x8xf32> loc("model.layers.0.self_attn")
    %81 = tensor.empty() : tensor<2x16x8xf32> loc("model.layers.0.self_attn")
    %82 = linalg.transpose ins(%80 : tensor<16x2x8xf32>) outs(%81 : tensor<2x16x8xf32>) permutation = [1, 0, 2] loc("model.layers.0.self_attn")
    %83 = tensor.expand_shape %82 [[0, 1], [2], [3]] output_shape [1, 2, 16, 8] : tensor<2x16x8xf32> into tensor<1x2x16x8xf32> loc("model.layers.0.self_attn")
    %84 = tensor.collapse_shape %79 [[0, 1], [2], [3]] : tensor<1x16x2x8xf32> into tensor<16x2x8xf32> loc("model.layers.0.self_attn")
    %85 = tensor.empty() : tensor<2x16x8xf32> loc("model.layers.0.self_attn")
    %86 = linalg.transpose ins(%84 : tensor<16x2x8xf32>) outs(%85 : tensor<2x16x8xf32>) permutation = [1, 0, 2] loc("model.layers.0.self_attn")
    %87 = tensor.expand_shape %86 [[0, 1], [2], [3]] output_shape [1, 2, 16, 8] : tensor<2x16x8xf32> into tensor<1x2x16x8xf32> loc("model.layers.0.self_attn")
    %88 = tensor.concat dim(3) %83, %87 : (tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x16x16xf32> loc("model.layers.0.self_attn")
    %89 = tensor.collapse_shape %47 [[0, 1], [2], [3]] : tensor<1x4x16x16xf32> into tensor<4x16x16xf32> loc("model.layers.0.self_attn")
    %90 = tensor.empty() : tensor<16x4x16xf32> loc("model.layers.0.self_attn")
    %91 = linalg.transpose ins(%89 : tensor<4x16x16xf32>) outs(%90 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("model.layers.0.self_attn")
    %92 = tensor.expand_shape %91 [[0, 1], [2], [3]] output_shape [1, 16, 4, 16] : tensor<16x4x16xf32> into tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %93 = tensor.collapse_shape %88 [[0, 1], [2], [3]] : tensor<1x2x16x16xf32> into tensor<2x16x16xf32> loc("model.layers.0.self_attn")
    %94 = tensor.empty() : tensor<16x2x16xf32> loc("model.layers.0.self_attn")
    %95 = linalg.transpose ins(%93 : tensor<2x16x16xf32>) outs(%94 : tensor<16x2x16xf32>) permutation = [1, 0, 2] loc("model.layers.0.self_attn")
    %96 = tensor.expand_shape %95 [[0, 1], [2], [3]] output_shape [1, 16, 2, 16] : tensor<16x2x16xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn")
    %p97 = tp.parameter "model.layers.0.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.v_proj.weight")
    %p98 = tp.parameter "model.layers.0.self_attn.v_proj.bias" : tensor<32xf32> loc("model.layers.0.self_attn.v_proj.bias")
    %99 = nn.linear %4, %p97 bias %p98 : (tensor<1x16x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<1x16x32xf32> loc("model.layers.0.self_attn.v_proj")
    %100 = tensor.expand_shape %99 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.0.self_attn.v_proj")
    %p101 = tp.parameter "model.layers.0.self_attn.sinks" : tensor<4xf32> loc("model.layers.0.self_attn.sinks")
    %102 = nn.attention %92, %96, %100 sinks %p101 {causal, scale = 2.50000000000000000e-01 : f64, window = 8 : i64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>, tensor<4xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.0.self_attn")
    %103 = tensor.collapse_shape %102 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %p104 = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.o_proj.weight")
    %p105 = tp.parameter "model.layers.0.self_attn.o_proj.bias" : tensor<64xf32> loc("model.layers.0.self_attn.o_proj.bias")
    %106 = nn.linear %103, %p104 bias %p105 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %107 = arith.addf %2, %106 : tensor<1x16x64xf32> loc("model.layers.0")
    %p108 = tp.parameter "model.layers.0.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.0.post_attention_layernorm.weight")
    %109 = nn.rms_norm %107, %p108 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.post_attention_layernorm")
    %p110 = tp.parameter "model.layers.0.mlp.router.weight" : tensor<4x64xf32> loc("model.layers.0.mlp.router.weight")
    %p111 = tp.parameter "model.layers.0.mlp.router.bias" : tensor<4xf32> loc("model.layers.0.mlp.router.bias")
    %112 = nn.linear %109, %p110 bias %p111 : (tensor<1x16x64xf32>, tensor<4x64xf32>, tensor<4xf32>) -> tensor<1x16x4xf32> loc("model.layers.0.mlp.router")
    %113 = nn.router %112 {normalized, top_k = 2 : i64} : (tensor<1x16x4xf32>) -> tensor<1x16x4xf32> loc("model.layers.0.mlp.experts")
    %p114 = tp.parameter "model.layers.0.mlp.experts.gate_up_proj" source <shape = [4, 64, 256], offsets = [0, 0, 0], permutation = [0, 2, 1], steps = [1, 1, 2]> : tensor<4x128x64xf32> loc("model.layers.0.mlp.experts.gate_up_proj")
    %p115 = tp.parameter "model.layers.0.mlp.experts.gate_up_proj" source <shape = [4, 64, 256], offsets = [0, 0, 1], permutation = [0, 2, 1], steps = [1, 1, 2]> : tensor<4x128x64xf32> loc("model.layers.0.mlp.experts.gate_up_proj")
    %p116 = tp.parameter "model.layers.0.mlp.experts.down_proj" source <shape = [4, 128, 64], offsets = [0, 0, 0], permutation = [0, 2, 1]> : tensor<4x64x128xf32> loc("model.layers.0.mlp.experts.down_proj")
    %p117 = tp.parameter "model.layers.0.mlp.experts.gate_up_proj_bias" source <shape = [4, 256], offsets = [0, 0], permutation = [0, 1], steps = [1, 2]> : tensor<4x128xf32> loc("model.layers.0.mlp.experts.gate_up_proj_bias")
    %p118 = tp.parameter "model.layers.0.mlp.experts.gate_up_proj_bias" source <shape = [4, 256], offsets = [0, 1], permutation = [0, 1], steps = [1, 2]> : tensor<4x128xf32> loc("model.layers.0.mlp.experts.gate_up_proj_bias")
    %119 = nn.experts %109, %113, %p114, %p115, %p116 biases %p117, %p118 {activation = "silu", active = 5.00000000000000000e-01 : f64, top_k = 2 : i64, alpha = 1.70199999999999996e+00 : f64, limit = 7.00000000000000000e+00 : f64, up_offset = 1.00000000000000000e+00 : f64} : (tensor<1x16x64xf32>, tensor<1x16x4xf32>, tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<4x64x128xf32>, tensor<4x128xf32>, tensor<4x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.0.mlp.experts")
    %p120 = tp.parameter "model.layers.0.mlp.experts.down_proj_bias" : tensor<4x64xf32> loc("model.layers.0.mlp.experts.down_proj_bias")
    %124 = tensor.empty() : tensor<16x64xf32> loc("model.layers.0.mlp.experts")
    %125 = arith.constant 0.000000000e+00 : f32 loc("model.layers.0.mlp.experts")
    %126 = linalg.fill ins(%125 : f32) outs(%124 : tensor<16x64xf32>) -> tensor<16x64xf32> loc("model.layers.0.mlp.experts")
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%113, %p120 : tensor<1x16x4xf32>, tensor<4x64xf32>) outs(%126 : tensor<16x64xf32>) {
    ^bb0(%a121: f32, %a122: f32, %o123: f32):
      %s127 = arith.mulf %a121, %a122 : f32
      %s128 = arith.addf %o123, %s127 : f32
      linalg.yield %s128 : f32
    } -> tensor<16x64xf32> loc("model.layers.0.mlp.experts")
    %133 = tensor.empty() : tensor<1x16x64xf32> loc("model.layers.0.mlp.experts")
    %135 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119, %129 : tensor<1x16x64xf32>, tensor<16x64xf32>) outs(%133 : tensor<1x16x64xf32>) {
    ^bb0(%a130: f32, %a131: f32, %o132: f32):
      %s134 = arith.addf %a130, %a131 : f32
      linalg.yield %s134 : f32
    } -> tensor<1x16x64xf32> loc("model.layers.0.mlp.experts")
    %136 = arith.addf %107, %135 : tensor<1x16x64xf32> loc("model.layers.0")
    %p137 = tp.parameter "model.layers.1.input_layernorm.weight" : tensor<64xf32> loc("model.layers.1.input_layernorm.weight")
    %138 = nn.rms_norm %136, %p137 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.input_layernorm")
    %p139 = tp.parameter "model.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.q_proj.weight")
    %p140 = tp.parameter "model.layers.1.self_attn.q_proj.bias" : tensor<64xf32> loc("model.layers.1.self_attn.q_proj.bias")
    %141 = nn.linear %138, %p139 bias %p140 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.q_proj")
    %142 = tensor.expand_shape %141 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("model.layers.1.self_attn.q_proj")
    %143 = tensor.extract_slice %142[0, 0, 0, 0] [1, 16, 4, 8] [1, 1, 1, 1] : tensor<1x16x4x16xf32> to tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %144 = tensor.extract_slice %142[0, 0, 0, 8] [1, 16, 4, 8] [1, 1, 1, 1] : tensor<1x16x4x16xf32> to tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %148 = tensor.empty() : tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %150 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%143, %c11 : tensor<1x16x4x8xf32>, tensor<1x1x16x8xf32>) outs(%148 : tensor<1x16x4x8xf32>) {
    ^bb0(%a145: f32, %a146: f32, %o147: f32):
      %s149 = arith.mulf %a145, %a146 : f32
      linalg.yield %s149 : f32
    } -> tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %154 = tensor.empty() : tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %156 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%144, %c18 : tensor<1x16x4x8xf32>, tensor<1x1x16x8xf32>) outs(%154 : tensor<1x16x4x8xf32>) {
    ^bb0(%a151: f32, %a152: f32, %o153: f32):
      %s155 = arith.mulf %a151, %a152 : f32
      linalg.yield %s155 : f32
    } -> tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %157 = arith.subf %150, %156 : tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %161 = tensor.empty() : tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %163 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%144, %c11 : tensor<1x16x4x8xf32>, tensor<1x1x16x8xf32>) outs(%161 : tensor<1x16x4x8xf32>) {
    ^bb0(%a158: f32, %a159: f32, %o160: f32):
      %s162 = arith.mulf %a158, %a159 : f32
      linalg.yield %s162 : f32
    } -> tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %167 = tensor.empty() : tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %169 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%143, %c18 : tensor<1x16x4x8xf32>, tensor<1x1x16x8xf32>) outs(%167 : tensor<1x16x4x8xf32>) {
    ^bb0(%a164: f32, %a165: f32, %o166: f32):
      %s168 = arith.mulf %a164, %a165 : f32
      linalg.yield %s168 : f32
    } -> tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %170 = arith.addf %163, %169 : tensor<1x16x4x8xf32> loc("model.layers.1.self_attn")
    %171 = tensor.collapse_shape %157 [[0, 1], [2], [3]] : tensor<1x16x4x8xf32> into tensor<16x4x8xf32> loc("model.layers.1.self_attn")
    %172 = tensor.empty() : tensor<4x16x8xf32> loc("model.layers.1.self_attn")
    %173 = linalg.transpose ins(%171 : tensor<16x4x8xf32>) outs(%172 : tensor<4x16x8xf32>) permutation = [1, 0, 2] loc("model.layers.1.self_attn")
    %174 = tensor.expand_shape %173 [[0, 1], [2], [3]] output_shape [1, 4, 16, 8] : tensor<4x16x8xf32> into tensor<1x4x16x8xf32> loc("model.layers.1.self_attn")
    %175 = tensor.collapse_shape %170 [[0, 1], [2], [3]] : tensor<1x16x4x8xf32> into tensor<16x4x8xf32> loc("model.layers.1.self_attn")
    %176 = tensor.empty() : tensor<4x16x8xf32> loc("model.layers.1.self_attn")
    %177 = linalg.transpose ins(%175 : tensor<16x4x8xf32>) outs(%176 : tensor<4x16x8xf32>) permutation = [1, 0, 2] loc("model.layers.1.self_attn")
    %178 = tensor.expand_shape %177 [[0, 1], [2], [3]] output_shape [1, 4, 16, 8] : tensor<4x16x8xf32> into tensor<1x4x16x8xf32> loc("model.layers.1.self_attn")
    %179 = tensor.concat dim(3) %174, %178 : (tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>) -> tensor<1x4x16x16xf32> loc("model.layers.1.self_attn")
    %p180 = tp.parameter "model.layers.1.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.k_proj.weight")
    %p181 = tp.parameter "model.layers.1.self_attn.k_proj.bias" : tensor<32xf32> loc("model.layers.1.self_attn.k_proj.bias")
    %182 = nn.linear %138, %p180 bias %p181 : (tensor<1x16x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.k_proj")
    %183 = tensor.expand_shape %182 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.k_proj")
    %184 = tensor.extract_slice %183[0, 0, 0, 0] [1, 16, 2, 8] [1, 1, 1, 1] : tensor<1x16x2x16xf32> to tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %185 = tensor.extract_slice %183[0, 0, 0, 8] [1, 16, 2, 8] [1, 1, 1, 1] : tensor<1x16x2x16xf32> to tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %189 = tensor.empty() : tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %191 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%184, %c11 : tensor<1x16x2x8xf32>, tensor<1x1x16x8xf32>) outs(%189 : tensor<1x16x2x8xf32>) {
    ^bb0(%a186: f32, %a187: f32, %o188: f32):
      %s190 = arith.mulf %a186, %a187 : f32
      linalg.yield %s190 : f32
    } -> tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %195 = tensor.empty() : tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %197 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%185, %c18 : tensor<1x16x2x8xf32>, tensor<1x1x16x8xf32>) outs(%195 : tensor<1x16x2x8xf32>) {
    ^bb0(%a192: f32, %a193: f32, %o194: f32):
      %s196 = arith.mulf %a192, %a193 : f32
      linalg.yield %s196 : f32
    } -> tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %198 = arith.subf %191, %197 : tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %202 = tensor.empty() : tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %204 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%185, %c11 : tensor<1x16x2x8xf32>, tensor<1x1x16x8xf32>) outs(%202 : tensor<1x16x2x8xf32>) {
    ^bb0(%a199: f32, %a200: f32, %o201: f32):
      %s203 = arith.mulf %a199, %a200 : f32
      linalg.yield %s203 : f32
    } -> tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %208 = tensor.empty() : tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %210 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%184, %c18 : tensor<1x16x2x8xf32>, tensor<1x1x16x8xf32>) outs(%208 : tensor<1x16x2x8xf32>) {
    ^bb0(%a205: f32, %a206: f32, %o207: f32):
      %s209 = arith.mulf %a205, %a206 : f32
      linalg.yield %s209 : f32
    } -> tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %211 = arith.addf %204, %210 : tensor<1x16x2x8xf32> loc("model.layers.1.self_attn")
    %212 = tensor.collapse_shape %198 [[0, 1], [2], [3]] : tensor<1x16x2x8xf32> into tensor<16x2x8xf32> loc("model.layers.1.self_attn")
    %213 = tensor.empty() : tensor<2x16x8xf32> loc("model.layers.1.self_attn")
    %214 = linalg.transpose ins(%212 : tensor<16x2x8xf32>) outs(%213 : tensor<2x16x8xf32>) permutation = [1, 0, 2] loc("model.layers.1.self_attn")
    %215 = tensor.expand_shape %214 [[0, 1], [2], [3]] output_shape [1, 2, 16, 8] : tensor<2x16x8xf32> into tensor<1x2x16x8xf32> loc("model.layers.1.self_attn")
    %216 = tensor.collapse_shape %211 [[0, 1], [2], [3]] : tensor<1x16x2x8xf32> into tensor<16x2x8xf32> loc("model.layers.1.self_attn")
    %217 = tensor.empty() : tensor<2x16x8xf32> loc("model.layers.1.self_attn")
    %218 = linalg.transpose ins(%216 : tensor<16x2x8xf32>) outs(%217 : tensor<2x16x8xf32>) permutation = [1, 0, 2] loc("model.layers.1.self_attn")
    %219 = tensor.expand_shape %218 [[0, 1], [2], [3]] output_shape [1, 2, 16, 8] : tensor<2x16x8xf32> into tensor<1x2x16x8xf32> loc("model.layers.1.self_attn")
    %220 = tensor.concat dim(3) %215, %219 : (tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x16x16xf32> loc("model.layers.1.self_attn")
    %221 = tensor.collapse_shape %179 [[0, 1], [2], [3]] : tensor<1x4x16x16xf32> into tensor<4x16x16xf32> loc("model.layers.1.self_attn")
    %222 = tensor.empty() : tensor<16x4x16xf32> loc("model.layers.1.self_attn")
    %223 = linalg.transpose ins(%221 : tensor<4x16x16xf32>) outs(%222 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("model.layers.1.self_attn")
    %224 = tensor.expand_shape %223 [[0, 1], [2], [3]] output_shape [1, 16, 4, 16] : tensor<16x4x16xf32> into tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %225 = tensor.collapse_shape %220 [[0, 1], [2], [3]] : tensor<1x2x16x16xf32> into tensor<2x16x16xf32> loc("model.layers.1.self_attn")
    %226 = tensor.empty() : tensor<16x2x16xf32> loc("model.layers.1.self_attn")
    %227 = linalg.transpose ins(%225 : tensor<2x16x16xf32>) outs(%226 : tensor<16x2x16xf32>) permutation = [1, 0, 2] loc("model.layers.1.self_attn")
    %228 = tensor.expand_shape %227 [[0, 1], [2], [3]] output_shape [1, 16, 2, 16] : tensor<16x2x16xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn")
    %p229 = tp.parameter "model.layers.1.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.v_proj.weight")
    %p230 = tp.parameter "model.layers.1.self_attn.v_proj.bias" : tensor<32xf32> loc("model.layers.1.self_attn.v_proj.bias")
    %231 = nn.linear %138, %p229 bias %p230 : (tensor<1x16x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<1x16x32xf32> loc("model.layers.1.self_attn.v_proj")
    %232 = tensor.expand_shape %231 [[0], [1], [2, 3]] output_shape [1, 16, 2, 16] : tensor<1x16x32xf32> into tensor<1x16x2x16xf32> loc("model.layers.1.self_attn.v_proj")
    %p233 = tp.parameter "model.layers.1.self_attn.sinks" : tensor<4xf32> loc("model.layers.1.self_attn.sinks")
    %234 = nn.attention %224, %228, %232 sinks %p233 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x2x16xf32>, tensor<1x16x2x16xf32>, tensor<4xf32>) -> tensor<1x16x4x16xf32> loc("model.layers.1.self_attn")
    %235 = tensor.collapse_shape %234 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %p236 = tp.parameter "model.layers.1.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.o_proj.weight")
    %p237 = tp.parameter "model.layers.1.self_attn.o_proj.bias" : tensor<64xf32> loc("model.layers.1.self_attn.o_proj.bias")
    %238 = nn.linear %235, %p236 bias %p237 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %239 = arith.addf %136, %238 : tensor<1x16x64xf32> loc("model.layers.1")
    %p240 = tp.parameter "model.layers.1.post_attention_layernorm.weight" : tensor<64xf32> loc("model.layers.1.post_attention_layernorm.weight")
    %241 = nn.rms_norm %239, %p240 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.post_attention_layernorm")
    %p242 = tp.parameter "model.layers.1.mlp.router.weight" : tensor<4x64xf32> loc("model.layers.1.mlp.router.weight")
    %p243 = tp.parameter "model.layers.1.mlp.router.bias" : tensor<4xf32> loc("model.layers.1.mlp.router.bias")
    %244 = nn.linear %241, %p242 bias %p243 : (tensor<1x16x64xf32>, tensor<4x64xf32>, tensor<4xf32>) -> tensor<1x16x4xf32> loc("model.layers.1.mlp.router")
    %245 = nn.router %244 {normalized, top_k = 2 : i64} : (tensor<1x16x4xf32>) -> tensor<1x16x4xf32> loc("model.layers.1.mlp.experts")
    %p246 = tp.parameter "model.layers.1.mlp.experts.gate_up_proj" source <shape = [4, 64, 256], offsets = [0, 0, 0], permutation = [0, 2, 1], steps = [1, 1, 2]> : tensor<4x128x64xf32> loc("model.layers.1.mlp.experts.gate_up_proj")
    %p247 = tp.parameter "model.layers.1.mlp.experts.gate_up_proj" source <shape = [4, 64, 256], offsets = [0, 0, 1], permutation = [0, 2, 1], steps = [1, 1, 2]> : tensor<4x128x64xf32> loc("model.layers.1.mlp.experts.gate_up_proj")
    %p248 = tp.parameter "model.layers.1.mlp.experts.down_proj" source <shape = [4, 128, 64], offsets = [0, 0, 0], permutation = [0, 2, 1]> : tensor<4x64x128xf32> loc("model.layers.1.mlp.experts.down_proj")
    %p249 = tp.parameter "model.layers.1.mlp.experts.gate_up_proj_bias" source <shape = [4, 256], offsets = [0, 0], permutation = [0, 1], steps = [1, 2]> : tensor<4x128xf32> loc("model.layers.1.mlp.experts.gate_up_proj_bias")
    %p250 = tp.parameter "model.layers.1.mlp.experts.gate_up_proj_bias" source <shape = [4, 256], offsets = [0, 1], permutation = [0, 1], steps = [1, 2]> : tensor<4x128xf32> loc("model.layers.1.mlp.experts.gate_up_proj_bias")
    %251 = nn.experts %241, %245, %p246, %p247, %p248 biases %p249, %p250 {activation = "silu", active = 5.00000000000000000e-01 : f64, top_k = 2 : i64, alpha = 1.70199999999999996e+00 : f64, limit = 7.00000000000000000e+00 : f64, up_offset = 1.00000000000000000e+00 : f64} : (tensor<1x16x64xf32>, tensor<1x16x4xf32>, tensor<4x128x64xf32>, tensor<4x128x64xf32>, tensor<4x64x128xf32>, tensor<4x128xf32>, tensor<4x128xf32>) -> tensor<1x16x64xf32> loc("model.layers.1.mlp.experts")
    %p252 = tp.parameter "model.layers.1.mlp.experts.down_proj_bias" : tensor<4x64xf32> loc("model.layers.1.mlp.experts.down_proj_bias")
    %256 = tensor.empty() : tensor<16x64xf32> loc("model.layers.1.mlp.experts")
    %257 = arith.constant 0.000000000e+00 : f32 loc("model.layers.1.mlp.experts")
    %258 = linalg.fill ins(%257 : f32) outs(%256 : tensor<16x64xf32>) -> tensor<16x64xf32> loc("model.layers.1.mlp.experts")
    %261 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%245, %p252 : tensor<1x16x4xf32>, tensor<4x64xf32>) outs(%258 : tensor<16x64xf32>) {
    ^bb0(%a253: f32, %a254: f32, %o255: f32):
      %s259 = arith.mulf %a253, %a254 : f32
      %s260 = arith.addf %o255, %s259 : f32
      linalg.yield %s260 : f32
    } -> tensor<16x64xf32> loc("model.layers.1.mlp.experts")
    %265 = tensor.empty() : tensor<1x16x64xf32> loc("model.layers.1.mlp.experts")
    %267 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%251, %261 : tensor<1x16x64xf32>, tensor<16x64xf32>) outs(%265 : tensor<1x16x64xf32>) {
    ^bb0(%a262: f32, %a263: f32, %o264: f32):
      %s266 = arith.addf %a262, %a263 : f32
      linalg.yield %s266 : f32
    } -> tensor<1x16x64xf32> loc("model.layers.1.mlp.experts")
    %268 = arith.addf %239, %267 : tensor<1x16x64xf32> loc("model.layers.1")
    %p269 = tp.parameter "model.norm.weight" : tensor<64xf32> loc("model.norm.weight")
    %270 = nn.rms_norm %268, %p269 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("model.norm")
    %p271 = tp.parameter "lm_head.weight" : tensor<97x64xf32> loc("lm_head.weight")
    %272 = nn.linear %270, %p271 : (tensor<1x16x64xf32>, tensor<97x64xf32>) -> tensor<1x16x97xf32> loc("lm_head")
    return %272 : tensor<1x16x97xf32>
  }
}
