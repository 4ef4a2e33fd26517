// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-explain -o /dev/null | FileCheck %s
// RUN: sed 's/"down.weight" {tp.shardings = .#row.}/"down.weight"/' %s > %t.mlir
// RUN: tp-opt %t.mlir --tp-propagate-pipeline --tp-partition-pipeline --tp-explain -o /dev/null | FileCheck %s --check-prefix=CHANGED

// A feed-forward block with both weights annotated, then without the second
// one's annotation: the same sum, explained by the one that is left.

#column = #tp.sharding<@mesh, [{"tp"}, {}]>
#row = #tp.sharding<@mesh, [{}, {"tp"}]>
#whole = #tp.sharding<@mesh, [{}, {}]>
tp.mesh @mesh <["tp"=4]>

// CHECK: 0  all_reduce
// CHECK-NEXT: cause: partial sum of nn.linear over factor k
// CHECK-NEXT: annotation: down.weight dim 1 on "tp"; at {{.*}}annotations.mlir:{{.*}}; placed by tp-insert-reshards

// CHANGED: 0  all_reduce
// CHANGED-NEXT: cause: partial sum of nn.linear over factor k
// CHANGED-NEXT: annotation: up.weight dim 0 on "tp"
func.func @main(%x: tensor<8x64xf32> {tp.sharding = #whole}) -> (tensor<8x64xf32> {tp.sharding = #whole}) {
  %up = tp.parameter "up.weight" {tp.shardings = [#column]} : tensor<256x64xf32>
  %down = tp.parameter "down.weight" {tp.shardings = [#row]} : tensor<64x256xf32>
  %0 = nn.linear %x, %up : (tensor<8x64xf32>, tensor<256x64xf32>) -> tensor<8x256xf32>
  %1 = nn.gelu erf %0 : tensor<8x256xf32>
  %2 = nn.linear %1, %down : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}
