// The mistakes of tensor-parallel code, one at a time, and the operation that
// tp-verify names for each: a collective dropped, doubled, over the wrong axis,
// moved before a bias; an initial value added on every rank; the other GELU.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal, {{[1-9][0-9]*}} values and 2 results compared

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=drop-collective --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s --check-prefix=DROP
// DROP: given @main: differs first at nn.softmax at probabilities: element [0, 0, 0] on rank 0: expected [[E:[0-9.e-]+]], got {{[0-9.e-]+}} (tolerance {{[0-9.e-]+}})

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=double-collective --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s --check-prefix=DOUBLE
// DOUBLE: differs first at tp.all_reduce (ledger 0: partial sum of nn.linear over factor k) at {{.*}}: element [0, 0, 0] on rank 0

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=wrong-axis --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s --check-prefix=AXIS
// AXIS: differs first at tp.all_reduce (ledger 0: partial sum of nn.linear over factor k) at

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=collective-before-bias --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s --check-prefix=BIAS
// BIAS: differs first at arith.addf at down_proj: element [0, 0, 0] on rank 1

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=initial-on-all-ranks --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s --check-prefix=INITIAL
// INITIAL: differs first at nn.linear at down_proj: element [0, 0, 0] on rank 0

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=wrong-gelu --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s --check-prefix=GELU
// GELU: differs first at nn.gelu at activation: element

tp.mesh @mesh <["dp"=2, "tp"=4]>
func.func @main(%x: tensor<2x8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}, {}]>}, %acc: tensor<2x8xf32>) -> (tensor<2x8x64xf32>, tensor<2x8xf32>) {
  %up = tp.parameter "up.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<150x64xf32>
  %b = tp.parameter "down.bias" : tensor<64xf32>
  %down = tp.parameter "down.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<64x150xf32>
  %1 = nn.linear %x, %up : (tensor<2x8x64xf32>, tensor<150x64xf32>) -> tensor<2x8x150xf32> loc("up_proj")
  %2 = nn.gelu tanh %1 : tensor<2x8x150xf32> loc("activation")
  %3 = nn.linear %2, %down bias %b : (tensor<2x8x150xf32>, tensor<64x150xf32>, tensor<64xf32>) -> tensor<2x8x64xf32> loc("down_proj")
  %s = nn.softmax %3 : tensor<2x8x64xf32> loc("probabilities")
  %r = linalg.reduce { arith.addf } ins(%2 : tensor<2x8x150xf32>) outs(%acc : tensor<2x8xf32>) dimensions = [2] loc("total")
  return %s, %r : tensor<2x8x64xf32>, tensor<2x8xf32>
}
