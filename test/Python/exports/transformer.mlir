module {
  func.func @main(%arg0: tensor<1x16x64xf32> {tp.name = "src"}) -> (tensor<1x16x64xf32> {tp.name = "output"}) {
    %p1 = tp.parameter "layers.0.self_attn.in_proj_weight" source <shape = [192, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.self_attn.in_proj_weight")
    %p2 = tp.parameter "layers.0.self_attn.in_proj_bias" source <shape = [192], offsets = [0], permutation = [0]> : tensor<64xf32> loc("layers.0.self_attn.in_proj_bias")
    %3 = nn.linear %arg0, %p1 bias %p2 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.0.self_attn")
    %4 = tensor.expand_shape %3 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.self_attn")
    %5 = tensor.collapse_shape %4 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.self_attn")
    %p6 = tp.parameter "layers.0.self_attn.in_proj_weight" source <shape = [192, 64], offsets = [64, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.self_attn.in_proj_weight")
    %p7 = tp.parameter "layers.0.self_attn.in_proj_bias" source <shape = [192], offsets = [64], permutation = [0]> : tensor<64xf32> loc("layers.0.self_attn.in_proj_bias")
    %8 = nn.linear %arg0, %p6 bias %p7 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.0.self_attn")
    %9 = tensor.expand_shape %8 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.self_attn")
    %10 = tensor.collapse_shape %9 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.self_attn")
    %p11 = tp.parameter "layers.0.self_attn.in_proj_weight" source <shape = [192, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.0.self_attn.in_proj_weight")
    %p12 = tp.parameter "layers.0.self_attn.in_proj_bias" source <shape = [192], offsets = [128], permutation = [0]> : tensor<64xf32> loc("layers.0.self_attn.in_proj_bias")
    %13 = nn.linear %arg0, %p11 bias %p12 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.0.self_attn")
    %14 = tensor.expand_shape %13 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.0.self_attn")
    %15 = tensor.collapse_shape %14 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.0.self_attn")
    %16 = nn.attention %5, %10, %15 {scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>) -> tensor<1x16x4x16xf32> loc("layers.0.self_attn")
    %17 = tensor.collapse_shape %16 [[0, 1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<16x64xf32> loc("layers.0.self_attn")
    %p18 = tp.parameter "layers.0.self_attn.out_proj.weight" : tensor<64x64xf32> loc("layers.0.self_attn.out_proj.weight")
    %p19 = tp.parameter "layers.0.self_attn.out_proj.bias" : tensor<64xf32> loc("layers.0.self_attn.out_proj.bias")
    %20 = nn.linear %17, %p18 bias %p19 : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("layers.0.self_attn")
    %24 = tensor.empty() : tensor<1x16x64xf32> loc("layers.0")
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %20 : tensor<1x16x64xf32>, tensor<16x64xf32>) outs(%24 : tensor<1x16x64xf32>) {
    ^bb0(%a21: f32, %a22: f32, %o23: f32):
      %s25 = arith.addf %a21, %a22 : f32
      linalg.yield %s25 : f32
    } -> tensor<1x16x64xf32> loc("layers.0")
    %p27 = tp.parameter "layers.0.norm1.weight" : tensor<64xf32> loc("layers.0.norm1.weight")
    %p28 = tp.parameter "layers.0.norm1.bias" : tensor<64xf32> loc("layers.0.norm1.bias")
    %29 = nn.layer_norm %26, %p27 bias %p28 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.0.norm1")
    %p30 = tp.parameter "layers.0.linear1.weight" : tensor<128x64xf32> loc("layers.0.linear1.weight")
    %p31 = tp.parameter "layers.0.linear1.bias" : tensor<128xf32> loc("layers.0.linear1.bias")
    %32 = nn.linear %29, %p30 bias %p31 : (tensor<1x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<1x16x128xf32> loc("layers.0.linear1")
    %36 = tensor.empty() : tensor<1x16x128xf32> loc("layers.0")
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%32 : tensor<1x16x128xf32>) outs(%36 : tensor<1x16x128xf32>) {
    ^bb0(%a33: f32, %o35: f32):
      %s34 = arith.constant 0.000000000e+00 : f32
      %s37 = arith.maximumf %a33, %s34 : f32
      linalg.yield %s37 : f32
    } -> tensor<1x16x128xf32> loc("layers.0")
    %p39 = tp.parameter "layers.0.linear2.weight" : tensor<64x128xf32> loc("layers.0.linear2.weight")
    %p40 = tp.parameter "layers.0.linear2.bias" : tensor<64xf32> loc("layers.0.linear2.bias")
    %41 = nn.linear %38, %p39 bias %p40 : (tensor<1x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.0.linear2")
    %42 = arith.addf %29, %41 : tensor<1x16x64xf32> loc("layers.0")
    %p43 = tp.parameter "layers.0.norm2.weight" : tensor<64xf32> loc("layers.0.norm2.weight")
    %p44 = tp.parameter "layers.0.norm2.bias" : tensor<64xf32> loc("layers.0.norm2.bias")
    %45 = nn.layer_norm %42, %p43 bias %p44 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.0.norm2")
    %p46 = tp.parameter "layers.1.self_attn.in_proj_weight" source <shape = [192, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.self_attn.in_proj_weight")
    %p47 = tp.parameter "layers.1.self_attn.in_proj_bias" source <shape = [192], offsets = [0], permutation = [0]> : tensor<64xf32> loc("layers.1.self_attn.in_proj_bias")
    %48 = nn.linear %45, %p46 bias %p47 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.self_attn")
    %49 = tensor.expand_shape %48 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.self_attn")
    %50 = tensor.collapse_shape %49 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.1.self_attn")
    %p51 = tp.parameter "layers.1.self_attn.in_proj_weight" source <shape = [192, 64], offsets = [64, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.self_attn.in_proj_weight")
    %p52 = tp.parameter "layers.1.self_attn.in_proj_bias" source <shape = [192], offsets = [64], permutation = [0]> : tensor<64xf32> loc("layers.1.self_attn.in_proj_bias")
    %53 = nn.linear %45, %p51 bias %p52 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.self_attn")
    %54 = tensor.expand_shape %53 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.self_attn")
    %55 = tensor.collapse_shape %54 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.1.self_attn")
    %p56 = tp.parameter "layers.1.self_attn.in_proj_weight" source <shape = [192, 64], offsets = [128, 0], permutation = [0, 1]> : tensor<64x64xf32> loc("layers.1.self_attn.in_proj_weight")
    %p57 = tp.parameter "layers.1.self_attn.in_proj_bias" source <shape = [192], offsets = [128], permutation = [0]> : tensor<64xf32> loc("layers.1.self_attn.in_proj_bias")
    %58 = nn.linear %45, %p56 bias %p57 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.self_attn")
    %59 = tensor.expand_shape %58 [[0], [1, 2], [3, 4]] output_shape [1, 16, 1, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x1x4x16xf32> loc("layers.1.self_attn")
    %60 = tensor.collapse_shape %59 [[0], [1, 2], [3], [4]] : tensor<1x16x1x4x16xf32> into tensor<1x16x4x16xf32> loc("layers.1.self_attn")
    %61 = nn.attention %50, %55, %60 {scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>) -> tensor<1x16x4x16xf32> loc("layers.1.self_attn")
    %62 = tensor.collapse_shape %61 [[0, 1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<16x64xf32> loc("layers.1.self_attn")
    %p63 = tp.parameter "layers.1.self_attn.out_proj.weight" : tensor<64x64xf32> loc("layers.1.self_attn.out_proj.weight")
    %p64 = tp.parameter "layers.1.self_attn.out_proj.bias" : tensor<64xf32> loc("layers.1.self_attn.out_proj.bias")
    %65 = nn.linear %62, %p63 bias %p64 : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("layers.1.self_attn")
    %69 = tensor.empty() : tensor<1x16x64xf32> loc("layers.1")
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%45, %65 : tensor<1x16x64xf32>, tensor<16x64xf32>) outs(%69 : tensor<1x16x64xf32>) {
    ^bb0(%a66: f32, %a67: f32, %o68: f32):
      %s70 = arith.addf %a66, %a67 : f32
      linalg.yield %s70 : f32
    } -> tensor<1x16x64xf32> loc("layers.1")
    %p72 = tp.parameter "layers.1.norm1.weight" : tensor<64xf32> loc("layers.1.norm1.weight")
    %p73 = tp.parameter "layers.1.norm1.bias" : tensor<64xf32> loc("layers.1.norm1.bias")
    %74 = nn.layer_norm %71, %p72 bias %p73 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.norm1")
    %p75 = tp.parameter "layers.1.linear1.weight" : tensor<128x64xf32> loc("layers.1.linear1.weight")
    %p76 = tp.parameter "layers.1.linear1.bias" : tensor<128xf32> loc("layers.1.linear1.bias")
    %77 = nn.linear %74, %p75 bias %p76 : (tensor<1x16x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<1x16x128xf32> loc("layers.1.linear1")
    %81 = tensor.empty() : tensor<1x16x128xf32> loc("layers.1")
    %83 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%77 : tensor<1x16x128xf32>) outs(%81 : tensor<1x16x128xf32>) {
    ^bb0(%a78: f32, %o80: f32):
      %s79 = arith.constant 0.000000000e+00 : f32
      %s82 = arith.maximumf %a78, %s79 : f32
      linalg.yield %s82 : f32
    } -> tensor<1x16x128xf32> loc("layers.1")
    %p84 = tp.parameter "layers.1.linear2.weight" : tensor<64x128xf32> loc("layers.1.linear2.weight")
    %p85 = tp.parameter "layers.1.linear2.bias" : tensor<64xf32> loc("layers.1.linear2.bias")
    %86 = nn.linear %83, %p84 bias %p85 : (tensor<1x16x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.linear2")
    %87 = arith.addf %74, %86 : tensor<1x16x64xf32> loc("layers.1")
    %p88 = tp.parameter "layers.1.norm2.weight" : tensor<64xf32> loc("layers.1.norm2.weight")
    %p89 = tp.parameter "layers.1.norm2.bias" : tensor<64xf32> loc("layers.1.norm2.bias")
    %90 = nn.layer_norm %87, %p88 bias %p89 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("layers.1.norm2")
    return %90 : tensor<1x16x64xf32>
  }
}
