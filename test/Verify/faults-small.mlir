// Faults of a part in 1e5, and of one element in a row whose elements are a
// millionth of the tensor's largest.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault="kind=wrong-value seed=1" --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s
// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault="kind=wrong-element seed=19 amount=0.001" --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s
// CHECK: given @main: differs first at arith.{{mulf|select}} at scaled: element [{{[01]}}, {{[03]}}] on rank 0

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<4x32xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x32xf32> {
  %rows = arith.constant dense<[1.0, 1.0e-06, 1.0, 1.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x32xf32>
  %wide = linalg.broadcast ins(%rows : tensor<4xf32>) outs(%e : tensor<4x32xf32>) dimensions = [1]
  %y = arith.mulf %x, %wide : tensor<4x32xf32> loc("scaled")
  %z = math.tanh %y : tensor<4x32xf32>
  return %z : tensor<4x32xf32>
}
