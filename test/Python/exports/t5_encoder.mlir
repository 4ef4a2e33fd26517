module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<1x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>}) -> (tensor<1x16x64xf32> {tp.name = "last_hidden_state"}) {
    %c18 = arith.constant dense<"0x0000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000180000000000000018000000000000001900000000000000190000000000000019000000000000001900000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000018000000000000001800000000000000180000000000000019000000000000001900000000000000190000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000001800000000000000180000000000000018000000000000001800000000000000190000000000000019000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000180000000000000018000000000000001900000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000018000000000000001800000000000000180000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000001800000000000000180000000000000018000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000080000000000000008000000000000000800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000008000000000000000800000000000000080000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000000900000000000000080000000000000008000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000090000000000000009000000000000000800000000000000080000000000000008000000000000000800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000009000000000000000900000000000000090000000000000008000000000000000800000000000000080000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000000900000000000000090000000000000009000000000000000900000000000000080000000000000008000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000"> : tensor<16x16xi64>
    %p1 = tp.parameter "shared.weight" alternatives ["encoder.embed_tokens.weight"] : tensor<97x64xf32> loc("shared.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("encoder.embed_tokens")
    %5 = tensor.empty() : tensor<1x16xi1> loc("encoder")
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<1x16xi64>) outs(%5 : tensor<1x16xi1>) {
    ^bb0(%a3: i64, %o4: i1):
      %s6 = arith.constant 0 : i64
      %s7 = arith.cmpi ne, %a3, %s6 : i64
      linalg.yield %s7 : i1
    } -> tensor<1x16xi1> loc("encoder")
    %12 = tensor.empty() : tensor<1x1x16x16xi1> loc("encoder")
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<1x16xi1>) outs(%12 : tensor<1x1x16x16xi1>) {
    ^bb0(%a10: i1, %o11: i1):
      %s9 = arith.constant true
      %s13 = arith.andi %s9, %a10 : i1
      linalg.yield %s13 : i1
    } -> tensor<1x1x16x16xi1> loc("encoder")
    %p15 = tp.parameter "encoder.block.0.layer.0.layer_norm.weight" : tensor<64xf32> loc("encoder.block.0.layer.0.layer_norm.weight")
    %16 = nn.rms_norm %2, %p15 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.0.layer.0.layer_norm")
    %p17 = tp.parameter "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight" : tensor<32x4xf32> loc("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
    %19 = nn.embedding %c18, %p17 : (tensor<16x16xi64>, tensor<32x4xf32>) -> tensor<16x16x4xf32> loc("encoder.block.0.layer.0.SelfAttention.relative_attention_bias")
    %24 = tensor.empty() : tensor<16x16x4xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, 0, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %19 : tensor<1x1x16x16xi1>, tensor<16x16x4xf32>) outs(%24 : tensor<16x16x4xf32>) {
    ^bb0(%a20: i1, %a21: f32, %o23: f32):
      %s22 = arith.constant -3.402823466e+38 : f32
      %s25 = arith.select %a20, %a21, %s22 : f32
      linalg.yield %s25 : f32
    } -> tensor<16x16x4xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %p27 = tp.parameter "encoder.block.0.layer.0.SelfAttention.q.weight" : tensor<64x64xf32> loc("encoder.block.0.layer.0.SelfAttention.q.weight")
    %28 = nn.linear %16, %p27 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.q")
    %29 = tensor.expand_shape %28 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.block.0.layer.0.SelfAttention.q")
    %p30 = tp.parameter "encoder.block.0.layer.0.SelfAttention.k.weight" : tensor<64x64xf32> loc("encoder.block.0.layer.0.SelfAttention.k.weight")
    %31 = nn.linear %16, %p30 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.k")
    %32 = tensor.expand_shape %31 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.block.0.layer.0.SelfAttention.k")
    %36 = tensor.empty() : tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %37 = arith.constant 0.000000000e+00 : f32 loc("encoder.block.0.layer.0.SelfAttention")
    %38 = linalg.fill ins(%37 : f32) outs(%36 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%29, %32 : tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>) outs(%38 : tensor<4x16x16xf32>) {
    ^bb0(%a33: f32, %a34: f32, %o35: f32):
      %s39 = arith.mulf %a33, %a34 : f32
      %s40 = arith.addf %o35, %s39 : f32
      linalg.yield %s40 : f32
    } -> tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %45 = tensor.empty() : tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%41, %26 : tensor<4x16x16xf32>, tensor<16x16x4xf32>) outs(%45 : tensor<4x16x16xf32>) {
    ^bb0(%a42: f32, %a43: f32, %o44: f32):
      %s46 = arith.constant 1.000000000e+00 : f32
      %s47 = arith.mulf %a42, %s46 : f32
      %s48 = arith.addf %s47, %a43 : f32
      linalg.yield %s48 : f32
    } -> tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %50 = tensor.expand_shape %49 [[0, 1], [2], [3]] output_shape [1, 4, 16, 16] : tensor<4x16x16xf32> into tensor<1x4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %51 = nn.softmax %50 : tensor<1x4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %p52 = tp.parameter "encoder.block.0.layer.0.SelfAttention.v.weight" : tensor<64x64xf32> loc("encoder.block.0.layer.0.SelfAttention.v.weight")
    %53 = nn.linear %16, %p52 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.v")
    %54 = tensor.expand_shape %53 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.block.0.layer.0.SelfAttention.v")
    %58 = tensor.empty() : tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %59 = arith.constant 0.000000000e+00 : f32 loc("encoder.block.0.layer.0.SelfAttention")
    %60 = linalg.fill ins(%59 : f32) outs(%58 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %63 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3, d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%51, %54 : tensor<1x4x16x16xf32>, tensor<1x16x4x16xf32>) outs(%60 : tensor<4x16x16xf32>) {
    ^bb0(%a55: f32, %a56: f32, %o57: f32):
      %s61 = arith.mulf %a55, %a56 : f32
      %s62 = arith.addf %o57, %s61 : f32
      linalg.yield %s62 : f32
    } -> tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %64 = tensor.empty() : tensor<16x4x16xf32> loc("encoder.block.0.layer.0.SelfAttention.o")
    %65 = linalg.transpose ins(%63 : tensor<4x16x16xf32>) outs(%64 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("encoder.block.0.layer.0.SelfAttention.o")
    %66 = tensor.collapse_shape %65 [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.o")
    %67 = tensor.expand_shape %66 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.o")
    %p68 = tp.parameter "encoder.block.0.layer.0.SelfAttention.o.weight" : tensor<64x64xf32> loc("encoder.block.0.layer.0.SelfAttention.o.weight")
    %69 = nn.linear %67, %p68 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.o")
    %70 = arith.addf %2, %69 : tensor<1x16x64xf32> loc("encoder.block.0.layer.0")
    %p71 = tp.parameter "encoder.block.0.layer.1.layer_norm.weight" : tensor<64xf32> loc("encoder.block.0.layer.1.layer_norm.weight")
    %72 = nn.rms_norm %70, %p71 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.0.layer.1.layer_norm")
    %p73 = tp.parameter "encoder.block.0.layer.1.DenseReluDense.wi.weight" : tensor<128x64xf32> loc("encoder.block.0.layer.1.DenseReluDense.wi.weight")
    %74 = nn.linear %72, %p73 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("encoder.block.0.layer.1.DenseReluDense.wi")
    %78 = tensor.empty() : tensor<1x16x128xf32> loc("encoder.block.0.layer.1.DenseReluDense.act")
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%74 : tensor<1x16x128xf32>) outs(%78 : tensor<1x16x128xf32>) {
    ^bb0(%a75: f32, %o77: f32):
      %s76 = arith.constant 0.000000000e+00 : f32
      %s79 = arith.maximumf %a75, %s76 : f32
      linalg.yield %s79 : f32
    } -> tensor<1x16x128xf32> loc("encoder.block.0.layer.1.DenseReluDense.act")
    %p81 = tp.parameter "encoder.block.0.layer.1.DenseReluDense.wo.weight" : tensor<64x128xf32> loc("encoder.block.0.layer.1.DenseReluDense.wo.weight")
    %82 = nn.linear %80, %p81 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("encoder.block.0.layer.1.DenseReluDense.wo")
    %83 = arith.addf %70, %82 : tensor<1x16x64xf32> loc("encoder.block.0.layer.1")
    %p84 = tp.parameter "encoder.block.1.layer.0.layer_norm.weight" : tensor<64xf32> loc("encoder.block.1.layer.0.layer_norm.weight")
    %85 = nn.rms_norm %83, %p84 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.1.layer.0.layer_norm")
    %90 = tensor.empty() : tensor<16x16x4xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %92 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, 0, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %19 : tensor<1x1x16x16xi1>, tensor<16x16x4xf32>) outs(%90 : tensor<16x16x4xf32>) {
    ^bb0(%a86: i1, %a87: f32, %o89: f32):
      %s88 = arith.constant -3.402823466e+38 : f32
      %s91 = arith.select %a86, %a87, %s88 : f32
      linalg.yield %s91 : f32
    } -> tensor<16x16x4xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %p93 = tp.parameter "encoder.block.1.layer.0.SelfAttention.q.weight" : tensor<64x64xf32> loc("encoder.block.1.layer.0.SelfAttention.q.weight")
    %94 = nn.linear %85, %p93 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.q")
    %95 = tensor.expand_shape %94 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.block.1.layer.0.SelfAttention.q")
    %p96 = tp.parameter "encoder.block.1.layer.0.SelfAttention.k.weight" : tensor<64x64xf32> loc("encoder.block.1.layer.0.SelfAttention.k.weight")
    %97 = nn.linear %85, %p96 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.k")
    %98 = tensor.expand_shape %97 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.block.1.layer.0.SelfAttention.k")
    %102 = tensor.empty() : tensor<4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %103 = arith.constant 0.000000000e+00 : f32 loc("encoder.block.1.layer.0.SelfAttention")
    %104 = linalg.fill ins(%103 : f32) outs(%102 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %107 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d1, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%95, %98 : tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>) outs(%104 : tensor<4x16x16xf32>) {
    ^bb0(%a99: f32, %a100: f32, %o101: f32):
      %s105 = arith.mulf %a99, %a100 : f32
      %s106 = arith.addf %o101, %s105 : f32
      linalg.yield %s106 : f32
    } -> tensor<4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %111 = tensor.empty() : tensor<4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %115 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%107, %92 : tensor<4x16x16xf32>, tensor<16x16x4xf32>) outs(%111 : tensor<4x16x16xf32>) {
    ^bb0(%a108: f32, %a109: f32, %o110: f32):
      %s112 = arith.constant 1.000000000e+00 : f32
      %s113 = arith.mulf %a108, %s112 : f32
      %s114 = arith.addf %s113, %a109 : f32
      linalg.yield %s114 : f32
    } -> tensor<4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %116 = tensor.expand_shape %115 [[0, 1], [2], [3]] output_shape [1, 4, 16, 16] : tensor<4x16x16xf32> into tensor<1x4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %117 = nn.softmax %116 : tensor<1x4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %p118 = tp.parameter "encoder.block.1.layer.0.SelfAttention.v.weight" : tensor<64x64xf32> loc("encoder.block.1.layer.0.SelfAttention.v.weight")
    %119 = nn.linear %85, %p118 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.v")
    %120 = tensor.expand_shape %119 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("encoder.block.1.layer.0.SelfAttention.v")
    %124 = tensor.empty() : tensor<4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %125 = arith.constant 0.000000000e+00 : f32 loc("encoder.block.1.layer.0.SelfAttention")
    %126 = linalg.fill ins(%125 : f32) outs(%124 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %129 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (0, d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (0, d3, d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%117, %120 : tensor<1x4x16x16xf32>, tensor<1x16x4x16xf32>) outs(%126 : tensor<4x16x16xf32>) {
    ^bb0(%a121: f32, %a122: f32, %o123: f32):
      %s127 = arith.mulf %a121, %a122 : f32
      %s128 = arith.addf %o123, %s127 : f32
      linalg.yield %s128 : f32
    } -> tensor<4x16x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %130 = tensor.empty() : tensor<16x4x16xf32> loc("encoder.block.1.layer.0.SelfAttention.o")
    %131 = linalg.transpose ins(%129 : tensor<4x16x16xf32>) outs(%130 : tensor<16x4x16xf32>) permutation = [1, 0, 2] loc("encoder.block.1.layer.0.SelfAttention.o")
    %132 = tensor.collapse_shape %131 [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.o")
    %133 = tensor.expand_shape %132 [[0, 1], [2]] output_shape [1, 16, 64] : tensor<16x64xf32> into tensor<1x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.o")
    %p134 = tp.parameter "encoder.block.1.layer.0.SelfAttention.o.weight" : tensor<64x64xf32> loc("encoder.block.1.layer.0.SelfAttention.o.weight")
    %135 = nn.linear %133, %p134 : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.o")
    %136 = arith.addf %83, %135 : tensor<1x16x64xf32> loc("encoder.block.1.layer.0")
    %p137 = tp.parameter "encoder.block.1.layer.1.layer_norm.weight" : tensor<64xf32> loc("encoder.block.1.layer.1.layer_norm.weight")
    %138 = nn.rms_norm %136, %p137 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.block.1.layer.1.layer_norm")
    %p139 = tp.parameter "encoder.block.1.layer.1.DenseReluDense.wi.weight" : tensor<128x64xf32> loc("encoder.block.1.layer.1.DenseReluDense.wi.weight")
    %140 = nn.linear %138, %p139 : (tensor<1x16x64xf32>, tensor<128x64xf32>) -> tensor<1x16x128xf32> loc("encoder.block.1.layer.1.DenseReluDense.wi")
    %144 = tensor.empty() : tensor<1x16x128xf32> loc("encoder.block.1.layer.1.DenseReluDense.act")
    %146 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%140 : tensor<1x16x128xf32>) outs(%144 : tensor<1x16x128xf32>) {
    ^bb0(%a141: f32, %o143: f32):
      %s142 = arith.constant 0.000000000e+00 : f32
      %s145 = arith.maximumf %a141, %s142 : f32
      linalg.yield %s145 : f32
    } -> tensor<1x16x128xf32> loc("encoder.block.1.layer.1.DenseReluDense.act")
    %p147 = tp.parameter "encoder.block.1.layer.1.DenseReluDense.wo.weight" : tensor<64x128xf32> loc("encoder.block.1.layer.1.DenseReluDense.wo.weight")
    %148 = nn.linear %146, %p147 : (tensor<1x16x128xf32>, tensor<64x128xf32>) -> tensor<1x16x64xf32> loc("encoder.block.1.layer.1.DenseReluDense.wo")
    %149 = arith.addf %136, %148 : tensor<1x16x64xf32> loc("encoder.block.1.layer.1")
    %p150 = tp.parameter "encoder.final_layer_norm.weight" : tensor<64xf32> loc("encoder.final_layer_norm.weight")
    %151 = nn.rms_norm %149, %p150 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("encoder.final_layer_norm")
    return %151 : tensor<1x16x64xf32>
  }
}
