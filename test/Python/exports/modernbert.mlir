module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<1x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>}) -> (tensor<1x16x64xf32> {tp.name = "last_hidden_state"}) {
    %c11 = arith.constant dense<[[[[true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false], [false, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false], [false, false, true, true, true, true, true, true, true, true, true, false, false, false, false, false], [false, false, false, true, true, true, true, true, true, true, true, true, false, false, false, false], [false, false, false, false, true, true, true, true, true, true, true, true, true, false, false, false], [false, false, false, false, false, true, true, true, true, true, true, true, true, true, false, false], [false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, false], [false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true], [false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true], [false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true], [false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true], [false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true]]]]> : tensor<1x1x16x16xi1>
    %cos18, %sin19 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 2.236067951e-01, 5.000000075e-02, 1.118034031e-02, 2.499999944e-03, 5.590170040e-04, 1.250000059e-04, 2.795085129e-05]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
    %cos52, %sin53 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 3.162277639e-01, 1.000000015e-01, 3.162277862e-02, 9.999999776e-03, 3.162277862e-03, 1.000000047e-03, 3.162277862e-04]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
    %p1 = tp.parameter "embeddings.tok_embeddings.weight" : tensor<97x64xf32> loc("embeddings.tok_embeddings.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("embeddings.tok_embeddings")
    %p3 = tp.parameter "embeddings.norm.weight" : tensor<64xf32> loc("embeddings.norm.weight")
    %4 = nn.layer_norm %2, %p3 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("embeddings.norm")
    %7 = tensor.empty() : tensor<1x16xi1>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<1x16xi64>) outs(%7 : tensor<1x16xi1>) {
    ^bb0(%a5: i64, %o6: i1):
      %s8 = arith.constant 0 : i64
      %s9 = arith.cmpi ne, %a5, %s8 : i64
      linalg.yield %s9 : i1
    } -> tensor<1x16xi1>
    %15 = tensor.empty() : tensor<1x1x16x16xi1>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c11, %10 : tensor<1x1x16x16xi1>, tensor<1x16xi1>) outs(%15 : tensor<1x1x16x16xi1>) {
    ^bb0(%a12: i1, %a13: i1, %o14: i1):
      %s16 = arith.andi %a12, %a13 : i1
      linalg.yield %s16 : i1
    } -> tensor<1x1x16x16xi1>
    %p20 = tp.parameter "layers.0.attn.Wqkv.weight" source <shape = [192, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.attn.Wqkv.weight")
    %21 = nn.linear %4, %p20 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.0.attn.Wqkv")
    %22 = tensor.expand_shape %21 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.attn.Wqkv")
    %23 = tensor.collapse_shape %22 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.attn")
    %24 = nn.rotary %23, %cos18, %sin19 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("layers.0.attn")
    %p25 = tp.parameter "layers.0.attn.Wqkv.weight" source <shape = [192, 64], offsets = [64, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.attn.Wqkv.weight")
    %26 = nn.linear %4, %p25 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.0.attn.Wqkv")
    %27 = tensor.expand_shape %26 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.attn.Wqkv")
    %28 = tensor.collapse_shape %27 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.attn")
    %29 = nn.rotary %28, %cos18, %sin19 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("layers.0.attn")
    %p30 = tp.parameter "layers.0.attn.Wqkv.weight" source <shape = [192, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.attn.Wqkv.weight")
    %31 = nn.linear %4, %p30 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.0.attn.Wqkv")
    %32 = tensor.expand_shape %31 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.attn.Wqkv")
    %33 = tensor.collapse_shape %32 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.attn")
    %34 = nn.attention %24, %29, %33 mask %arg1 {scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>) -> tensor<1x16x4x16xf32> loc("layers.0.attn")
    %35 = tensor.collapse_shape %34 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("layers.0.attn.Wo")
    %p36 = tp.parameter "layers.0.attn.Wo.weight" : tensor<64x64xf32> loc("layers.0.attn.Wo.weight")
    %37 = nn.linear %35, %p36 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.0.attn.Wo")
    %38 = arith.addf %4, %37 : tensor<1x16x64xf32> loc("layers.0")
    %p39 = tp.parameter "layers.0.mlp_norm.weight" : tensor<64xf32> loc("layers.0.mlp_norm.weight")
    %40 = nn.layer_norm %38, %p39 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.0.mlp_norm")
    %p41 = tp.parameter "layers.0.mlp.Wi.weight" source <shape = [256, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<128x64xf32> loc("layers.0.mlp.Wi.weight")
    %42 = nn.linear %40, %p41 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("layers.0.mlp.Wi")
    %43 = nn.gelu erf %42 : tensor<1x16x128xf32> loc("layers.0.mlp.act")
    %p44 = tp.parameter "layers.0.mlp.Wi.weight" source <shape = [256, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<128x64xf32> loc("layers.0.mlp.Wi.weight")
    %45 = nn.linear %40, %p44 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("layers.0.mlp.Wi")
    %46 = arith.mulf %43, %45 : tensor<1x16x128xf32> loc("layers.0.mlp")
    %p47 = tp.parameter "layers.0.mlp.Wo.weight" : tensor<64x128xf32> loc("layers.0.mlp.Wo.weight")
    %48 = nn.linear %46, %p47 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("layers.0.mlp.Wo")
    %49 = arith.addf %38, %48 : tensor<1x16x64xf32> loc("layers.0")
    %p50 = tp.parameter "layers.1.attn_norm.weight" : tensor<64xf32> loc("layers.1.attn_norm.weight")
    %51 = nn.layer_norm %49, %p50 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn_norm")
    %p54 = tp.parameter "layers.1.attn.Wqkv.weight" source <shape = [192, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.attn.Wqkv.weight")
    %55 = nn.linear %51, %p54 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn.Wqkv")
    %56 = tensor.expand_shape %55 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.attn.Wqkv")
    %57 = tensor.collapse_shape %56 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.1.attn")
    %58 = nn.rotary %57, %cos52, %sin53 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("layers.1.attn")
    %p59 = tp.parameter "layers.1.attn.Wqkv.weight" source <shape = [192, 64], offsets = [64, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.attn.Wqkv.weight")
    %60 = nn.linear %51, %p59 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn.Wqkv")
    %61 = tensor.expand_shape %60 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.attn.Wqkv")
    %62 = tensor.collapse_shape %61 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.1.attn")
    %63 = nn.rotary %62, %cos52, %sin53 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("layers.1.attn")
    %67 = tensor.empty() : tensor<4x16x16xf32> loc("layers.1.attn")
    %68 = arith.constant 0.000000000e+00 : f32 loc("layers.1.attn")
    %69 = linalg.fill ins(%68 : f32) outs(%67 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("layers.1.attn")
    %72 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%58, %63 : tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>) outs(%69 : tensor<4x16x16xf32>) {
    ^bb0(%a64: f32, %a65: f32, %o66: f32):
      %s70 = arith.mulf %a64, %a65 : f32
      %s71 = arith.addf %o66, %s70 : f32
      linalg.yield %s71 : f32
    } -> tensor<4x16x16xf32> loc("layers.1.attn")
    %76 = tensor.empty() : tensor<4x16x16xf32> loc("layers.1.attn")
    %81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, 0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%72, %17 : tensor<4x16x16xf32>, tensor<1x1x16x16xi1>) outs(%76 : tensor<4x16x16xf32>) {
    ^bb0(%a73: f32, %a74: i1, %o75: f32):
      %s77 = arith.constant 2.500000000e-01 : f32
      %s78 = arith.mulf %a73, %s77 : f32
      %s79 = arith.constant 0xFF800000 : f32
      %s80 = arith.select %a74, %s78, %s79 : f32
      linalg.yield %s80 : f32
    } -> tensor<4x16x16xf32> loc("layers.1.attn")
    %82 = tensor.expand_shape %81 [[0, 1], [2], [3]] output_shape [1, 4, 16, 16] : tensor<4x16x16xf32> into tensor<1x4x16x16xf32> loc("layers.1.attn")
    %83 = nn.softmax %82 : tensor<1x4x16x16xf32> loc("layers.1.attn")
    %p84 = tp.parameter "layers.1.attn.Wqkv.weight" source <shape = [192, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.attn.Wqkv.weight")
    %85 = nn.linear %51, %p84 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn.Wqkv")
    %86 = tensor.expand_shape %85 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.attn.Wqkv")
    %90 = tensor.empty() : tensor<4x16x16xf32> loc("layers.1.attn")
    %91 = arith.constant 0.000000000e+00 : f32 loc("layers.1.attn")
    %92 = linalg.fill ins(%91 : f32) outs(%90 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("layers.1.attn")
    %95 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3, 0, d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%83, %86 : tensor<1x4x16x16xf32>, tensor<1x16x1x4x16xf32>) outs(%92 : tensor<4x16x16xf32>) {
    ^bb0(%a87: f32, %a88: f32, %o89: f32):
      %s93 = arith.mulf %a87, %a88 : f32
      %s94 = arith.addf %o89, %s93 : f32
      linalg.yield %s94 : f32
    } -> tensor<4x16x16xf32> loc("layers.1.attn")
    %96 = tensor.empty() : tensor<16x4x16xf32> loc("layers.1.attn.Wo")
    %97 = linalg.transpose ins(%95 : tensor<4x16x16xf32>) outs(%96 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("layers.1.attn.Wo")
    %98 = tensor.collapse_shape %97 [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32> loc("layers.1.attn.Wo")
    %99 = tensor.expand_shape %98 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("layers.1.attn.Wo")
    %p100 = tp.parameter "layers.1.attn.Wo.weight" : tensor<64x64xf32> loc("layers.1.attn.Wo.weight")
    %101 = nn.linear %99, %p100 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn.Wo")
    %102 = arith.addf %49, %101 : tensor<1x16x64xf32> loc("layers.1")
    %p103 = tp.parameter "layers.1.mlp_norm.weight" : tensor<64xf32> loc("layers.1.mlp_norm.weight")
    %104 = nn.layer_norm %102, %p103 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.mlp_norm")
    %p105 = tp.parameter "layers.1.mlp.Wi.weight" source <shape = [256, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<128x64xf32> loc("layers.1.mlp.Wi.weight")
    %106 = nn.linear %104, %p105 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("layers.1.mlp.Wi")
    %107 = nn.gelu erf %106 : tensor<1x16x128xf32> loc("layers.1.mlp.act")
    %p108 = tp.parameter "layers.1.mlp.Wi.weight" source <shape = [256, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<128x64xf32> loc("layers.1.mlp.Wi.weight")
    %109 = nn.linear %104, %p108 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("layers.1.mlp.Wi")
    %110 = arith.mulf %107, %109 : tensor<1x16x128xf32> loc("layers.1.mlp")
    %p111 = tp.parameter "layers.1.mlp.Wo.weight" : tensor<64x128xf32> loc("layers.1.mlp.Wo.weight")
    %112 = nn.linear %110, %p111 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("layers.1.mlp.Wo")
    %113 = arith.addf %102, %112 : tensor<1x16x64xf32> loc("layers.1")
    %p114 = tp.parameter "final_norm.weight" : tensor<64xf32> loc("final_norm.weight")
    %115 = nn.layer_norm %113, %p114 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("final_norm")
    return %115 : tensor<1x16x64xf32>
  }
}
