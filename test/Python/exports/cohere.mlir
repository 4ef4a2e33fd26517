module {
  func.func @main(%arg0: tensor<2x16xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 97>}) -> (tensor<2x16x97xf32> {tp.name = "logits"}) {
    %c70 = arith.constant dense<"0x0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F41510A3F41510A3F95337B3F95337B3FAAD17F3FAAD17F3F42FE7F3F42FE7F3FEFFF7F3FEFFF7F3FFFFF7F3FFFFF7F3F0000803F0000803F0000803F0000803F3311D5BE3311D5BE61FC6C3F61FC6C3FB9467F3FB9467F3F08F97F3F08F97F3FBDFF7F3FBDFF7F3FFEFF7F3FFEFF7F3F0000803F0000803F0000803F0000803F26707DBF26707DBFD2E2553FD2E2553F605F7E3F605F7E3F51F07F3F51F07F3F69FF7F3F69FF7F3FFAFF7F3FFAFF7F3F0000803F0000803F0000803F0000803F305527BF305527BF99C4363F99C4363FF11B7D3FF11B7D3F1EE47F3F1EE47F3FF4FE7F3FF4FE7F3FF6FF7F3FF6FF7F3F0000803F0000803F0000803F0000803F2C3C913E2C3C913E59CC103F59CC103FE37C7B3FE37C7B3F70D47F3F70D47F3F5DFE7F3F5DFE7F3FF0FF7F3FF0FF7F3F0000803F0000803F0000803F0000803FB8CD753FB8CD753FEDCCCA3EEDCCCA3ECB82793FCB82793F46C17F3F46C17F3FA4FD7F3FA4FD7F3FE9FF7F3FE9FF7F3FFFFF7F3FFFFF7F3F0000803F0000803FBDFF403FBDFF403FC5CD583EC5CD583E602E773F602E773FA0AA7F3FA0AA7F3FCAFC7F3FCAFC7F3FE1FF7F3FE1FF7F3FFFFF7F3FFFFF7F3F0000803F0000803FF6FD14BEF6FD14BE1A089F3C1A089F3C7B80743F7B80743F80907F3F80907F3FCEFB7F3FCEFB7F3FD8FF7F3FD8FF7F3FFFFF7F3FFFFF7F3F0000803F0000803FD53F69BFD53F69BF85CA31BE85CA31BE147A713F147A713FE4727F3FE4727F3FB1FA7F3FB1FA7F3FCDFF7F3FCDFF7F3FFEFF7F3FFEFF7F3F0000803F0000803F64CD56BF64CD56BFE565B8BEE565B8BE431C6E3F431C6E3FCF517F3FCF517F3F72F97F3F72F97F3FC1FF7F3FC1FF7F3FFEFF7F3FFEFF7F3F0000803F0000803F7205913B7205913B6E7E08BF6E7E08BF40686A3F40686A3F3F2D7F3F3F2D7F3F12F87F3F12F87F3FB4FF7F3FB4FF7F3FFDFF7F3FFDFF7F3F0000803F0000803FD006583FD006583FFBAB2FBFFBAB2FBF625F663F625F663F36057F3F36057F3F90F67F3F90F67F3FA5FF7F3FA5FF7F3FFDFF7F3FFDFF7F3F0000803F0000803F6F4E683F6F4E683F9A4350BF9A4350BF2003623F2003623FB4D97E3FB4D97E3FEDF47F3FEDF47F3F95FF7F3F95FF7F3FFCFF7F3FFCFF7F3F0000803F0000803FD7040C3ED7040C3E840C69BF840C69BF0C555D3F0C555D3FBAAA7E3FBAAA7E3F28F37F3F28F37F3F84FF7F3F84FF7F3FFBFF7F3FFBFF7F3F0000803F0000803FE87A42BFE87A42BFDB1879BFDB1879BFD956583FD956583F48787E3F48787E3F41F17F3F41F17F3F72FF7F3F72FF7F3FFBFF7F3FFBFF7F3F0000803F0000803F"> : tensor<1x1x16x16xf32>
    %c94 = arith.constant dense<"0x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000A46A573FA46A573FAA55453EAA55453E7DFF193D7DFF193DC4F6EE3BC4F6EE3B1D5DB93A1D5DB93AF8C88F39F8C88F39C4105F38C4105F38A7072D37A7072D37B7C7683FB7C7683FC1A2C13EC1A2C13E9DE3993D9DE3993D24F56E3C24F56E3C115D393B115D393BF8C80F3AF8C80F3AC410DF38C410DF38A707AD37A707AD37C381103EC381103E2DAC0C3F2DAC0C3FC78FE63DC78FE63DD235B33CD235B33CBE058B3BBE058B3B72AD573A72AD573A934C2739934C2739BDC50138BDC50138CFBD41BFCFBD41BFF040333FF040333F3D74193E3D74193EA2EEEE3CA2EEEE3CE05CB93BE05CB93BF6C88F3AF6C88F3AC4105F39C4105F39A7072D38A7072D38107C75BF107C75BF661D533F661D533F0A693F3E0A693F3E1852153D1852153DEAB3E73BEAB3E73B32BBB33A32BBB33A7A6A8B397A6A8B3991495838914958388C0F8FBE8C0F8FBECA0F6B3FCA0F6B3F8D18653E8D18653ED72A333DD72A333D6C050B3C6C050B3C6EADD73A6EADD73A934CA739934CA739BDC58138BDC581384630283F4630283F4A327A3F4A327A3F913A853E913A853E2601513D2601513DCF30223CCF30223CA89FFB3AA89FFB3AAC2EC339AC2EC339B2669738B266973895467D3F95467D3FA6F37F3FA6F37F3FA0B8973EA0B8973E9CD46E3D9CD46E3D1E5C393C1E5C393CF0C80F3BF0C80F3BC410DF39C410DF39A707AD38A707AD383201D33E3201D33EA41C7C3FA41C7C3FC4FFA93EC4FFA93E6952863D6952863D5487503C5487503C0CC2213B0CC2213BDBF2FA39DBF2FA399CA8C2389CA8C238F8440BBFF8440BBF1BD26E3F1BD26E3F5D09BC3E5D09BC3EAF38953DAF38953D6FB2673C6FB2673C27BB333B27BB333B7A6A0B3A7A6A0B3A9149D8389149D8385CFF7FBF5CFF7FBF9C93583F9C93583FE5CECD3EE5CECD3EEE1CA43DEE1CA43D6BDD7E3C6BDD7E3C41B4453B41B4453B865B193A865B193A86EAED3886EAED38D85C09BFD85C09BFA0363A3FA0363A3FED49DF3EED49DF3EF1FEB23DF1FEB23D24048B3C24048B3C5AAD573B5AAD573B924C273A924C273ABDC50139BDC501392220D73E2220D73E8CDE143F8CDE143F2074F03E2074F03E83DEC13D83DEC13D7F99963C7F99963C73A6693B73A6693B9E3D353A9E3D353A38960C3938960C3972987D3F72987D3F89E3D33E89E3D33EA4A3003FA4A3003F73BBD03D73BBD03DC72EA23CC72EA23C899F7B3B899F7B3BAB2E433AAB2E433AB2661739B26617394479263F4479263FF4306C3EF4306C3EA8DE083FA8DE083F8A95DF3D8A95DF3DF9C3AD3CF9C3AD3C4FCC863B4FCC863BB71F513AB71F513A2D3722392D372239"> : tensor<1x1x16x16xf32>
    %p1 = tp.parameter "model.embed_tokens.weight" alternatives ["lm_head.weight"] : tensor<97x64xf32> loc("model.embed_tokens.weight")
    %2 = nn.embedding %arg0, %p1 {padding_row = 0 : i64} : (tensor<2x16xi64>, tensor<97x64xf32>) -> tensor<2x16x64xf32> loc("model.embed_tokens")
    %5 = tensor.empty() : tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %6 = arith.constant 0.000000000e+00 : f32 loc("model.layers.0.input_layernorm")
    %7 = linalg.fill ins(%6 : f32) outs(%5 : tensor<2x16xf32>) -> tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%2 : tensor<2x16x64xf32>) outs(%7 : tensor<2x16xf32>) {
    ^bb0(%a3: f32, %o4: f32):
      %s8 = arith.addf %o4, %a3 : f32
      linalg.yield %s8 : f32
    } -> tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %13 = tensor.empty() : tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<2x16xf32>) outs(%13 : tensor<2x16xf32>) {
    ^bb0(%a10: f32, %o12: f32):
      %s11 = arith.constant 6.400000000e+01 : f32
      %s14 = arith.divf %a10, %s11 : f32
      linalg.yield %s14 : f32
    } -> tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %19 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %15 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%19 : tensor<2x16x64xf32>) {
    ^bb0(%a16: f32, %a17: f32, %o18: f32):
      %s20 = arith.subf %a16, %a17 : f32
      linalg.yield %s20 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %24 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21 : tensor<2x16x64xf32>) outs(%24 : tensor<2x16x64xf32>) {
    ^bb0(%a22: f32, %o23: f32):
      %s25 = arith.mulf %a22, %a22 : f32
      linalg.yield %s25 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %29 = tensor.empty() : tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %30 = arith.constant 0.000000000e+00 : f32 loc("model.layers.0.input_layernorm")
    %31 = linalg.fill ins(%30 : f32) outs(%29 : tensor<2x16xf32>) -> tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%26 : tensor<2x16x64xf32>) outs(%31 : tensor<2x16xf32>) {
    ^bb0(%a27: f32, %o28: f32):
      %s32 = arith.addf %o28, %a27 : f32
      linalg.yield %s32 : f32
    } -> tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %37 = tensor.empty() : tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%33 : tensor<2x16xf32>) outs(%37 : tensor<2x16xf32>) {
    ^bb0(%a34: f32, %o36: f32):
      %s35 = arith.constant 6.400000000e+01 : f32
      %s38 = arith.divf %a34, %s35 : f32
      linalg.yield %s38 : f32
    } -> tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %43 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %15 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%43 : tensor<2x16x64xf32>) {
    ^bb0(%a40: f32, %a41: f32, %o42: f32):
      %s44 = arith.subf %a40, %a41 : f32
      linalg.yield %s44 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %49 = tensor.empty() : tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%39 : tensor<2x16xf32>) outs(%49 : tensor<2x16xf32>) {
    ^bb0(%a46: f32, %o48: f32):
      %s47 = arith.constant 9.999999747e-06 : f32
      %s50 = arith.addf %a46, %s47 : f32
      linalg.yield %s50 : f32
    } -> tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %54 = tensor.empty() : tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %56 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%51 : tensor<2x16xf32>) outs(%54 : tensor<2x16xf32>) {
    ^bb0(%a52: f32, %o53: f32):
      %s55 = math.rsqrt %a52 : f32
      linalg.yield %s55 : f32
    } -> tensor<2x16xf32> loc("model.layers.0.input_layernorm")
    %60 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%45, %56 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%60 : tensor<2x16x64xf32>) {
    ^bb0(%a57: f32, %a58: f32, %o59: f32):
      %s61 = arith.mulf %a57, %a58 : f32
      linalg.yield %s61 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %p63 = tp.parameter "model.layers.0.input_layernorm.weight" : tensor<64xf32> loc("model.layers.0.input_layernorm.weight")
    %67 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p63, %62 : tensor<64xf32>, tensor<2x16x64xf32>) outs(%67 : tensor<2x16x64xf32>) {
    ^bb0(%a64: f32, %a65: f32, %o66: f32):
      %s68 = arith.mulf %a64, %a65 : f32
      linalg.yield %s68 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.0.input_layernorm")
    %p71 = tp.parameter "model.layers.0.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.q_proj.weight")
    %72 = nn.linear %69, %p71 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("model.layers.0.self_attn.q_proj")
    %73 = tensor.expand_shape %72 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("model.layers.0.self_attn.q_proj")
    %77 = tensor.empty() : tensor<2x16x4x16xf32> loc("model.layers.0.self_attn")
    %79 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%73, %c70 : tensor<2x16x4x16xf32>, tensor<1x1x16x16xf32>) outs(%77 : tensor<2x16x4x16xf32>) {
    ^bb0(%a74: f32, %a75: f32, %o76: f32):
      %s78 = arith.mulf %a74, %a75 : f32
      linalg.yield %s78 : f32
    } -> tensor<2x16x4x16xf32> loc("model.layers.0.self_attn")
    %80 = tensor.extract_slice %73[0, 0, 0, 0] [2, 16, 4, 8] [1, 1, 1, 2] : tensor<2x16x4x16xf32> to tensor<2x16x4x8xf32> loc("model.layers.0.self_attn")
    %81 = tensor.extract_slice %73[0, 0, 0, 1] [2, 16, 4, 8] [1, 1, 1, 2] : tensor<2x16x4x16xf32> to tensor<2x16x4x8xf32> loc("model.layers.0.self_attn")
    %84 = tensor.empty() : tensor<2x16x4x8xf32> loc("model.layers.0.self_attn")
    %86 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%81 : tensor<2x16x4x8xf32>) outs(%84 : tensor<2x16x4x8xf32>) {
    ^bb0(%a82: f32, %o83: f32):
      %s85 = arith.negf %a82 : f32
      linalg.yield %s85 : f32
    } -> tensor<2x16x4x8xf32> loc("model.layers.0.self_attn")
    %87 = tensor.empty() : tensor<2x4x16x8xf32> loc("model.layers.0.self_attn")
    %88 = linalg.transpose ins(%86 : tensor<2x16x4x8xf32>) outs(%87 : tensor<2x4x16x8xf32>) permutation = [0, 2, 1, 3] loc("model.layers.0.self_attn")
    %89 = tensor.expand_shape %88 [[0], [1], [2], [3, 4]] output_shape [2, 4, 16, 8, 1] : tensor<2x4x16x8xf32> into tensor<2x4x16x8x1xf32> loc("model.layers.0.self_attn")
    %90 = tensor.empty() : tensor<2x4x16x8xf32> loc("model.layers.0.self_attn")
    %91 = linalg.transpose ins(%80 : tensor<2x16x4x8xf32>) outs(%90 : tensor<2x4x16x8xf32>) permutation = [0, 2, 1, 3] loc("model.layers.0.self_attn")
    %92 = tensor.expand_shape %91 [[0], [1], [2], [3, 4]] output_shape [2, 4, 16, 8, 1] : tensor<2x4x16x8xf32> into tensor<2x4x16x8x1xf32> loc("model.layers.0.self_attn")
    %93 = tensor.concat dim(4) %89, %92 : (tensor<2x4x16x8x1xf32>, tensor<2x4x16x8x1xf32>) -> tensor<2x4x16x8x2xf32> loc("model.layers.0.self_attn")
    %95 = tensor.expand_shape %c94 [[0], [1], [2], [3, 4]] output_shape [1, 1, 16, 8, 2] : tensor<1x1x16x16xf32> into tensor<1x1x16x8x2xf32> loc("model.layers.0.self_attn")
    %99 = tensor.empty() : tensor<2x4x16x8x2xf32> loc("model.layers.0.self_attn")
    %101 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, 0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%93, %95 : tensor<2x4x16x8x2xf32>, tensor<1x1x16x8x2xf32>) outs(%99 : tensor<2x4x16x8x2xf32>) {
    ^bb0(%a96: f32, %a97: f32, %o98: f32):
      %s100 = arith.mulf %a96, %a97 : f32
      linalg.yield %s100 : f32
    } -> tensor<2x4x16x8x2xf32> loc("model.layers.0.self_attn")
    %102 = tensor.expand_shape %79 [[0], [1], [2], [3, 4]] output_shape [2, 16, 4, 8, 2] : tensor<2x16x4x16xf32> into tensor<2x16x4x8x2xf32> loc("model.layers.0.self_attn")
    %106 = tensor.empty() : tensor<2x16x4x8x2xf32> loc("model.layers.0.self_attn")
    %108 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%102, %101 : tensor<2x16x4x8x2xf32>, tensor<2x4x16x8x2xf32>) outs(%106 : tensor<2x16x4x8x2xf32>) {
    ^bb0(%a103: f32, %a104: f32, %o105: f32):
      %s107 = arith.addf %a103, %a104 : f32
      linalg.yield %s107 : f32
    } -> tensor<2x16x4x8x2xf32> loc("model.layers.0.self_attn")
    %p109 = tp.parameter "model.layers.0.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.k_proj.weight")
    %110 = nn.linear %69, %p109 : (tensor<2x16x64xf32>, tensor<32x64xf32>) -> tensor<2x16x32xf32> loc("model.layers.0.self_attn.k_proj")
    %111 = tensor.expand_shape %110 [[0], [1], [2, 3]] output_shape [2, 16, 2, 16] : tensor<2x16x32xf32> into tensor<2x16x2x16xf32> loc("model.layers.0.self_attn.k_proj")
    %115 = tensor.empty() : tensor<2x16x2x16xf32> loc("model.layers.0.self_attn")
    %117 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%111, %c70 : tensor<2x16x2x16xf32>, tensor<1x1x16x16xf32>) outs(%115 : tensor<2x16x2x16xf32>) {
    ^bb0(%a112: f32, %a113: f32, %o114: f32):
      %s116 = arith.mulf %a112, %a113 : f32
      linalg.yield %s116 : f32
    } -> tensor<2x16x2x16xf32> loc("model.layers.0.self_attn")
    %118 = tensor.extract_slice %111[0, 0, 0, 0] [2, 16, 2, 8] [1, 1, 1, 2] : tensor<2x16x2x16xf32> to tensor<2x16x2x8xf32> loc("model.layers.0.self_attn")
    %119 = tensor.extract_slice %111[0, 0, 0, 1] [2, 16, 2, 8] [1, 1, 1, 2] : tensor<2x16x2x16xf32> to tensor<2x16x2x8xf32> loc("model.layers.0.self_attn")
    %122 = tensor.empty() : tensor<2x16x2x8xf32> loc("model.layers.0.self_attn")
    %124 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%119 : tensor<2x16x2x8xf32>) outs(%122 : tensor<2x16x2x8xf32>) {
    ^bb0(%a120: f32, %o121: f32):
      %s123 = arith.negf %a120 : f32
      linalg.yield %s123 : f32
    } -> tensor<2x16x2x8xf32> loc("model.layers.0.self_attn")
    %125 = tensor.empty() : tensor<2x2x16x8xf32> loc("model.layers.0.self_attn")
    %126 = linalg.transpose ins(%124 : tensor<2x16x2x8xf32>) outs(%125 : tensor<2x2x16x8xf32>) permutation = [0, 2, 1, 3] loc("model.layers.0.self_attn")
    %127 = tensor.expand_shape %126 [[0], [1], [2], [3, 4]] output_shape [2, 2, 16, 8, 1] : tensor<2x2x16x8xf32> into tensor<2x2x16x8x1xf32> loc("model.layers.0.self_attn")
    %128 = tensor.empty() : tensor<2x2x16x8xf32> loc("model.layers.0.self_attn")
    %129 = linalg.transpose ins(%118 : tensor<2x16x2x8xf32>) outs(%128 : tensor<2x2x16x8xf32>) permutation = [0, 2, 1, 3] loc("model.layers.0.self_attn")
    %130 = tensor.expand_shape %129 [[0], [1], [2], [3, 4]] output_shape [2, 2, 16, 8, 1] : tensor<2x2x16x8xf32> into tensor<2x2x16x8x1xf32> loc("model.layers.0.self_attn")
    %131 = tensor.concat dim(4) %127, %130 : (tensor<2x2x16x8x1xf32>, tensor<2x2x16x8x1xf32>) -> tensor<2x2x16x8x2xf32> loc("model.layers.0.self_attn")
    %135 = tensor.empty() : tensor<2x2x16x8x2xf32> loc("model.layers.0.self_attn")
    %137 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, 0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%131, %95 : tensor<2x2x16x8x2xf32>, tensor<1x1x16x8x2xf32>) outs(%135 : tensor<2x2x16x8x2xf32>) {
    ^bb0(%a132: f32, %a133: f32, %o134: f32):
      %s136 = arith.mulf %a132, %a133 : f32
      linalg.yield %s136 : f32
    } -> tensor<2x2x16x8x2xf32> loc("model.layers.0.self_attn")
    %138 = tensor.expand_shape %117 [[0], [1], [2], [3, 4]] output_shape [2, 16, 2, 8, 2] : tensor<2x16x2x16xf32> into tensor<2x16x2x8x2xf32> loc("model.layers.0.self_attn")
    %142 = tensor.empty() : tensor<2x16x2x8x2xf32> loc("model.layers.0.self_attn")
    %144 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%138, %137 : tensor<2x16x2x8x2xf32>, tensor<2x2x16x8x2xf32>) outs(%142 : tensor<2x16x2x8x2xf32>) {
    ^bb0(%a139: f32, %a140: f32, %o141: f32):
      %s143 = arith.addf %a139, %a140 : f32
      linalg.yield %s143 : f32
    } -> tensor<2x16x2x8x2xf32> loc("model.layers.0.self_attn")
    %145 = tensor.collapse_shape %108 [[0], [1], [2], [3, 4]] : tensor<2x16x4x8x2xf32> into tensor<2x16x4x16xf32> loc("model.layers.0.self_attn")
    %146 = tensor.collapse_shape %144 [[0], [1], [2], [3, 4]] : tensor<2x16x2x8x2xf32> into tensor<2x16x2x16xf32> loc("model.layers.0.self_attn")
    %p147 = tp.parameter "model.layers.0.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.0.self_attn.v_proj.weight")
    %148 = nn.linear %69, %p147 : (tensor<2x16x64xf32>, tensor<32x64xf32>) -> tensor<2x16x32xf32> loc("model.layers.0.self_attn.v_proj")
    %149 = tensor.expand_shape %148 [[0], [1], [2, 3]] output_shape [2, 16, 2, 16] : tensor<2x16x32xf32> into tensor<2x16x2x16xf32> loc("model.layers.0.self_attn.v_proj")
    %150 = nn.attention %145, %146, %149 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x2x16xf32>, tensor<2x16x2x16xf32>) -> tensor<2x16x4x16xf32> loc("model.layers.0.self_attn")
    %151 = tensor.collapse_shape %150 [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %p152 = tp.parameter "model.layers.0.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.gate_proj.weight")
    %153 = nn.linear %69, %p152 : (tensor<2x16x64xf32>, tensor<128x64xf32>) -> tensor<2x16x128xf32> loc("model.layers.0.mlp.gate_proj")
    %154 = nn.silu %153 : tensor<2x16x128xf32> loc("model.layers.0.mlp.act_fn")
    %p155 = tp.parameter "model.layers.0.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.0.mlp.up_proj.weight")
    %156 = nn.linear %69, %p155 : (tensor<2x16x64xf32>, tensor<128x64xf32>) -> tensor<2x16x128xf32> loc("model.layers.0.mlp.up_proj")
    %157 = arith.mulf %154, %156 : tensor<2x16x128xf32> loc("model.layers.0.mlp")
    %p158 = tp.parameter "model.layers.0.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.0.self_attn.o_proj.weight")
    %159 = nn.linear %151, %p158 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("model.layers.0.self_attn.o_proj")
    %160 = arith.addf %2, %159 : tensor<2x16x64xf32> loc("model.layers.0")
    %p161 = tp.parameter "model.layers.0.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.0.mlp.down_proj.weight")
    %162 = nn.linear %157, %p161 : (tensor<2x16x128xf32>, tensor<64x128xf32>) -> tensor<2x16x64xf32> loc("model.layers.0.mlp.down_proj")
    %163 = arith.addf %160, %162 : tensor<2x16x64xf32> loc("model.layers.0")
    %166 = tensor.empty() : tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %167 = arith.constant 0.000000000e+00 : f32 loc("model.layers.1.input_layernorm")
    %168 = linalg.fill ins(%167 : f32) outs(%166 : tensor<2x16xf32>) -> tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %170 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%163 : tensor<2x16x64xf32>) outs(%168 : tensor<2x16xf32>) {
    ^bb0(%a164: f32, %o165: f32):
      %s169 = arith.addf %o165, %a164 : f32
      linalg.yield %s169 : f32
    } -> tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %174 = tensor.empty() : tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %176 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%170 : tensor<2x16xf32>) outs(%174 : tensor<2x16xf32>) {
    ^bb0(%a171: f32, %o173: f32):
      %s172 = arith.constant 6.400000000e+01 : f32
      %s175 = arith.divf %a171, %s172 : f32
      linalg.yield %s175 : f32
    } -> tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %180 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %182 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%163, %176 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%180 : tensor<2x16x64xf32>) {
    ^bb0(%a177: f32, %a178: f32, %o179: f32):
      %s181 = arith.subf %a177, %a178 : f32
      linalg.yield %s181 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %185 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %187 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%182 : tensor<2x16x64xf32>) outs(%185 : tensor<2x16x64xf32>) {
    ^bb0(%a183: f32, %o184: f32):
      %s186 = arith.mulf %a183, %a183 : f32
      linalg.yield %s186 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %190 = tensor.empty() : tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %191 = arith.constant 0.000000000e+00 : f32 loc("model.layers.1.input_layernorm")
    %192 = linalg.fill ins(%191 : f32) outs(%190 : tensor<2x16xf32>) -> tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %194 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%187 : tensor<2x16x64xf32>) outs(%192 : tensor<2x16xf32>) {
    ^bb0(%a188: f32, %o189: f32):
      %s193 = arith.addf %o189, %a188 : f32
      linalg.yield %s193 : f32
    } -> tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %198 = tensor.empty() : tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %200 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%194 : tensor<2x16xf32>) outs(%198 : tensor<2x16xf32>) {
    ^bb0(%a195: f32, %o197: f32):
      %s196 = arith.constant 6.400000000e+01 : f32
      %s199 = arith.divf %a195, %s196 : f32
      linalg.yield %s199 : f32
    } -> tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %204 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %206 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%163, %176 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%204 : tensor<2x16x64xf32>) {
    ^bb0(%a201: f32, %a202: f32, %o203: f32):
      %s205 = arith.subf %a201, %a202 : f32
      linalg.yield %s205 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %210 = tensor.empty() : tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %212 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%200 : tensor<2x16xf32>) outs(%210 : tensor<2x16xf32>) {
    ^bb0(%a207: f32, %o209: f32):
      %s208 = arith.constant 9.999999747e-06 : f32
      %s211 = arith.addf %a207, %s208 : f32
      linalg.yield %s211 : f32
    } -> tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %215 = tensor.empty() : tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %217 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%212 : tensor<2x16xf32>) outs(%215 : tensor<2x16xf32>) {
    ^bb0(%a213: f32, %o214: f32):
      %s216 = math.rsqrt %a213 : f32
      linalg.yield %s216 : f32
    } -> tensor<2x16xf32> loc("model.layers.1.input_layernorm")
    %221 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %223 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%206, %217 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%221 : tensor<2x16x64xf32>) {
    ^bb0(%a218: f32, %a219: f32, %o220: f32):
      %s222 = arith.mulf %a218, %a219 : f32
      linalg.yield %s222 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %p224 = tp.parameter "model.layers.1.input_layernorm.weight" : tensor<64xf32> loc("model.layers.1.input_layernorm.weight")
    %228 = tensor.empty() : tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %230 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p224, %223 : tensor<64xf32>, tensor<2x16x64xf32>) outs(%228 : tensor<2x16x64xf32>) {
    ^bb0(%a225: f32, %a226: f32, %o227: f32):
      %s229 = arith.mulf %a225, %a226 : f32
      linalg.yield %s229 : f32
    } -> tensor<2x16x64xf32> loc("model.layers.1.input_layernorm")
    %p231 = tp.parameter "model.layers.1.self_attn.q_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.q_proj.weight")
    %232 = nn.linear %230, %p231 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("model.layers.1.self_attn.q_proj")
    %233 = tensor.expand_shape %232 [[0], [1], [2, 3]] output_shape [2, 16, 4, 16] : tensor<2x16x64xf32> into tensor<2x16x4x16xf32> loc("model.layers.1.self_attn.q_proj")
    %237 = tensor.empty() : tensor<2x16x4x16xf32> loc("model.layers.1.self_attn")
    %239 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%233, %c70 : tensor<2x16x4x16xf32>, tensor<1x1x16x16xf32>) outs(%237 : tensor<2x16x4x16xf32>) {
    ^bb0(%a234: f32, %a235: f32, %o236: f32):
      %s238 = arith.mulf %a234, %a235 : f32
      linalg.yield %s238 : f32
    } -> tensor<2x16x4x16xf32> loc("model.layers.1.self_attn")
    %240 = tensor.extract_slice %233[0, 0, 0, 0] [2, 16, 4, 8] [1, 1, 1, 2] : tensor<2x16x4x16xf32> to tensor<2x16x4x8xf32> loc("model.layers.1.self_attn")
    %241 = tensor.extract_slice %233[0, 0, 0, 1] [2, 16, 4, 8] [1, 1, 1, 2] : tensor<2x16x4x16xf32> to tensor<2x16x4x8xf32> loc("model.layers.1.self_attn")
    %244 = tensor.empty() : tensor<2x16x4x8xf32> loc("model.layers.1.self_attn")
    %246 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%241 : tensor<2x16x4x8xf32>) outs(%244 : tensor<2x16x4x8xf32>) {
    ^bb0(%a242: f32, %o243: f32):
      %s245 = arith.negf %a242 : f32
      linalg.yield %s245 : f32
    } -> tensor<2x16x4x8xf32> loc("model.layers.1.self_attn")
    %247 = tensor.empty() : tensor<2x4x16x8xf32> loc("model.layers.1.self_attn")
    %248 = linalg.transpose ins(%246 : tensor<2x16x4x8xf32>) outs(%247 : tensor<2x4x16x8xf32>) permutation = [0, 2, 1, 3] loc("model.layers.1.self_attn")
    %249 = tensor.expand_shape %248 [[0], [1], [2], [3, 4]] output_shape [2, 4, 16, 8, 1] : tensor<2x4x16x8xf32> into tensor<2x4x16x8x1xf32> loc("model.layers.1.self_attn")
    %250 = tensor.empty() : tensor<2x4x16x8xf32> loc("model.layers.1.self_attn")
    %251 = linalg.transpose ins(%240 : tensor<2x16x4x8xf32>) outs(%250 : tensor<2x4x16x8xf32>) permutation = [0, 2, 1, 3] loc("model.layers.1.self_attn")
    %252 = tensor.expand_shape %251 [[0], [1], [2], [3, 4]] output_shape [2, 4, 16, 8, 1] : tensor<2x4x16x8xf32> into tensor<2x4x16x8x1xf32> loc("model.layers.1.self_attn")
    %253 = tensor.concat dim(4) %249, %252 : (tensor<2x4x16x8x1xf32>, tensor<2x4x16x8x1xf32>) -> tensor<2x4x16x8x2xf32> loc("model.layers.1.self_attn")
    %257 = tensor.empty() : tensor<2x4x16x8x2xf32> loc("model.layers.1.self_attn")
    %259 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, 0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%253, %95 : tensor<2x4x16x8x2xf32>, tensor<1x1x16x8x2xf32>) outs(%257 : tensor<2x4x16x8x2xf32>) {
    ^bb0(%a254: f32, %a255: f32, %o256: f32):
      %s258 = arith.mulf %a254, %a255 : f32
      linalg.yield %s258 : f32
    } -> tensor<2x4x16x8x2xf32> loc("model.layers.1.self_attn")
    %260 = tensor.expand_shape %239 [[0], [1], [2], [3, 4]] output_shape [2, 16, 4, 8, 2] : tensor<2x16x4x16xf32> into tensor<2x16x4x8x2xf32> loc("model.layers.1.self_attn")
    %264 = tensor.empty() : tensor<2x16x4x8x2xf32> loc("model.layers.1.self_attn")
    %266 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%260, %259 : tensor<2x16x4x8x2xf32>, tensor<2x4x16x8x2xf32>) outs(%264 : tensor<2x16x4x8x2xf32>) {
    ^bb0(%a261: f32, %a262: f32, %o263: f32):
      %s265 = arith.addf %a261, %a262 : f32
      linalg.yield %s265 : f32
    } -> tensor<2x16x4x8x2xf32> loc("model.layers.1.self_attn")
    %p267 = tp.parameter "model.layers.1.self_attn.k_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.k_proj.weight")
    %268 = nn.linear %230, %p267 : (tensor<2x16x64xf32>, tensor<32x64xf32>) -> tensor<2x16x32xf32> loc("model.layers.1.self_attn.k_proj")
    %269 = tensor.expand_shape %268 [[0], [1], [2, 3]] output_shape [2, 16, 2, 16] : tensor<2x16x32xf32> into tensor<2x16x2x16xf32> loc("model.layers.1.self_attn.k_proj")
    %273 = tensor.empty() : tensor<2x16x2x16xf32> loc("model.layers.1.self_attn")
    %275 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (0, 0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%269, %c70 : tensor<2x16x2x16xf32>, tensor<1x1x16x16xf32>) outs(%273 : tensor<2x16x2x16xf32>) {
    ^bb0(%a270: f32, %a271: f32, %o272: f32):
      %s274 = arith.mulf %a270, %a271 : f32
      linalg.yield %s274 : f32
    } -> tensor<2x16x2x16xf32> loc("model.layers.1.self_attn")
    %276 = tensor.extract_slice %269[0, 0, 0, 0] [2, 16, 2, 8] [1, 1, 1, 2] : tensor<2x16x2x16xf32> to tensor<2x16x2x8xf32> loc("model.layers.1.self_attn")
    %277 = tensor.extract_slice %269[0, 0, 0, 1] [2, 16, 2, 8] [1, 1, 1, 2] : tensor<2x16x2x16xf32> to tensor<2x16x2x8xf32> loc("model.layers.1.self_attn")
    %280 = tensor.empty() : tensor<2x16x2x8xf32> loc("model.layers.1.self_attn")
    %282 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%277 : tensor<2x16x2x8xf32>) outs(%280 : tensor<2x16x2x8xf32>) {
    ^bb0(%a278: f32, %o279: f32):
      %s281 = arith.negf %a278 : f32
      linalg.yield %s281 : f32
    } -> tensor<2x16x2x8xf32> loc("model.layers.1.self_attn")
    %283 = tensor.empty() : tensor<2x2x16x8xf32> loc("model.layers.1.self_attn")
    %284 = linalg.transpose ins(%282 : tensor<2x16x2x8xf32>) outs(%283 : tensor<2x2x16x8xf32>) permutation = [0, 2, 1, 3] loc("model.layers.1.self_attn")
    %285 = tensor.expand_shape %284 [[0], [1], [2], [3, 4]] output_shape [2, 2, 16, 8, 1] : tensor<2x2x16x8xf32> into tensor<2x2x16x8x1xf32> loc("model.layers.1.self_attn")
    %286 = tensor.empty() : tensor<2x2x16x8xf32> loc("model.layers.1.self_attn")
    %287 = linalg.transpose ins(%276 : tensor<2x16x2x8xf32>) outs(%286 : tensor<2x2x16x8xf32>) permutation = [0, 2, 1, 3] loc("model.layers.1.self_attn")
    %288 = tensor.expand_shape %287 [[0], [1], [2], [3, 4]] output_shape [2, 2, 16, 8, 1] : tensor<2x2x16x8xf32> into tensor<2x2x16x8x1xf32> loc("model.layers.1.self_attn")
    %289 = tensor.concat dim(4) %285, %288 : (tensor<2x2x16x8x1xf32>, tensor<2x2x16x8x1xf32>) -> tensor<2x2x16x8x2xf32> loc("model.layers.1.self_attn")
    %293 = tensor.empty() : tensor<2x2x16x8x2xf32> loc("model.layers.1.self_attn")
    %295 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (0, 0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%289, %95 : tensor<2x2x16x8x2xf32>, tensor<1x1x16x8x2xf32>) outs(%293 : tensor<2x2x16x8x2xf32>) {
    ^bb0(%a290: f32, %a291: f32, %o292: f32):
      %s294 = arith.mulf %a290, %a291 : f32
      linalg.yield %s294 : f32
    } -> tensor<2x2x16x8x2xf32> loc("model.layers.1.self_attn")
    %296 = tensor.expand_shape %275 [[0], [1], [2], [3, 4]] output_shape [2, 16, 2, 8, 2] : tensor<2x16x2x16xf32> into tensor<2x16x2x8x2xf32> loc("model.layers.1.self_attn")
    %300 = tensor.empty() : tensor<2x16x2x8x2xf32> loc("model.layers.1.self_attn")
    %302 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%296, %295 : tensor<2x16x2x8x2xf32>, tensor<2x2x16x8x2xf32>) outs(%300 : tensor<2x16x2x8x2xf32>) {
    ^bb0(%a297: f32, %a298: f32, %o299: f32):
      %s301 = arith.addf %a297, %a298 : f32
      linalg.yield %s301 : f32
    } -> tensor<2x16x2x8x2xf32> loc("model.layers.1.self_attn")
    %303 = tensor.collapse_shape %266 [[0], [1], [2], [3, 4]] : tensor<2x16x4x8x2xf32> into tensor<2x16x4x16xf32> loc("model.layers.1.self_attn")
    %304 = tensor.collapse_shape %302 [[0], [1], [2], [3, 4]] : tensor<2x16x2x8x2xf32> into tensor<2x16x2x16xf32> loc("model.layers.1.self_attn")
    %p305 = tp.parameter "model.layers.1.self_attn.v_proj.weight" : tensor<32x64xf32> loc("model.layers.1.self_attn.v_proj.weight")
    %306 = nn.linear %230, %p305 : (tensor<2x16x64xf32>, tensor<32x64xf32>) -> tensor<2x16x32xf32> loc("model.layers.1.self_attn.v_proj")
    %307 = tensor.expand_shape %306 [[0], [1], [2, 3]] output_shape [2, 16, 2, 16] : tensor<2x16x32xf32> into tensor<2x16x2x16xf32> loc("model.layers.1.self_attn.v_proj")
    %308 = nn.attention %303, %304, %307 {causal, scale = 2.50000000000000000e-01 : f64} : (tensor<2x16x4x16xf32>, tensor<2x16x2x16xf32>, tensor<2x16x2x16xf32>) -> tensor<2x16x4x16xf32> loc("model.layers.1.self_attn")
    %309 = tensor.collapse_shape %308 [[0], [1], [2, 3]] : tensor<2x16x4x16xf32> into tensor<2x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %p310 = tp.parameter "model.layers.1.mlp.gate_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.gate_proj.weight")
    %311 = nn.linear %230, %p310 : (tensor<2x16x64xf32>, tensor<128x64xf32>) -> tensor<2x16x128xf32> loc("model.layers.1.mlp.gate_proj")
    %312 = nn.silu %311 : tensor<2x16x128xf32> loc("model.layers.1.mlp.act_fn")
    %p313 = tp.parameter "model.layers.1.mlp.up_proj.weight" : tensor<128x64xf32> loc("model.layers.1.mlp.up_proj.weight")
    %314 = nn.linear %230, %p313 : (tensor<2x16x64xf32>, tensor<128x64xf32>) -> tensor<2x16x128xf32> loc("model.layers.1.mlp.up_proj")
    %315 = arith.mulf %312, %314 : tensor<2x16x128xf32> loc("model.layers.1.mlp")
    %p316 = tp.parameter "model.layers.1.self_attn.o_proj.weight" : tensor<64x64xf32> loc("model.layers.1.self_attn.o_proj.weight")
    %317 = nn.linear %309, %p316 : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32> loc("model.layers.1.self_attn.o_proj")
    %318 = arith.addf %163, %317 : tensor<2x16x64xf32> loc("model.layers.1")
    %p319 = tp.parameter "model.layers.1.mlp.down_proj.weight" : tensor<64x128xf32> loc("model.layers.1.mlp.down_proj.weight")
    %320 = nn.linear %315, %p319 : (tensor<2x16x128xf32>, tensor<64x128xf32>) -> tensor<2x16x64xf32> loc("model.layers.1.mlp.down_proj")
    %321 = arith.addf %318, %320 : tensor<2x16x64xf32> loc("model.layers.1")
    %324 = tensor.empty() : tensor<2x16xf32> loc("model.norm")
    %325 = arith.constant 0.000000000e+00 : f32 loc("model.norm")
    %326 = linalg.fill ins(%325 : f32) outs(%324 : tensor<2x16xf32>) -> tensor<2x16xf32> loc("model.norm")
    %328 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%321 : tensor<2x16x64xf32>) outs(%326 : tensor<2x16xf32>) {
    ^bb0(%a322: f32, %o323: f32):
      %s327 = arith.addf %o323, %a322 : f32
      linalg.yield %s327 : f32
    } -> tensor<2x16xf32> loc("model.norm")
    %332 = tensor.empty() : tensor<2x16xf32> loc("model.norm")
    %334 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%328 : tensor<2x16xf32>) outs(%332 : tensor<2x16xf32>) {
    ^bb0(%a329: f32, %o331: f32):
      %s330 = arith.constant 6.400000000e+01 : f32
      %s333 = arith.divf %a329, %s330 : f32
      linalg.yield %s333 : f32
    } -> tensor<2x16xf32> loc("model.norm")
    %338 = tensor.empty() : tensor<2x16x64xf32> loc("model.norm")
    %340 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%321, %334 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%338 : tensor<2x16x64xf32>) {
    ^bb0(%a335: f32, %a336: f32, %o337: f32):
      %s339 = arith.subf %a335, %a336 : f32
      linalg.yield %s339 : f32
    } -> tensor<2x16x64xf32> loc("model.norm")
    %343 = tensor.empty() : tensor<2x16x64xf32> loc("model.norm")
    %345 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%340 : tensor<2x16x64xf32>) outs(%343 : tensor<2x16x64xf32>) {
    ^bb0(%a341: f32, %o342: f32):
      %s344 = arith.mulf %a341, %a341 : f32
      linalg.yield %s344 : f32
    } -> tensor<2x16x64xf32> loc("model.norm")
    %348 = tensor.empty() : tensor<2x16xf32> loc("model.norm")
    %349 = arith.constant 0.000000000e+00 : f32 loc("model.norm")
    %350 = linalg.fill ins(%349 : f32) outs(%348 : tensor<2x16xf32>) -> tensor<2x16xf32> loc("model.norm")
    %352 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%345 : tensor<2x16x64xf32>) outs(%350 : tensor<2x16xf32>) {
    ^bb0(%a346: f32, %o347: f32):
      %s351 = arith.addf %o347, %a346 : f32
      linalg.yield %s351 : f32
    } -> tensor<2x16xf32> loc("model.norm")
    %356 = tensor.empty() : tensor<2x16xf32> loc("model.norm")
    %358 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%352 : tensor<2x16xf32>) outs(%356 : tensor<2x16xf32>) {
    ^bb0(%a353: f32, %o355: f32):
      %s354 = arith.constant 6.400000000e+01 : f32
      %s357 = arith.divf %a353, %s354 : f32
      linalg.yield %s357 : f32
    } -> tensor<2x16xf32> loc("model.norm")
    %362 = tensor.empty() : tensor<2x16x64xf32> loc("model.norm")
    %364 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%321, %334 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%362 : tensor<2x16x64xf32>) {
    ^bb0(%a359: f32, %a360: f32, %o361: f32):
      %s363 = arith.subf %a359, %a360 : f32
      linalg.yield %s363 : f32
    } -> tensor<2x16x64xf32> loc("model.norm")
    %368 = tensor.empty() : tensor<2x16xf32> loc("model.norm")
    %370 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%358 : tensor<2x16xf32>) outs(%368 : tensor<2x16xf32>) {
    ^bb0(%a365: f32, %o367: f32):
      %s366 = arith.constant 9.999999747e-06 : f32
      %s369 = arith.addf %a365, %s366 : f32
      linalg.yield %s369 : f32
    } -> tensor<2x16xf32> loc("model.norm")
    %373 = tensor.empty() : tensor<2x16xf32> loc("model.norm")
    %375 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%370 : tensor<2x16xf32>) outs(%373 : tensor<2x16xf32>) {
    ^bb0(%a371: f32, %o372: f32):
      %s374 = math.rsqrt %a371 : f32
      linalg.yield %s374 : f32
    } -> tensor<2x16xf32> loc("model.norm")
    %379 = tensor.empty() : tensor<2x16x64xf32> loc("model.norm")
    %381 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%364, %375 : tensor<2x16x64xf32>, tensor<2x16xf32>) outs(%379 : tensor<2x16x64xf32>) {
    ^bb0(%a376: f32, %a377: f32, %o378: f32):
      %s380 = arith.mulf %a376, %a377 : f32
      linalg.yield %s380 : f32
    } -> tensor<2x16x64xf32> loc("model.norm")
    %p382 = tp.parameter "model.norm.weight" : tensor<64xf32> loc("model.norm.weight")
    %386 = tensor.empty() : tensor<2x16x64xf32> loc("model.norm")
    %388 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p382, %381 : tensor<64xf32>, tensor<2x16x64xf32>) outs(%386 : tensor<2x16x64xf32>) {
    ^bb0(%a383: f32, %a384: f32, %o385: f32):
      %s387 = arith.mulf %a383, %a384 : f32
      linalg.yield %s387 : f32
    } -> tensor<2x16x64xf32> loc("model.norm")
    %389 = nn.linear %388, %p1 : (tensor<2x16x64xf32>, tensor<97x64xf32>) -> tensor<2x16x97xf32> loc("lm_head")
    %393 = tensor.empty() : tensor<2x16x97xf32>
    %395 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%389 : tensor<2x16x97xf32>) outs(%393 : tensor<2x16x97xf32>) {
    ^bb0(%a390: f32, %o392: f32):
      %s391 = arith.constant 6.250000000e-02 : f32
      %s394 = arith.mulf %a390, %s391 : f32
      linalg.yield %s394 : f32
    } -> tensor<2x16x97xf32>
    return %395 : tensor<2x16x97xf32>
  }
}
