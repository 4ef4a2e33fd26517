// A loss in plain linalg with a weight per layer, one that layers share, and one
// in bf16. The step's states, that layers add to their slices, and that the update
// is one operation a weight.
// RUN: tp-opt %s --tp-differentiate --tp-make-training-step | FileCheck %s
// RUN: tp-verify %s --stages lower | FileCheck %s --check-prefix=EQUAL
// EQUAL: lower @update: equal
// EQUAL: lower @main, @gradient, @update, 2 steps: equal

module attributes {tp.training = {clip = 5.000000e-01 : f64, optimizer = "adamw"}} {
  // CHECK: tp.state @shared : tensor<4x4xf32> parameter "shared"
  // CHECK: tp.state @"grad:shared" : tensor<4x4xf32>
  // CHECK: tp.state @"layers.{i}.w from 2" : tensor<3x4xbf16> parameter "layers.{i}.w" from 2
  // CHECK: tp.state @"grad:layers.{i}.w from 2" : tensor<3x4xf32>
  // CHECK: tp.state @"master:layers.{i}.w from 2" : tensor<3x4xf32> parameter "layers.{i}.w" from 2
  // CHECK: tp.state @"exp_avg:layers.{i}.w from 2" : tensor<3x4xf32>
  // CHECK: tp.state @"exp_avg_sq:layers.{i}.w from 2" : tensor<3x4xf32>

  // CHECK: func.func @main(%{{.*}}: tensor<2x4xf32>, %{{.*}}: tensor<4x4xf32> {tp.state = @shared}, %[[W:.*]]: tensor<3x4xbf16> {tp.state = @"layers.{i}.w from 2"}
  // CHECK-SAME: -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"})
  // CHECK-NOT: tp.parameter
  // CHECK: tp.repeat 3 times from 2 iter(%{{.*}}) stacked(%[[W]])

  // Layers add to their slices of the sum so far; what all layers share is added once.
  // CHECK: func.func @gradient(%{{.*}}: tensor<2x4xf32>, %[[SHARED:.*]]: tensor<4x4xf32> {tp.state = @"grad:shared"}, %[[SUM:.*]]: tensor<3x4xf32> {tp.state = @"grad:layers.{i}.w from 2"}
  // CHECK-SAME: -> (tensor<4x4xf32> {tp.state = @"grad:shared"}, tensor<3x4xf32> {tp.state = @"grad:layers.{i}.w from 2"}, tensor<f32> {tp.state = @loss_sum}, tensor<f32> {tp.state = @tokens})
  // CHECK: %[[BACK:.*]]:3 = tp.repeat 3 times reverse from 2 iter({{.*}}) stacked({{.*}}, %[[SUM]], %{{.*}})
  // CHECK: tp.yield
  // CHECK: %[[TOTAL:.*]] = arith.addf %[[SHARED]], %[[BACK]]#1
  // CHECK: return %[[TOTAL]], %[[BACK]]#2

  // CHECK: func.func @update(%{{.*}}: tensor<f32> {tp.name = "one_minus_beta1", tp.values = "fraction"}
  // CHECK-SAME: -> (tensor<f32> {tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}, tensor<f32> {tp.name = "grad_norm"}, tensor<f32> {tp.state = @loss_sum}, tensor<f32> {tp.state = @tokens},
  // CHECK-SAME: tensor<4x4xf32> {tp.state = @shared}, {{.*}}tensor<4x4xf32> {tp.state = @"grad:shared"}, tensor<3x4xf32> {tp.state = @"master:layers.{i}.w from 2"}, {{.*}}tensor<3x4xf32> {tp.state = @"grad:layers.{i}.w from 2"}, tensor<3x4xbf16> {tp.state = @"layers.{i}.w from 2"})
  // CHECK-COUNT-2: math.sqrt
  // CHECK: -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
  // CHECK: arith.truncf
  // CHECK: -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xbf16>)
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}) {
    %zero = arith.constant dense<0.0> : tensor<f32>
    %two = arith.constant dense<2.0> : tensor<f32>
    %zeros = arith.constant dense<0.0> : tensor<2x4xf32>
    %shared = tp.parameter "shared" : tensor<4x4xf32>
    %h = tp.repeat 3 times from 2 iter(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
    ^bb0(%i: index, %c: tensor<2x4xf32>):
      %w = tp.parameter "layers.{i}.w" : tensor<4xbf16>
      %wide = arith.extf %w : tensor<4xbf16> to tensor<4xf32>
      %m = linalg.matmul ins(%c, %shared : tensor<2x4xf32>, tensor<4x4xf32>) outs(%zeros : tensor<2x4xf32>) -> tensor<2x4xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
          ins(%m, %wide : tensor<2x4xf32>, tensor<4xf32>) outs(%zeros : tensor<2x4xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %t = math.tanh %a : f32
        %p = arith.mulf %t, %b : f32
        linalg.yield %p : f32
      } -> tensor<2x4xf32>
      tp.yield %y : tensor<2x4xf32>
    }
    %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
        ins(%h : tensor<2x4xf32>) outs(%zero : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %a : f32
      %t = arith.addf %o, %s : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    return %loss, %two : tensor<f32>, tensor<f32>
  }
}
