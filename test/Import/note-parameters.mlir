// RUN: tp-opt %s --tp-note-parameters | FileCheck %s

// Names with the first index and the number of instances; of alternatives too. One
// name twice, in two functions, and templates that do not meet are no conflict.

// CHECK: module attributes {tp.noted_parameters = {{\[}}["w", 0, 1], ["old.w", 0, 1], ["layers.{i}.w", 2, 3], ["layers.{i}.w", 5, 2], ["w", 0, 1], ["old.w", 0, 1]]}

func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %w = tp.parameter "w" alternatives ["old.w"] : tensor<8xf32>
  %0 = tp.repeat 3 times from 2 iter(%w) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    %v = tp.parameter "layers.{i}.w" : tensor<8xf32>
    %1 = arith.addf %c, %v : tensor<8xf32>
    tp.yield %1 : tensor<8xf32>
  }
  %y = tensor.empty() : tensor<4xf32>
  %2 = tp.repeat 2 times from 5 iter(%y) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    %v = tp.parameter "layers.{i}.w" : tensor<4xf32>
    tp.yield %v : tensor<4xf32>
  }
  return %0, %2 : tensor<8xf32>, tensor<4xf32>
}
// Half of it.
func.func @other() -> tensor<4xf32> {
  %w = tp.parameter "w" source <shape = [8], offsets = [4], permutation = [0]> alternatives ["old.w"] : tensor<4xf32>
  return %w : tensor<4xf32>
}
