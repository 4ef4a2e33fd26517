// A linalg reduction adds into its initial value, which must count once and not
// once per rank.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=initial-on-all-ranks --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s
// CHECK: differs first at linalg.reduce at total: element [0] on rank 0: expected {{.*}}, got

tp.mesh @mesh <["tp"=3]>
func.func @main(%x: tensor<5x20xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}, %acc: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.reduce { arith.addf } ins(%x : tensor<5x20xf32>) outs(%acc : tensor<5xf32>) dimensions = [1] loc("total")
  return %r : tensor<5xf32>
}
