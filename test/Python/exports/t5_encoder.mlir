module {
  func.func @main(%arg0: tensor<2x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}, %arg1: tensor<2x16xi64> {tp.name = "attention_mask", tp.range = array<i64: 0, 2>, tp.default = "ones"}) -> (tensor<2x16x64xf32> {tp.name = "last_hidden_state"}) {
    %c6 = arith.constant dense<"0x0000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000180000000000000018000000000000001900000000000000190000000000000019000000000000001900000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000018000000000000001800000000000000180000000000000019000000000000001900000000000000190000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000001800000000000000180000000000000018000000000000001800000000000000190000000000000019000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000180000000000000018000000000000001900000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000018000000000000001800000000000000180000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000001800000000000000180000000000000018000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000170000000000000018000000000000001800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000001500000000000000160000000000000017000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000140000000000000015000000000000001600000000000000080000000000000008000000000000000800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000008000000000000000800000000000000080000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000001200000000000000130000000000000014000000000000000900000000000000080000000000000008000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000110000000000000012000000000000001300000000000000090000000000000009000000000000000800000000000000080000000000000008000000000000000800000000000000070000000000000006000000000000000500000000000000040000000000000003000000000000000200000000000000010000000000000000000000000000001100000000000000120000000000000009000000000000000900000000000000090000000000000008000000000000000800000000000000080000000000000008000000000000000700000000000000060000000000000005000000000000000400000000000000030000000000000002000000000000000100000000000000000000000000000011000000000000000900000000000000090000000000000009000000000000000900000000000000080000000000000008000000000000000800000000000000080000000000000007000000000000000600000000000000050000000000000004000000000000000300000000000000020000000000000001000000000000000000000000000000"> : tensor<16x16xi64>
    %p1 = tp.parameter "shared.weight" alternatives ["encoder.embed_tokens.weight"] : tensor<97x64xf32> loc("shared.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<2x16xi64>, tensor<97x64xf32>) -> tensor<2x16x64xf32> loc("encoder.embed_tokens")
    %p3 = tp.parameter "encoder.block.0.layer.0.layer_norm.weight" : tensor<64xf32> loc("encoder.block.0.layer.0.layer_norm.weight")
    %4 = nn.rms_norm %2, %p3 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.0.layer.0.layer_norm")
    %p5 = tp.parameter "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight" : tensor<32x4xf32> loc("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
    %7 = nn.embedding %c6, %p5 : (tensor<16x16xi64>, tensor<32x4xf32>) -> tensor<16x16x4xf32> loc("encoder.block.0.layer.0.SelfAttention.relative_attention_bias")
    %p8 = tp.parameter "encoder.block.0.layer.0.SelfAttention.q.weight" : tensor<64x64xf32> loc("encoder.block.0.layer.0.SelfAttention.q.weight")
    %9 = nn.linear %4, %p8 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.q")
    %10 = tensor.expand_shape %9 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("encoder.block.0.layer.0.SelfAttention.q")
    %p11 = tp.parameter "encoder.block.0.layer.0.SelfAttention.k.weight" : tensor<64x64xf32> loc("encoder.block.0.layer.0.SelfAttention.k.weight")
    %12 = nn.linear %4, %p11 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.k")
    %13 = tensor.expand_shape %12 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("encoder.block.0.layer.0.SelfAttention.k")
    %p14 = tp.parameter "encoder.block.0.layer.0.SelfAttention.v.weight" : tensor<64x64xf32> loc("encoder.block.0.layer.0.SelfAttention.v.weight")
    %15 = nn.linear %4, %p14 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.v")
    %16 = tensor.expand_shape %15 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("encoder.block.0.layer.0.SelfAttention.v")
    %17 = tensor.empty() : tensor<4x16x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %18 = linalg.transpose ins(%7 : tensor<16x16x4xf32>) outs(%17 : tensor<4x16x16xf32>) permutation = [2, 0, 1] loc("encoder.block.0.layer.0.SelfAttention")
    %19 = nn.attention %10, %13, %16 mask %arg1 bias %18 {scale = 1.00000000000000000e+00 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16xi64>, tensor<4x16x16xf32>) -> tensor<2x16x4x16xf32> loc("encoder.block.0.layer.0.SelfAttention")
    %20 = tensor.collapse_shape %19 [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.o")
    %p21 = tp.parameter "encoder.block.0.layer.0.SelfAttention.o.weight" : tensor<64x64xf32> loc("encoder.block.0.layer.0.SelfAttention.o.weight")
    %22 = nn.linear %20, %p21 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.0.layer.0.SelfAttention.o")
    %23 = arith.addf %2, %22 : tensor<2x16x64xf32> loc("encoder.block.0.layer.0")
    %p24 = tp.parameter "encoder.block.0.layer.1.layer_norm.weight" : tensor<64xf32> loc("encoder.block.0.layer.1.layer_norm.weight")
    %25 = nn.rms_norm %23, %p24 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.0.layer.1.layer_norm")
    %p26 = tp.parameter "encoder.block.0.layer.1.DenseReluDense.wi.weight" : tensor<128x64xf32> loc("encoder.block.0.layer.1.DenseReluDense.wi.weight")
    %27 = nn.linear %25, %p26 : (tensor<2x16x64xf32>, tensor<128x64xf32>) -> tensor<2x16x128xf32> loc("encoder.block.0.layer.1.DenseReluDense.wi")
    %31 = tensor.empty() : tensor<2x16x128xf32> loc("encoder.block.0.layer.1.DenseReluDense.act")
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%27 : tensor<2x16x128xf32>) outs(%31 : tensor<2x16x128xf32>) {
    ^bb0(%a28: f32, %o30: f32):
      %s29 = arith.constant 0.000000000e+00 : f32
      %s32 = arith.maximumf %a28, %s29 : f32
      linalg.yield %s32 : f32
    } -> tensor<2x16x128xf32> loc("encoder.block.0.layer.1.DenseReluDense.act")
    %p34 = tp.parameter "encoder.block.0.layer.1.DenseReluDense.wo.weight" : tensor<64x128xf32> loc("encoder.block.0.layer.1.DenseReluDense.wo.weight")
    %35 = nn.linear %33, %p34 : (tensor<2x16x128xf32>, tensor<64x128xf32>) -> tensor<2x16x64xf32> loc("encoder.block.0.layer.1.DenseReluDense.wo")
    %36 = arith.addf %23, %35 : tensor<2x16x64xf32> loc("encoder.block.0.layer.1")
    %p37 = tp.parameter "encoder.block.1.layer.0.layer_norm.weight" : tensor<64xf32> loc("encoder.block.1.layer.0.layer_norm.weight")
    %38 = nn.rms_norm %36, %p37 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.1.layer.0.layer_norm")
    %p39 = tp.parameter "encoder.block.1.layer.0.SelfAttention.q.weight" : tensor<64x64xf32> loc("encoder.block.1.layer.0.SelfAttention.q.weight")
    %40 = nn.linear %38, %p39 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.q")
    %41 = tensor.expand_shape %40 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("encoder.block.1.layer.0.SelfAttention.q")
    %p42 = tp.parameter "encoder.block.1.layer.0.SelfAttention.k.weight" : tensor<64x64xf32> loc("encoder.block.1.layer.0.SelfAttention.k.weight")
    %43 = nn.linear %38, %p42 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.k")
    %44 = tensor.expand_shape %43 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("encoder.block.1.layer.0.SelfAttention.k")
    %p45 = tp.parameter "encoder.block.1.layer.0.SelfAttention.v.weight" : tensor<64x64xf32> loc("encoder.block.1.layer.0.SelfAttention.v.weight")
    %46 = nn.linear %38, %p45 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.v")
    %47 = tensor.expand_shape %46 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("encoder.block.1.layer.0.SelfAttention.v")
    %48 = nn.attention %41, %44, %47 mask %arg1 bias %18 {scale = 1.00000000000000000e+00 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16xi64>, tensor<4x16x16xf32>) -> tensor<2x16x4x16xf32> loc("encoder.block.1.layer.0.SelfAttention")
    %49 = tensor.collapse_shape %48 [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.o")
    %p50 = tp.parameter "encoder.block.1.layer.0.SelfAttention.o.weight" : tensor<64x64xf32> loc("encoder.block.1.layer.0.SelfAttention.o.weight")
    %51 = nn.linear %49, %p50 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.1.layer.0.SelfAttention.o")
    %52 = arith.addf %36, %51 : tensor<2x16x64xf32> loc("encoder.block.1.layer.0")
    %p53 = tp.parameter "encoder.block.1.layer.1.layer_norm.weight" : tensor<64xf32> loc("encoder.block.1.layer.1.layer_norm.weight")
    %54 = nn.rms_norm %52, %p53 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("encoder.block.1.layer.1.layer_norm")
    %p55 = tp.parameter "encoder.block.1.layer.1.DenseReluDense.wi.weight" : tensor<128x64xf32> loc("encoder.block.1.layer.1.DenseReluDense.wi.weight")
    %56 = nn.linear %54, %p55 : (tensor<2x16x64xf32>, tensor<128x64xf32>) -> tensor<2x16x128xf32> loc("encoder.block.1.layer.1.DenseReluDense.wi")
    %60 = tensor.empty() : tensor<2x16x128xf32> loc("encoder.block.1.layer.1.DenseReluDense.act")
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%56 : tensor<2x16x128xf32>) outs(%60 : tensor<2x16x128xf32>) {
    ^bb0(%a57: f32, %o59: f32):
      %s58 = arith.constant 0.000000000e+00 : f32
      %s61 = arith.maximumf %a57, %s58 : f32
      linalg.yield %s61 : f32
    } -> tensor<2x16x128xf32> loc("encoder.block.1.layer.1.DenseReluDense.act")
    %p63 = tp.parameter "encoder.block.1.layer.1.DenseReluDense.wo.weight" : tensor<64x128xf32> loc("encoder.block.1.layer.1.DenseReluDense.wo.weight")
    %64 = nn.linear %62, %p63 : (tensor<2x16x128xf32>, tensor<64x128xf32>) -> tensor<2x16x64xf32> loc("encoder.block.1.layer.1.DenseReluDense.wo")
    %65 = arith.addf %52, %64 : tensor<2x16x64xf32> loc("encoder.block.1.layer.1")
    %p66 = tp.parameter "encoder.final_layer_norm.weight" : tensor<64xf32> loc("encoder.final_layer_norm.weight")
    %67 = nn.rms_norm %65, %p66 {epsilon = 9.99999999999999955e-07 : f64} : (tensor<2x16x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32> loc("encoder.final_layer_norm")
    return %67 : tensor<2x16x64xf32>
  }
}
