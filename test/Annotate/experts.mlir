// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=4' --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,WIDTH
// RUN: tp-opt %s --tp-annotate='plan=expert mesh=tp=4' --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,EXPERT

// Experts are cut by their width or from each other; the expert that all tokens
// use is a feed-forward like any; routers are whole.
func.func @main(%x: tensor<1x8x16xf32>) {
  // WIDTH: tp.parameter "l.0.mlp.experts.{e}.gate_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}, {}]>]}
  // EXPERT: tp.parameter "l.0.mlp.experts.{e}.gate_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>]}
  %0 = tp.parameter "l.0.mlp.experts.{e}.gate_proj.weight" : tensor<6x32x16xf32>
  // WIDTH: tp.parameter "l.0.mlp.experts.{e}.down_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {}, {"tp"}]>]}
  // EXPERT: tp.parameter "l.0.mlp.experts.{e}.down_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>]}
  %1 = tp.parameter "l.0.mlp.experts.{e}.down_proj.weight" : tensor<6x16x32xf32>
  // WIDTH: tp.parameter "l.0.moe.experts.{e}.w2.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {}, {"tp"}]>]}
  // EXPERT: tp.parameter "l.0.moe.experts.{e}.w2.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>]}
  %2 = tp.parameter "l.0.moe.experts.{e}.w2.weight" : tensor<6x16x32xf32>
  // As PyTorch's modules hold them, gate and up in one.
  // WIDTH: tp.parameter "l.0.mlp.experts.gate_up_proj" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}, {}]>]}
  // EXPERT: tp.parameter "l.0.mlp.experts.gate_up_proj" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>]}
  %6 = tp.parameter "l.0.mlp.experts.gate_up_proj" : tensor<6x32x16xf32>
  // WIDTH: tp.parameter "l.0.mlp.experts.down_proj" {tp.shardings = [#tp.sharding<@mesh, [{}, {}, {"tp"}]>]}
  // EXPERT: tp.parameter "l.0.mlp.experts.down_proj" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}, {}]>]}
  %7 = tp.parameter "l.0.mlp.experts.down_proj" : tensor<6x16x32xf32>
  // CHECK: tp.parameter "l.0.mlp.shared_expert.gate_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]}
  %3 = tp.parameter "l.0.mlp.shared_expert.gate_proj.weight" : tensor<32x16xf32>
  // CHECK: tp.parameter "l.0.mlp.gate.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {}]>]}
  %4 = tp.parameter "l.0.mlp.gate.weight" : tensor<6x16xf32>
  // CHECK: tp.parameter "l.0.mlp.shared_expert_gate.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {}]>]}
  %5 = tp.parameter "l.0.mlp.shared_expert_gate.weight" : tensor<1x16xf32>
  return
}
