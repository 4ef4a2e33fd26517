// An argument says which random values it gets; what it says goes before what
// its uses say.
// RUN: split-file %s %t
// RUN: tp-verify %t/values.mlir --plan none | FileCheck %s

// No value of %positive is below a half, and none of %ids is a row.
// CHECK: collectives @main: equal

//--- values.mlir
tp.mesh @mesh <["tp"=2]>
func.func @main(%positive: tensor<64xf32> {tp.values = "positive"},
                %zeros: tensor<64xf32> {tp.values = "zeros"},
                %integers: tensor<64xf32> {tp.values = "integers"},
                %large: tensor<64xf32> {tp.values = "large"},
                %wide: tensor<64xf32> {tp.values = "wide"},
                %limits: tensor<64xi8> {tp.values = "limits"},
                %ids: tensor<8xi32> {tp.range = array<i64: 4, 9>})
    -> (tensor<64xi32>, tensor<8x2xf32>) {
  // A float that is not above zero would give an infinity, which does not fit.
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %inverse = arith.divf %one, %positive : tensor<64xf32>
  %rounded = arith.fptosi %inverse : tensor<64xf32> to tensor<64xi32>
  %table = arith.constant dense<1.0> : tensor<4x2xf32>
  %rows = nn.embedding %ids, %table : (tensor<8xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %rounded, %rows : tensor<64xi32>, tensor<8x2xf32>
}
