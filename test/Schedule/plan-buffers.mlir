// RUN: tp-opt %s --tp-plan-buffers --tp-verify-schedule --split-input-file | FileCheck %s

// A value that nobody reads any more makes room: the third product lies where
// the first was; the result is written where the caller wants it.
// CHECK-LABEL: func @chain
// CHECK-SAME: tp.arena_bytes = 4096 : i64, tp.comm_bytes = 0 : i64
// CHECK: call @gemm(%arg0) {tp.buffers = [#tp.buffer<"arena", [[A:.*]]>]}
// CHECK: call @gemm(%{{.*}}) {tp.buffers = [#tp.buffer<"arena", [[B:.*]]>]}
// CHECK: call @gemm(%{{.*}}) {tp.buffers = [#tp.buffer<"arena", [[A]]>]}
// CHECK: call @gemm(%{{.*}}) {tp.buffers = [#tp.buffer<"output", 0>]}
func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @chain(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = call @gemm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = call @gemm(%0) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = call @gemm(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %3 = call @gemm(%2) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}

// -----

// A view keeps its root alive: no reuse while the slice is read.
// CHECK-LABEL: func @view
// CHECK-SAME: tp.arena_bytes = 6144
func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @part(%x: tensor<4x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @view(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = call @gemm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %s = tensor.extract_slice %0[4, 0] [4, 64] [1, 1] : tensor<8x64xf32> to tensor<4x64xf32>
  %1 = call @gemm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = call @gemm(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %3 = call @part(%s, %2) : (tensor<4x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}

// -----

// An all-reduce works in place on a value that nothing else reads, and beside
// it on one that something does (FACTS 8.9). Both lie where ranks can see them.
// CHECK-LABEL: func @in_place
// CHECK: call @gemm(%arg0) {tp.buffers = [#tp.buffer<"comm", [[A:.*]]>]}
// CHECK: tp.all_reduce
// CHECK-SAME: tp.buffers = [#tp.buffer<"comm", [[A]]>]
tp.mesh @mesh <["tp"=2]>
func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @add(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @in_place(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = call @gemm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
  %2 = call @gemm(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}
// CHECK-LABEL: func @beside
// CHECK-SAME: tp.comm_bytes = 4096
func.func @beside(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = call @gemm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
  %2 = call @add(%0, %1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// -----

// What cannot be written where it must be is copied: an argument that is
// returned, a value returned twice.
// CHECK-LABEL: func @copies
// CHECK: %[[A:.*]] = call @gemm(%arg0) {tp.buffers = [#tp.buffer<"output", 1>]}
// CHECK: call @rows_0(%arg0) {tp.buffers = [#tp.buffer<"output", 0>]}
// CHECK: call @rows_0(%[[A]]) {tp.buffers = [#tp.buffer<"output", 2>]}
func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @copies(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %0 = call @gemm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %x, %0, %0 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// A repeated layer: two places for the carried value that alternate, one
// workspace for all iterations, which the values around it do not share.
// CHECK-LABEL: func @layers
// CHECK-SAME: tp.arena_bytes = 6144
// CHECK: call @gemm(%arg0) {tp.buffers = [#tp.buffer<"arena", [[A:.*]]>]}
// CHECK: tp.repeat 3 times
// CHECK-SAME: tp.buffers = [#tp.buffer<"arena", [[A]]>, #tp.buffer<"arena", [[B:.*]]>]
// CHECK: call @gemm({{.*}}) {tp.buffers = [#tp.buffer<"arena", [[C:.*]]>]}
// CHECK: call @gemm({{.*}}) {tp.buffers = [#tp.buffer<"next", 0>]}
// CHECK: call @gemm({{.*}}) {tp.buffers = [#tp.buffer<"output", 0>]}
func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @layers(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = call @gemm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = tp.repeat 3 times iter(%0) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    %2 = func.call @gemm(%h) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %3 = func.call @gemm(%2) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    tp.yield %3 : tensor<8x64xf32>
  }
  %4 = call @gemm(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %4 : tensor<8x64xf32>
}
