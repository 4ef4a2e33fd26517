// Four ranks share two KV heads: rank r needs head floor(r * 2 / 4), not r % 2.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=kv-head-by-remainder --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s
// CHECK: differs first at nn.linear at k_proj: element [0, 0, {{[0-9]+}}] on rank 1

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<1x6x32xf32>) -> tensor<1x6x32xf32> {
  %wq = tp.parameter "q_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<32x32xf32>
  %wk = tp.parameter "k_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp":(1)2}, {}]>]} : tensor<16x32xf32>
  %wv = tp.parameter "v_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp":(1)2}, {}]>]} : tensor<16x32xf32>
  %wo = tp.parameter "o_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]} : tensor<32x32xf32>
  %0 = nn.linear %x, %wq : (tensor<1x6x32xf32>, tensor<32x32xf32>) -> tensor<1x6x32xf32> loc("q_proj")
  %1 = nn.linear %x, %wk : (tensor<1x6x32xf32>, tensor<16x32xf32>) -> tensor<1x6x16xf32> loc("k_proj")
  %2 = nn.linear %x, %wv : (tensor<1x6x32xf32>, tensor<16x32xf32>) -> tensor<1x6x16xf32> loc("v_proj")
  %q = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [1, 6, 4, 8] : tensor<1x6x32xf32> into tensor<1x6x4x8xf32>
  %k = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [1, 6, 2, 8] : tensor<1x6x16xf32> into tensor<1x6x2x8xf32>
  %v = tensor.expand_shape %2 [[0], [1], [2, 3]] output_shape [1, 6, 2, 8] : tensor<1x6x16xf32> into tensor<1x6x2x8xf32>
  %a = nn.attention %q, %k, %v {causal, scale = 0.35 : f64} : (tensor<1x6x4x8xf32>, tensor<1x6x2x8xf32>, tensor<1x6x2x8xf32>) -> tensor<1x6x4x8xf32> loc("attention")
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x6x4x8xf32> into tensor<1x6x32xf32>
  %o = nn.linear %c, %wo : (tensor<1x6x32xf32>, tensor<32x32xf32>) -> tensor<1x6x32xf32> loc("o_proj")
  return %o : tensor<1x6x32xf32>
}
