// RUN: tp-opt %s --tp-widen-floats | FileCheck %s

// CHECK: tp.state @s : tensor<8xf64>
// CHECK: func.func @main(%[[X:.*]]: tensor<8xf64>, %{{.*}}: tensor<2xi32>) -> (tensor<8xf64>, tensor<2xi32>)
// CHECK-DAG: tp.parameter "w" : tensor<8xf64>
// CHECK-DAG: arith.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf64>
// CHECK-DAG: arith.constant 0x7FF0000000000000 : f64
// CHECK-NOT: extf
// CHECK: ^bb0(%{{.*}}: f64, %{{.*}}: f64):
// CHECK-NOT: truncf
// CHECK-NOT: f32
tp.state @s : tensor<8xf32>
func.func @main(%x: tensor<8xbf16>, %n: tensor<2xi32>) -> (tensor<8xf32>, tensor<2xi32>) {
  %w = tp.parameter "w" : tensor<8xf32>
  %c = arith.constant dense<[0.5, 0.25]> : tensor<2xbf16>
  %i = arith.constant 0x7F800000 : f32
  %0 = arith.extf %x : tensor<8xbf16> to tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%0 : tensor<8xf32>) outs(%w : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.truncf %a : f32 to f16
    %3 = arith.extf %2 : f16 to f32
    %4 = arith.addf %3, %i : f32
    linalg.yield %4 : f32
  } -> tensor<8xf32>
  return %1, %n : tensor<8xf32>, tensor<2xi32>
}
