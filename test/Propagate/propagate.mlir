// RUN: tp-opt %s --tp-propagate --tp-verify-propagated --split-input-file --mlir-print-local-scope | FileCheck %s

// A Megatron MLP: one annotation splits the hidden width everywhere and makes
// the second layer's result a partial sum; its bias stays whole and the
// function's result is whole.

// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>
// CHECK-SAME: -> (tensor<2x8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>})
// CHECK: tp.parameter "up.bias" {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]
// CHECK: tp.parameter "down.weight" {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]
// CHECK: tp.parameter "down.bias" {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}]>]
// CHECK: nn.gelu {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {}, {"tp"}]>]
// CHECK: nn.linear {{.*}}annotation = "up.weight dim 0 on \22tp\22", axis = "tp", partial, via = "nn.linear over k at
// CHECK-SAME: tp.shardings = [#tp.sharding<@mesh, [{}, {}, {}], partial sum {"tp"}>]
tp.mesh @mesh <["tp"=4]>
func.func @mlp(%x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %up = tp.parameter "up.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<256x64xf32>
  %up_bias = tp.parameter "up.bias" : tensor<256xf32>
  %down = tp.parameter "down.weight" : tensor<64x256xf32>
  %down_bias = tp.parameter "down.bias" : tensor<64xf32>
  %h = nn.linear %x, %up bias %up_bias : (tensor<2x8x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<2x8x256xf32>
  %a = nn.gelu tanh %h : tensor<2x8x256xf32>
  %y = nn.linear %a, %down bias %down_bias : (tensor<2x8x256xf32>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<2x8x64xf32>
  return %y : tensor<2x8x64xf32>
}

// -----

// Backwards: the annotation of the second layer reaches the first.

// CHECK-LABEL: func.func @backward(
// CHECK: tp.parameter "up.weight" {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]
tp.mesh @mesh <["tp"=4]>
func.func @backward(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %up = tp.parameter "up.weight" : tensor<256x64xf32>
  %down = tp.parameter "down.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x256xf32>
  %h = nn.linear %x, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
  %a = nn.silu %h : tensor<8x256xf32>
  %y = nn.linear %a, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// Partial sums pass through scaling and meet in one addition; widening, which
// would double the bytes, needs the sum.

// CHECK-LABEL: func.func @delayed(
// CHECK: arith.mulf {{.*}}partial sum {"tp"}>]
// CHECK: arith.addf {{.*}}partial sum {"tp"}>]
// CHECK: arith.extf {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {}]>]
tp.mesh @mesh <["tp"=4]>
func.func @delayed(%x: tensor<8x256xbf16>) -> tensor<8x64xf32> {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x256xbf16>
  %u = tp.parameter "u" : tensor<64x256xbf16>
  %s = arith.constant dense<2.0> : tensor<8x64xbf16>
  %a = nn.linear %x, %w : (tensor<8x256xbf16>, tensor<64x256xbf16>) -> tensor<8x64xbf16>
  %b = nn.linear %x, %u : (tensor<8x256xbf16>, tensor<64x256xbf16>) -> tensor<8x64xbf16>
  %c = arith.mulf %a, %s : tensor<8x64xbf16>
  %d = arith.addf %b, %c : tensor<8x64xbf16>
  %e = arith.extf %d : tensor<8x64xbf16> to tensor<8x64xf32>
  return %e : tensor<8x64xf32>
}

// -----

// A partial sum added to a value that is split takes that value's layout, and
// one with a second use is summed once, not on both ways.

// CHECK-LABEL: func.func @meets_split(
// CHECK: nn.linear {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>]
// CHECK: arith.addf {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]
// CHECK: arith.mulf {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {}]>]
tp.mesh @mesh <["tp"=4]>
func.func @meets_split(%x: tensor<8x256xf32>, %r: tensor<8x64xf32> {tp.name = "r"}) -> (tensor<8x64xf32>, tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}]>}) {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x256xf32>
  %s = arith.constant dense<2.0> : tensor<8x64xf32>
  %split = tp.sharding_constraint %r <@mesh, [{"tp"}, {}]> : tensor<8x64xf32>
  %a = nn.linear %x, %w : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
  %b = arith.addf %a, %split : tensor<8x64xf32>
  %c = arith.mulf %a, %s : tensor<8x64xf32>
  return %b, %c : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// Conflict: the weight's axis wins over the activation's, whichever is first.

// CHECK-LABEL: func.func @conflict(
// CHECK: tp.sharding_constraint {{.*}} <@mesh, [{"tp"}, {}]>
// CHECK: nn.linear {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]
// CHECK: tp.sharding_constraint {{.*}} <@mesh, [{"tp"}, {}]>
tp.mesh @mesh <["tp"=4]>
func.func @conflict(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
  %c = tp.sharding_constraint %x <@mesh, [{"tp"}, {?}]> : tensor<8x64xf32>
  %y = nn.linear %c, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %d = tp.sharding_constraint %y <@mesh, [{"tp"}, {}]> : tensor<8x64xf32>
  return %d : tensor<8x64xf32>
}

// -----

// Conflict of two weights: gathering the small one costs less.

// CHECK-LABEL: func.func @cheaper(
// CHECK: linalg.matmul {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]
tp.mesh @mesh <["tp"=4]>
func.func @cheaper() -> tensor<8x1024xf32> {
  %a = tp.parameter "a" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x64xf32>
  %b = tp.parameter "b" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x1024xf32>
  %e = tensor.empty() : tensor<8x1024xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  %y = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x1024xf32>) outs(%f : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  return %y : tensor<8x1024xf32>
}

// -----

// A closed dimension is never overridden, an open one may be extended; an
// annotation on an operation's result is one on its uses.

// CHECK-LABEL: func.func @closed(
// CHECK-SAME: tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>
// CHECK: nn.linear {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"dp"}, {"tp"}]>]
// CHECK: tp.sharding_constraint {{.*}} <@mesh, [{"dp"}, {}]>
// CHECK: nn.silu {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"dp"}, {}]>]
tp.mesh @mesh <["dp"=2, "tp"=4]>
func.func @closed(%x: tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<8x64xf32> {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
  %y = nn.linear %x, %w {tp.shardings = [#tp.sharding<@mesh, [{?}, {}]>]} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %z = nn.silu %y : tensor<8x64xf32>
  return %z : tensor<8x64xf32>
}

// -----

// Two uses of one parameter are one parameter; a vocabulary that does not
// divide is cut unevenly; logits stay split.

// CHECK-LABEL: func.func @tied(
// CHECK-SAME: -> (tensor<4x8x131xf32> {{.*}}tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {"tp"}]>
// CHECK: nn.embedding {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"dp"}, {}, {}], partial sum {"tp"}>]
// CHECK: nn.rms_norm {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"dp"}, {}, {}]>]
// CHECK: tp.parameter "t" {{.*}}tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]
tp.mesh @mesh <["dp"=2, "tp"=4]>
func.func @tied(%ids: tensor<4x8xi64> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<4x8x131xf32> {
  %t = tp.parameter "t" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<131x64xf32>
  %e = nn.embedding %ids, %t : (tensor<4x8xi64>, tensor<131x64xf32>) -> tensor<4x8x64xf32>
  %w = tp.parameter "n" : tensor<64xf32>
  %n = nn.rms_norm %e, %w {epsilon = 1.0e-5} : (tensor<4x8x64xf32>, tensor<64xf32>) -> tensor<4x8x64xf32>
  %h = tp.parameter "t" : tensor<131x64xf32>
  %l = nn.linear %n, %h : (tensor<4x8x64xf32>, tensor<131x64xf32>) -> tensor<4x8x131xf32>
  return %l : tensor<4x8x131xf32>
}

// -----

// Through calls, both ways.

// CHECK-LABEL: func.func @caller(
// CHECK: call @callee({{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]
// CHECK: nn.silu {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]
tp.mesh @mesh <["tp"=4]>
func.func @caller(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = func.call @callee(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = nn.silu %0 : tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}
func.func private @callee(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = tp.parameter "v" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
  %a = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %a : tensor<8x64xf32>
}

// -----

// Stacked values of tp.repeat: the slices' cut reaches the whole and the
// function's argument; the carried value is never partial.

// CHECK-LABEL: func.func @stacked(
// CHECK-SAME: tensor<3x8x64xf32> {{.*}}tp.sharding = #tp.sharding<@mesh, [{}, {}, {"tp"}]>
// CHECK: tp.repeat 3 {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {}]>, #tp.sharding<@mesh, [{}, {}, {"tp"}]>]
// CHECK: nn.linear {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]
// CHECK: nn.linear {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {}], partial sum {"tp"}>]
tp.mesh @mesh <["tp"=4]>
func.func @stacked(%x: tensor<8x64xf32>, %cache: tensor<3x8x64xf32>) -> (tensor<8x64xf32>, tensor<3x8x64xf32>) {
  %r:2 = tp.repeat 3 times iter(%x) stacked(%cache) : (tensor<8x64xf32>, tensor<3x8x64xf32>) -> (tensor<8x64xf32>, tensor<3x8x64xf32>) {
  ^bb0(%i: index, %c: tensor<8x64xf32>, %old: tensor<8x64xf32>):
    %w = tp.parameter "l.{i}.w" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<64x64xf32>
    %k = nn.linear %c, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %n = arith.addf %k, %old : tensor<8x64xf32>
    %o = tp.parameter "l.{i}.o" : tensor<64x64xf32>
    %y = nn.linear %n, %o : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    tp.yield %y, %n : tensor<8x64xf32>, tensor<8x64xf32>
  }
  return %r#0, %r#1 : tensor<8x64xf32>, tensor<3x8x64xf32>
}

// -----

// A value shared by chance (zeros) does not tie two operations.

// CHECK-LABEL: func.func @zeros(
// CHECK: linalg.fill {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]
// CHECK: linalg.fill {{.*}}tp.shardings = [#tp.sharding<@mesh, [{}, {}]>]
tp.mesh @mesh <["tp"=4]>
func.func @zeros(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x64xf32>
  %u = tp.parameter "u" : tensor<64x64xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>) outs(%f : tensor<8x64xf32>) -> tensor<8x64xf32>
  %z = linalg.matmul ins(%y, %u : tensor<8x64xf32>, tensor<64x64xf32>) outs(%f : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %z : tensor<8x64xf32>
}
