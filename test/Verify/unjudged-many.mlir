// Of many values that hang on rounding the first are named, and the rest counted.
// RUN: tp-verify %s --stages partition 2>/dev/null | FileCheck %s
// CHECK-COUNT-8: partition @main: cannot judge linalg.generic at
// CHECK-NEXT: partition @main: cannot judge 10 more values

#row = affine_map<(i) -> (i)>
tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<16xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>}) -> tensor<16xi32> {
  %e = tensor.empty() : tensor<16xi32>
  %i:18 = linalg.generic {indexing_maps = [#row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row, #row], iterator_types = ["parallel"]} ins(%x : tensor<16xf32>) outs(%e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e, %e : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>) {
  ^bb0(%in: f32, %o0: i32, %o1: i32, %o2: i32, %o3: i32, %o4: i32, %o5: i32, %o6: i32, %o7: i32, %o8: i32, %o9: i32, %o10: i32, %o11: i32, %o12: i32, %o13: i32, %o14: i32, %o15: i32, %o16: i32, %o17: i32):
    %k = arith.constant 10.0e+06 : f32
    %m = arith.mulf %in, %k : f32
    %n = arith.fptosi %m : f32 to i32
    linalg.yield %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n, %n : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
  } -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
  return %i#0 : tensor<16xi32>
}
