// A softmax over a vocabulary of 10 on 4 ranks: 2 elements are padding, whose
// exponentials must not be counted.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=drop-padding-mask --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s
// CHECK: differs first at linalg.generic at sum_of_exponentials: element [0] on rank 0

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<3x10xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<3x10xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x10xf32>) outs(%s0 : tensor<3xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = math.exp %a : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<3xf32> loc("sum_of_exponentials")
  %big = tensor.empty() : tensor<3x10xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<3x10xf32>, tensor<3xf32>) outs(%big : tensor<3x10xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %0 = math.exp %a : f32
    %1 = arith.divf %0, %s : f32
    linalg.yield %1 : f32
  } -> tensor<3x10xf32> loc("softmax")
  return %r : tensor<3x10xf32>
}
