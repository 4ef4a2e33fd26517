module attributes {tp.ignored_tensors = ["pooler.dense.weight", "pooler.dense.bias"]} {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<1x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>, tp.default = "ones"}) -> (tensor<1x16x64xf32> {tp.name = "last_hidden_state"}) {
    %4 = tensor.empty() : tensor<1x16xi1> loc("embeddings")
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<1x16xi64>) outs(%4 : tensor<1x16xi1>) {
    ^bb0(%a1: i64, %o3: i1):
      %s2 = arith.constant 1 : i64
      %s5 = arith.cmpi ne, %a1, %s2 : i64
      linalg.yield %s5 : i1
    } -> tensor<1x16xi1> loc("embeddings")
    %9 = tensor.empty() : tensor<1x16xi32> loc("embeddings")
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<1x16xi1>) outs(%9 : tensor<1x16xi32>) {
    ^bb0(%a7: i1, %o8: i32):
      %s10 = arith.extui %a7 : i1 to i32
      linalg.yield %s10 : i32
    } -> tensor<1x16xi32> loc("embeddings")
    %14 = tensor.empty() : tensor<1x16xi64> loc("embeddings")
    %15 = arith.constant 0 : i64 loc("embeddings")
    %16 = linalg.fill ins(%15 : i64) outs(%14 : tensor<1x16xi64>) -> tensor<1x16xi64> loc("embeddings")
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%11 : tensor<1x16xi32>) outs(%16 : tensor<1x16xi64>) {
    ^bb0(%a12: i32, %o13: i64):
      %s17 = linalg.index 1 : index
      %s18 = linalg.index 2 : index
      %s19 = arith.cmpi ule, %s18, %s17 : index
      %s20 = arith.extsi %a12 : i32 to i64
      %s21 = arith.constant 0 : i64
      %s22 = arith.select %s19, %s20, %s21 : i64
      %s23 = arith.addi %o13, %s22 : i64
      linalg.yield %s23 : i64
    } -> tensor<1x16xi64> loc("embeddings")
    %27 = tensor.empty() : tensor<1x16xi32> loc("embeddings")
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<1x16xi64>) outs(%27 : tensor<1x16xi32>) {
    ^bb0(%a25: i64, %o26: i32):
      %s28 = arith.trunci %a25 : i64 to i32
      linalg.yield %s28 : i32
    } -> tensor<1x16xi32> loc("embeddings")
    %33 = tensor.empty() : tensor<1x16xi32> loc("embeddings")
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%29 : tensor<1x16xi32>) outs(%33 : tensor<1x16xi32>) {
    ^bb0(%a30: i32, %o32: i32):
      %s31 = arith.constant 0 : i32
      %s34 = arith.addi %a30, %s31 : i32
      linalg.yield %s34 : i32
    } -> tensor<1x16xi32> loc("embeddings")
    %36 = arith.muli %35, %11 : tensor<1x16xi32> loc("embeddings")
    %39 = tensor.empty() : tensor<1x16xi64> loc("embeddings")
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%36 : tensor<1x16xi32>) outs(%39 : tensor<1x16xi64>) {
    ^bb0(%a37: i32, %o38: i64):
      %s40 = arith.extsi %a37 : i32 to i64
      linalg.yield %s40 : i64
    } -> tensor<1x16xi64> loc("embeddings")
    %45 = tensor.empty() : tensor<1x16xi64> loc("embeddings")
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%41 : tensor<1x16xi64>) outs(%45 : tensor<1x16xi64>) {
    ^bb0(%a42: i64, %o44: i64):
      %s43 = arith.constant 1 : i64
      %s46 = arith.addi %a42, %s43 : i64
      linalg.yield %s46 : i64
    } -> tensor<1x16xi64> loc("embeddings")
    %p48 = tp.parameter "embeddings.word_embeddings.weight" : tensor<97x64xf32> loc("embeddings.word_embeddings.weight")
    %49 = nn.embedding %arg0, %p48 {padding_row = 1 : i64} : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("embeddings.word_embeddings")
    %p50 = tp.parameter "embeddings.token_type_embeddings.weight" source <shape = [2, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<1x64xf32> loc("embeddings.token_type_embeddings.weight")
    %54 = tensor.empty() : tensor<1x16x64xf32> loc("embeddings")
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%49, %p50 : tensor<1x16x64xf32>, tensor<1x64xf32>) outs(%54 : tensor<1x16x64xf32>) {
    ^bb0(%a51: f32, %a52: f32, %o53: f32):
      %s55 = arith.addf %a51, %a52 : f32
      linalg.yield %s55 : f32
    } -> tensor<1x16x64xf32> loc("embeddings")
    %p57 = tp.parameter "embeddings.position_embeddings.weight" : tensor<64x64xf32> loc("embeddings.position_embeddings.weight")
    %58 = nn.embedding %47, %p57 {padding_row = 1 : i64} : (tensor<1x16xi64>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("embeddings.position_embeddings")
    %59 = arith.addf %56, %58 : tensor<1x16x64xf32> loc("embeddings")
    %p60 = tp.parameter "embeddings.LayerNorm.weight" : tensor<64xf32> loc("embeddings.LayerNorm.weight")
    %p61 = tp.parameter "embeddings.LayerNorm.bias" : tensor<64xf32> loc("embeddings.LayerNorm.bias")
    %62 = nn.layer_norm %59, %p60 bias %p61 {epsilon = 9.99999999999999980e-13 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("embeddings.LayerNorm")
    %p63 = tp.parameter "encoder.layer.0.attention.self.query.weight" : tensor<64x64xf32> loc("encoder.layer.0.attention.self.query.weight")
    %p64 = tp.parameter "encoder.layer.0.attention.self.query.bias" : tensor<64xf32> loc("encoder.layer.0.attention.self.query.bias")
    %65 = nn.linear %62, %p63 bias %p64 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.0.attention.self.query")
    %66 = tensor.expand_shape %65 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layer.0.attention.self.query")
    %p67 = tp.parameter "encoder.layer.0.attention.self.key.weight" : tensor<64x64xf32> loc("encoder.layer.0.attention.self.key.weight")
    %p68 = tp.parameter "encoder.layer.0.attention.self.key.bias" : tensor<64xf32> loc("encoder.layer.0.attention.self.key.bias")
    %69 = nn.linear %62, %p67 bias %p68 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.0.attention.self.key")
    %70 = tensor.expand_shape %69 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layer.0.attention.self.key")
    %p71 = tp.parameter "encoder.layer.0.attention.self.value.weight" : tensor<64x64xf32> loc("encoder.layer.0.attention.self.value.weight")
    %p72 = tp.parameter "encoder.layer.0.attention.self.value.bias" : tensor<64xf32> loc("encoder.layer.0.attention.self.value.bias")
    %73 = nn.linear %62, %p71 bias %p72 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.0.attention.self.value")
    %74 = tensor.expand_shape %73 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layer.0.attention.self.value")
    %75 = nn.attention %66, %70, %74 mask %arg1 {scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>) -> tensor<1x16x4x16xf32> loc("encoder.layer.0.attention.self")
    %76 = tensor.collapse_shape %75 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("encoder.layer.0.attention.output.dense")
    %p77 = tp.parameter "encoder.layer.0.attention.output.dense.weight" : tensor<64x64xf32> loc("encoder.layer.0.attention.output.dense.weight")
    %p78 = tp.parameter "encoder.layer.0.attention.output.dense.bias" : tensor<64xf32> loc("encoder.layer.0.attention.output.dense.bias")
    %79 = nn.linear %76, %p77 bias %p78 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.0.attention.output.dense")
    %80 = arith.addf %79, %62 : tensor<1x16x64xf32> loc("encoder.layer.0.attention.output")
    %p81 = tp.parameter "encoder.layer.0.attention.output.LayerNorm.weight" : tensor<64xf32> loc("encoder.layer.0.attention.output.LayerNorm.weight")
    %p82 = tp.parameter "encoder.layer.0.attention.output.LayerNorm.bias" : tensor<64xf32> loc("encoder.layer.0.attention.output.LayerNorm.bias")
    %83 = nn.layer_norm %80, %p81 bias %p82 {epsilon = 9.99999999999999980e-13 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.0.attention.output.LayerNorm")
    %p84 = tp.parameter "encoder.layer.0.intermediate.dense.weight" : tensor<128x64xf32> loc("encoder.layer.0.intermediate.dense.weight")
    %p85 = tp.parameter "encoder.layer.0.intermediate.dense.bias" : tensor<128xf32> loc("encoder.layer.0.intermediate.dense.bias")
    %86 = nn.linear %83, %p84 bias %p85 : (tensor<1x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<1x16x128xf32> loc("encoder.layer.0.intermediate.dense")
    %87 = nn.gelu erf %86 : tensor<1x16x128xf32> loc("encoder.layer.0.intermediate.intermediate_act_fn")
    %p88 = tp.parameter "encoder.layer.0.output.dense.weight" : tensor<64x128xf32> loc("encoder.layer.0.output.dense.weight")
    %p89 = tp.parameter "encoder.layer.0.output.dense.bias" : tensor<64xf32> loc("encoder.layer.0.output.dense.bias")
    %90 = nn.linear %87, %p88 bias %p89 : (tensor<1x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.0.output.dense")
    %91 = arith.addf %90, %83 : tensor<1x16x64xf32> loc("encoder.layer.0.output")
    %p92 = tp.parameter "encoder.layer.0.output.LayerNorm.weight" : tensor<64xf32> loc("encoder.layer.0.output.LayerNorm.weight")
    %p93 = tp.parameter "encoder.layer.0.output.LayerNorm.bias" : tensor<64xf32> loc("encoder.layer.0.output.LayerNorm.bias")
    %94 = nn.layer_norm %91, %p92 bias %p93 {epsilon = 9.99999999999999980e-13 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.0.output.LayerNorm")
    %p95 = tp.parameter "encoder.layer.1.attention.self.query.weight" : tensor<64x64xf32> loc("encoder.layer.1.attention.self.query.weight")
    %p96 = tp.parameter "encoder.layer.1.attention.self.query.bias" : tensor<64xf32> loc("encoder.layer.1.attention.self.query.bias")
    %97 = nn.linear %94, %p95 bias %p96 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.1.attention.self.query")
    %98 = tensor.expand_shape %97 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layer.1.attention.self.query")
    %p99 = tp.parameter "encoder.layer.1.attention.self.key.weight" : tensor<64x64xf32> loc("encoder.layer.1.attention.self.key.weight")
    %p100 = tp.parameter "encoder.layer.1.attention.self.key.bias" : tensor<64xf32> loc("encoder.layer.1.attention.self.key.bias")
    %101 = nn.linear %94, %p99 bias %p100 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.1.attention.self.key")
    %102 = tensor.expand_shape %101 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layer.1.attention.self.key")
    %p103 = tp.parameter "encoder.layer.1.attention.self.value.weight" : tensor<64x64xf32> loc("encoder.layer.1.attention.self.value.weight")
    %p104 = tp.parameter "encoder.layer.1.attention.self.value.bias" : tensor<64xf32> loc("encoder.layer.1.attention.self.value.bias")
    %105 = nn.linear %94, %p103 bias %p104 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.1.attention.self.value")
    %106 = tensor.expand_shape %105 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.layer.1.attention.self.value")
    %107 = nn.attention %98, %102, %106 mask %arg1 {scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16xi64>) -> tensor<1x16x4x16xf32> loc("encoder.layer.1.attention.self")
    %108 = tensor.collapse_shape %107 [[0], [1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<1x16x64xf32> loc("encoder.layer.1.attention.output.dense")
    %p109 = tp.parameter "encoder.layer.1.attention.output.dense.weight" : tensor<64x64xf32> loc("encoder.layer.1.attention.output.dense.weight")
    %p110 = tp.parameter "encoder.layer.1.attention.output.dense.bias" : tensor<64xf32> loc("encoder.layer.1.attention.output.dense.bias")
    %111 = nn.linear %108, %p109 bias %p110 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.1.attention.output.dense")
    %112 = arith.addf %111, %94 : tensor<1x16x64xf32> loc("encoder.layer.1.attention.output")
    %p113 = tp.parameter "encoder.layer.1.attention.output.LayerNorm.weight" : tensor<64xf32> loc("encoder.layer.1.attention.output.LayerNorm.weight")
    %p114 = tp.parameter "encoder.layer.1.attention.output.LayerNorm.bias" : tensor<64xf32> loc("encoder.layer.1.attention.output.LayerNorm.bias")
    %115 = nn.layer_norm %112, %p113 bias %p114 {epsilon = 9.99999999999999980e-13 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.1.attention.output.LayerNorm")
    %p116 = tp.parameter "encoder.layer.1.intermediate.dense.weight" : tensor<128x64xf32> loc("encoder.layer.1.intermediate.dense.weight")
    %p117 = tp.parameter "encoder.layer.1.intermediate.dense.bias" : tensor<128xf32> loc("encoder.layer.1.intermediate.dense.bias")
    %118 = nn.linear %115, %p116 bias %p117 : (tensor<1x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<1x16x128xf32> loc("encoder.layer.1.intermediate.dense")
    %119 = nn.gelu erf %118 : tensor<1x16x128xf32> loc("encoder.layer.1.intermediate.intermediate_act_fn")
    %p120 = tp.parameter "encoder.layer.1.output.dense.weight" : tensor<64x128xf32> loc("encoder.layer.1.output.dense.weight")
    %p121 = tp.parameter "encoder.layer.1.output.dense.bias" : tensor<64xf32> loc("encoder.layer.1.output.dense.bias")
    %122 = nn.linear %119, %p120 bias %p121 : (tensor<1x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.1.output.dense")
    %123 = arith.addf %122, %115 : tensor<1x16x64xf32> loc("encoder.layer.1.output")
    %p124 = tp.parameter "encoder.layer.1.output.LayerNorm.weight" : tensor<64xf32> loc("encoder.layer.1.output.LayerNorm.weight")
    %p125 = tp.parameter "encoder.layer.1.output.LayerNorm.bias" : tensor<64xf32> loc("encoder.layer.1.output.LayerNorm.bias")
    %126 = nn.layer_norm %123, %p124 bias %p125 {epsilon = 9.99999999999999980e-13 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.layer.1.output.LayerNorm")
    return %126 : tensor<1x16x64xf32>
  }
}
