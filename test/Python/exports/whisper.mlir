module {
  func.func @main(%arg0: tensor<2x16x64xf32> {tp.name = "input_features"}) -> (tensor<2x32x64xf32> {tp.name = "last_hidden_state"}) {
    %1 = arith.constant 0.000000000e+00 : f32 loc("conv1")
    %2 = tensor.pad %arg0 low[0, 0, 1] high[0, 0, 1] {
    ^bb0(%i0: index, %i1: index, %i2: index):
      tensor.yield %1 : f32
    } : tensor<2x16x64xf32> to tensor<2x16x66xf32> loc("conv1")
    %p3 = tp.parameter "conv1.weight" : tensor<64x16x3xf32> loc("conv1.weight")
    %7 = tensor.empty() : tensor<2x64x64xf32> loc("conv1")
    %8 = arith.constant 0.000000000e+00 : f32 loc("conv1")
    %9 = linalg.fill ins(%8 : f32) outs(%7 : tensor<2x64x64xf32>) -> tensor<2x64x64xf32> loc("conv1")
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 * 1 + d4 * 1)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%2, %p3 : tensor<2x16x66xf32>, tensor<64x16x3xf32>) outs(%9 : tensor<2x64x64xf32>) {
    ^bb0(%a4: f32, %a5: f32, %o6: f32):
      %s10 = arith.mulf %a4, %a5 : f32
      %s11 = arith.addf %o6, %s10 : f32
      linalg.yield %s11 : f32
    } -> tensor<2x64x64xf32> loc("conv1")
    %p13 = tp.parameter "conv1.bias" : tensor<64xf32> loc("conv1.bias")
    %17 = tensor.empty() : tensor<2x64x64xf32> loc("conv1")
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %p13 : tensor<2x64x64xf32>, tensor<64xf32>) outs(%17 : tensor<2x64x64xf32>) {
    ^bb0(%a14: f32, %a15: f32, %o16: f32):
      %s18 = arith.addf %a14, %a15 : f32
      linalg.yield %s18 : f32
    } -> tensor<2x64x64xf32> loc("conv1")
    %20 = nn.gelu erf %19 : tensor<2x64x64xf32>
    %21 = arith.constant 0.000000000e+00 : f32 loc("conv2")
    %22 = tensor.pad %20 low[0, 0, 1] high[0, 0, 1] {
    ^bb0(%i0: index, %i1: index, %i2: index):
      tensor.yield %21 : f32
    } : tensor<2x64x64xf32> to tensor<2x64x66xf32> loc("conv2")
    %p23 = tp.parameter "conv2.weight" : tensor<64x64x3xf32> loc("conv2.weight")
    %27 = tensor.empty() : tensor<2x64x32xf32> loc("conv2")
    %28 = arith.constant 0.000000000e+00 : f32 loc("conv2")
    %29 = linalg.fill ins(%28 : f32) outs(%27 : tensor<2x64x32xf32>) -> tensor<2x64x32xf32> loc("conv2")
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 * 2 + d4 * 1)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%22, %p23 : tensor<2x64x66xf32>, tensor<64x64x3xf32>) outs(%29 : tensor<2x64x32xf32>) {
    ^bb0(%a24: f32, %a25: f32, %o26: f32):
      %s30 = arith.mulf %a24, %a25 : f32
      %s31 = arith.addf %o26, %s30 : f32
      linalg.yield %s31 : f32
    } -> tensor<2x64x32xf32> loc("conv2")
    %p33 = tp.parameter "conv2.bias" : tensor<64xf32> loc("conv2.bias")
    %37 = tensor.empty() : tensor<2x64x32xf32> loc("conv2")
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%32, %p33 : tensor<2x64x32xf32>, tensor<64xf32>) outs(%37 : tensor<2x64x32xf32>) {
    ^bb0(%a34: f32, %a35: f32, %o36: f32):
      %s38 = arith.addf %a34, %a35 : f32
      linalg.yield %s38 : f32
    } -> tensor<2x64x32xf32> loc("conv2")
    %40 = nn.gelu erf %39 : tensor<2x64x32xf32>
    %p41 = tp.parameter "embed_positions.weight" : tensor<32x64xf32> loc("embed_positions.weight")
    %45 = tensor.empty() : tensor<2x64x32xf32>
    %47 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%40, %p41 : tensor<2x64x32xf32>, tensor<32x64xf32>) outs(%45 : tensor<2x64x32xf32>) {
    ^bb0(%a42: f32, %a43: f32, %o44: f32):
      %s46 = arith.addf %a42, %a43 : f32
      linalg.yield %s46 : f32
    } -> tensor<2x64x32xf32>
    %48 = tensor.empty() : tensor<2x32x64xf32> loc("layers.0.self_attn_layer_norm")
    %49 = linalg.transpose ins(%47 : tensor<2x64x32xf32>) outs(%48 : tensor<2x32x64xf32>) permutation = [0, 2, 1] loc("layers.0.self_attn_layer_norm")
    %p50 = tp.parameter "layers.0.self_attn_layer_norm.weight" : tensor<64xf32> loc("layers.0.self_attn_layer_norm.weight")
    %p51 = tp.parameter "layers.0.self_attn_layer_norm.bias" : tensor<64xf32> loc("layers.0.self_attn_layer_norm.bias")
    %52 = nn.layer_norm %49, %p50 bias %p51 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.0.self_attn_layer_norm")
    %p53 = tp.parameter "layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("layers.0.self_attn.q_proj.weight")
    %p54 = tp.parameter "layers.0.self_attn.q_proj.bias" : tensor<64xf32> loc("layers.0.self_attn.q_proj.bias")
    %55 = nn.linear %52, %p53 bias %p54 : (tensor<2x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.0.self_attn.q_proj")
    %59 = tensor.empty() : tensor<2x32x64xf32> loc("layers.0.self_attn")
    %61 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%55 : tensor<2x32x64xf32>) outs(%59 : tensor<2x32x64xf32>) {
    ^bb0(%a56: f32, %o58: f32):
      %s57 = arith.constant 2.500000000e-01 : f32
      %s60 = arith.mulf %a56, %s57 : f32
      linalg.yield %s60 : f32
    } -> tensor<2x32x64xf32> loc("layers.0.self_attn")
    %62 = tensor.expand_shape %61 [[0], [1], [2, 3]] output_shape [2, 32, 4, 16] : tensor<2x32x64xf32> into tensor<2x32x4x16xf32> loc("layers.0.self_attn")
    %p63 = tp.parameter "layers.0.self_attn.k_proj.weight" : tensor<64x64xf32> loc("layers.0.self_attn.k_proj.weight")
    %64 = nn.linear %52, %p63 : (tensor<2x32x64xf32>, tensor<64x64xf32>) -> tensor<2x32x64xf32> loc("layers.0.self_attn.k_proj")
    %65 = tensor.expand_shape %64 [[0], [1], [2, 3]] output_shape [2, 32, 4, 16] : tensor<2x32x64xf32> into tensor<2x32x4x16xf32> loc("layers.0.self_attn.k_proj")
    %p66 = tp.parameter "layers.0.self_attn.v_proj.weight" : tensor<64x64xf32> loc("layers.0.self_attn.v_proj.weight")
    %p67 = tp.parameter "layers.0.self_attn.v_proj.bias" : tensor<64xf32> loc("layers.0.self_attn.v_proj.bias")
    %68 = nn.linear %52, %p66 bias %p67 : (tensor<2x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.0.self_attn.v_proj")
    %69 = tensor.expand_shape %68 [[0], [1], [2, 3]] output_shape [2, 32, 4, 16] : tensor<2x32x64xf32> into tensor<2x32x4x16xf32> loc("layers.0.self_attn.v_proj")
    %70 = nn.attention %62, %65, %69 {scale = 1.00000000000000000e+00 : f64} : (tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>) -> tensor<2x32x4x16xf32> loc("layers.0.self_attn")
    %71 = tensor.collapse_shape %70 [[0], [1], [2, 3]] : tensor<2x32x4x16xf32> into tensor<2x32x64xf32> loc("layers.0.self_attn.out_proj")
    %p72 = tp.parameter "layers.0.self_attn.out_proj.weight" : tensor<64x64xf32> loc("layers.0.self_attn.out_proj.weight")
    %p73 = tp.parameter "layers.0.self_attn.out_proj.bias" : tensor<64xf32> loc("layers.0.self_attn.out_proj.bias")
    %74 = nn.linear %71, %p72 bias %p73 : (tensor<2x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.0.self_attn.out_proj")
    %78 = tensor.empty() : tensor<2x64x32xf32> loc("layers.0")
    %80 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%47, %74 : tensor<2x64x32xf32>, tensor<2x32x64xf32>) outs(%78 : tensor<2x64x32xf32>) {
    ^bb0(%a75: f32, %a76: f32, %o77: f32):
      %s79 = arith.addf %a75, %a76 : f32
      linalg.yield %s79 : f32
    } -> tensor<2x64x32xf32> loc("layers.0")
    %81 = tensor.empty() : tensor<2x32x64xf32> loc("layers.0.final_layer_norm")
    %82 = linalg.transpose ins(%80 : tensor<2x64x32xf32>) outs(%81 : tensor<2x32x64xf32>) permutation = [0, 2, 1] loc("layers.0.final_layer_norm")
    %p83 = tp.parameter "layers.0.final_layer_norm.weight" : tensor<64xf32> loc("layers.0.final_layer_norm.weight")
    %p84 = tp.parameter "layers.0.final_layer_norm.bias" : tensor<64xf32> loc("layers.0.final_layer_norm.bias")
    %85 = nn.layer_norm %82, %p83 bias %p84 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.0.final_layer_norm")
    %p86 = tp.parameter "layers.0.fc1.weight" : tensor<128x64xf32> loc("layers.0.fc1.weight")
    %p87 = tp.parameter "layers.0.fc1.bias" : tensor<128xf32> loc("layers.0.fc1.bias")
    %88 = nn.linear %85, %p86 bias %p87 : (tensor<2x32x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<2x32x128xf32> loc("layers.0.fc1")
    %89 = nn.gelu erf %88 : tensor<2x32x128xf32> loc("layers.0.activation_fn")
    %p90 = tp.parameter "layers.0.fc2.weight" : tensor<64x128xf32> loc("layers.0.fc2.weight")
    %p91 = tp.parameter "layers.0.fc2.bias" : tensor<64xf32> loc("layers.0.fc2.bias")
    %92 = nn.linear %89, %p90 bias %p91 : (tensor<2x32x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.0.fc2")
    %96 = tensor.empty() : tensor<2x64x32xf32> loc("layers.0")
    %98 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%80, %92 : tensor<2x64x32xf32>, tensor<2x32x64xf32>) outs(%96 : tensor<2x64x32xf32>) {
    ^bb0(%a93: f32, %a94: f32, %o95: f32):
      %s97 = arith.addf %a93, %a94 : f32
      linalg.yield %s97 : f32
    } -> tensor<2x64x32xf32> loc("layers.0")
    %99 = tensor.empty() : tensor<2x32x64xf32> loc("layers.1.self_attn_layer_norm")
    %100 = linalg.transpose ins(%98 : tensor<2x64x32xf32>) outs(%99 : tensor<2x32x64xf32>) permutation = [0, 2, 1] loc("layers.1.self_attn_layer_norm")
    %p101 = tp.parameter "layers.1.self_attn_layer_norm.weight" : tensor<64xf32> loc("layers.1.self_attn_layer_norm.weight")
    %p102 = tp.parameter "layers.1.self_attn_layer_norm.bias" : tensor<64xf32> loc("layers.1.self_attn_layer_norm.bias")
    %103 = nn.layer_norm %100, %p101 bias %p102 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.1.self_attn_layer_norm")
    %p104 = tp.parameter "layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("layers.1.self_attn.q_proj.weight")
    %p105 = tp.parameter "layers.1.self_attn.q_proj.bias" : tensor<64xf32> loc("layers.1.self_attn.q_proj.bias")
    %106 = nn.linear %103, %p104 bias %p105 : (tensor<2x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.1.self_attn.q_proj")
    %110 = tensor.empty() : tensor<2x32x64xf32> loc("layers.1.self_attn")
    %112 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%106 : tensor<2x32x64xf32>) outs(%110 : tensor<2x32x64xf32>) {
    ^bb0(%a107: f32, %o109: f32):
      %s108 = arith.constant 2.500000000e-01 : f32
      %s111 = arith.mulf %a107, %s108 : f32
      linalg.yield %s111 : f32
    } -> tensor<2x32x64xf32> loc("layers.1.self_attn")
    %113 = tensor.expand_shape %112 [[0], [1], [2, 3]] output_shape [2, 32, 4, 16] : tensor<2x32x64xf32> into tensor<2x32x4x16xf32> loc("layers.1.self_attn")
    %p114 = tp.parameter "layers.1.self_attn.k_proj.weight" : tensor<64x64xf32> loc("layers.1.self_attn.k_proj.weight")
    %115 = nn.linear %103, %p114 : (tensor<2x32x64xf32>, tensor<64x64xf32>) -> tensor<2x32x64xf32> loc("layers.1.self_attn.k_proj")
    %116 = tensor.expand_shape %115 [[0], [1], [2, 3]] output_shape [2, 32, 4, 16] : tensor<2x32x64xf32> into tensor<2x32x4x16xf32> loc("layers.1.self_attn.k_proj")
    %p117 = tp.parameter "layers.1.self_attn.v_proj.weight" : tensor<64x64xf32> loc("layers.1.self_attn.v_proj.weight")
    %p118 = tp.parameter "layers.1.self_attn.v_proj.bias" : tensor<64xf32> loc("layers.1.self_attn.v_proj.bias")
    %119 = nn.linear %103, %p117 bias %p118 : (tensor<2x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.1.self_attn.v_proj")
    %120 = tensor.expand_shape %119 [[0], [1], [2, 3]] output_shape [2, 32, 4, 16] : tensor<2x32x64xf32> into tensor<2x32x4x16xf32> loc("layers.1.self_attn.v_proj")
    %121 = nn.attention %113, %116, %120 {scale = 1.00000000000000000e+00 : f64} : (tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>, tensor<2x32x4x16xf32>) -> tensor<2x32x4x16xf32> loc("layers.1.self_attn")
    %122 = tensor.collapse_shape %121 [[0], [1], [2, 3]] : tensor<2x32x4x16xf32> into tensor<2x32x64xf32> loc("layers.1.self_attn.out_proj")
    %p123 = tp.parameter "layers.1.self_attn.out_proj.weight" : tensor<64x64xf32> loc("layers.1.self_attn.out_proj.weight")
    %p124 = tp.parameter "layers.1.self_attn.out_proj.bias" : tensor<64xf32> loc("layers.1.self_attn.out_proj.bias")
    %125 = nn.linear %122, %p123 bias %p124 : (tensor<2x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.1.self_attn.out_proj")
    %129 = tensor.empty() : tensor<2x64x32xf32> loc("layers.1")
    %131 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%98, %125 : tensor<2x64x32xf32>, tensor<2x32x64xf32>) outs(%129 : tensor<2x64x32xf32>) {
    ^bb0(%a126: f32, %a127: f32, %o128: f32):
      %s130 = arith.addf %a126, %a127 : f32
      linalg.yield %s130 : f32
    } -> tensor<2x64x32xf32> loc("layers.1")
    %132 = tensor.empty() : tensor<2x32x64xf32> loc("layers.1.final_layer_norm")
    %133 = linalg.transpose ins(%131 : tensor<2x64x32xf32>) outs(%132 : tensor<2x32x64xf32>) permutation = [0, 2, 1] loc("layers.1.final_layer_norm")
    %p134 = tp.parameter "layers.1.final_layer_norm.weight" : tensor<64xf32> loc("layers.1.final_layer_norm.weight")
    %p135 = tp.parameter "layers.1.final_layer_norm.bias" : tensor<64xf32> loc("layers.1.final_layer_norm.bias")
    %136 = nn.layer_norm %133, %p134 bias %p135 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.1.final_layer_norm")
    %p137 = tp.parameter "layers.1.fc1.weight" : tensor<128x64xf32> loc("layers.1.fc1.weight")
    %p138 = tp.parameter "layers.1.fc1.bias" : tensor<128xf32> loc("layers.1.fc1.bias")
    %139 = nn.linear %136, %p137 bias %p138 : (tensor<2x32x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<2x32x128xf32> loc("layers.1.fc1")
    %140 = nn.gelu erf %139 : tensor<2x32x128xf32> loc("layers.1.activation_fn")
    %p141 = tp.parameter "layers.1.fc2.weight" : tensor<64x128xf32> loc("layers.1.fc2.weight")
    %p142 = tp.parameter "layers.1.fc2.bias" : tensor<64xf32> loc("layers.1.fc2.bias")
    %143 = nn.linear %140, %p141 bias %p142 : (tensor<2x32x128xf32>, tensor<64x128xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layers.1.fc2")
    %147 = tensor.empty() : tensor<2x64x32xf32> loc("layers.1")
    %149 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%131, %143 : tensor<2x64x32xf32>, tensor<2x32x64xf32>) outs(%147 : tensor<2x64x32xf32>) {
    ^bb0(%a144: f32, %a145: f32, %o146: f32):
      %s148 = arith.addf %a144, %a145 : f32
      linalg.yield %s148 : f32
    } -> tensor<2x64x32xf32> loc("layers.1")
    %150 = tensor.empty() : tensor<2x32x64xf32> loc("layer_norm")
    %151 = linalg.transpose ins(%149 : tensor<2x64x32xf32>) outs(%150 : tensor<2x32x64xf32>) permutation = [0, 2, 1] loc("layer_norm")
    %p152 = tp.parameter "layer_norm.weight" : tensor<64xf32> loc("layer_norm.weight")
    %p153 = tp.parameter "layer_norm.bias" : tensor<64xf32> loc("layer_norm.bias")
    %154 = nn.layer_norm %151, %p152 bias %p153 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<2x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x32x64xf32> loc("layer_norm")
    return %154 : tensor<2x32x64xf32>
  }
}
