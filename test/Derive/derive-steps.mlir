// RUN: tp-opt %s --tp-derive-steps="context=40 rows=2 chunk=4" | FileCheck %s
// Each step of a random script says what @main does, on one device and on two.
// RUN: tp-verify %s --generate --context 24 --page 8 --rows 2 --chunk 4 --mesh tp=2 --plan %S/Inputs/plan.json | FileCheck %s --check-prefix=SAME
// SAME: @step_4{{.*}} 16 steps: equal

// Eight positions, two texts and eight channels: which is which shows in what
// becomes of them. Positions are rows of a table (here those from the third
// on), and attention sees keys through a window of five. Behind the last layer
// two rows are left of four tokens.

// CHECK: tp.generation = {cells = 128 : i64, chunk = 4 : i64, context = 40 : i64, page = 32 : i64, rows = 2 : i64, stop_ids = array<i64>, vocabulary = 16 : i64, window = 5 : i64}
// CHECK-DAG: tp.state @keys : tensor<3x128x2x4xf32>
// CHECK-DAG: tp.state @values : tensor<3x128x2x4xf32>
// CHECK: func.func @main(
// CHECK: func.func @step_1(
// CHECK: func.func @step_2(
// CHECK: func.func @step_4(
// CHECK-SAME: %[[IDS:[a-z0-9]+]]: tensor<1x4xi32> {tp.name = "ids", tp.range = array<i64: 0, 16>}
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<2x2xi32> {tp.name = "table"
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<3x128x2x4xf32> {tp.state = @keys}, %[[V:[a-z0-9]+]]: tensor<3x128x2x4xf32> {tp.state = @values}
// CHECK: %[[ROWS:.*]], %[[AT:.*]], %[[CELLS:.*]] = nn.token_places
// CHECK: nn.embedding %[[IDS]], %{{.*}} -> tensor<1x4x8xf32>
// CHECK: %[[PLACES:.*]] = tp.parameter "places" : tensor<64x8xf32>
// CHECK: %[[FROM:.*]] = arith.addi %[[AT]], %{{.*}} : tensor<4xi32>
// CHECK: nn.embedding %[[FROM]], %[[PLACES]]
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x4x8xf32>)
// CHECK: tp.repeat 3 times iter(%{{.*}}) stacked(%[[K]], %[[V]])
// CHECK: ^bb0(%{{.*}}: index, %[[X:.*]]: tensor<1x4x8xf32>, %[[KEYS:.*]]: tensor<128x2x4xf32>, %[[VALUES:.*]]: tensor<128x2x4xf32>):
// CHECK: tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
// CHECK: %[[NEXT:.*]] = nn.cache_write %{{.*}}, %[[CELLS]], %[[KEYS]]
// CHECK: nn.cache_write %{{.*}}, %[[CELLS]], %[[VALUES]]
// CHECK: nn.paged_attention %{{.*}}, %[[NEXT]], %{{.*}}, %[[ROWS]], %[[AT]], %[[TABLE]] {page = 32 : i64, scale = 5.000000e-01 : f64, window = 5 : i64}
// CHECK: tp.yield
// CHECK: nn.embedding %{{.*}} : (tensor<1x2xi32>, tensor<4x8xf32>) -> tensor<1x2x8xf32>
// CHECK: nn.linear %{{.*}} -> tensor<1x2x16xf32>
// CHECK: %[[LOGITS:.*]] = tensor.collapse_shape {{.*}} into tensor<2x16xf32>
// CHECK: nn.sample %[[LOGITS]]
func.func @main(%ids: tensor<2x8xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 16>}) -> (tensor<2x8x16xf32> {tp.name = "logits"}) {
  %words = tp.parameter "words" : tensor<16x8xf32>
  %x = nn.embedding %ids, %words : (tensor<2x8xi64>, tensor<16x8xf32>) -> tensor<2x8x8xf32>
  %table = tp.parameter "places" : tensor<64x8xf32>
  %places = tensor.extract_slice %table[2, 0] [8, 8] [1, 1] : tensor<64x8xf32> to tensor<8x8xf32>
  %e = tensor.empty() : tensor<2x8x8xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (s, h)>, affine_map<(b, s, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %places : tensor<2x8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<2x8x8xf32>) {
  ^bb0(%a: f32, %p: f32, %o: f32):
    %sum = arith.addf %a, %p : f32
    linalg.yield %sum : f32
  } -> tensor<2x8x8xf32>
  %y = tp.repeat 3 times iter(%h) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32> {
  ^bb0(%i: index, %c: tensor<2x8x8xf32>):
    %w = tp.parameter "layers.{i}.qkv" : tensor<8x8xf32>
    %rows = tensor.collapse_shape %c [[0, 1], [2]] : tensor<2x8x8xf32> into tensor<16x8xf32>
    %l = nn.linear %rows, %w : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %q = tensor.expand_shape %l [[0, 1], [2, 3]] output_shape [2, 8, 2, 4] : tensor<16x8xf32> into tensor<2x8x2x4xf32>
    %a = nn.attention %q, %q, %q {causal, scale = 0.5 : f64, window = 5 : i64} : (tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>) -> tensor<2x8x2x4xf32>
    %m = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<2x8x2x4xf32> into tensor<2x8x8xf32>
    %r = arith.addf %c, %m : tensor<2x8x8xf32>
    tp.yield %r : tensor<2x8x8xf32>
  }
  %logits = nn.linear %y, %words : (tensor<2x8x8xf32>, tensor<16x8xf32>) -> tensor<2x8x16xf32>
  return %logits : tensor<2x8x16xf32>
}
