// A lane of padding times an infinity is no number. No operand is a sum over ranks, so
// nothing excuses a NaN for the infinity that one device has.
// RUN: tp-verify %s --stages partition,collectives | FileCheck %s
// RUN: tp-opt %s --tp-assign-value-ids --tp-propagate-pipeline --tp-partition-pipeline -o %t.mlir
// RUN: sed -E 's/arith.select %%[0-9]+, (%%[0-9]+), (%%cst[_0-9]*)/arith.addf \1, \2/' %t.mlir > %t.wrong.mlir
// RUN: not tp-verify %s --against %t.wrong.mlir | FileCheck %s --check-prefix=WRONG
// CHECK-NOT: not judged
// WRONG: given @main: differs first at linalg.generic at {{.*}}: element [1] on rank 0: expected inf, got {{-?}}nan

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<5xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}]>, tp.values = "positive"}) -> tensor<3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %scale = arith.constant dense<[0.0, 0x7F800000, 1.0]> : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %scale : tensor<5xf32>, tensor<3xf32>) outs(%init : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %term = arith.mulf %a, %b : f32
    %sum = arith.addf %term, %out : f32
    linalg.yield %sum : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}
