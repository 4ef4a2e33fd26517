// A program that is annotated is taken as it is; every value of every stage is
// compared, the padded ones too (150 over 4 ranks).
// RUN: tp-verify %s | FileCheck %s
// RUN: tp-verify %s --stages partition --report=json | FileCheck %s --check-prefix=JSON
// RUN: tp-verify %s --seed 2 --stages propagate | FileCheck %s --check-prefix=ONE

// CHECK: propagate @main: equal, {{[1-9][0-9]*}} values and 1 results compared, largest difference {{.*}} of the tolerance
// RUN: tp-verify %s --stages partition,lower | FileCheck %s --check-prefix=LOWER
// LOWER: lower @main: equal, 0 values and 1 results compared
// CHECK: partition @main: equal, {{[1-9][0-9]*}} values and 1 results compared
// JSON: "equal": true
// JSON: "function": "main"
// JSON: "stage": "partition"
// ONE: propagate @main: equal
// ONE-NOT: partition

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<2x8x64xf32>) -> tensor<2x8x64xf32> {
  %g = tp.parameter "norm.weight" : tensor<64xf32>
  %up = tp.parameter "up.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<150x64xf32>
  %b = tp.parameter "down.bias" : tensor<64xf32>
  %down = tp.parameter "down.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x150xf32>
  %0 = nn.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x8x64xf32>, tensor<64xf32>) -> tensor<2x8x64xf32>
  %1 = nn.linear %0, %up : (tensor<2x8x64xf32>, tensor<150x64xf32>) -> tensor<2x8x150xf32>
  %2 = nn.gelu tanh %1 : tensor<2x8x150xf32>
  %3 = nn.linear %2, %down bias %b : (tensor<2x8x150xf32>, tensor<64x150xf32>, tensor<64xf32>) -> tensor<2x8x64xf32>
  %4 = arith.addf %3, %x : tensor<2x8x64xf32>
  return %4 : tensor<2x8x64xf32>
}
