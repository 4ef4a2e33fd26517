// A causal mask written by hand in linalg, split along the queries: each rank's
// positions begin at its offset. Without it every rank masks as the first.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=drop-offset --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s
// CHECK: differs first at linalg.generic at causal: element [4, {{[0-9]}}] on rank 1: expected {{.*}}, got -inf

#id = affine_map<(i, j) -> (i, j)>
tp.mesh @mesh <["tp"=2]>
func.func @main(%scores: tensor<8x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<8x8xf32> {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%scores : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%s: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %seen = arith.cmpi sle, %j, %i : index
    %v = arith.select %seen, %s, %low : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32> loc("causal")
  return %m : tensor<8x8xf32>
}
