// RUN: tp-opt %s --tp-bind-gpu-kernels --split-input-file --verify-diagnostics | FileCheck %s

// A block for each row of each block of the vocabulary; equal records share a
// kernel.

// CHECK-LABEL: func.func @sample
// CHECK: nn.sample_records {{.*}} {tp.kernel = @sample_records_0, vocabulary = 131 : i64}
// CHECK: nn.sample_records {{.*}} {tp.kernel = @sample_records_0, vocabulary = 131 : i64}
// CHECK: nn.sample_pick {{.*}} {tp.kernel = @sample_pick_0}
// CHECK: llvm.func @sample_records_0(i64, i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK-SAME: tp.block = array<i64: 256, 1, 1>
// CHECK-SAME: shape = {blocks = 3 : i64, columns = 131 : i64, vocabulary = 131 : i64}
// CHECK-SAME: tp.grid = array<i64: 4, 3, 1>
// CHECK: llvm.func @sample_pick_0(
// CHECK-SAME: tp.block = array<i64: 256, 1, 1>
// CHECK-SAME: shape = {blocks = 3 : i64}
// CHECK-SAME: tp.grid = array<i64: 4, 1, 1>
func.func @sample(%logits: tensor<4x131xf32>, %positions: tensor<4xi32>, %seed: tensor<4xi64>, %temperature: tensor<4xf32>, %top_k: tensor<4xi32>, %top_p: tensor<4xf32>, %min_p: tensor<4xf32>, %blocks: tensor<3xi32>) -> (tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xf32>) {
  %0 = nn.sample_records %logits, %blocks, %positions, %seed, %temperature {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
  %1 = nn.sample_records %logits, %blocks, %positions, %seed, %top_p {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
  %token, %logprob = nn.sample_pick %0, %positions, %seed, %temperature, %top_k, %top_p, %min_p : (tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %1, %token, %logprob : tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xf32>
}

// -----

// Many logits have more threads.

// CHECK-LABEL: func.func @many
// CHECK: llvm.func @sample_records_0({{.*}}tp.block = array<i64: 1024, 1, 1>, {{.*}}, tp.grid = array<i64: 1, 1, 1>
func.func @many(%logits: tensor<1x8192xf32>, %blocks: tensor<1xi32>, %positions: tensor<1xi32>, %seed: tensor<1xi64>, %temperature: tensor<1xf32>) -> tensor<1x1x133xf32> {
  %0 = nn.sample_records %logits, %blocks, %positions, %seed, %temperature {vocabulary = 8192 : i64} : (tensor<1x8192xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi64>, tensor<1xf32>) -> tensor<1x1x133xf32>
  return %0 : tensor<1x1x133xf32>
}

// -----

func.func @noRow(%logits: tensor<0x131xf32>, %blocks: tensor<1xi32>, %n: tensor<0xi32>, %seed: tensor<0xi64>, %t: tensor<0xf32>) -> tensor<1x0x133xf32> {
  // expected-error @below {{expected rows, and 1 to 65535 blocks for a device, got 'tensor<0x131xf32>' and 1}}
  %0 = nn.sample_records %logits, %blocks, %n, %seed, %t {vocabulary = 131 : i64} : (tensor<0x131xf32>, tensor<1xi32>, tensor<0xi32>, tensor<0xi64>, tensor<0xf32>) -> tensor<1x0x133xf32>
  return %0 : tensor<1x0x133xf32>
}

// -----

func.func @noPick(%records: tensor<1x0x133xf32>, %n: tensor<0xi32>, %seed: tensor<0xi64>, %t: tensor<0xf32>) -> (tensor<0xi32>, tensor<0xf32>) {
  // expected-error @below {{expected 1 or more rows, and 1 to 65535 records of each for a device, got 'tensor<1x0x133xf32>'}}
  %token, %logprob = nn.sample_pick %records, %n, %seed, %t, %n, %t, %t : (tensor<1x0x133xf32>, tensor<0xi32>, tensor<0xi64>, tensor<0xf32>, tensor<0xi32>, tensor<0xf32>, tensor<0xf32>) -> (tensor<0xi32>, tensor<0xf32>)
  return %token, %logprob : tensor<0xi32>, tensor<0xf32>
}
