// linalg.softmax over the last dimension and over another one, cut along either.
// RUN: tp-opt %s --tp-decompose-upstream | FileCheck %s
// RUN: tp-verify %s --stages propagate,partition,collectives,lower | FileCheck %s --check-prefix=VERIFY
// VERIFY: propagate @main: equal
// VERIFY: partition @main: equal
// VERIFY: lower @main: equal

tp.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @main
// CHECK: nn.softmax %arg0 : tensor<4x6xf32>
// CHECK: %[[T:.*]] = linalg.transpose ins(%arg1 : tensor<4x6x5xbf16>) {{.*}} permutation = [2, 1, 0]
// CHECK: %[[Y:.*]] = nn.softmax %[[T]] : tensor<5x6x4xbf16>
// CHECK: linalg.transpose ins(%[[Y]] : tensor<5x6x4xbf16>) {{.*}} permutation = [2, 1, 0]
// CHECK-NOT: linalg.softmax
func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>},
                %y: tensor<4x6x5xbf16> {tp.name = "y", tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}, {}]>})
    -> (tensor<4x6xf32> {tp.name = "a"}, tensor<4x6x5xbf16> {tp.name = "b"}) {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %f = tensor.empty() : tensor<4x6x5xbf16>
  %1 = linalg.softmax dimension(0) ins(%y : tensor<4x6x5xbf16>) outs(%f : tensor<4x6x5xbf16>) -> tensor<4x6x5xbf16>
  return %0, %1 : tensor<4x6xf32>, tensor<4x6x5xbf16>
}
