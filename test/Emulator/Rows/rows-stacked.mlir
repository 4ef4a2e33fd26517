// Slices of stacked tensors lie wherever their size puts them: here 108 bytes
// apart, so that vectors are those of one element's alignment.
// RUN: tp-check-kernels %s | FileCheck %s

// CHECK: rows_0: right in 6 runs
// CHECK: rows_1: right in 6 runs

func.func @main(%x: tensor<3x9xf32>, %s: tensor<4x3x9xf32>) -> (tensor<3x9xf32>, tensor<4x3x9xf32>) {
  %y, %z = tp.repeat 4 times iter(%x) stacked(%s) : (tensor<3x9xf32>, tensor<4x3x9xf32>) -> (tensor<3x9xf32>, tensor<4x3x9xf32>) {
  ^bb0(%i: index, %c: tensor<3x9xf32>, %t: tensor<3x9xf32>):
    %a = arith.addf %c, %t : tensor<3x9xf32>
    %e = math.exp %t : tensor<3x9xf32>
    tp.yield %a, %e : tensor<3x9xf32>, tensor<3x9xf32>
  }
  return %y, %z : tensor<3x9xf32>, tensor<4x3x9xf32>
}
