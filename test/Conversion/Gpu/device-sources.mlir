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
// CHECK: .file 1 "kernels/device/
func.func @sample(%logits: tensor<4x131xf32>, %blocks: tensor<3xi32>, %positions: tensor<4xi32>, %seed: tensor<4xi64>, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  %0 = nn.sample_records %logits, %blocks, %positions, %seed, %x {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
  %token, %logprob = nn.sample_pick %0, %positions, %seed, %x, %positions, %x, %x : (tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %token, %logprob : tensor<4xi32>, tensor<4xf32>
}
