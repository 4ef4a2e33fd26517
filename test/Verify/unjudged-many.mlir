// Of many values that hang on rounding the first are named, and the rest counted.
// RUN: tp-verify %s --stages partition 2>/dev/null | FileCheck %s
// CHECK-COUNT-8: partition @main: cannot judge arith.fptosi at
// CHECK-NEXT: partition @main: cannot judge 10 more values

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<16x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<16x64xf32>) outs(%init : tensor<16xf32>) dimensions = [1]
  %k0 = arith.constant dense<10000000.0> : tensor<16xf32>
  %m0 = arith.mulf %s, %k0 : tensor<16xf32>
  %i0 = arith.fptosi %m0 : tensor<16xf32> to tensor<16xi32>
  %k1 = arith.constant dense<11000000.0> : tensor<16xf32>
  %m1 = arith.mulf %s, %k1 : tensor<16xf32>
  %i1 = arith.fptosi %m1 : tensor<16xf32> to tensor<16xi32>
  %k2 = arith.constant dense<12000000.0> : tensor<16xf32>
  %m2 = arith.mulf %s, %k2 : tensor<16xf32>
  %i2 = arith.fptosi %m2 : tensor<16xf32> to tensor<16xi32>
  %k3 = arith.constant dense<13000000.0> : tensor<16xf32>
  %m3 = arith.mulf %s, %k3 : tensor<16xf32>
  %i3 = arith.fptosi %m3 : tensor<16xf32> to tensor<16xi32>
  %k4 = arith.constant dense<14000000.0> : tensor<16xf32>
  %m4 = arith.mulf %s, %k4 : tensor<16xf32>
  %i4 = arith.fptosi %m4 : tensor<16xf32> to tensor<16xi32>
  %k5 = arith.constant dense<15000000.0> : tensor<16xf32>
  %m5 = arith.mulf %s, %k5 : tensor<16xf32>
  %i5 = arith.fptosi %m5 : tensor<16xf32> to tensor<16xi32>
  %k6 = arith.constant dense<16000000.0> : tensor<16xf32>
  %m6 = arith.mulf %s, %k6 : tensor<16xf32>
  %i6 = arith.fptosi %m6 : tensor<16xf32> to tensor<16xi32>
  %k7 = arith.constant dense<17000000.0> : tensor<16xf32>
  %m7 = arith.mulf %s, %k7 : tensor<16xf32>
  %i7 = arith.fptosi %m7 : tensor<16xf32> to tensor<16xi32>
  %k8 = arith.constant dense<18000000.0> : tensor<16xf32>
  %m8 = arith.mulf %s, %k8 : tensor<16xf32>
  %i8 = arith.fptosi %m8 : tensor<16xf32> to tensor<16xi32>
  return %i0, %i1, %i2, %i3, %i4, %i5, %i6, %i7, %i8 : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>
}
