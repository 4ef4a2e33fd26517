// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline | FileCheck %s

// Operands of more than 1 MiB are reduced one by one, so that they are not all in memory together.
// What layers have stacked is: it is one call, with as much else as there are stacks.

tp.mesh @mesh <["tp"=2]>
#rows = #tp.sharding<@mesh, [{"tp"}, {}]>

// CHECK-LABEL: func.func @alone
// CHECK: tp.all_reduce {{.*}} #tp.ledger<0,
// CHECK: tp.all_reduce {{.*}} #tp.ledger<1,
func.func @alone(%x: tensor<4x300000xf32> {tp.sharding = #rows}, %y: tensor<6x300000xf32> {tp.sharding = #rows}) -> (tensor<300000xf32>, tensor<300000xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<300000xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<300000xf32>) -> tensor<300000xf32>
  %a = linalg.reduce { arith.addf } ins(%x : tensor<4x300000xf32>) outs(%i : tensor<300000xf32>) dimensions = [0]
  %b = linalg.reduce { arith.addf } ins(%y : tensor<6x300000xf32>) outs(%i : tensor<300000xf32>) dimensions = [0]
  return %a, %b : tensor<300000xf32>, tensor<300000xf32>
}

// Two layers have stacked twice as much as one tensor: of the three others two join them.
// CHECK-LABEL: func.func @stacks
// CHECK: tp.repeat
// CHECK: tp.all_reduce {{.*}} #tp.ledger<[[#CALL:]], {{.*}} -> tensor<2x300000xf32>
// CHECK-NEXT: tp.all_reduce {{.*}} #tp.ledger<[[#CALL]], {{.*}} -> tensor<300000xf32>
// CHECK-NEXT: tp.all_reduce {{.*}} #tp.ledger<[[#CALL]], {{.*}} -> tensor<300000xf32>
// CHECK: tp.all_reduce {{.*}} #tp.ledger<[[#CALL + 1]], {{.*}} -> tensor<300000xf32>
func.func @stacks(%x: tensor<4x300000xf32> {tp.sharding = #rows}, %y: tensor<6x300000xf32> {tp.sharding = #rows}) -> (tensor<300000xf32>, tensor<300000xf32>, tensor<2x300000xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<300000xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<300000xf32>) -> tensor<300000xf32>
  %stack = tp.repeat 2 times : () -> tensor<2x300000xf32> {
  ^bb0(%index: index):
    %f = tensor.empty() : tensor<300000xf32>
    %g = linalg.fill ins(%zero : f32) outs(%f : tensor<300000xf32>) -> tensor<300000xf32>
    %d = linalg.reduce { arith.addf } ins(%x : tensor<4x300000xf32>) outs(%g : tensor<300000xf32>) dimensions = [0]
    tp.yield %d : tensor<300000xf32>
  }
  %y2 = math.exp %y : tensor<6x300000xf32>
  %a = linalg.reduce { arith.addf } ins(%x : tensor<4x300000xf32>) outs(%i : tensor<300000xf32>) dimensions = [0]
  %b = linalg.reduce { arith.addf } ins(%y : tensor<6x300000xf32>) outs(%i : tensor<300000xf32>) dimensions = [0]
  %c = linalg.reduce { arith.addf } ins(%y2 : tensor<6x300000xf32>) outs(%i : tensor<300000xf32>) dimensions = [0]
  %bc = arith.mulf %b, %c : tensor<300000xf32>
  return %a, %bc, %stack : tensor<300000xf32>, tensor<300000xf32>, tensor<2x300000xf32>
}
