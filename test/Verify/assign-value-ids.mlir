// RUN: tp-opt %s --tp-assign-value-ids | FileCheck %s
// RUN: tp-opt %s --tp-assign-value-ids --tp-assign-value-ids | FileCheck %s

// Operations that have a number keep it; bodies of structured operations hold
// scalars and get none.
// CHECK: func.func @main(%{{.*}}) -> tensor<4xf32> attributes {tp.value_id = 8 : i64}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: nn.silu %{{.*}} {tp.value_id = 7 : i64}
  %0 = nn.silu %x {tp.value_id = 7 : i64} : tensor<4xf32>
  // CHECK: linalg.map { math.exp }{{.*}}tp.value_id = 9
  %e = linalg.map { math.exp } ins(%0 : tensor<4xf32>) outs(%x : tensor<4xf32>) {marker}
  // CHECK: tp.repeat 2 times
  %r = tp.repeat 2 times iter(%e) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    // CHECK: arith.negf %{{.*}} {tp.value_id = {{[0-9]+}} : i64}
    %n = arith.negf %c : tensor<4xf32>
    tp.yield %n : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
