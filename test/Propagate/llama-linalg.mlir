// RUN: tp-opt %s --tp-propagate --tp-verify-propagated --tp-explain-shardings -o /dev/null | FileCheck %s
// RUN: sed 's/tp.sharding = #tp.sharding<@mesh, \[{}, {}, {}\]>/tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {}]>/' %s | tp-opt --tp-propagate --tp-verify-propagated --tp-explain-shardings -o /dev/null | FileCheck %s --check-prefix=SP

// A Llama block in plain linalg at 4 ranks with 2 KV heads of 4 queries each:
// parameters under names that say nothing, four annotations. Everything else
// follows, the sub-axis of the KV heads included; two partial sums a layer.

// CHECK-NOT: tp.repeat
// CHECK: tp.parameter blk.{i}.beta: [{"tp"}, {}]
// CHECK: tp.parameter blk.{i}.gamma: [{"tp":(1)2}, {}]
// CHECK-NEXT: dim 0 on "tp": blk.{i}.beta dim 0 on "tp", by linalg.generic
// CHECK: tp.parameter blk.{i}.delta: [{"tp":(1)2}, {}]
// CHECK: tensor.expand_shape {{.*}}: [{}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]
// CHECK: tensor.collapse_shape {{.*}}: [{}, {}, {"tp"}]
// CHECK: tp.parameter blk.{i}.epsilon: [{}, {"tp"}]
// CHECK-NEXT: dim 1 on "tp": blk.{i}.epsilon dim 1 on "tp"
// CHECK-NEXT: linalg.generic {{.*}}: [{}, {}, {}], partial sum {"tp"}
// CHECK-NEXT: partial on "tp": blk.{i}.epsilon dim 1 on "tp", by linalg.generic
// CHECK-NOT: partial
// CHECK: tp.parameter blk.{i}.eta: [{"tp"}, {}]
// CHECK: tp.parameter blk.{i}.theta: [{"tp"}, {}]
// CHECK: tp.parameter blk.{i}.iota: [{}, {"tp"}]
// CHECK: linalg.generic {{.*}}: [{}, {}, {}], partial sum {"tp"}
// CHECK-NOT: partial sum
// CHECK-NOT: result

// The same with the sequence split: the residual stream is split, what the
// weights cut is not.

// SP: argument 0: [{}, {"tp"}, {}]
// SP: tp.repeat {{.*}}: [{}, {"tp"}, {}]
// SP: linalg.generic {{.*}}: [{}, {"tp"}]
// SP: linalg.generic {{.*}}: [{}, {"tp"}, {}]
// SP: tp.parameter blk.{i}.beta: [{"tp"}, {}]
// SP: linalg.generic {{.*}}: [{}, {}, {"tp"}]
// SP: tp.parameter blk.{i}.gamma: [{"tp":(1)2}, {}]
// SP: linalg.generic {{.*}}: [{}, {}, {}], partial sum {"tp"}
// SP: arith.addf {{.*}}: [{}, {"tp"}, {}]
// SP: linalg.generic {{.*}}: [{}, {}, {}], partial sum {"tp"}
// SP: arith.addf {{.*}}: [{}, {"tp"}, {}]
// SP: result 0: [{}, {"tp"}, {}]

