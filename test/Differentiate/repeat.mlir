// Repeated layers: none, one, two and three of them, in reverse, nested; carried values
// that change places, that are integers, that nothing reads behind the loop; slices in and
// out; parameters and values that all layers share; a template of two loops.
// RUN: tp-verify %s --derivative | FileCheck %s
// RUN: tp-verify %s --derivative --seed 2 | FileCheck %s
// CHECK: derivative: equal, gradients of 15 parameters compared
// CHECK-NOT: cannot judge

func.func @main(%r: tensor<4xf32>) -> (tensor<f32> {tp.loss}) {
  %l0 = arith.constant dense<0.0> : tensor<f32>
  %x = tp.parameter "x" : tensor<4xf32>
  %y = tp.parameter "y" : tensor<4xf32>
  %above = arith.mulf %x, %y : tensor<4xf32>
  %numbers = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %one = arith.constant dense<1> : tensor<4xi32>

  %none = tp.repeat 0 times iter(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %h: tensor<4xf32>):
    %w = tp.parameter "none.{i}" : tensor<4xf32>
    %0 = arith.mulf %h, %w : tensor<4xf32>
    tp.yield %0 : tensor<4xf32>
  }
  %single = tp.repeat 1 times from 4 iter(%none) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %h: tensor<4xf32>):
    %w = tp.parameter "layers.{i}.w" : tensor<4xf32>
    %0 = arith.mulf %h, %w : tensor<4xf32>
    %1 = math.sin %0 : tensor<4xf32>
    tp.yield %1 : tensor<4xf32>
  }
  // Two carried values that change places and an integer one; the index counts.
  %three:4 = tp.repeat 3 times from 1 iter(%single, %y, %numbers) : (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<3x4xf32>) {
  ^bb0(%i: index, %h: tensor<4xf32>, %k: tensor<4xf32>, %n: tensor<4xi32>):
    %w = tp.parameter "layers.{i}.w" : tensor<4xf32>
    %s = tp.parameter "shared" : tensor<4xf32>
    %number = arith.sitofp %n : tensor<4xi32> to tensor<4xf32>
    %0 = arith.mulf %h, %w : tensor<4xf32>
    %1 = arith.addf %0, %number : tensor<4xf32>
    %2 = math.sin %1 : tensor<4xf32>
    %3 = arith.mulf %2, %s : tensor<4xf32>
    %4 = arith.addf %3, %above : tensor<4xf32>
    %at = arith.index_cast %i : index to i32
    %float = arith.sitofp %at : i32 to f32
    %splat = tensor.splat %float : tensor<4xf32>
    %5 = arith.mulf %4, %splat : tensor<4xf32>
    %next = arith.addi %n, %one : tensor<4xi32>
    tp.yield %k, %5, %next, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
  }
  // Slices of the one loop, and of a parameter, into a second, which goes backwards.
  %stack = tp.parameter "stack" : tensor<3x4xf32>
  %back:2 = tp.repeat 3 times reverse iter(%three#0) stacked(%three#3, %stack) : (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%i: index, %h: tensor<4xf32>, %slice: tensor<4xf32>, %other: tensor<4xf32>):
    %w = tp.parameter "back.{i}" : tensor<4xf32>
    %0 = arith.mulf %h, %slice : tensor<4xf32>
    %1 = arith.mulf %other, %w : tensor<4xf32>
    %2 = arith.addf %0, %1 : tensor<4xf32>
    %3 = math.tanh %2 : tensor<4xf32>
    tp.yield %3, %0 : tensor<4xf32>, tensor<4xf32>
  }
  // Loops in a loop: the inner layers are the same in each outer one.
  %nested = tp.repeat 2 times iter(%back#0) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %h: tensor<4xf32>):
    %w = tp.parameter "outer.{i}" : tensor<4xf32>
    %0 = arith.mulf %h, %w : tensor<4xf32>
    %1:2 = tp.repeat 2 times iter(%0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
    ^bb0(%j: index, %k: tensor<4xf32>):
      %v = tp.parameter "inner.{i}" : tensor<4xf32>
      %2 = arith.mulf %k, %v : tensor<4xf32>
      %3 = arith.mulf %2, %w : tensor<4xf32>
      %4 = arith.addf %3, %above : tensor<4xf32>
      %5 = math.sin %4 : tensor<4xf32>
      tp.yield %5, %3 : tensor<4xf32>, tensor<4xf32>
    }
    %6 = tensor.extract_slice %1#1[1, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
    %7 = arith.addf %1#0, %6 : tensor<4xf32>
    tp.yield %7 : tensor<4xf32>
  }
  %slice = tensor.extract_slice %back#1[2, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
  %sum = arith.addf %nested, %slice : tensor<4xf32>
  %again = arith.mulf %sum, %three#1 : tensor<4xf32>
  %loss = linalg.dot ins(%again, %r : tensor<4xf32>, tensor<4xf32>) outs(%l0 : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
