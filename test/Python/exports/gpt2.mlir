module {
  func.func @main(%arg0: tensor<1x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<1x16x97xf32> {tp.name = "logits"}) {
    %p1 = tp.parameter "transformer.wte.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("transformer.wte.weight")
    %2 = nn.embedding %arg0, %p1 : (tensor<1x16xi64>, tensor<97x64xf32>) -> tensor<1x16x64xf32> loc("transformer.wte")
    %p3 = tp.parameter "transformer.wpe.weight" source <shape = [64, 64], offsets = [0, 0], permutation = [0, 1]> : tensor<16x64xf32> loc("transformer.wpe.weight")
    %7 = tensor.empty() : tensor<1x16x64xf32> loc("transformer")
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %p3 : tensor<1x16x64xf32>, tensor<16x64xf32>) outs(%7 : tensor<1x16x64xf32>) {
    ^bb0(%a4: f32, %a5: f32, %o6: f32):
      %s8 = arith.addf %a4, %a5 : f32
      linalg.yield %s8 : f32
    } -> tensor<1x16x64xf32> loc("transformer")
    %p10 = tp.parameter "transformer.h.0.ln_1.weight" : tensor<64xf32> loc("transformer.h.0.ln_1.weight")
    %p11 = tp.parameter "transformer.h.0.ln_1.bias" : tensor<64xf32> loc("transformer.h.0.ln_1.bias")
    %12 = nn.layer_norm %9, %p10 bias %p11 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.ln_1")
    %p13 = tp.parameter "transformer.h.0.attn.c_attn.weight" source <shape = [64, 192], offsets = [0, 0], permutation = [1, 0]> : tensor<64x64xf32> loc("transformer.h.0.attn.c_attn.weight")
    %p14 = tp.parameter "transformer.h.0.attn.c_attn.bias" source <shape = [192], offsets = [0], permutation = [0]> : tensor<64xf32> loc("transformer.h.0.attn.c_attn.bias")
    %15 = nn.linear %12, %p13 bias %p14 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.attn.c_attn")
    %16 = tensor.expand_shape %15 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("transformer.h.0.attn.c_attn")
    %p17 = tp.parameter "transformer.h.0.attn.c_attn.weight" source <shape = [64, 192], offsets = [0, 64], permutation = [1, 0]> : tensor<64x64xf32> loc("transformer.h.0.attn.c_attn.weight")
    %p18 = tp.parameter "transformer.h.0.attn.c_attn.bias" source <shape = [192], offsets = [64], permutation = [0]> : tensor<64xf32> loc("transformer.h.0.attn.c_attn.bias")
    %19 = nn.linear %12, %p17 bias %p18 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.attn.c_attn")
    %20 = tensor.expand_shape %19 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("transformer.h.0.attn.c_attn")
    %p21 = tp.parameter "transformer.h.0.attn.c_attn.weight" source <shape = [64, 192], offsets = [0, 128], permutation = [1, 0]> : tensor<64x64xf32> loc("transformer.h.0.attn.c_attn.weight")
    %p22 = tp.parameter "transformer.h.0.attn.c_attn.bias" source <shape = [192], offsets = [128], permutation = [0]> : tensor<64xf32> loc("transformer.h.0.attn.c_attn.bias")
    %23 = nn.linear %12, %p21 bias %p22 : (tensor<1x16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<1x16x64xf32> loc("transformer.h.0.attn.c_attn")
    %24 = tensor.expand_shape %23 [[0], [1], [2, 3]] output_shape [1, 16, 4, 16] : tensor<1x16x64xf32> into tensor<1x16x4x16xf32> loc("transformer.h.0.attn.c_attn")
    %25 = nn.attention %16, %20, %24 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>) -> tensor<1x16x4x16xf32> loc("transformer.h.0.attn")
    %26 = tensor.collapse_shape %25 [[0, 1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<16x64xf32> loc("transformer.h.0.attn.c_proj")
    %p27 = tp.parameter "transformer.h.0.attn.c_proj.weight" source <shape = [64, 64], offsets = [0, 0], permutation = [1, 0]> : tensor<64x64xf32> loc("transformer.h.0.attn.c_proj.weight")
    %p28 = tp.parameter "transformer.h.0.attn.c_proj.bias" : tensor<64xf32> loc("transformer.h.0.attn.c_proj.bias")
    %29 = nn.linear %26, %p27 bias %p28 : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.0.attn.c_proj")
    %33 = tensor.empty() : tensor<16x64xf32> loc("transformer.h.0")
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%29, %9 : tensor<16x64xf32>, tensor<1x16x64xf32>) outs(%33 : tensor<16x64xf32>) {
    ^bb0(%a30: f32, %a31: f32, %o32: f32):
      %s34 = arith.addf %a30, %a31 : f32
      linalg.yield %s34 : f32
    } -> tensor<16x64xf32> loc("transformer.h.0")
    %p36 = tp.parameter "transformer.h.0.ln_2.weight" : tensor<64xf32> loc("transformer.h.0.ln_2.weight")
    %p37 = tp.parameter "transformer.h.0.ln_2.bias" : tensor<64xf32> loc("transformer.h.0.ln_2.bias")
    %38 = nn.layer_norm %35, %p36 bias %p37 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.0.ln_2")
    %p39 = tp.parameter "transformer.h.0.mlp.c_fc.weight" source <shape = [64, 256], offsets = [0, 0], permutation = [1, 0]> : tensor<256x64xf32> loc("transformer.h.0.mlp.c_fc.weight")
    %p40 = tp.parameter "transformer.h.0.mlp.c_fc.bias" : tensor<256xf32> loc("transformer.h.0.mlp.c_fc.bias")
    %41 = nn.linear %38, %p39 bias %p40 : (tensor<16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<16x256xf32> loc("transformer.h.0.mlp.c_fc")
    %45 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%41 : tensor<16x256xf32>) outs(%45 : tensor<16x256xf32>) {
    ^bb0(%a42: f32, %o44: f32):
      %s43 = arith.constant 5.000000000e-01 : f32
      %s46 = arith.mulf %a42, %s43 : f32
      linalg.yield %s46 : f32
    } -> tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %50 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%41 : tensor<16x256xf32>) outs(%50 : tensor<16x256xf32>) {
    ^bb0(%a48: f32, %o49: f32):
      %s51 = arith.mulf %a48, %a48 : f32
      %s52 = arith.mulf %s51, %a48 : f32
      linalg.yield %s52 : f32
    } -> tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %57 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %59 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%53 : tensor<16x256xf32>) outs(%57 : tensor<16x256xf32>) {
    ^bb0(%a54: f32, %o56: f32):
      %s55 = arith.constant 4.471499845e-02 : f32
      %s58 = arith.mulf %a54, %s55 : f32
      linalg.yield %s58 : f32
    } -> tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %60 = arith.addf %41, %59 : tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %64 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %66 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%60 : tensor<16x256xf32>) outs(%64 : tensor<16x256xf32>) {
    ^bb0(%a61: f32, %o63: f32):
      %s62 = arith.constant 7.978845835e-01 : f32
      %s65 = arith.mulf %a61, %s62 : f32
      linalg.yield %s65 : f32
    } -> tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %69 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %71 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%66 : tensor<16x256xf32>) outs(%69 : tensor<16x256xf32>) {
    ^bb0(%a67: f32, %o68: f32):
      %s70 = math.tanh %a67 : f32
      linalg.yield %s70 : f32
    } -> tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %75 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %77 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%71 : tensor<16x256xf32>) outs(%75 : tensor<16x256xf32>) {
    ^bb0(%a72: f32, %o74: f32):
      %s73 = arith.constant 1.000000000e+00 : f32
      %s76 = arith.addf %a72, %s73 : f32
      linalg.yield %s76 : f32
    } -> tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %78 = arith.mulf %47, %77 : tensor<16x256xf32> loc("transformer.h.0.mlp.act")
    %p79 = tp.parameter "transformer.h.0.mlp.c_proj.weight" source <shape = [256, 64], offsets = [0, 0], permutation = [1, 0]> : tensor<64x256xf32> loc("transformer.h.0.mlp.c_proj.weight")
    %p80 = tp.parameter "transformer.h.0.mlp.c_proj.bias" : tensor<64xf32> loc("transformer.h.0.mlp.c_proj.bias")
    %81 = nn.linear %78, %p79 bias %p80 : (tensor<16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.0.mlp.c_proj")
    %82 = arith.addf %35, %81 : tensor<16x64xf32> loc("transformer.h.0")
    %p83 = tp.parameter "transformer.h.1.ln_1.weight" : tensor<64xf32> loc("transformer.h.1.ln_1.weight")
    %p84 = tp.parameter "transformer.h.1.ln_1.bias" : tensor<64xf32> loc("transformer.h.1.ln_1.bias")
    %85 = nn.layer_norm %82, %p83 bias %p84 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.1.ln_1")
    %p86 = tp.parameter "transformer.h.1.attn.c_attn.weight" source <shape = [64, 192], offsets = [0, 0], permutation = [1, 0]> : tensor<64x64xf32> loc("transformer.h.1.attn.c_attn.weight")
    %p87 = tp.parameter "transformer.h.1.attn.c_attn.bias" source <shape = [192], offsets = [0], permutation = [0]> : tensor<64xf32> loc("transformer.h.1.attn.c_attn.bias")
    %88 = nn.linear %85, %p86 bias %p87 : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.1.attn.c_attn")
    %89 = tensor.expand_shape %88 [[0], [1, 2]] output_shape [16, 4, 16] : tensor<16x64xf32> into tensor<16x4x16xf32> loc("transformer.h.1.attn.c_attn")
    %90 = tensor.expand_shape %89 [[0, 1], [2], [3]] output_shape [1, 16, 4, 16] : tensor<16x4x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.1.attn")
    %p91 = tp.parameter "transformer.h.1.attn.c_attn.weight" source <shape = [64, 192], offsets = [0, 64], permutation = [1, 0]> : tensor<64x64xf32> loc("transformer.h.1.attn.c_attn.weight")
    %p92 = tp.parameter "transformer.h.1.attn.c_attn.bias" source <shape = [192], offsets = [64], permutation = [0]> : tensor<64xf32> loc("transformer.h.1.attn.c_attn.bias")
    %93 = nn.linear %85, %p91 bias %p92 : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.1.attn.c_attn")
    %94 = tensor.expand_shape %93 [[0], [1, 2]] output_shape [16, 4, 16] : tensor<16x64xf32> into tensor<16x4x16xf32> loc("transformer.h.1.attn.c_attn")
    %95 = tensor.expand_shape %94 [[0, 1], [2], [3]] output_shape [1, 16, 4, 16] : tensor<16x4x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.1.attn")
    %p96 = tp.parameter "transformer.h.1.attn.c_attn.weight" source <shape = [64, 192], offsets = [0, 128], permutation = [1, 0]> : tensor<64x64xf32> loc("transformer.h.1.attn.c_attn.weight")
    %p97 = tp.parameter "transformer.h.1.attn.c_attn.bias" source <shape = [192], offsets = [128], permutation = [0]> : tensor<64xf32> loc("transformer.h.1.attn.c_attn.bias")
    %98 = nn.linear %85, %p96 bias %p97 : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.1.attn.c_attn")
    %99 = tensor.expand_shape %98 [[0], [1, 2]] output_shape [16, 4, 16] : tensor<16x64xf32> into tensor<16x4x16xf32> loc("transformer.h.1.attn.c_attn")
    %100 = tensor.expand_shape %99 [[0, 1], [2], [3]] output_shape [1, 16, 4, 16] : tensor<16x4x16xf32> into tensor<1x16x4x16xf32> loc("transformer.h.1.attn")
    %101 = nn.attention %90, %95, %100 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>, tensor<1x16x4x16xf32>) -> tensor<1x16x4x16xf32> loc("transformer.h.1.attn")
    %102 = tensor.collapse_shape %101 [[0, 1], [2, 3]] : tensor<1x16x4x16xf32> into tensor<16x64xf32> loc("transformer.h.1.attn.c_proj")
    %p103 = tp.parameter "transformer.h.1.attn.c_proj.weight" source <shape = [64, 64], offsets = [0, 0], permutation = [1, 0]> : tensor<64x64xf32> loc("transformer.h.1.attn.c_proj.weight")
    %p104 = tp.parameter "transformer.h.1.attn.c_proj.bias" : tensor<64xf32> loc("transformer.h.1.attn.c_proj.bias")
    %105 = nn.linear %102, %p103 bias %p104 : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.1.attn.c_proj")
    %106 = arith.addf %105, %82 : tensor<16x64xf32> loc("transformer.h.1")
    %p107 = tp.parameter "transformer.h.1.ln_2.weight" : tensor<64xf32> loc("transformer.h.1.ln_2.weight")
    %p108 = tp.parameter "transformer.h.1.ln_2.bias" : tensor<64xf32> loc("transformer.h.1.ln_2.bias")
    %109 = nn.layer_norm %106, %p107 bias %p108 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.1.ln_2")
    %p110 = tp.parameter "transformer.h.1.mlp.c_fc.weight" source <shape = [64, 256], offsets = [0, 0], permutation = [1, 0]> : tensor<256x64xf32> loc("transformer.h.1.mlp.c_fc.weight")
    %p111 = tp.parameter "transformer.h.1.mlp.c_fc.bias" : tensor<256xf32> loc("transformer.h.1.mlp.c_fc.bias")
    %112 = nn.linear %109, %p110 bias %p111 : (tensor<16x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<16x256xf32> loc("transformer.h.1.mlp.c_fc")
    %116 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %118 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%112 : tensor<16x256xf32>) outs(%116 : tensor<16x256xf32>) {
    ^bb0(%a113: f32, %o115: f32):
      %s114 = arith.constant 5.000000000e-01 : f32
      %s117 = arith.mulf %a113, %s114 : f32
      linalg.yield %s117 : f32
    } -> tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %121 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %124 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%112 : tensor<16x256xf32>) outs(%121 : tensor<16x256xf32>) {
    ^bb0(%a119: f32, %o120: f32):
      %s122 = arith.mulf %a119, %a119 : f32
      %s123 = arith.mulf %s122, %a119 : f32
      linalg.yield %s123 : f32
    } -> tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %128 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %130 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%124 : tensor<16x256xf32>) outs(%128 : tensor<16x256xf32>) {
    ^bb0(%a125: f32, %o127: f32):
      %s126 = arith.constant 4.471499845e-02 : f32
      %s129 = arith.mulf %a125, %s126 : f32
      linalg.yield %s129 : f32
    } -> tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %131 = arith.addf %112, %130 : tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %135 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %137 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%131 : tensor<16x256xf32>) outs(%135 : tensor<16x256xf32>) {
    ^bb0(%a132: f32, %o134: f32):
      %s133 = arith.constant 7.978845835e-01 : f32
      %s136 = arith.mulf %a132, %s133 : f32
      linalg.yield %s136 : f32
    } -> tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %140 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %142 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%137 : tensor<16x256xf32>) outs(%140 : tensor<16x256xf32>) {
    ^bb0(%a138: f32, %o139: f32):
      %s141 = math.tanh %a138 : f32
      linalg.yield %s141 : f32
    } -> tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %146 = tensor.empty() : tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %148 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%142 : tensor<16x256xf32>) outs(%146 : tensor<16x256xf32>) {
    ^bb0(%a143: f32, %o145: f32):
      %s144 = arith.constant 1.000000000e+00 : f32
      %s147 = arith.addf %a143, %s144 : f32
      linalg.yield %s147 : f32
    } -> tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %149 = arith.mulf %118, %148 : tensor<16x256xf32> loc("transformer.h.1.mlp.act")
    %p150 = tp.parameter "transformer.h.1.mlp.c_proj.weight" source <shape = [256, 64], offsets = [0, 0], permutation = [1, 0]> : tensor<64x256xf32> loc("transformer.h.1.mlp.c_proj.weight")
    %p151 = tp.parameter "transformer.h.1.mlp.c_proj.bias" : tensor<64xf32> loc("transformer.h.1.mlp.c_proj.bias")
    %152 = nn.linear %149, %p150 bias %p151 : (tensor<16x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.h.1.mlp.c_proj")
    %153 = arith.addf %106, %152 : tensor<16x64xf32> loc("transformer.h.1")
    %p154 = tp.parameter "transformer.ln_f.weight" : tensor<64xf32> loc("transformer.ln_f.weight")
    %p155 = tp.parameter "transformer.ln_f.bias" : tensor<64xf32> loc("transformer.ln_f.bias")
    %156 = nn.layer_norm %153, %p154 bias %p155 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<16x64xf32> loc("transformer.ln_f")
    %157 = nn.linear %156, %p1 : (tensor<16x64xf32>, tensor<97x64xf32>) -> tensor<16x97xf32> loc("lm_head")
    %158 = tensor.expand_shape %157 [[0, 1], [2]] output_shape [1, 16, 97] : tensor<16x97xf32> into tensor<1x16x97xf32>
    return %158 : tensor<1x16x97xf32>
  }
}
