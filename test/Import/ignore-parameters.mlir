// RUN: tp-opt %s --tp-note-parameters --cse --canonicalize --tp-ignore-parameters | FileCheck %s
// Without notes nothing is known to be gone.
// RUN: tp-opt %s --tp-ignore-parameters | FileCheck %s --check-prefix=ALONE

// What is gone is ignored; what is read elsewhere, under its own name or as an
// instance of a template, is not; a template of which a part is read is.

// CHECK: module attributes {tp.ignored_tensors = ["buffer", "unused", "old.unused", "dead", "h.*.gone", "h.*.w", "h.7.w"]}
// ALONE: module attributes {tp.ignored_tensors = ["buffer"]}
module attributes {tp.ignored_tensors = ["buffer"]} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %unused = tp.parameter "unused" alternatives ["old.unused"] : tensor<8xf32>
    %dead = tp.parameter "dead" : tensor<8xf32>
    %0 = math.tanh %dead : tensor<8xf32>
    %twice = tp.parameter "read" : tensor<8xf32>
    %read = tp.parameter "read" : tensor<8xf32>
    %part = tp.parameter "h.1.w" : tensor<8xf32>
    %y = tp.repeat 2 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%i: index, %c: tensor<8xf32>):
      %gone = tp.parameter "h.{i}.gone" : tensor<8xf32>
      %w = tp.parameter "h.{i}.w" : tensor<8xf32>
      %1 = arith.addf %c, %w : tensor<8xf32>
      tp.yield %1 : tensor<8xf32>
    }
    %more = tp.repeat 3 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%i: index, %c: tensor<8xf32>):
      %w = tp.parameter "h.{i}.w" : tensor<8xf32>
      tp.yield %w : tensor<8xf32>
    }
    %out = tp.parameter "h.7.w" : tensor<8xf32>
    %2 = arith.addf %y, %read : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
