// RUN: tp-opt %s --tp-plan-buffers --tp-verify-schedule=asynchronous | FileCheck %s

tp.mesh @mesh <["tp"=2]>
func.func private @rows(%x: tensor<16xf32>) -> tensor<16xf32> attributes {tp.kernel = "rows"}
func.func private @both(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {tp.kernel = "rows"}

// The all-reduce is in place; until it is awaited nothing else may lie there.
// CHECK-LABEL: func.func @apart
// CHECK: call @rows(%arg0) {tp.buffers = [#tp.buffer<"comm", 0>]}
// CHECK: tp.all_reduce {{.*}}tp.buffers = [#tp.buffer<"comm", 0>]
// CHECK: call @rows({{.*}}) {tp.buffers = [#tp.buffer<"comm", 64>]}
// CHECK: tp.await
func.func @apart(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = call @rows(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<16xf32> -> tensor<16xf32>
  %2 = call @rows(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %3 = tp.await %1 : tensor<16xf32>
  %4 = tp.all_reduce sum %2 over @mesh ["tp"] : tensor<16xf32> -> tensor<16xf32>
  %5 = tp.await %4 : tensor<16xf32>
  %6 = call @both(%3, %5) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %6 : tensor<16xf32>
}
