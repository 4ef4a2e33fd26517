module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<1x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>}) -> (tensor<1x16x64xf32> {tp.name = "last_hidden_state"}) {
    %cos29, %sin30 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 2.236067951e-01, 5.000000075e-02, 1.118034031e-02, 2.499999944e-03, 5.590170040e-04, 1.250000059e-04, 2.795085129e-05]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
    %cos63, %sin64 = nn.rotary_table {attention_scaling = 1.00000000000000000e+00 : f64, inv_freq = dense<[1.000000000e+00, 3.162277639e-01, 1.000000015e-01, 3.162277862e-02, 9.999999776e-03, 3.162277862e-03, 1.000000047e-03, 3.162277862e-04]> : tensor<8xf32>} : tensor<16x8xf32>, tensor<16x8xf32> loc("rotary_emb")
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
    %26 = tensor.empty() : tensor<1x1x16x16xi1>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<1x16xi1>) outs(%26 : tensor<1x1x16x16xi1>) {
    ^bb0(%a24: i1, %o25: i1):
      %s11 = linalg.index 2 : index
      %s12 = arith.index_cast %s11 : index to i64
      %s13 = linalg.index 3 : index
      %s14 = arith.index_cast %s13 : index to i64
      %s15 = arith.subi %s14, %s12 : i64
      %s16 = arith.constant -4 : i64
      %s17 = arith.cmpi sge, %s15, %s16 : i64
      %s18 = arith.constant 4 : i64
      %s19 = arith.cmpi sle, %s15, %s18 : i64
      %s20 = arith.andi %s17, %s19 : i1
      %s21 = arith.constant true
      %s22 = arith.constant false
      %s23 = arith.select %s20, %s21, %s22 : i1
      %s27 = arith.andi %s23, %a24 : i1
      linalg.yield %s27 : i1
    } -> tensor<1x1x16x16xi1>
    %p31 = tp.parameter "layers.0.attn.Wqkv.weight" source <shape = [192, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.attn.Wqkv.weight")
    %32 = nn.linear %4, %p31 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.0.attn.Wqkv")
    %33 = tensor.expand_shape %32 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.attn.Wqkv")
    %34 = tensor.collapse_shape %33 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.attn")
    %35 = nn.rotary %34, %cos29, %sin30 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("layers.0.attn")
    %p36 = tp.parameter "layers.0.attn.Wqkv.weight" source <shape = [192, 64], offsets = [64, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.attn.Wqkv.weight")
    %37 = nn.linear %4, %p36 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.0.attn.Wqkv")
    %38 = tensor.expand_shape %37 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.attn.Wqkv")
    %39 = tensor.collapse_shape %38 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.attn")
    %40 = nn.rotary %39, %cos29, %sin30 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("layers.0.attn")
    %p41 = tp.parameter "layers.0.attn.Wqkv.weight" source <shape = [192, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.attn.Wqkv.weight")
    %42 = nn.linear %4, %p41 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.0.attn.Wqkv")
    %43 = tensor.expand_shape %42 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.attn.Wqkv")
    %44 = tensor.collapse_shape %43 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.attn")
    %45 = nn.attention %35, %40, %44 mask %arg1 {scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>) -> tensor<1x16x4x16xf32> loc("layers.0.attn")
    %46 = tensor.collapse_shape %45 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("layers.0.attn.Wo")
    %p47 = tp.parameter "layers.0.attn.Wo.weight" : tensor<64x64xf32> loc("layers.0.attn.Wo.weight")
    %48 = nn.linear %46, %p47 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.0.attn.Wo")
    %49 = arith.addf %4, %48 : tensor<1x16x64xf32> loc("layers.0")
    %p50 = tp.parameter "layers.0.mlp_norm.weight" : tensor<64xf32> loc("layers.0.mlp_norm.weight")
    %51 = nn.layer_norm %49, %p50 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.0.mlp_norm")
    %p52 = tp.parameter "layers.0.mlp.Wi.weight" source <shape = [256, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<128x64xf32> loc("layers.0.mlp.Wi.weight")
    %53 = nn.linear %51, %p52 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("layers.0.mlp.Wi")
    %54 = nn.gelu erf %53 : tensor<1x16x128xf32> loc("layers.0.mlp.act")
    %p55 = tp.parameter "layers.0.mlp.Wi.weight" source <shape = [256, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<128x64xf32> loc("layers.0.mlp.Wi.weight")
    %56 = nn.linear %51, %p55 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("layers.0.mlp.Wi")
    %57 = arith.mulf %54, %56 : tensor<1x16x128xf32> loc("layers.0.mlp")
    %p58 = tp.parameter "layers.0.mlp.Wo.weight" : tensor<64x128xf32> loc("layers.0.mlp.Wo.weight")
    %59 = nn.linear %57, %p58 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("layers.0.mlp.Wo")
    %60 = arith.addf %49, %59 : tensor<1x16x64xf32> loc("layers.0")
    %p61 = tp.parameter "layers.1.attn_norm.weight" : tensor<64xf32> loc("layers.1.attn_norm.weight")
    %62 = nn.layer_norm %60, %p61 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn_norm")
    %p65 = tp.parameter "layers.1.attn.Wqkv.weight" source <shape = [192, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.attn.Wqkv.weight")
    %66 = nn.linear %62, %p65 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn.Wqkv")
    %67 = tensor.expand_shape %66 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.attn.Wqkv")
    %68 = tensor.collapse_shape %67 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.1.attn")
    %69 = nn.rotary %68, %cos63, %sin64 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("layers.1.attn")
    %p70 = tp.parameter "layers.1.attn.Wqkv.weight" source <shape = [192, 64], offsets = [64, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.attn.Wqkv.weight")
    %71 = nn.linear %62, %p70 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn.Wqkv")
    %72 = tensor.expand_shape %71 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.attn.Wqkv")
    %73 = tensor.collapse_shape %72 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.1.attn")
    %74 = nn.rotary %73, %cos63, %sin64 : (tensor<1x16x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<1x16x4x16xf32> loc("layers.1.attn")
    %78 = tensor.empty() : tensor<4x16x16xf32> loc("layers.1.attn")
    %79 = arith.constant 0.000000000e+00 : f32 loc("layers.1.attn")
    %80 = linalg.fill ins(%79 : f32) outs(%78 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("layers.1.attn")
    %83 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%69, %74 : tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>) outs(%80 : tensor<4x16x16xf32>) {
    ^bb0(%a75: f32, %a76: f32, %o77: f32):
      %s81 = arith.mulf %a75, %a76 : f32
      %s82 = arith.addf %o77, %s81 : f32
      linalg.yield %s82 : f32
    } -> tensor<4x16x16xf32> loc("layers.1.attn")
    %87 = tensor.empty() : tensor<4x16x16xf32> loc("layers.1.attn")
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, 0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%83, %28 : tensor<4x16x16xf32>, tensor<1x1x16x16xi1>) outs(%87 : tensor<4x16x16xf32>) {
    ^bb0(%a84: f32, %a85: i1, %o86: f32):
      %s88 = arith.constant 2.500000000e-01 : f32
      %s89 = arith.mulf %a84, %s88 : f32
      %s90 = arith.constant 0xFF800000 : f32
      %s91 = arith.select %a85, %s89, %s90 : f32
      linalg.yield %s91 : f32
    } -> tensor<4x16x16xf32> loc("layers.1.attn")
    %93 = tensor.expand_shape %92 [[0, 1], [2], [3]] output_shape [1, 4, 16, 16] : tensor<4x16x16xf32> into tensor<1x4x16x16xf32> loc("layers.1.attn")
    %94 = nn.softmax %93 : tensor<1x4x16x16xf32> loc("layers.1.attn")
    %p95 = tp.parameter "layers.1.attn.Wqkv.weight" source <shape = [192, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.attn.Wqkv.weight")
    %96 = nn.linear %62, %p95 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn.Wqkv")
    %97 = tensor.expand_shape %96 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.attn.Wqkv")
    %101 = tensor.empty() : tensor<4x16x16xf32> loc("layers.1.attn")
    %102 = arith.constant 0.000000000e+00 : f32 loc("layers.1.attn")
    %103 = linalg.fill ins(%102 : f32) outs(%101 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("layers.1.attn")
    %106 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3, 0, d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%94, %97 : tensor<1x4x16x16xf32>, tensor<1x16x1x4x16xf32>) outs(%103 : tensor<4x16x16xf32>) {
    ^bb0(%a98: f32, %a99: f32, %o100: f32):
      %s104 = arith.mulf %a98, %a99 : f32
      %s105 = arith.addf %o100, %s104 : f32
      linalg.yield %s105 : f32
    } -> tensor<4x16x16xf32> loc("layers.1.attn")
    %107 = tensor.empty() : tensor<16x4x16xf32> loc("layers.1.attn.Wo")
    %108 = linalg.transpose ins(%106 : tensor<4x16x16xf32>) outs(%107 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("layers.1.attn.Wo")
    %109 = tensor.collapse_shape %108 [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32> loc("layers.1.attn.Wo")
    %110 = tensor.expand_shape %109 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("layers.1.attn.Wo")
    %p111 = tp.parameter "layers.1.attn.Wo.weight" : tensor<64x64xf32> loc("layers.1.attn.Wo.weight")
    %112 = nn.linear %110, %p111 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("layers.1.attn.Wo")
    %113 = arith.addf %60, %112 : tensor<1x16x64xf32> loc("layers.1")
    %p114 = tp.parameter "layers.1.mlp_norm.weight" : tensor<64xf32> loc("layers.1.mlp_norm.weight")
    %115 = nn.layer_norm %113, %p114 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.mlp_norm")
    %p116 = tp.parameter "layers.1.mlp.Wi.weight" source <shape = [256, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<128x64xf32> loc("layers.1.mlp.Wi.weight")
    %117 = nn.linear %115, %p116 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("layers.1.mlp.Wi")
    %118 = nn.gelu erf %117 : tensor<1x16x128xf32> loc("layers.1.mlp.act")
    %p119 = tp.parameter "layers.1.mlp.Wi.weight" source <shape = [256, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<128x64xf32> loc("layers.1.mlp.Wi.weight")
    %120 = nn.linear %115, %p119 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("layers.1.mlp.Wi")
    %121 = arith.mulf %118, %120 : tensor<1x16x128xf32> loc("layers.1.mlp")
    %p122 = tp.parameter "layers.1.mlp.Wo.weight" : tensor<64x128xf32> loc("layers.1.mlp.Wo.weight")
    %123 = nn.linear %121, %p122 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("layers.1.mlp.Wo")
    %124 = arith.addf %113, %123 : tensor<1x16x64xf32> loc("layers.1")
    %p125 = tp.parameter "final_norm.weight" : tensor<64xf32> loc("final_norm.weight")
    %126 = nn.layer_norm %124, %p125 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("final_norm")
    return %126 : tensor<1x16x64xf32>
  }
}
