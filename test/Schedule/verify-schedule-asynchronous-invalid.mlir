// RUN: tp-opt %s --tp-verify-schedule=asynchronous --split-input-file --verify-diagnostics

tp.mesh @mesh <["tp"=2]>
func.func private @rows(%x: tensor<16xf32>) -> tensor<16xf32> attributes {tp.kernel = "rows"}

// The second kernel writes over the operand of a collective under way.
func.func @operand(%x: tensor<16xf32>) -> tensor<16xf32> attributes {tp.arena_bytes = 64 : i64, tp.comm_bytes = 128 : i64} {
  // expected-note @below {{the value is made here}}
  %0 = call @rows(%x) {tp.buffers = [#tp.buffer<"comm", 0>]} : (tensor<16xf32>) -> tensor<16xf32>
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] {tp.buffers = [#tp.buffer<"comm", 64>]} : tensor<16xf32> -> tensor<16xf32>
  // expected-error @below {{writes bytes 0 to 64 of comm, where a value is that is still read}}
  %2 = call @rows(%x) {tp.buffers = [#tp.buffer<"comm", 0>]} : (tensor<16xf32>) -> tensor<16xf32>
  %3 = tp.await %1 : tensor<16xf32>
  %4 = call @rows(%3) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<16xf32>) -> tensor<16xf32>
  return %4 : tensor<16xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func private @rows(%x: tensor<16xf32>) -> tensor<16xf32> attributes {tp.kernel = "rows"}

func.func @result(%x: tensor<16xf32>) -> tensor<16xf32> attributes {tp.arena_bytes = 64 : i64, tp.comm_bytes = 128 : i64} {
  %0 = call @rows(%x) {tp.buffers = [#tp.buffer<"comm", 0>]} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-note @below {{the value is made here}}
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] {tp.buffers = [#tp.buffer<"comm", 64>]} : tensor<16xf32> -> tensor<16xf32>
  // expected-error @below {{writes bytes 64 to 128 of comm, where a value is that is still read}}
  %2 = call @rows(%x) {tp.buffers = [#tp.buffer<"comm", 64>]} : (tensor<16xf32>) -> tensor<16xf32>
  %3 = tp.await %1 : tensor<16xf32>
  %4 = call @rows(%3) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<16xf32>) -> tensor<16xf32>
  return %4 : tensor<16xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>
func.func private @rows(%x: tensor<16xf32>) -> tensor<16xf32> attributes {tp.kernel = "rows"}

func.func @never(%x: tensor<16xf32>) -> tensor<16xf32> attributes {tp.arena_bytes = 64 : i64, tp.comm_bytes = 128 : i64} {
  %0 = call @rows(%x) {tp.buffers = [#tp.buffer<"comm", 0>]} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{is started and never awaited: expected tp.await of its result}}
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] {tp.buffers = [#tp.buffer<"comm", 64>]} : tensor<16xf32> -> tensor<16xf32>
  %2 = call @rows(%1) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<16xf32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}
