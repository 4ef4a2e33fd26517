// A norm that is tried in parts makes layers partial over an axis by which their stack is cut
// for a reader, who makes a state that is partial over it: the stack is not.
// RUN: tp-verify %s --stages partition | FileCheck %s --check-prefix=EQUAL

// EQUAL: partition @main: equal

tp.mesh @mesh <["dp"=2, "tp"=3]>
tp.state @s0 : tensor<2x2x4x16xbf16> parameter "s0" sharding <@mesh, [{}, {}, {}, {}], partial sum {"tp"}>
func.func @main(%arg0: tensor<2x4x6xbf16>) -> (tensor<2x2x4x16xbf16> {tp.state = @s0}, tensor<2x4x10xbf16>) {
  %0:2 = tp.repeat 2 times iter(%arg0) : (tensor<2x4x6xbf16>) -> (tensor<2x4x6xbf16>, tensor<2x2x4x6xbf16>) {
  ^bb0(%arg1: index, %arg2: tensor<2x4x6xbf16>):
    %5 = tp.parameter "layers.{i}.p0.norm.weight" : tensor<6xbf16>
    %result = nn.rms_norm %arg2, %5 {epsilon = 1.000000e-05 : f64} : (tensor<2x4x6xbf16>, tensor<6xbf16>) -> tensor<2x4x6xbf16>
    %6 = tp.parameter "layers.{i}.p2.weight" {tp.shardings = [#tp.sharding<@mesh, [{"dp", ?}, {"tp"}]>]} : tensor<6x6xbf16>
    %7 = nn.linear %result, %6 : (tensor<2x4x6xbf16>, tensor<6x6xbf16>) -> tensor<2x4x6xbf16>
    %8 = arith.addf %result, %7 : tensor<2x4x6xbf16>
    tp.yield %8, %8 : tensor<2x4x6xbf16>, tensor<2x4x6xbf16>
  }
  %1 = tp.parameter "p3.fused.weight" source <shape = [6, 48], offsets = [0, 32], permutation = [1, 0]> : tensor<16x6xbf16>
  %2 = nn.linear %0#1, %1 : (tensor<2x2x4x6xbf16>, tensor<16x6xbf16>) -> tensor<2x2x4x16xbf16>
  %3 = tp.parameter "p4.fused.weight" source <shape = [6, 30], offsets = [0, 20], permutation = [1, 0]> {tp.shardings = [#tp.sharding<@mesh, [{}, {"dp", "tp", ?}]>]} : tensor<10x6xbf16>
  %4 = nn.linear %0#0, %3 : (tensor<2x4x6xbf16>, tensor<10x6xbf16>) -> tensor<2x4x10xbf16>
  return %2, %4 : tensor<2x2x4x16xbf16>, tensor<2x4x10xbf16>
}
