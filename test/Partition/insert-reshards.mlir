// RUN: tp-opt --split-input-file --tp-insert-reshards %s | FileCheck %s

// Three uses of one partial sum: two need it whole and share the all-reduce, one
// needs it split and takes its part of the whole. The gate and up projections
// share one gather.

#rep = #tp.sharding<@mesh, [{}, {}, {}]>
#seq = #tp.sharding<@mesh, [{}, {"tp"}, {}]>
#col = #tp.sharding<@mesh, [{}, {}, {"tp"}]>
#part = #tp.sharding<@mesh, [{}, {}, {}], partial sum {"tp"}>
#w0 = #tp.sharding<@mesh, [{"tp"}, {}]>
#w1 = #tp.sharding<@mesh, [{}, {"tp"}]>

tp.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @shared_gather
// CHECK-SAME: %[[X:.*]]: tensor<1x8x16xf32>
func.func @shared_gather(%x: tensor<1x8x16xf32> {tp.sharding = #seq,
      tp.because = [{annotation = "x dim 1 on \22tp\22", axis = "tp", dim = 1 : i64, via = ""}]})
    -> (tensor<1x8x64xf32> {tp.sharding = #col}) {
  %w0 = tp.parameter "gate.weight" {tp.shardings = [#w0]} : tensor<64x16xf32>
  %w1 = tp.parameter "up.weight" {tp.shardings = [#w0]} : tensor<64x16xf32>
  // CHECK: %[[WHOLE:.*]] = tp.reshard %[[X]] from <@mesh, [{}, {"tp"}, {}]> to <@mesh, [{}, {}, {}]>
  // CHECK-SAME: cause = "sequence-parallel boundary: nn.linear splits factor n over \22tp\22 and needs dimension 1 whole"
  // CHECK-SAME: annotation = "x dim 1 on \22tp\22"
  // CHECK-SAME: pass = "tp-insert-reshards"
  // CHECK-NOT: tp.reshard
  // CHECK: nn.linear %[[WHOLE]]
  // CHECK: nn.linear %[[WHOLE]]
  %g = nn.linear %x, %w0 {tp.shardings = [#col]} : (tensor<1x8x16xf32>, tensor<64x16xf32>) -> tensor<1x8x64xf32>
  %u = nn.linear %x, %w1 {tp.shardings = [#col]} : (tensor<1x8x16xf32>, tensor<64x16xf32>) -> tensor<1x8x64xf32>
  %p = arith.mulf %g, %u {tp.shardings = [#col]} : tensor<1x8x64xf32>
  return %p : tensor<1x8x64xf32>
}

// CHECK-LABEL: func.func @reduce_once
func.func @reduce_once(%x: tensor<1x8x64xf32> {tp.sharding = #col}, %s: tensor<1x8x16xf32> {tp.sharding = #seq})
    -> (tensor<1x8x16xf32> {tp.sharding = #rep}, tensor<1x8x16xf32> {tp.sharding = #rep}, tensor<1x8x16xf32> {tp.sharding = #seq}) {
  %w = tp.parameter "down.weight" {tp.shardings = [#w1]} : tensor<16x64xf32>
  // CHECK: %[[Y:.*]] = nn.linear
  %y = nn.linear %x, %w {tp.shardings = [#part]} : (tensor<1x8x64xf32>, tensor<16x64xf32>) -> tensor<1x8x16xf32>
  // CHECK: %[[WHOLE:.*]] = tp.reshard %[[Y]] from <@mesh, [{}, {}, {}], partial sum {"tp"}> to <@mesh, [{}, {}, {}]>
  // CHECK-SAME: cause = "partial sum of nn.linear over factor k"
  // CHECK: nn.silu %[[WHOLE]]
  %a = nn.silu %y {tp.shardings = [#rep]} : tensor<1x8x16xf32>
  // CHECK: math.exp %[[WHOLE]]
  %e = math.exp %y {tp.shardings = [#rep]} : tensor<1x8x16xf32>
  // CHECK: %[[PART:.*]] = tp.reshard %[[WHOLE]] from <@mesh, [{}, {}, {}]> to <@mesh, [{}, {"tp"}, {}]>
  // CHECK: arith.addf %[[PART]], %{{.*}}
  %r = arith.addf %y, %s {tp.shardings = [#seq]} : tensor<1x8x16xf32>
  return %a, %e, %r : tensor<1x8x16xf32>, tensor<1x8x16xf32>, tensor<1x8x16xf32>
}

// A whole bias beside a partial sum counts on one rank only.
// CHECK-LABEL: func.func @bias_once
func.func @bias_once(%x: tensor<1x8x64xf32> {tp.sharding = #col}) -> (tensor<1x8x16xf32> {tp.sharding = #seq}) {
  %w = tp.parameter "w" {tp.shardings = [#w1]} : tensor<16x64xf32>
  // CHECK: %[[B:.*]] = tp.parameter "b"
  %b = tp.parameter "b" {tp.shardings = [#tp.sharding<@mesh, [{}]>]} : tensor<16xf32>
  // CHECK: %[[ONCE:.*]] = tp.reshard %[[B]] from <@mesh, [{}]> to <@mesh, [{}], partial sum {"tp"}>
  // CHECK: %[[Y:.*]] = nn.linear %{{.*}}, %{{.*}} bias %[[ONCE]]
  %y = nn.linear %x, %w bias %b {tp.shardings = [#part]} : (tensor<1x8x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
  // CHECK: tp.reshard %[[Y]] from <@mesh, [{}, {}, {}], partial sum {"tp"}> to <@mesh, [{}, {"tp"}, {}]>
  // CHECK-SAME: cause = "sequence-parallel boundary: partial sum of nn.linear over factor k, split along dimension 1"
  return %y : tensor<1x8x16xf32>
}

// The gather of what a repeated layer uses from above stays outside of it, and
// the layer yields what it carries.
// CHECK-LABEL: func.func @layers
func.func @layers(%x: tensor<1x8x16xf32> {tp.sharding = #rep}, %s: tensor<1x8x16xf32> {tp.sharding = #seq}) -> (tensor<1x8x16xf32> {tp.sharding = #rep}) {
  // CHECK: %[[S:.*]] = tp.reshard %{{.*}} from <@mesh, [{}, {"tp"}, {}]> to <@mesh, [{}, {}, {}]>
  // CHECK: tp.repeat 4 times
  %h = tp.repeat 4 times iter(%x) {tp.shardings = [#rep]} : (tensor<1x8x16xf32>) -> tensor<1x8x16xf32> {
  ^bb0(%i: index, %c: tensor<1x8x16xf32>):
    %w = tp.parameter "layers.{i}.w" {tp.shardings = [#w1]} : tensor<16x16xf32>
    // CHECK: arith.mulf %{{.*}}, %[[S]]
    %m = arith.mulf %c, %s {tp.shardings = [#rep]} : tensor<1x8x16xf32>
    // CHECK: tp.reshard %{{.*}} from <@mesh, [{}, {}, {}]> to <@mesh, [{}, {}, {"tp"}]>
    // CHECK: %[[Y:.*]] = nn.linear
    %y = nn.linear %m, %w {tp.shardings = [#part]} : (tensor<1x8x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
    // CHECK: %[[NEXT:.*]] = tp.reshard %[[Y]]
    // CHECK: tp.yield %[[NEXT]]
    tp.yield %y : tensor<1x8x16xf32>
  }
  return %h : tensor<1x8x16xf32>
}

// Zeros are a partial sum of themselves, and a whole maximum a partial one.
// CHECK-LABEL: func.func @neutral
// CHECK-NOT: tp.reshard
func.func @neutral(%x: tensor<8x4xf32> {tp.sharding = #w0}) -> (tensor<4xf32> {tp.sharding = #tp.sharding<@mesh, [{}], partial sum {"tp"}>}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() {tp.shardings = [#tp.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %f = linalg.fill {tp.shardings = [#tp.sharding<@mesh, [{}]>]} ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%f : tensor<4xf32>) attrs = {tp.shardings = [#tp.sharding<@mesh, [{}], partial sum {"tp"}>]} {
  ^bb0(%a: f32, %acc: f32):
    %n = arith.addf %acc, %a : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  return %s : tensor<4xf32>
}
