// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-start-collectives{least-bytes=128}))' --split-input-file | FileCheck %s
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-start-collectives{at-once}))' --split-input-file | FileCheck %s --check-prefix=ONCE

tp.mesh @mesh <["tp"=2]>
func.func private @produce(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tp.kernel = "rows"}
func.func private @both(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tp.kernel = "rows"}

// Long enough, and beside as much.
// CHECK-LABEL: func.func @long
// CHECK:      call @produce
// CHECK-NEXT: tp.all_reduce
// CHECK-NEXT: call @produce
// CHECK-NEXT: tp.await
// CHECK-NEXT: call @both
// ONCE-LABEL: func.func @long
// ONCE:      call @produce
// ONCE-NEXT: call @produce
// ONCE-NEXT: tp.all_reduce
// ONCE-NEXT: tp.await
// ONCE-NEXT: call @both
func.func @long(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = call @produce(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %o = call @produce(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = tp.all_reduce sum %p over @mesh ["tp"] : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = call @both(%r, %o) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func private @produce(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tp.kernel = "rows"}
func.func private @short(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.kernel = "rows"}
func.func private @both(%a: tensor<8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tp.kernel = "rows"}

// What is not started stays where it is: the first is short, and the second
// may not pass it.
// CHECK-LABEL: func.func @short_ones
// CHECK:      call @short
// CHECK-NEXT: %[[P:.*]] = call @produce
// CHECK-NEXT: call @produce
// CHECK-NEXT: tp.all_reduce sum %{{.*}} : tensor<8xf32>
// CHECK-NEXT: tp.all_reduce sum %[[P]]
// CHECK-NOT:  tp.await
// CHECK:      return
func.func @short_ones(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %p = call @short(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %q = call @produce(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %o = call @produce(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = tp.all_reduce sum %p over @mesh ["tp"] : tensor<8xf32> -> tensor<8xf32>
  %s = tp.all_reduce sum %q over @mesh ["tp"] : tensor<4x8xf32> -> tensor<4x8xf32>
  %z = call @both(%r, %s) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z, %o : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func private @produce(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tp.kernel = "rows"}
func.func private @short(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.kernel = "rows"}
func.func private @both(%a: tensor<8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tp.kernel = "rows"}

// Too little beside it.
// CHECK-LABEL: func.func @little
// CHECK-NOT: tp.await
// CHECK:     return
func.func @little(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = call @produce(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = tp.all_reduce sum %p over @mesh ["tp"] : tensor<4x8xf32> -> tensor<4x8xf32>
  %q = call @short(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %z = call @both(%q, %s) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
