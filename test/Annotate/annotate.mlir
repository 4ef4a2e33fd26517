// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=dp=2,tp=4' --split-input-file --mlir-print-local-scope | FileCheck %s
// RUN: tp-opt %s --tp-annotate='plan=replicated mesh=dp=2,tp=4' --split-input-file --mlir-print-local-scope | FileCheck %s --check-prefix=WHOLE

// Names decide: column, row, vocabulary, whole; unknown ones stay open; inputs
// are split along the batch where the mesh has an axis for it.

// CHECK: tp.mesh @mesh <["dp"=2, "tp"=4]>
// CHECK-LABEL: func.func @names(
// CHECK-SAME: %{{.*}}: tensor<2x8xi64> {tp.name = "input_ids", tp.sharding = #tp.sharding<@mesh, [{"dp"}, {}]>}
// CHECK: tp.parameter "h.{{.}}.mlp.c_fc.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]}
// CHECK: tp.parameter "h.{{.}}.mlp.c_fc.bias" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]}
// CHECK: tp.parameter "h.{{.}}.mlp.c_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"}]>]}
// CHECK: tp.parameter "h.{{.}}.mlp.c_proj.bias" {tp.shardings = [#tp.sharding<@mesh, [{}]>]}
// CHECK: tp.parameter "wte.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]}
// CHECK: tp.parameter "h.{{.}}.ln_1.weight" {tp.shardings = [#tp.sharding<@mesh, [{}]>]}
// CHECK: tp.parameter "something.else" : tensor<64x64xf32>
// CHECK: tp.parameter "own.c_fc.weight" {tp.shardings = [#tp.sharding<@mesh, [{?}, {"dp"}]>]}

// WHOLE-LABEL: func.func @names(
// WHOLE-SAME: tp.sharding = #tp.sharding<@mesh, [{}, {}]>
// WHOLE: tp.parameter "h.{{.}}.mlp.c_fc.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {}]>]}
// WHOLE: tp.parameter "something.else" {tp.shardings = [#tp.sharding<@mesh, [{}, {}]>]}
// WHOLE: tp.parameter "own.c_fc.weight" {tp.shardings = [#tp.sharding<@mesh, [{?}, {"dp"}]>]}
tp.mesh @mesh <["dp"=2, "tp"=4]>
func.func @names(%ids: tensor<2x8xi64> {tp.name = "input_ids"}) {
  %0 = tp.parameter "h.0.mlp.c_fc.weight" : tensor<256x64xf32>
  %1 = tp.parameter "h.0.mlp.c_fc.bias" : tensor<256xf32>
  %2 = tp.parameter "h.0.mlp.c_proj.weight" : tensor<64x256xf32>
  %3 = tp.parameter "h.0.mlp.c_proj.bias" : tensor<64xf32>
  %4 = tp.parameter "wte.weight" : tensor<50257x64xf32>
  %5 = tp.parameter "h.0.ln_1.weight" : tensor<64xf32>
  %6 = tp.parameter "something.else" : tensor<64x64xf32>
  %7 = tp.parameter "own.c_fc.weight" {tp.shardings = [#tp.sharding<@mesh, [{?}, {"dp"}]>]} : tensor<64x64xf32>
  return
}

// -----

// With fewer KV heads than ranks, key and value projections take the leading
// sub-axis, found through the attention and not by name; biases too.

// CHECK-LABEL: func.func @heads(
// CHECK: tp.parameter "a.q_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]}
// CHECK: tp.parameter "a.k_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp":(1)2}, {}]>]}
// CHECK: tp.parameter "a.k_proj.bias" {tp.shardings = [#tp.sharding<@mesh, [{"tp":(1)2}]>]}
// CHECK: tp.parameter "a.v_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp":(1)2}, {}]>]}
func.func @heads(%x: tensor<2x8x64xf32>) -> tensor<2x8x8x8xf32> {
  %wq = tp.parameter "a.q_proj.weight" : tensor<64x64xf32>
  %wk = tp.parameter "a.k_proj.weight" : tensor<16x64xf32>
  %bk = tp.parameter "a.k_proj.bias" : tensor<16xf32>
  %wv = tp.parameter "a.v_proj.weight" : tensor<16x64xf32>
  %q = nn.linear %x, %wq : (tensor<2x8x64xf32>, tensor<64x64xf32>) -> tensor<2x8x64xf32>
  %k = nn.linear %x, %wk bias %bk : (tensor<2x8x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<2x8x16xf32>
  %v = nn.linear %x, %wv : (tensor<2x8x64xf32>, tensor<16x64xf32>) -> tensor<2x8x16xf32>
  %q1 = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 8, 8, 8] : tensor<2x8x64xf32> into tensor<2x8x8x8xf32>
  %k1 = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 8, 2, 8] : tensor<2x8x16xf32> into tensor<2x8x2x8xf32>
  %v1 = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 8, 2, 8] : tensor<2x8x16xf32> into tensor<2x8x2x8xf32>
  %n = tp.parameter "a.k_norm.weight" : tensor<8xf32>
  %k2 = nn.rms_norm %k1, %n {epsilon = 1.0e-5} : (tensor<2x8x2x8xf32>, tensor<8xf32>) -> tensor<2x8x2x8xf32>
  %o = nn.attention %q1, %k2, %v1 {causal, scale = 0.35 : f64} : (tensor<2x8x8x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>) -> tensor<2x8x8x8xf32>
  return %o : tensor<2x8x8x8xf32>
}
