// RUN: tp-opt %s --tp-verify-schedule --split-input-file -verify-diagnostics

tp.mesh @mesh <["tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

// A slot that is used again for the next sum: a peer may be late.
func.func @early(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 4096 : i64, tp.comm_bytes = 2048 : i64, tp.slot_bytes = 2048 : i64} {
  // expected-note @below {{the addend is made here}}
  %p = call @make(%x) {tp.buffers = [#tp.buffer<"slot", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %p0, %p1 = tp.peers sum %p over @mesh ["tp"] {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %ps = call @sum(%p0, %p1) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{writes bytes 0 to 2048 of the slots, where an addend may still be read}}
  %q = call @make(%ps) {tp.buffers = [#tp.buffer<"slot", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %q0, %q1 = tp.peers sum %q over @mesh ["tp"] {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %qs = call @sum(%q0, %q1) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %qs : tensor<8x64xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

// The next step comes without a meeting.
func.func @wait_left_out(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 2048 : i64, tp.slot_bytes = 2048 : i64} {
  // expected-error @below {{writes bytes 0 to 2048 of the slots, where an addend may still be read}}
  // expected-note @below {{the addend is made here}}
  %p = call @make(%x) {tp.buffers = [#tp.buffer<"slot", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %p0, %p1 = tp.peers sum %p over @mesh ["tp"] {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %ps = call @sum(%p0, %p1) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %ps : tensor<8x64xf32>
}

// -----

tp.mesh @mesh <["dp"=2, "tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

// A meeting of another group, and one before the last read, say nothing.
func.func @other_group(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 4096 : i64, tp.comm_bytes = 2048 : i64, tp.slot_bytes = 2048 : i64} {
  // expected-error @below {{writes bytes 0 to 2048 of the slots, where an addend may still be read}}
  // expected-note @below {{the addend is made here}}
  %p = call @make(%x) {tp.buffers = [#tp.buffer<"slot", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %p0, %p1 = tp.peers sum %p over @mesh ["tp"] {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  tp.meet over @mesh ["tp"]
  %ps = call @sum(%p0, %p1) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  tp.meet over @mesh ["dp"]
  return %ps : tensor<8x64xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

func.func @no_slot(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 2048 : i64, tp.comm_bytes = 2048 : i64, tp.slot_bytes = 2048 : i64} {
  %p = call @make(%x) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{expected an addend in a slot, made since it was handed out last}}
  %p0, %p1 = tp.peers sum %p over @mesh ["tp"] {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %ps = call @sum(%p0, %p1) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %ps : tensor<8x64xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

func.func @outside(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 2048 : i64, tp.comm_bytes = 2048 : i64, tp.slot_bytes = 1024 : i64} {
  // expected-error @below {{writes outside of the slots: bytes 0 to 2048 of 1024}}
  %p = call @make(%x) {tp.buffers = [#tp.buffer<"slot", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %p : tensor<8x64xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

func.func private @make(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @sum(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}

// This rank itself reads its addend of the first sum at the end.
func.func @own_reader(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 2048 : i64, tp.comm_bytes = 4096 : i64, tp.slot_bytes = 4096 : i64} {
  // expected-note @below {{the addend is made here}}
  %p = call @make(%x) {tp.buffers = [#tp.buffer<"slot", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %p0, %p1 = tp.peers sum %p over @mesh ["tp"] {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %ps = call @sum(%p0, %p1) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %q = call @make(%ps) {tp.buffers = [#tp.buffer<"slot", 2048>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %q0, %q1 = tp.peers sum %q over @mesh ["tp"] {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %qs = call @sum(%q0, %q1) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{writes bytes 0 to 2048 of the slots, where an addend may still be read}}
  %r = call @make(%qs) {tp.buffers = [#tp.buffer<"slot", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %r0, %r1 = tp.peers sum %r over @mesh ["tp"] {tp.buffers = [#tp.buffer<"peer", 0>, #tp.buffer<"peer", 1>]} : tensor<8x64xf32> -> tensor<8x64xf32>, tensor<8x64xf32>
  %rs = call @sum(%r0, %r1) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %o = call @sum(%p, %rs) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}
