// At the stage lower there are only results, so when one differs every value is
// handed out and the first that differs is named: in a repeated layer with its
// iteration. The compiled program here computes the other GELU; without its
// collective, the runtime itself sees that ranks do not agree.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir --stages lower | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal, 0 values and 1 results compared

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=wrong-gelu --mlir-print-debuginfo -o %t.gelu.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.gelu.mlir --stages lower; test $? = 3' | FileCheck %s --check-prefix=GELU
// GELU: given @main: differs first at nn.gelu at activation, iteration 0: element [0, {{[0-9]}}, {{[0-9]+}}] on rank 0: expected {{.*}}, got {{.*}} (tolerance

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=drop-collective --mlir-print-debuginfo -o %t.drop.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.drop.mlir --stages lower; test $? = 3' | FileCheck %s --check-prefix=DROP
// DROP: given @main: differs first at the compiled program at {{.*}}: output 'result0': rank 1 differs from rank 0 near element 0

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> {
  %r = tp.repeat 2 times iter(%x) : (tensor<1x4x16xf32>) -> tensor<1x4x16xf32> {
  ^bb0(%i: index, %c: tensor<1x4x16xf32>):
    %up = tp.parameter "layers.{i}.up.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<32x16xf32>
    %down = tp.parameter "layers.{i}.down.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<16x32xf32>
    %0 = nn.linear %c, %up : (tensor<1x4x16xf32>, tensor<32x16xf32>) -> tensor<1x4x32xf32> loc("up_proj")
    %1 = nn.gelu erf %0 : tensor<1x4x32xf32> loc("activation")
    %2 = nn.linear %1, %down : (tensor<1x4x32xf32>, tensor<16x32xf32>) -> tensor<1x4x16xf32> loc("down_proj")
    %3 = arith.addf %2, %c : tensor<1x4x16xf32> loc("residual")
    tp.yield %3 : tensor<1x4x16xf32>
  }
  return %r : tensor<1x4x16xf32>
}
