// Heads that the degree does not divide: KV heads are cut first, then the query
// heads of each, and a remark says what is padding.
//
// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=8' 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=3' 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=7' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not tp-opt %s --tp-annotate='plan=megatron mesh=tp=11' 2>&1 | FileCheck %s --check-prefix=WASTE
// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=11 allow-padding' 2>&1 | FileCheck %s --check-prefix=ALLOWED
//
// The weights of a rank, and the mask of heads that average real values.
//
// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=8' --tp-propagate-pipeline --tp-partition-pipeline 2>/dev/null | FileCheck %s --check-prefix=PARTS
//
// It is the program of one rank.
//
// RUN: tp-verify %s --mesh tp=8 | FileCheck %s --check-prefix=EQUAL
// RUN: tp-verify %s --mesh tp=3 | FileCheck %s --check-prefix=EQUAL
// RUN: tp-verify %s --mesh tp=7 | FileCheck %s --check-prefix=EQUAL
// RUN: tp-verify %s --mesh tp=11 | FileCheck %s --check-prefix=EQUAL

// BOTH: remark: 12 query heads and 4 key/value heads over 8 ranks: 4 x 2, 2 query heads and 1 KV head a rank, 4 of 16 query heads padding; next best: 8 x 1, 3 query heads and 1 KV head a rank, 12 of 24 query heads padding; 2 x 4, 2 query heads and 2 KV heads a rank, 4 of 16 query heads padding
// BOTH: "q_proj.weight" {{.*}}[{"tp" grain 8 block 24 by 4}, {}]
// BOTH: "k_proj.weight" {{.*}}[{"tp":(1)4}, {}]
// BOTH: "o_proj.weight" {{.*}}[{}, {"tp" grain 8 block 24 by 4}]

// KEYS: remark: 12 query heads and 4 key/value heads over 3 ranks: 3 x 1, 6 query heads and 2 KV heads a rank, 6 of 18 query heads padding; next best: 1 x 3, 4 query heads and 4 KV heads a rank, 0 of 12 query heads padding
// KEYS: "q_proj.weight" {{.*}}[{"tp" grain 24}, {}]
// KEYS: "k_proj.weight" {{.*}}[{"tp" grain 8}, {}]

// EMPTY: remark: 12 query heads and 4 key/value heads over 7 ranks: 7 x 1, 3 query heads and 1 KV head a rank, 9 of 21 query heads padding;
// EMPTY: "q_proj.weight" {{.*}}[{"tp" grain 24}, {}]
// EMPTY: "k_proj.weight" {{.*}}[{"tp" grain 8}, {}]

// WASTE: 'nn.attention' op at {{.*}}: degree 11 does not fit 12 query heads and 4 key/value heads: at best 11 x 1, 3 query heads and 1 KV head a rank, 21 of 33 query heads padding; --allow-padding compiles it; degrees that fit: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12
// ALLOWED: "q_proj.weight" {{.*}}[{"tp" grain 24}, {}]

// PARTS: tp.parameter "q_proj.weight" {{.*}} : tensor<16x16xf32>
// PARTS: tp.parameter "k_proj.weight" {{.*}} : tensor<8x16xf32>
// PARTS: tp.parameter "o_proj.weight" {{.*}} : tensor<16x16xf32>
// PARTS: nn.attention {{.*}}(tensor<1x6x2x8xf32>, tensor<1x6x1x8xf32>, tensor<1x6x1x8xf32>) -> tensor<1x6x2x8xf32>
// PARTS: tensor.expand_shape {{.*}}tensor<1x6x16xf32> into tensor<1x6x1x16xf32>
// PARTS: tp.rank @mesh ["tp":(4)2]
// PARTS: arith.select
// PARTS: tensor.collapse_shape {{.*}}tensor<1x6x1x16xf32> into tensor<1x6x16xf32>
// PARTS: tp.all_reduce

// EQUAL: partition @main: equal
func.func @main(%x: tensor<1x6x16xf32>) -> tensor<1x6x16xf32> {
  %wq = tp.parameter "q_proj.weight" : tensor<96x16xf32>
  %wk = tp.parameter "k_proj.weight" : tensor<32x16xf32>
  %wo = tp.parameter "o_proj.weight" : tensor<16x96xf32>
  %q = nn.linear %x, %wq : (tensor<1x6x16xf32>, tensor<96x16xf32>) -> tensor<1x6x96xf32>
  %k = nn.linear %x, %wk : (tensor<1x6x16xf32>, tensor<32x16xf32>) -> tensor<1x6x32xf32>
  %q1 = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [1, 6, 12, 8] : tensor<1x6x96xf32> into tensor<1x6x12x8xf32>
  %k1 = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [1, 6, 4, 8] : tensor<1x6x32xf32> into tensor<1x6x4x8xf32>
  %o = nn.attention %q1, %k1, %k1 {causal, scale = 0.35 : f64} : (tensor<1x6x12x8xf32>, tensor<1x6x4x8xf32>, tensor<1x6x4x8xf32>) -> tensor<1x6x12x8xf32>
  %c = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<1x6x12x8xf32> into tensor<1x6x96xf32>
  %y = nn.linear %c, %wo : (tensor<1x6x96xf32>, tensor<16x96xf32>) -> tensor<1x6x16xf32>
  return %y : tensor<1x6x16xf32>
}
