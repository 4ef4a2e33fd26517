// RUN: tp-opt %s --tp-verify-schedule --split-input-file --verify-diagnostics

func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @add(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @overlap(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 4096 : i64, tp.comm_bytes = 0 : i64} {
  // expected-note @below {{the value is made here}}
  %0 = call @gemm(%x) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{writes bytes 1024 to 3072 of arena, where a value is that is still read}}
  %1 = call @gemm(%0) {tp.buffers = [#tp.buffer<"arena", 1024>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = call @add(%0, %1) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// -----

// An all-reduce in place on a value that is read again.
tp.mesh @mesh <["tp"=2]>
func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @add(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @in_place(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 2048 : i64} {
  // expected-note @below {{the value is made here}}
  %0 = call @gemm(%x) {tp.buffers = [#tp.buffer<"comm", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{writes bytes 0 to 2048 of comm, where a value is that is still read}}
  %1 = tp.all_reduce sum %0 over @mesh ["tp"] {tp.buffers = [#tp.buffer<"comm", 0>]} : tensor<8x64xf32> -> tensor<8x64xf32>
  %2 = call @add(%0, %1) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// -----

func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @outside(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 2048 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{writes outside the arena arena: bytes 64 to 2112 of 2048}}
  %0 = call @gemm(%x) {tp.buffers = [#tp.buffer<"arena", 64>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = call @gemm(%0) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}

// -----

func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @without(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{expected a place for each result}}
  %0 = call @gemm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// A value of the iteration over one that lives around the loop.
func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func private @add(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @around(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 8192 : i64, tp.comm_bytes = 0 : i64} {
  // expected-note @below {{the value is made here}}
  %0 = call @gemm(%x) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = call @gemm(%x) {tp.buffers = [#tp.buffer<"arena", 2048>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = tp.repeat 2 times iter(%1) {tp.buffers = [#tp.buffer<"arena", 2048>, #tp.buffer<"arena", 4096>]} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%i: index, %h: tensor<8x64xf32>):
    // expected-error @below {{writes bytes 0 to 2048 of arena, where a value is that is still read}}
    %3 = func.call @gemm(%h) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %4 = func.call @gemm(%3) {tp.buffers = [#tp.buffer<"next", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    tp.yield %4 : tensor<8x64xf32>
  }
  %5 = call @add(%0, %2) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %5 : tensor<8x64xf32>
}

// -----

func.func @left(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{is left after schedule: expected kernels, collectives, library operations and scalar arithmetic; give it a decomposition to linalg}}
  %0 = tensor.cast %x : tensor<8x64xf32> to tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @no_place(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{expected a #tp.buffer, got "arena"}}
  %0 = call @gemm(%x) {tp.buffers = ["arena"]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// A collective's result is sent from where ranks can reach it.
tp.mesh @mesh <["tp"=2]>
func.func @sent(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{expected a result in an arena, got #tp.buffer<"output", 0>}}
  %0 = tp.all_reduce sum %x over @mesh ["tp"] {tp.buffers = [#tp.buffer<"output", 0>]} : tensor<8x64xf32> -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// What is joined lies elsewhere.
tp.mesh @mesh <["tp"=2]>
func.func private @gemm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
func.func @joined(%x: tensor<8x64xf32>) -> tensor<1024xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 8192 : i64} {
  %0 = call @gemm(%x) {tp.buffers = [#tp.buffer<"comm", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = call @gemm(%x) {tp.buffers = [#tp.buffer<"comm", 4096>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{expected operand 1 to lie where it is joined, at byte 2048 of comm}}
  %2 = tp.join %0, %1 {tp.buffers = [#tp.buffer<"comm", 0>]} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<1024xf32>
  %3 = tp.all_reduce sum %2 over @mesh ["tp"] {tp.buffers = [#tp.buffer<"comm", 0>]} : tensor<1024xf32> -> tensor<1024xf32>
  return %3 : tensor<1024xf32>
}
