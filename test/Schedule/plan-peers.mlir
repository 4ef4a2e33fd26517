// RUN: tp-opt %s --pass-pipeline='builtin.module(tp-plan-buffers,tp-verify-schedule)' --split-input-file | FileCheck %s

tp.mesh @mesh <["tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

// Two sums in a loop alternate between two slots; one behind it, which the next
// step follows, needs a third.
// CHECK-LABEL: func.func @odd
// CHECK-SAME: tp.comm_bytes = 6144
// CHECK-SAME: tp.slot_bytes = 6144
// CHECK-NOT: tp.meet
// CHECK: call @make({{.*}}) {tp.buffers = [#tp.buffer<"slot", 0>]}
// CHECK: tp.peers {{.*}} {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]}
// CHECK: call @make({{.*}}) {tp.buffers = [#tp.buffer<"slot", 2048>]}
// CHECK: call @make({{.*}}) {tp.buffers = [#tp.buffer<"slot", 4096>]}
func.func @odd(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %i = call @make(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %h = tp.repeat 4 times iter(%i) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%n: index, %c: tensor<8x64xf32>):
    %p = func.call @make(%c) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %p0, %p1 = tp.peers sum %p over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
    %ps = func.call @sum(%p0, %p1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %q = func.call @make(%ps) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %q0, %q1 = tp.peers sum %q over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
    %qs = func.call @sum(%q0, %q1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    tp.yield %qs : tensor<8x64xf32>
  }
  %r = call @make(%h) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %r0, %r1 = tp.peers sum %r over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %rs = call @sum(%r0, %r1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %rs : tensor<8x64xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

// The only sum of a loop stands in its own way, in any number of slots. An
// argument is copied into the slot.
// CHECK-LABEL: func.func @alone
// CHECK: tp.repeat
// CHECK: call @rows_0(%{{.*}}) {tp.buffers = [#tp.buffer<"slot", 0>]}
// CHECK: tp.peers
// CHECK-NEXT: call @sum
// CHECK-NEXT: tp.meet over @mesh ["tp"]
// CHECK-NEXT: tp.yield
func.func @alone(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %i = call @make(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %h = tp.repeat 4 times iter(%i) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%n: index, %c: tensor<8x64xf32>):
    %p0, %p1 = tp.peers sum %c over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
    %ps = func.call @sum(%p0, %p1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    tp.yield %ps : tensor<8x64xf32>
  }
  return %h : tensor<8x64xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

// Two slots are enough for four sums in a row, but this rank reads its own
// addend of the first once more at the end: it needs a slot for itself.
// CHECK-LABEL: func.func @own
// CHECK-SAME: tp.slot_bytes = 6144
// CHECK: call @make({{.*}}) {tp.buffers = [#tp.buffer<"slot", 0>]}
// CHECK: call @make({{.*}}) {tp.buffers = [#tp.buffer<"slot", 2048>]}
// CHECK: call @make({{.*}}) {tp.buffers = [#tp.buffer<"slot", 4096>]}
// CHECK: call @make({{.*}}) {tp.buffers = [#tp.buffer<"slot", 2048>]}
func.func @own(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %p = call @make(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %p0, %p1 = tp.peers sum %p over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %ps = call @sum(%p0, %p1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %q = call @make(%ps) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %q0, %q1 = tp.peers sum %q over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %qs = call @sum(%q0, %q1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %r = call @make(%qs) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %r0, %r1 = tp.peers sum %r over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %rs = call @sum(%r0, %r1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %s = call @make(%rs) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %s0, %s1 = tp.peers sum %s over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %ss = call @sum(%s0, %s1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %o = call @sum(%p, %ss) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}

// -----

tp.mesh @mesh <["dp"=2, "tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

// A meeting of one group says nothing of another's.
// CHECK-LABEL: func.func @groups
// CHECK: tp.meet over @mesh ["tp"]
// CHECK: tp.meet over @mesh ["dp"]
func.func @groups(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %p = call @make(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %p0, %p1 = tp.peers sum %p over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %ps = call @sum(%p0, %p1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %q = call @make(%ps) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %q0, %q1 = tp.peers sum %q over @mesh ["dp"] : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %qs = call @sum(%q0, %q1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %qs : tensor<8x64xf32>
}
