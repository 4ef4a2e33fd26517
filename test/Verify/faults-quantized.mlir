// The mistakes that quantised weights are known for. Of 8 outputs and 8 groups of 8
// inputs on 4 ranks, each rank has two outputs; it reads the first rank's scales,
// groups where outputs should be, groups of one input more, the neighbours in a byte
// swapped, and zero points that are one off. Of scales that are powers of two it takes
// the exponents' bytes for numbers.
// RUN: tp-opt %s --tp-assign-value-ids --mlir-print-debuginfo -o %t.one.mlir
// RUN: tp-opt %t.one.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.ranks.mlir
// RUN: tp-verify %t.one.mlir --against %t.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RIGHT: given @main: equal

// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=replicate-scale --mlir-print-debuginfo -o %t.1.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.1.mlir; test $? = 3' | FileCheck %s --check-prefix=SCALE
// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=transpose-scale --mlir-print-debuginfo -o %t.2.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.2.mlir; test $? = 3' | FileCheck %s --check-prefix=SCALE
// SCALE: differs first at {{tp.parameter at scale|nn.dequantize at weight}}
// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=group-off-by-one --mlir-print-debuginfo -o %t.3.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.3.mlir; test $? = 3' | FileCheck %s --check-prefix=GROUP
// GROUP: differs first at nn.dequantize at weight
// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=swap-nibbles --mlir-print-debuginfo -o %t.4.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.4.mlir; test $? = 3' | FileCheck %s --check-prefix=NIBBLES
// NIBBLES: differs first at tp.parameter at values
// RUN: tp-opt %t.ranks.mlir --test-tp-inject-fault=kind=zero-off-by-one --mlir-print-debuginfo -o %t.5.mlir
// RUN: sh -c 'tp-verify %t.one.mlir --against %t.5.mlir; test $? = 3' | FileCheck %s --check-prefix=ZERO
// ZERO: differs first at tp.parameter at zeros

// RUN: tp-opt %S/Inputs/powers.mlir --tp-assign-value-ids --mlir-print-debuginfo -o %t.p.mlir
// RUN: tp-opt %t.p.mlir --tp-propagate --tp-insert-reshards --tp-partition --mlir-print-debuginfo -o %t.p.ranks.mlir
// RUN: tp-verify %t.p.mlir --against %t.p.ranks.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: tp-opt %t.p.ranks.mlir --test-tp-inject-fault=kind=power-as-number --mlir-print-debuginfo -o %t.6.mlir
// RUN: sh -c 'tp-verify %t.p.mlir --against %t.6.mlir; test $? = 3' | FileCheck %s --check-prefix=POWER
// POWER: differs first at nn.dequantize at weight

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<3x64xf32>) -> tensor<3x8xf32> {
  %q = tp.parameter "w.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x64xi4> loc("values")
  %s = tp.parameter "w.weight_scale" storage <"F32"> : tensor<8x8xf32> loc("scale")
  %z = tp.parameter "w.weight_zero_point" storage <"I32", bits = 4, dim = 0, offset = 8> : tensor<8x8xi8> loc("zeros")
  %w = nn.dequantize %q, %s zeros %z {group = array<i64: 1, 8>} : (tensor<8x64xi4>, tensor<8x8xf32>, tensor<8x8xi8>) -> tensor<8x64xf32> loc("weight")
  %y = nn.linear %x, %w : (tensor<3x64xf32>, tensor<8x64xf32>) -> tensor<3x8xf32> loc("product")
  return %y : tensor<3x8xf32>
}
