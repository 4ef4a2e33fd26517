// RUN: tp-opt %s --tp-lower-step --split-input-file --verify-diagnostics

// expected-error @below {{argument 0: expected a tensor of static shape with elements f32, bf16, f16, i64, i32, i8 or i1, got 'tensor<8xf64>'; cast inside of the program}}
func.func @double(%x: tensor<8xf64>) -> tensor<8xf32> {
  %0 = arith.constant dense<0.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @offset(%ids: tensor<8xi64>, %x: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %four = arith.constant 4 : index
  // expected-error @below {{'nn.embedding_backward' op expected no offset: tp-recognise-linear takes it off the ids}}
  %0 = nn.embedding_backward %ids, %x offset %four : (tensor<8xi64>, tensor<8x16xf32>, index) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @padding_row(%ids: tensor<8xi64>, %x: tensor<8x16xf32>) -> tensor<4x16xf32> {
  // expected-error @below {{'nn.embedding_backward' op expected no padding_row: tp-recognise-linear takes it off the ids}}
  %0 = nn.embedding_backward %ids, %x {padding_row = 3 : i64} : (tensor<8xi64>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func private @other(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.kernel = "body"}
func.func @call(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{expected a kernel, got @missing_mark}}
  %0 = call @missing_mark(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @missing_mark(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// A GEMM's body is what its library does, in the order in which it does it.
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %c = arith.constant dense<0.3> : tensor<8x8xf32>
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{scales a GEMM: expected one of a target that scales}}
  %1 = arith.mulf %0, %c : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{is not known in a GEMM}}
  %1 = math.tanh %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = arith.addf %0, %x : tensor<8x8xf32>
  // expected-error @below {{expected scale, activation and sum of a GEMM in this order, each at most once}}
  %2 = nn.silu %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{expected to read what a GEMM computed before it}}
  %1 = nn.silu %x : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = nn.silu %0 : tensor<8x8xf32>
  // expected-error @below {{expected what a GEMM computes last}}
  return %0 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  // expected-error @below {{expected an operation with a library form first in a GEMM}}
  %0 = nn.silu %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = call @gemm_0(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// expected-error @below {{expected an operation with a library form in a GEMM}}
func.func private @gemm_0(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {tp.kernel = "gemm"} {
  return %x : tensor<8x8xf32>
}

// -----

// expected-error @below {{expected a body}}
func.func private @outside(%x: tensor<8xf32>) -> tensor<8xf32>

// -----

func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64}
// expected-error @below {{has a tensor without a place in memory}}
func.func @place(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.arena_bytes = 32 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{has an unknown place #tp.buffer<"moon", 0>}}
  %0 = call @k(%x) {tp.buffers = [#tp.buffer<"moon", 0>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64}
func.func @nowhere(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.arena_bytes = 32 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{has no place in memory}}
  %e = tensor.empty() : tensor<8xf32>
  %0 = call @k(%e) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// One call computes what reads the same operand.
func.func @main(%x: tensor<8x8xf32>, %z: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0:2 = call @gemm_0(%x, %z, %w) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func private @gemm_0(%x: tensor<8x8xf32>, %z: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) attributes {tp.kernel = "gemm"} {
  %0 = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{is in a GEMM with others: expected operations that one call of the runtime computes, all of which read the same operand}}
  %1 = nn.linear %z, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What is not scheduled computes nothing that a step would call.
func.func @unscheduled(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{computes with tensors outside of a kernel: run tp-schedule-pipeline first}}
  %0 = arith.addf %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @looped(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has no place for each value that it carries: run tp-schedule-pipeline first}}
  %0 = tp.repeat 2 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %a: tensor<8xf32>):
    tp.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64}
func.func @written(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
  // expected-error @below {{calls a kernel without code: run tp-generate-kernels first}}
  %0 = call @k(%x) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
