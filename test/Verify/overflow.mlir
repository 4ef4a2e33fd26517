// inf · (a + b) is not inf · a + inf · b: where ranks' addends are infinities of
// both signs, what one device has cannot be judged.
// RUN: tp-verify %s --stages partition 2>&1 | FileCheck %s
// RUN: tp-verify %s --stages lower 2>&1 | FileCheck %s
// CHECK: @main: equal
// CHECK-SAME: elements not judged

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<16x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %s: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %w = tp.parameter "w" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<16x64xf32>
  %y = nn.linear %x, %w : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x16xf32>
  %large = arith.constant dense<1000.0> : tensor<16x16xf32>
  %square = arith.mulf %s, %s : tensor<16x16xf32>
  %larger = arith.addf %square, %large : tensor<16x16xf32>
  %inf = math.exp %larger : tensor<16x16xf32>
  %z = arith.mulf %y, %inf : tensor<16x16xf32>
  return %z : tensor<16x16xf32>
}
