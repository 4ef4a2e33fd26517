module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<1x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>}) -> (tensor<1x16x64xbf16> {tp.name = "last_hidden_state"}) {
    %c18 = arith.constant dense<"0x0000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000180000000000000018000000000000001900000000000000190000000000000019000000000000001900000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000018000000000000001800000000000000180000000000000019000000000000001900000000000000190000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000001800000000000000180000000000000018000000000000001800000000000000190000000000000019000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000180000000000000018000000000000001900000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000018000000000000001800000000000000180000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000001800000000000000180000000000000018000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000080000000000000008000000000000000800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000008000000000000000800000000000000080000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000000900000000000000080000000000000008000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000090000000000000009000000000000000800000000000000080000000000000008000000000000000800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000009000000000000000900000000000000090000000000000008000000000000000800000000000000080000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000000900000000000000090000000000000009000000000000000900000000000000080000000000000008000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000"> : tensor<16x16xi64>
    %p1 = tp.parameter "shared.weight" alternatives ["encoder.embed_tokens.weight"] : tensor<97x64xbf16> loc("shared.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.embed_tokens")
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
    %p15 = tp.parameter "encoder.block.0.layer.0.layer_norm.weight" : tensor<64xbf16> loc("encoder.block.0.layer.0.layer_norm.weight")
    %16 = nn.rms_norm %2, %p15 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xbf16>, tensor<64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.0.layer.0.layer_norm")
    %p17 = tp.parameter "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight" : tensor<32x4xbf16> loc("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
    %19 = nn.embedding %c18, %p17 : (tensor<16x16xi64>, tensor<32x4xbf16>) -> tensor<16x16x4xbf16> loc("encoder.block.0.layer.0.SelfAttention.relative_attention_bias")
    %24 = tensor.empty() : tensor<16x16x4xbf16> loc("encoder.block.0.layer.0.SelfAttention")
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, 0, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %19 : tensor<1x1x16x16xi1>, tensor<16x16x4xbf16>) outs(%24 : tensor<16x16x4xbf16>) {
    ^bb0(%a20: i1, %a21: bf16, %o23: bf16):
      %s22 = arith.constant -3.389531389e+38 : bf16
      %s25 = arith.select %a20, %a21, %s22 : bf16
      linalg.yield %s25 : bf16
    } -> tensor<16x16x4xbf16> loc("encoder.block.0.layer.0.SelfAttention")
    %p27 = tp.parameter "encoder.block.0.layer.0.SelfAttention.q.weight" : tensor<64x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.q.weight")
    %28 = nn.linear %16, %p27 : (tensor<1x16x64xbf16>, tensor<64x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.q")
    %29 = tensor.expand_shape %28 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xbf16> into tensor<1x16x4x16xbf16> loc("encoder.block.0.layer.0.SelfAttention.q")
    %p30 = tp.parameter "encoder.block.0.layer.0.SelfAttention.k.weight" : tensor<64x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.k.weight")
    %31 = nn.linear %16, %p30 : (tensor<1x16x64xbf16>, tensor<64x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.k")
    %32 = tensor.expand_shape %31 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xbf16> into tensor<1x16x4x16xbf16> loc("encoder.block.0.layer.0.SelfAttention.k")
    %p33 = tp.parameter "encoder.block.0.layer.0.SelfAttention.v.weight" : tensor<64x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.v.weight")
    %34 = nn.linear %16, %p33 : (tensor<1x16x64xbf16>, tensor<64x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.v")
    %35 = tensor.expand_shape %34 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xbf16> into tensor<1x16x4x16xbf16> loc("encoder.block.0.layer.0.SelfAttention.v")
    %36 = tensor.empty() : tensor<4x16x16xbf16> loc("encoder.block.0.layer.0.SelfAttention")
    %37 = linalg.transpose ins(%26 : tensor<16x16x4xbf16>) outs(%36 : tensor<4x16x16xbf16>) permutation = [2, 0, 1] loc("encoder.block.0.layer.0.SelfAttention")
    %38 = nn.attention %29, %32, %35 bias %37 {scale = 1.00000000000000000e+00 : f64} : (tensor<1x16x4x16xbf16>, tensor<1x16x4x16xbf16>, tensor<1x16x4x16xbf16>, tensor<4x16x16xbf16>) -> tensor<1x16x4x16xbf16> loc("encoder.block.0.layer.0.SelfAttention")
    %39 = tensor.collapse_shape %38 [[0], [1], [2, 3]] : tensor<1x16x4x16xbf16> into tensor<1x16x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.o")
    %p40 = tp.parameter "encoder.block.0.layer.0.SelfAttention.o.weight" : tensor<64x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.o.weight")
    %41 = nn.linear %39, %p40 : (tensor<1x16x64xbf16>, tensor<64x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.0.layer.0.SelfAttention.o")
    %42 = arith.addf %2, %41 : tensor<1x16x64xbf16> loc("encoder.block.0.layer.0")
    %p43 = tp.parameter "encoder.block.0.layer.1.layer_norm.weight" : tensor<64xbf16> loc("encoder.block.0.layer.1.layer_norm.weight")
    %44 = nn.rms_norm %42, %p43 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xbf16>, tensor<64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.0.layer.1.layer_norm")
    %p45 = tp.parameter "encoder.block.0.layer.1.DenseReluDense.wi.weight" : tensor<128x64xbf16> loc("encoder.block.0.layer.1.DenseReluDense.wi.weight")
    %46 = nn.linear %44, %p45 : (tensor<1x16x64xbf16>, tensor<128x64xbf16>) -> tensor<1x16x128xbf16> loc("encoder.block.0.layer.1.DenseReluDense.wi")
    %50 = tensor.empty() : tensor<1x16x128xbf16> loc("encoder.block.0.layer.1.DenseReluDense.act")
    %52 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%46 : tensor<1x16x128xbf16>) outs(%50 : tensor<1x16x128xbf16>) {
    ^bb0(%a47: bf16, %o49: bf16):
      %s48 = arith.constant 0.000000000e+00 : bf16
      %s51 = arith.maximumf %a47, %s48 : bf16
      linalg.yield %s51 : bf16
    } -> tensor<1x16x128xbf16> loc("encoder.block.0.layer.1.DenseReluDense.act")
    %p53 = tp.parameter "encoder.block.0.layer.1.DenseReluDense.wo.weight" : tensor<64x128xbf16> loc("encoder.block.0.layer.1.DenseReluDense.wo.weight")
    %54 = nn.linear %52, %p53 : (tensor<1x16x128xbf16>, tensor<64x128xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.0.layer.1.DenseReluDense.wo")
    %55 = arith.addf %42, %54 : tensor<1x16x64xbf16> loc("encoder.block.0.layer.1")
    %p56 = tp.parameter "encoder.block.1.layer.0.layer_norm.weight" : tensor<64xbf16> loc("encoder.block.1.layer.0.layer_norm.weight")
    %57 = nn.rms_norm %55, %p56 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xbf16>, tensor<64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.1.layer.0.layer_norm")
    %62 = tensor.empty() : tensor<16x16x4xbf16> loc("encoder.block.1.layer.0.SelfAttention")
    %64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, 0, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %19 : tensor<1x1x16x16xi1>, tensor<16x16x4xbf16>) outs(%62 : tensor<16x16x4xbf16>) {
    ^bb0(%a58: i1, %a59: bf16, %o61: bf16):
      %s60 = arith.constant -3.389531389e+38 : bf16
      %s63 = arith.select %a58, %a59, %s60 : bf16
      linalg.yield %s63 : bf16
    } -> tensor<16x16x4xbf16> loc("encoder.block.1.layer.0.SelfAttention")
    %p65 = tp.parameter "encoder.block.1.layer.0.SelfAttention.q.weight" : tensor<64x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.q.weight")
    %66 = nn.linear %57, %p65 : (tensor<1x16x64xbf16>, tensor<64x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.q")
    %67 = tensor.expand_shape %66 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xbf16> into tensor<1x16x4x16xbf16> loc("encoder.block.1.layer.0.SelfAttention.q")
    %p68 = tp.parameter "encoder.block.1.layer.0.SelfAttention.k.weight" : tensor<64x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.k.weight")
    %69 = nn.linear %57, %p68 : (tensor<1x16x64xbf16>, tensor<64x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.k")
    %70 = tensor.expand_shape %69 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xbf16> into tensor<1x16x4x16xbf16> loc("encoder.block.1.layer.0.SelfAttention.k")
    %p71 = tp.parameter "encoder.block.1.layer.0.SelfAttention.v.weight" : tensor<64x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.v.weight")
    %72 = nn.linear %57, %p71 : (tensor<1x16x64xbf16>, tensor<64x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.v")
    %73 = tensor.expand_shape %72 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xbf16> into tensor<1x16x4x16xbf16> loc("encoder.block.1.layer.0.SelfAttention.v")
    %74 = tensor.empty() : tensor<4x16x16xbf16> loc("encoder.block.1.layer.0.SelfAttention")
    %75 = linalg.transpose ins(%64 : tensor<16x16x4xbf16>) outs(%74 : tensor<4x16x16xbf16>) permutation = [2, 0, 1] loc("encoder.block.1.layer.0.SelfAttention")
    %76 = nn.attention %67, %70, %73 bias %75 {scale = 1.00000000000000000e+00 : f64} : (tensor<1x16x4x16xbf16>, tensor<1x16x4x16xbf16>, tensor<1x16x4x16xbf16>, tensor<4x16x16xbf16>) -> tensor<1x16x4x16xbf16> loc("encoder.block.1.layer.0.SelfAttention")
    %77 = tensor.collapse_shape %76 [[0], [1], [2, 3]] : tensor<1x16x4x16xbf16> into tensor<1x16x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.o")
    %p78 = tp.parameter "encoder.block.1.layer.0.SelfAttention.o.weight" : tensor<64x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.o.weight")
    %79 = nn.linear %77, %p78 : (tensor<1x16x64xbf16>, tensor<64x64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.1.layer.0.SelfAttention.o")
    %80 = arith.addf %55, %79 : tensor<1x16x64xbf16> loc("encoder.block.1.layer.0")
    %p81 = tp.parameter "encoder.block.1.layer.1.layer_norm.weight" : tensor<64xbf16> loc("encoder.block.1.layer.1.layer_norm.weight")
    %82 = nn.rms_norm %80, %p81 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xbf16>, tensor<64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.1.layer.1.layer_norm")
    %p83 = tp.parameter "encoder.block.1.layer.1.DenseReluDense.wi.weight" : tensor<128x64xbf16> loc("encoder.block.1.layer.1.DenseReluDense.wi.weight")
    %84 = nn.linear %82, %p83 : (tensor<1x16x64xbf16>, tensor<128x64xbf16>) -> tensor<1x16x128xbf16> loc("encoder.block.1.layer.1.DenseReluDense.wi")
    %88 = tensor.empty() : tensor<1x16x128xbf16> loc("encoder.block.1.layer.1.DenseReluDense.act")
    %90 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%84 : tensor<1x16x128xbf16>) outs(%88 : tensor<1x16x128xbf16>) {
    ^bb0(%a85: bf16, %o87: bf16):
      %s86 = arith.constant 0.000000000e+00 : bf16
      %s89 = arith.maximumf %a85, %s86 : bf16
      linalg.yield %s89 : bf16
    } -> tensor<1x16x128xbf16> loc("encoder.block.1.layer.1.DenseReluDense.act")
    %p91 = tp.parameter "encoder.block.1.layer.1.DenseReluDense.wo.weight" : tensor<64x128xbf16> loc("encoder.block.1.layer.1.DenseReluDense.wo.weight")
    %92 = nn.linear %90, %p91 : (tensor<1x16x128xbf16>, tensor<64x128xbf16>) -> tensor<1x16x64xbf16> loc("encoder.block.1.layer.1.DenseReluDense.wo")
    %93 = arith.addf %80, %92 : tensor<1x16x64xbf16> loc("encoder.block.1.layer.1")
    %p94 = tp.parameter "encoder.final_layer_norm.weight" : tensor<64xbf16> loc("encoder.final_layer_norm.weight")
    %95 = nn.rms_norm %93, %p94 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<1x16x64xbf16>, tensor<64xbf16>) -> tensor<1x16x64xbf16> loc("encoder.final_layer_norm")
    return %95 : tensor<1x16x64xbf16>
  }
}
