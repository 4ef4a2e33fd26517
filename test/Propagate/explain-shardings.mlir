// RUN: tp-opt %s --tp-propagate --tp-explain-shardings -o /dev/null | FileCheck %s
// RUN: sed 's/\[{}, {"tp"}\]/[{}, {}]/' %s | tp-opt --tp-propagate --tp-explain-shardings -o /dev/null | count 0

// Each axis names the annotation that it comes from and the operation that
// brought it; with another annotation there is another reason.

// CHECK: argument x: [{}, {"tp"}]
// CHECK-NEXT: dim 1 on "tp": down dim 1 on "tp", by nn.linear over k at mlp.down
// CHECK-NEXT: tp.parameter down: [{}, {"tp"}]
// CHECK-NEXT: dim 1 on "tp": down dim 1 on "tp"
// CHECK-NEXT: nn.linear at mlp.down: [{}, {}], partial sum {"tp"}
// CHECK-NEXT: partial on "tp": down dim 1 on "tp", by nn.linear over k at mlp.down
// CHECK-NOT: {{.}}
tp.mesh @mesh <["tp"=2]>
func.func @f(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %w = tp.parameter "down" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<8x8xf32>
  %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("mlp.down")
  return %y : tensor<4x8xf32>
}
