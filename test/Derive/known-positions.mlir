// RUN: tp-opt %s --tp-derive-steps="rows=1 chunk=1" | FileCheck %s
// RUN: not tp-opt %s --tp-derive-steps="rows=1 chunk=1 context=13" 2>&1 | FileCheck %s --check-prefix=MORE

// A program says how many positions it holds for, if others would be another
// program: an export of 4 positions of a model that attends within chunks of 12.

// CHECK: context = 12
// MORE: error: expected --context to be from 1 to the 12 positions that the program has, got 13
// MORE: note: so many are known of it (tp.positions); beyond them a mask or a scale is another one
module attributes {tp.positions = 12 : i64} {
  func.func @main(%ids: tensor<1x4xi64> {tp.name = "input_ids", tp.range = array<i64: 0, 16>}) -> (tensor<1x4x16xf32> {tp.name = "logits"}) {
    %words = tp.parameter "words" : tensor<16x8xf32>
    %x = nn.embedding %ids, %words : (tensor<1x4xi64>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
    %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 4, 2, 4] : tensor<1x4x8xf32> into tensor<1x4x2x4xf32>
    %a = nn.attention %q, %q, %q {causal, scale = 0.5 : f64} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
    %m = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x4x2x4xf32> into tensor<1x4x8xf32>
    %l = nn.linear %m, %words : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    return %l : tensor<1x4x16xf32>
  }
}
