// RUN: tp-opt %S/Inputs/per-rank.mlir --tp-collectives-pipeline -o %t.mlir
// RUN: FileCheck %s --check-prefix=IR --input-file=%t.mlir
// RUN: tp-verify %s --against %S/Inputs/per-rank.mlir | FileCheck %s
// RUN: tp-verify %s --against %t.mlir | FileCheck %s

// A per-rank program with six collectives and three slices, and the same after
// the stage: one of each kind, and equal.

// CHECK: equal
// IR-LABEL: func.func @main
// IR: tp.all_reduce
// IR-NOT: tp.all_reduce
// IR: tp.reduce_scatter
// IR: tp.all_gather
// IR-NOT: tp.all_gather
// IR: tp.all_to_all
// IR-NOT: tp.slice
// IR: return
func.func @main(%x: tensor<8x64xf32>, %v: tensor<16x64xf32>, %w: tensor<16x64xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %a = nn.linear %x, %v : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
  %n = arith.negf %a : tensor<8x16xf32>
  %b = nn.linear %x, %w : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
  %s = arith.addf %n, %b : tensor<8x16xf32>
  %t = arith.negf %b : tensor<8x16xf32>
  %q = arith.mulf %x, %x : tensor<8x64xf32>
  return %s, %t, %q, %q : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}
