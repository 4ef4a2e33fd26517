// RUN: tp-opt %s --tp-derive-steps="rows=2 chunk=4" | FileCheck %s
// RUN: tp-verify %s --generate --page 2 --rows 2 --chunk 4 --mesh tp=2 --plan %S/Inputs/plan.json | FileCheck %s --check-prefix=SAME
// SAME: @step_4{{.*}} 16 steps: equal

// What depends on positions, in all the forms that it comes in: a table of
// constants, which is what limits the context; numbers in steps; linalg.index;
// rotations; a bias of heads and keys that is a multiple of the position; a
// parameter that has the first rows of a longer tensor; a constant that is the
// same everywhere; a short convolution.

// CHECK: tp.generation = {cells = 64 : i64, chunk = 4 : i64, context = 8 : i64, conv_inputs = 2 : i64,
// The whole table is read by @main, too.
// CHECK: func.func @main
// CHECK: tp.parameter "factors" : tensor<12x4xf32>
// CHECK: func.func @step_4(
// CHECK: %{{.*}}, %[[AT:.*]], %{{.*}} = nn.token_places
// CHECK-DAG: nn.embedding %[[AT]], %{{.*}} : (tensor<4xi32>, tensor<12x4xf32>) -> tensor<4x4xf32>
// CHECK-DAG: nn.embedding %[[AT]], %{{.*}} : (tensor<4xi32>, tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK-DAG: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[AT]] : tensor<i64>, tensor<i64>, tensor<4xi32>) outs(%{{.*}} : tensor<4xi64>)
// CHECK-DAG: linalg.generic {{.*}} ins({{.*}}, %[[AT]] : {{.*}}, tensor<4xi32>) outs(%{{.*}} : tensor<1x4x4xf32>)
// CHECK: nn.paged_conv
// CHECK: nn.rotary_table positions %[[AT]] : tensor<4xi32>
// The bias is of the cells of a row's pages, whichever they are.
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x32xf32>)
// CHECK: linalg.index 1 : index
// CHECK: nn.paged_attention {{.*}} bias
func.func @main(%ids: tensor<2x8xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 16>},
                %mask: tensor<2x8xi64> {tp.default = "ones", tp.name = "attention_mask"}) -> (tensor<2x8x16xf32> {tp.name = "logits"}) {
  %words = tp.parameter "words" : tensor<16x4xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %table = arith.constant dense<[[[0.1, 0.2, 0.3, 0.4]], [[0.5, 0.6, 0.7, 0.8]], [[0.9, 1.0, 1.1, 1.2]], [[0.2, 0.1, 0.4, 0.3]], [[0.6, 0.5, 0.8, 0.7]], [[1.0, 0.9, 1.2, 1.1]], [[0.3, 0.4, 0.1, 0.2]], [[0.7, 0.8, 0.5, 0.6]]]> : tensor<8x1x4xf32>
  %rows = tensor.collapse_shape %table [[0, 1], [2]] : tensor<8x1x4xf32> into tensor<8x4xf32>
  %factors = tp.parameter "factors" source <shape = [12, 4], offsets = [0, 0], permutation = [0, 1]> : tensor<8x4xf32>
  %numbers = arith.constant dense<[3, 5, 7, 9, 11, 13, 15, 17]> : tensor<8xi64>
  %half = arith.constant dense<0.5> : tensor<8x4xf32>
  %e = tensor.empty() : tensor<2x8x4xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (s, h)>, affine_map<(b, s, h) -> (s, h)>, affine_map<(b, s, h) -> (s)>, affine_map<(b, s, h) -> (s, h)>, affine_map<(b, s, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %rows, %factors, %numbers, %half : tensor<2x8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xi64>, tensor<8x4xf32>) outs(%e : tensor<2x8x4xf32>) {
  ^bb0(%a: f32, %r: f32, %f: f32, %n: i64, %c: f32, %o: f32):
    %at = linalg.index 1 : index
    %i = arith.index_cast %at : index to i64
    %both = arith.addi %i, %n : i64
    %number = arith.sitofp %both : i64 to f32
    %by = arith.constant 0.03 : f32
    %small = arith.mulf %number, %by : f32
    %0 = arith.addf %a, %r : f32
    %1 = arith.mulf %f, %c : f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.addf %2, %small : f32
    linalg.yield %3 : f32
  } -> tensor<2x8x4xf32>
  %taps = tp.parameter "conv" : tensor<4x1x3xf32>
  %near = nn.causal_conv %h, %taps : (tensor<2x8x4xf32>, tensor<4x1x3xf32>) -> tensor<2x8x4xf32>
  %w = tp.parameter "layers.0.qkv" : tensor<8x4xf32>
  %l = nn.linear %near, %w : (tensor<2x8x4xf32>, tensor<8x4xf32>) -> tensor<2x8x8xf32>
  %q = tensor.expand_shape %l [[0], [1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<2x8x8xf32> into tensor<2x8x2x4xf32>
  %cos, %sin = nn.rotary_table {inv_freq = dense<[1.0, 0.1]> : tensor<2xf32>} : tensor<8x2xf32>, tensor<8x2xf32>
  %turned = nn.rotary %q, %cos, %sin : (tensor<2x8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2x8x2x4xf32>
  %slopes = arith.constant dense<[[[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]], [[0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875]]]> : tensor<2x1x8xf32>
  %eb = tensor.empty() : tensor<2x8x8xf32>
  %bias = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (h, 0, j)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%slopes : tensor<2x1x8xf32>) outs(%eb : tensor<2x8x8xf32>) {
  ^bb0(%s: f32, %o: f32):
    linalg.yield %s : f32
  } -> tensor<2x8x8xf32>
  %a = nn.attention %turned, %turned, %q mask %mask bias %bias {causal, scale = 0.5 : f64} : (tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8xi64>, tensor<2x8x8xf32>) -> tensor<2x8x2x4xf32>
  %half_heads = tensor.extract_slice %a[0, 0, 1, 0] [2, 8, 1, 4] [1, 1, 1, 1] : tensor<2x8x2x4xf32> to tensor<2x8x4xf32>
  %logits = nn.linear %half_heads, %words : (tensor<2x8x4xf32>, tensor<16x4xf32>) -> tensor<2x8x16xf32>
  return %logits : tensor<2x8x16xf32>
}
