// RUN: tp-opt %s --tp-derive-steps="rows=2 chunk=4" | FileCheck %s
// RUN: tp-verify %s --generate --page 2 --rows 2 --chunk 4 --mesh tp=2 --plan %S/Inputs/plan.json | FileCheck %s --check-prefix=SAME
// SAME: @step_4{{.*}} 16 steps: equal

// Positions that are counted by the padding mask, and a bias of them: a step has
// no padding, so that they are the tokens' own, and the mask is no input. The
// table has 10 rows, of which the first position takes the third.

// CHECK: tp.generation = {{.*}}chunk = 4 : i64, context = 8 : i64
// CHECK: func.func @step_4(
// CHECK-NOT: attention_mask
// CHECK: %{{.*}}, %[[AT:.*]], %{{.*}} = nn.token_places
// CHECK: %[[NUMBERS:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[AT]] : tensor<i64>, tensor<i64>, tensor<4xi32>)
// CHECK: nn.embedding {{.*}} tensor<10x4xf32>
// CHECK: nn.paged_attention {{.*}} bias
func.func @main(%ids: tensor<2x8xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 16>},
                %mask: tensor<2x8xi64> {tp.default = "ones", tp.name = "attention_mask", tp.range = array<i64: 1, 2>}) -> (tensor<2x8x16xf32> {tp.name = "logits"}) {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %places = tp.parameter "places" : tensor<10x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<2x8xi64>
  %none = linalg.fill ins(%zero : i64) outs(%e : tensor<2x8xi64>) -> tensor<2x8xi64>
  %sums = linalg.generic {indexing_maps = [affine_map<(b, s, t) -> (b, t)>, affine_map<(b, s, t) -> (b, s)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%mask : tensor<2x8xi64>) outs(%none : tensor<2x8xi64>) {
  ^bb0(%m: i64, %o: i64):
    %here = linalg.index 1 : index
    %there = linalg.index 2 : index
    %before = arith.cmpi ule, %there, %here : index
    %nothing = arith.constant 0 : i64
    %term = arith.select %before, %m, %nothing : i64
    %sum = arith.addi %o, %term : i64
    linalg.yield %sum : i64
  } -> tensor<2x8xi64>
  %counted = arith.muli %sums, %mask : tensor<2x8xi64>
  %numbers = linalg.generic {indexing_maps = [affine_map<(b, s) -> (b, s)>, affine_map<(b, s) -> (b, s)>], iterator_types = ["parallel", "parallel"]}
      ins(%counted : tensor<2x8xi64>) outs(%e : tensor<2x8xi64>) {
  ^bb0(%n: i64, %o: i64):
    %one = arith.constant 1 : i64
    %next = arith.addi %n, %one : i64
    linalg.yield %next : i64
  } -> tensor<2x8xi64>
  %p = nn.embedding %numbers, %places : (tensor<2x8xi64>, tensor<10x4xf32>) -> tensor<2x8x4xf32>
  %h = arith.addf %x, %p : tensor<2x8x4xf32>
  %w = tp.parameter "layers.0.qkv" : tensor<8x4xf32>
  %l = nn.linear %h, %w : (tensor<2x8x4xf32>, tensor<8x4xf32>) -> tensor<2x8x8xf32>
  %q = tensor.expand_shape %l [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
  %slopes = arith.constant dense<[0.5, 0.125]> : tensor<2xf32>
  %eb = tensor.empty() : tensor<2x8x8xf32>
  %bias = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (0, j)>, affine_map<(h, i, j) -> (h)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%counted, %slopes : tensor<2x8xi64>, tensor<2xf32>) outs(%eb : tensor<2x8x8xf32>) {
  ^bb0(%n: i64, %s: f32, %o: f32):
    %one = arith.constant 1 : i64
    %place = arith.subi %n, %one : i64
    %number = arith.sitofp %place : i64 to f32
    %b = arith.mulf %number, %s : f32
    linalg.yield %b : f32
  } -> tensor<2x8x8xf32>
  %a = nn.attention %q, %q, %q mask %mask bias %bias {causal, scale = 0.5 : f64} : (tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8xi64>, tensor<2x8x8xf32>) -> tensor<2x8x2x4xf32>
  %half_heads = tensor.extract_slice %a[0, 0, 1, 0] [2, 8, 1, 4] [1, 1, 1, 1] : tensor<2x8x2x4xf32> to tensor<2x8x4xf32>
  %logits = nn.linear %half_heads, %words : (tensor<2x8x4xf32>, tensor<16x4xf32>) -> tensor<2x8x16xf32>
  return %logits : tensor<2x8x16xf32>
}
