// A program takes --ignore too, for it may be run with a checkpoint that has a
// parameter under two names. It must know the name.

// RUN: tp-compile %s --ignore 'old.*' --compile-to=propagate -o - 2> %t.log | FileCheck %s
// RUN: not tp-compile %s --ignore odl.w -o %t.tpa 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tp-verify %s --mesh tp=2 --ignore w,odl.w 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: module attributes {tp.excluded_tensors = ["old.*"]
// NONE: error: --ignore: expected a name that a parameter of the program may have, as there are no weights to look in, got "odl.w", which matches none
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> (tensor<4x8xf32> {tp.name = "y"}) {
  %w = tp.parameter "w" alternatives ["old.w"] : tensor<8x8xf32>
  %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
