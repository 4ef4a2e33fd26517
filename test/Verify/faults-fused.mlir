// Q, K and V in one tensor of the checkpoint are three matrices, each split on
// its own; cut as one matrix, a rank's first third is not its queries.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=fused-as-one-matrix --mlir-print-debuginfo -o %t.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.mlir; test $? = 3' | FileCheck %s
// CHECK: differs first at nn.linear at query: element [0, 0, {{[0-9]+}}] on rank {{[0-9]}}

tp.mesh @mesh <["tp"=2]>
func.func @main(%x: tensor<1x4x16xf32>) -> tensor<1x4x16xf32> {
  %wq = tp.parameter "c_attn.weight" source <shape = [16, 48], offsets = [0, 0], permutation = [1, 0]> {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<16x16xf32>
  %wk = tp.parameter "c_attn.weight" source <shape = [16, 48], offsets = [0, 16], permutation = [1, 0]> {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<16x16xf32>
  %wv = tp.parameter "c_attn.weight" source <shape = [16, 48], offsets = [0, 32], permutation = [1, 0]> {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<16x16xf32>
  %0 = nn.linear %x, %wq : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32> loc("query")
  %1 = nn.linear %x, %wk : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32> loc("key")
  %2 = nn.linear %x, %wv : (tensor<1x4x16xf32>, tensor<16x16xf32>) -> tensor<1x4x16xf32> loc("value")
  %q = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [1, 4, 2, 8] : tensor<1x4x16xf32> into tensor<1x4x2x8xf32>
  %k = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [1, 4, 2, 8] : tensor<1x4x16xf32> into tensor<1x4x2x8xf32>
  %v = tensor.expand_shape %2 [[0], [1], [2, 3]] output_shape [1, 4, 2, 8] : tensor<1x4x16xf32> into tensor<1x4x2x8xf32>
  %a = nn.attention %q, %k, %v {scale = 0.35 : f64} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>) -> tensor<1x4x2x8xf32>
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<1x4x2x8xf32> into tensor<1x4x16xf32>
  return %c : tensor<1x4x16xf32>
}
