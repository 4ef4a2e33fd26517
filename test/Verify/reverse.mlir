// A repeated layer from its last iteration to its first: slices, parameters and
// the layers' own stack, by the interpreter, on ranks, and compiled; odd and even.
// RUN: tp-verify %s --mesh tp=2 --plan replicated --stages partition,lower | FileCheck %s
// RUN: tp-opt %s | FileCheck %s --check-prefix=TEXT
// CHECK: partition @main: equal, {{[1-9][0-9]*}} values and 3 results compared
// CHECK: lower @main: equal, 0 values and 3 results compared
// TEXT: tp.repeat 3 times reverse from 4 iter(%{{.*}}) stacked
// TEXT: tp.repeat 2 times reverse iter
func.func @main(%x: tensor<4xf32>, %s: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>) {
  %0:2 = tp.repeat 3 times reverse from 4 iter(%x) stacked(%s) : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%i: index, %h: tensor<4xf32>, %slice: tensor<4xf32>):
    %w = tp.parameter "layers.{i}.w" : tensor<4xf32>
    %2 = arith.mulf %h, %w : tensor<4xf32>
    %3 = arith.addf %2, %slice : tensor<4xf32>
    tp.yield %3, %2 : tensor<4xf32>, tensor<4xf32>
  }
  %4 = tp.repeat 2 times reverse iter(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %h: tensor<4xf32>):
    %w = tp.parameter "layers.{i}.v" : tensor<4xf32>
    %5 = arith.subf %w, %h : tensor<4xf32>
    tp.yield %5 : tensor<4xf32>
  }
  return %0#0, %0#1, %4 : tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>
}
