// RUN: tp-opt %s --tp-number-collectives | FileCheck %s

// Ids follow the program, inside layers too; the rest of an entry stays.

tp.mesh @mesh <["tp"=2]>
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8x32xf32>) -> tensor<8x64xf32> {
  // CHECK: tp.all_gather
  // CHECK-SAME: #tp.ledger<0, cause = "first", annotation = "x", pass = "p">
  %a = tp.all_gather %x dim 1 over @mesh ["tp"] {ledger = #tp.ledger<4, cause = "first", annotation = "x", pass = "p">} : tensor<8x32xf32> -> tensor<8x64xf32>
  %b = tp.repeat 2 times iter(%a) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    // CHECK: tp.all_reduce
    // CHECK-SAME: #tp.ledger<1, cause = "second"
    %r = tp.all_reduce sum %h over @mesh ["tp"] {ledger = #tp.ledger<9, cause = "second", annotation = "y", pass = "q">} : tensor<8x64xf32> -> tensor<8x64xf32>
    tp.yield %r : tensor<8x64xf32>
  }
  // CHECK: tp.all_reduce
  // CHECK-SAME: #tp.ledger<2, cause = "third"
  %c = tp.all_reduce sum %b over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "third", annotation = "z", pass = "p">} : tensor<8x64xf32> -> tensor<8x64xf32>
  return %c : tensor<8x64xf32>
}