tp.mesh @mesh <["tp"=4]>
func.func @block(%x: tensor<1x16x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>}) -> tensor<1x16x64xf32> {
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %width = arith.constant 64.0 : f32
  %scale = arith.constant 0.35 : f32
  %low = arith.constant 0xFF800000 : f32
  %r = tp.repeat 2 times iter(%x) : (tensor<1x16x64xf32>) -> tensor<1x16x64xf32> {
  ^bb0(%i: index, %c: tensor<1x16x64xf32>):
    %v1 = tp.parameter "blk.{i}.alpha" : tensor<64xf32>
    %v2 = tensor.empty() : tensor<1x16xf32>
    %v3 = linalg.fill ins(%zero : f32) outs(%v2 : tensor<1x16xf32>) -> tensor<1x16xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%c : tensor<1x16x64xf32>) outs(%v3 : tensor<1x16xf32>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.mulf %a0, %a0 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16xf32>
    %v5 = tensor.empty() : tensor<1x16x64xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%c, %v4, %v1 : tensor<1x16x64xf32>, tensor<1x16xf32>, tensor<64xf32>) outs(%v5 : tensor<1x16x64xf32>) {
    ^bb0(%a0: f32, %a1: f32, %a2: f32, %o: f32):
      %q = arith.divf %a1, %width : f32
      %e = arith.addf %q, %eps : f32
      %r = math.rsqrt %e : f32
      %n = arith.mulf %a0, %r : f32
      %y = arith.mulf %n, %a2 : f32
      linalg.yield %y : f32
    } -> tensor<1x16x64xf32>
    %v7 = tp.parameter "blk.{i}.beta" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
    %v8 = tensor.empty() : tensor<1x16x64xf32>
    %v9 = linalg.fill ins(%zero : f32) outs(%v8 : tensor<1x16x64xf32>) -> tensor<1x16x64xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%v6, %v7 : tensor<1x16x64xf32>, tensor<64x64xf32>) outs(%v9 : tensor<1x16x64xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16x64xf32>
    %v11 = tp.parameter "blk.{i}.gamma" : tensor<16x64xf32>
    %v12 = tensor.empty() : tensor<1x16x16xf32>
    %v13 = linalg.fill ins(%zero : f32) outs(%v12 : tensor<1x16x16xf32>) -> tensor<1x16x16xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%v6, %v11 : tensor<1x16x64xf32>, tensor<16x64xf32>) outs(%v13 : tensor<1x16x16xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16x16xf32>
    %v15 = tp.parameter "blk.{i}.delta" : tensor<16x64xf32>
    %v16 = tensor.empty() : tensor<1x16x16xf32>
    %v17 = linalg.fill ins(%zero : f32) outs(%v16 : tensor<1x16x16xf32>) -> tensor<1x16x16xf32>
    %v18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%v6, %v15 : tensor<1x16x64xf32>, tensor<16x64xf32>) outs(%v17 : tensor<1x16x16xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16x16xf32>
    %v19 = tensor.expand_shape %v10 [[0], [1], [2, 3, 4]] output_shape [1, 16, 2, 4, 8] : tensor<1x16x64xf32> into tensor<1x16x2x4x8xf32>
    %v20 = tensor.expand_shape %v14 [[0], [1], [2, 3]] output_shape [1, 16, 2, 8] : tensor<1x16x16xf32> into tensor<1x16x2x8xf32>
    %v21 = tensor.expand_shape %v18 [[0], [1], [2, 3]] output_shape [1, 16, 2, 8] : tensor<1x16x16xf32> into tensor<1x16x2x8xf32>
    %v22 = tensor.empty() : tensor<1x2x4x16x16xf32>
    %v23 = linalg.fill ins(%zero : f32) outs(%v22 : tensor<1x2x4x16x16xf32>) -> tensor<1x2x4x16x16xf32>
    %v24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%v19, %v20 : tensor<1x16x2x4x8xf32>, tensor<1x16x2x8xf32>) outs(%v23 : tensor<1x2x4x16x16xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x2x4x16x16xf32>
    %v25 = tensor.empty() : tensor<1x2x4x16x16xf32>
    %v26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%v24 : tensor<1x2x4x16x16xf32>) outs(%v25 : tensor<1x2x4x16x16xf32>) {
    ^bb0(%a0: f32, %o: f32):
      %i0 = linalg.index 3 : index
      %i1 = linalg.index 4 : index
      %see = arith.cmpi sge, %i0, %i1 : index
      %m = arith.mulf %a0, %scale : f32
      %s = arith.select %see, %m, %low : f32
      linalg.yield %s : f32
    } -> tensor<1x2x4x16x16xf32>
    %v27 = tensor.empty() : tensor<1x2x4x16xf32>
    %v28 = linalg.fill ins(%low : f32) outs(%v27 : tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
    %v29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%v26 : tensor<1x2x4x16x16xf32>) outs(%v28 : tensor<1x2x4x16xf32>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.maximumf %o, %a0 : f32
      linalg.yield %m : f32
    } -> tensor<1x2x4x16xf32>
    %v30 = tensor.empty() : tensor<1x2x4x16x16xf32>
    %v31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%v26, %v29 : tensor<1x2x4x16x16xf32>, tensor<1x2x4x16xf32>) outs(%v30 : tensor<1x2x4x16x16xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %d = arith.subf %a0, %a1 : f32
      %e = math.exp %d : f32
      linalg.yield %e : f32
    } -> tensor<1x2x4x16x16xf32>
    %v32 = tensor.empty() : tensor<1x2x4x16xf32>
    %v33 = linalg.fill ins(%zero : f32) outs(%v32 : tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
    %v34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%v31 : tensor<1x2x4x16x16xf32>) outs(%v33 : tensor<1x2x4x16xf32>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.addf %o, %a0 : f32
      linalg.yield %m : f32
    } -> tensor<1x2x4x16xf32>
    %v35 = tensor.empty() : tensor<1x2x4x16x16xf32>
    %v36 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
        ins(%v31, %v34 : tensor<1x2x4x16x16xf32>, tensor<1x2x4x16xf32>) outs(%v35 : tensor<1x2x4x16x16xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %d = arith.divf %a0, %a1 : f32
      linalg.yield %d : f32
    } -> tensor<1x2x4x16x16xf32>
    %v37 = tensor.empty() : tensor<1x16x2x4x8xf32>
    %v38 = linalg.fill ins(%zero : f32) outs(%v37 : tensor<1x16x2x4x8xf32>) -> tensor<1x16x2x4x8xf32>
    %v39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3, d1, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%v36, %v21 : tensor<1x2x4x16x16xf32>, tensor<1x16x2x8xf32>) outs(%v38 : tensor<1x16x2x4x8xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16x2x4x8xf32>
    %v40 = tensor.collapse_shape %v39 [[0], [1], [2, 3, 4]] : tensor<1x16x2x4x8xf32> into tensor<1x16x64xf32>
    %v41 = tp.parameter "blk.{i}.epsilon" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x64xf32>
    %v42 = tensor.empty() : tensor<1x16x64xf32>
    %v43 = linalg.fill ins(%zero : f32) outs(%v42 : tensor<1x16x64xf32>) -> tensor<1x16x64xf32>
    %v44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%v40, %v41 : tensor<1x16x64xf32>, tensor<64x64xf32>) outs(%v43 : tensor<1x16x64xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16x64xf32>
    %v45 = arith.addf %c, %v44 : tensor<1x16x64xf32>
    %v46 = tp.parameter "blk.{i}.zeta" : tensor<64xf32>
    %v47 = tensor.empty() : tensor<1x16xf32>
    %v48 = linalg.fill ins(%zero : f32) outs(%v47 : tensor<1x16xf32>) -> tensor<1x16xf32>
    %v49 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%v45 : tensor<1x16x64xf32>) outs(%v48 : tensor<1x16xf32>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.mulf %a0, %a0 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16xf32>
    %v50 = tensor.empty() : tensor<1x16x64xf32>
    %v51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%v45, %v49, %v46 : tensor<1x16x64xf32>, tensor<1x16xf32>, tensor<64xf32>) outs(%v50 : tensor<1x16x64xf32>) {
    ^bb0(%a0: f32, %a1: f32, %a2: f32, %o: f32):
      %q = arith.divf %a1, %width : f32
      %e = arith.addf %q, %eps : f32
      %r = math.rsqrt %e : f32
      %n = arith.mulf %a0, %r : f32
      %y = arith.mulf %n, %a2 : f32
      linalg.yield %y : f32
    } -> tensor<1x16x64xf32>
    %v52 = tp.parameter "blk.{i}.eta" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<128x64xf32>
    %v53 = tensor.empty() : tensor<1x16x128xf32>
    %v54 = linalg.fill ins(%zero : f32) outs(%v53 : tensor<1x16x128xf32>) -> tensor<1x16x128xf32>
    %v55 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%v51, %v52 : tensor<1x16x64xf32>, tensor<128x64xf32>) outs(%v54 : tensor<1x16x128xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16x128xf32>
    %v56 = tp.parameter "blk.{i}.theta" : tensor<128x64xf32>
    %v57 = tensor.empty() : tensor<1x16x128xf32>
    %v58 = linalg.fill ins(%zero : f32) outs(%v57 : tensor<1x16x128xf32>) -> tensor<1x16x128xf32>
    %v59 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%v51, %v56 : tensor<1x16x64xf32>, tensor<128x64xf32>) outs(%v58 : tensor<1x16x128xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16x128xf32>
    %v60 = tensor.empty() : tensor<1x16x128xf32>
    %v62 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%v55, %v59 : tensor<1x16x128xf32>, tensor<1x16x128xf32>) outs(%v60 : tensor<1x16x128xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %ng = arith.negf %a0 : f32
      %ee = math.exp %ng : f32
      %one = arith.constant 1.0 : f32
      %dn = arith.addf %ee, %one : f32
      %sg = arith.divf %a0, %dn : f32
      %y = arith.mulf %sg, %a1 : f32
      linalg.yield %y : f32
    } -> tensor<1x16x128xf32>
    %v63 = tp.parameter "blk.{i}.iota" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x128xf32>
    %v64 = tensor.empty() : tensor<1x16x64xf32>
    %v65 = linalg.fill ins(%zero : f32) outs(%v64 : tensor<1x16x64xf32>) -> tensor<1x16x64xf32>
    %v66 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%v62, %v63 : tensor<1x16x128xf32>, tensor<64x128xf32>) outs(%v65 : tensor<1x16x64xf32>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<1x16x64xf32>
    %v67 = arith.addf %v45, %v66 : tensor<1x16x64xf32>
    tp.yield %v67 : tensor<1x16x64xf32>
  }
  return %r : tensor<1x16x64xf32>
}
