// RUN: tp-compile %s --target cuda:ptx --save-kernels=%t -o %t.tpa
// RUN: FileCheck %s < %t/kernels.ptx

// What kernels/device comes to once a model's numbers are bound: vectors where rows
// allow them, loops and branches on bound numbers gone, no local memory, no call, and
// line tables of the source.

// Cells are read when the kernel runs; all of a row of 256 bytes is moved by 16 bytes
// a thread, or by elements of two.
// CHECK-LABEL: .entry cache_write_0(
// CHECK: .maxntid 32, 1, 1
// CHECK-NOT: call
// CHECK: .loc
// CHECK: ld.global.b32
// CHECK: ld.global.v4.b32
// CHECK: st.global.v4.b32
func.func @write(%k: tensor<16x2x64xbf16>, %cells: tensor<16xi32>, %pool: tensor<1024x2x64xbf16>) -> tensor<1024x2x64xbf16> {
  %0 = nn.cache_write %k, %cells, %pool : (tensor<16x2x64xbf16>, tensor<16xi32>, tensor<1024x2x64xbf16>) -> tensor<1024x2x64xbf16>
  return %0 : tensor<1024x2x64xbf16>
}

// Ids are compared by a warp; no atomics.
// CHECK-LABEL: .entry embedding_backward_0(
// CHECK: st.global.v4.b32
// CHECK-LABEL: .entry embedding_backward_0_add(
// CHECK-NOT: atom
// CHECK: vote.sync.ballot.b32
// CHECK-NOT: atom
// CHECK: ld.global.v4.b32
// CHECK-NOT: atom
// CHECK: add.{{(rn.)?}}f32
func.func @embed(%ids: tensor<16xi64>, %dx: tensor<16x64xf32>, %old: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %0 = nn.embedding_backward %ids, %dx into %old : (tensor<16xi64>, tensor<16x64xf32>, tensor<100x64xf32>) -> tensor<100x64xf32>
  return %0 : tensor<100x64xf32>
}

// The draw is in f64, the best are found by counting digits in shared memory.
// CHECK-LABEL: .entry sample_records_0(
// CHECK: cvt.rn.f64.u32
// CHECK: bar{{(rier)?}}.{{(cta.)?}}sync
// CHECK: {{atom|red}}.{{.*}}shared{{.*}}add.{{[su]}}32
// CHECK-LABEL: .entry sample_pick_0(
func.func @sample(%logits: tensor<4x131xf32>, %blocks: tensor<3xi32>, %positions: tensor<4xi32>, %seed: tensor<4xi64>, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %0 = nn.sample_records %logits, %blocks, %positions, %seed, %x {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
  %token, %logprob = nn.sample_pick %0, %positions, %seed, %x, %positions, %x, %x : (tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %token, %logprob : tensor<4xi32>, tensor<4xf32>
}

// Formats are bound: a row reads its weight 16 bytes at a time and multiplies in f32.
// CHECK-LABEL: .entry quantized_gemm_0(
// CHECK-NOT: call
// CHECK: ld.global{{.*}}.v4.b32
// CHECK: fma.rn.f32
// CHECK: shfl.sync.bfly
// CHECK: bar{{(rier)?}}.{{(cta.)?}}sync
func.func @row(%x: tensor<1x512xbf16>, %w: tensor<64x256xi8>, %s: tensor<64x4xf16>) -> tensor<1x64xbf16> {
  %0 = nn.quantized_linear %x, %w, %s {element = i4, group = array<i64: 1, 128>} : (tensor<1x512xbf16>, tensor<64x256xi8>, tensor<64x4xf16>) -> tensor<1x64xbf16>
  return %0 : tensor<1x64xbf16>
}

// Many rows are copied while tensor cores multiply those before.
// CHECK-LABEL: .entry quantized_gemm_1(
// CHECK-NOT: call
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.wait_all
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: .file 1 "kernels/device/
func.func @rows(%x: tensor<64x512xbf16>, %w: tensor<64x512xi8>, %s: tensor<64x1xf32>) -> tensor<64x64xbf16> {
  %0 = nn.quantized_linear %x, %w, %s {element = f8E4M3FN, group = array<i64: 1, 0>} : (tensor<64x512xbf16>, tensor<64x512xi8>, tensor<64x1xf32>) -> tensor<64x64xbf16>
  return %0 : tensor<64x64xbf16>
}
