// RUN: tp-opt %s --tp-generate-gpu-experts --split-input-file --verify-diagnostics | FileCheck %s

// Five kernels for all of one shape. Grids are of sizes alone: two experts each of 64
// rows are at most 128 / 32 tiles of 32 slots, and one more for each expert.

// CHECK-LABEL: func.func @mixture
// CHECK: nn.experts {{.*}} {activation = "silu", active = 2.500000e-01 : f64, top_k = 2 : i64, tp.kernel = @experts_0, tp.scratch_bytes = 133504 : i64, tp.then = [@experts_0_place, @experts_0_gate, @experts_0_down, @experts_0_combine]}
// CHECK: nn.experts {{.*}} tp.kernel = @experts_0,
// CHECK: gpu.func @experts_0(%{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) kernel
// CHECK-SAME: tp.block = array<i64: 256, 1, 1>, tp.grid = array<i64: 8, 1, 1>
// CHECK: arith.cmpf une, %{{.*}}, %{{.*}} : f32
// CHECK: nvvm.vote.sync ballot
// CHECK: gpu.func @experts_0_place(
// CHECK-SAME: tp.grid = array<i64: 8, 1, 1>
// CHECK-NOT: atomic
// CHECK: gpu.func @experts_0_gate(
// CHECK-SAME: tp.block = array<i64: 128, 1, 1>, tp.grid = array<i64: 12, 4, 1>, tp.shared_bytes = 46080 : i64
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK: math.exp
// CHECK: gpu.func @experts_0_down(
// CHECK-SAME: tp.grid = array<i64: 12, 1, 1>
// CHECK-NOT: math.exp
// CHECK: gpu.func @experts_0_combine(
// CHECK-SAME: tp.grid = array<i64: 64, 1, 1>
// CHECK-NOT: gpu.func
func.func @mixture(%x: tensor<64x128xbf16>, %r: tensor<64x8xf32>, %g: tensor<8x256x128xbf16>, %d: tensor<8x128x256xbf16>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>) {
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "silu", active = 0.25 : f64, top_k = 2 : i64} : (tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xbf16>, tensor<8x256x128xbf16>, tensor<8x128x256xbf16>) -> tensor<64x128xbf16>
  %1 = nn.experts %0, %r, %g, %g, %d {activation = "silu", active = 0.25 : f64, top_k = 2 : i64} : (tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xbf16>, tensor<8x256x128xbf16>, tensor<8x128x256xbf16>) -> tensor<64x128xbf16>
  return %0, %1 : tensor<64x128xbf16>, tensor<64x128xbf16>
}

// -----

// A step of few rows has small tiles, and no more of them than slots; f32 has no
// tensor cores. Without a promise every row may use all.

// CHECK-LABEL: func.func @step
// CHECK: gpu.func @experts_0_gate(
// CHECK-SAME: tp.grid = array<i64: 8, 8, 1>
// CHECK-NOT: nvvm.mma.sync
// CHECK: llvm.intr.fma
// CHECK: gpu.func @experts_1_gate(
// CHECK-SAME: tp.grid = array<i64: 160, 8, 1>
func.func @step(%x: tensor<4x64xf32>, %r: tensor<4x128xf32>, %g: tensor<128x256x64xf32>, %d: tensor<128x64x256xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "relu", active = 0.015625 : f64, top_k = 2 : i64} : (tensor<4x64xf32>, tensor<4x128xf32>, tensor<128x256x64xf32>, tensor<128x256x64xf32>, tensor<128x64x256xf32>) -> tensor<4x64xf32>
  %1 = nn.experts %0, %r, %g, %g, %d {activation = "relu"} : (tensor<4x64xf32>, tensor<4x128xf32>, tensor<128x256x64xf32>, tensor<128x256x64xf32>, tensor<128x64x256xf32>) -> tensor<4x64xf32>
  return %0, %1 : tensor<4x64xf32>, tensor<4x64xf32>
}

// -----

// What of the width counts is asked where its numbers are made, of both sides' product.

// CHECK-LABEL: func.func @padded
// CHECK: gpu.func @experts_0_gate(
// CHECK: math.exp
// CHECK: %[[ISTHERE:.*]] = arith.cmpi ne, %{{.*}}, %c0_i32
// CHECK: arith.select %[[ISTHERE]], %{{.*}}, %cst
// CHECK: gpu.func @experts_0_down(
// CHECK: gpu.func @experts_1(
func.func @padded(%x: tensor<64x128xbf16>, %r: tensor<64x8xf32>, %g: tensor<8x256x128xbf16>, %d: tensor<8x128x256xbf16>, %i: tensor<256xi32>) -> (tensor<64x128xbf16>, tensor<64x128xbf16>) {
  %0 = nn.experts %x, %r, %g, %g, %d inside %i {activation = "silu", active = 0.25 : f64, top_k = 2 : i64} : (tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xbf16>, tensor<8x256x128xbf16>, tensor<8x128x256xbf16>, tensor<256xi32>) -> tensor<64x128xbf16>
  %1 = nn.experts %0, %r, %g, %g, %d {activation = "silu", active = 0.25 : f64, top_k = 2 : i64} : (tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xbf16>, tensor<8x256x128xbf16>, tensor<8x128x256xbf16>) -> tensor<64x128xbf16>
  return %0, %1 : tensor<64x128xbf16>, tensor<64x128xbf16>
}

// -----

// The derivative: eight kernels, the last two for each expert and tile of its matrices.

// CHECK-LABEL: func.func @derivative
// CHECK: nn.experts_backward {{.*}} tp.kernel = @experts_backward_0, {{.*}} tp.then = [@experts_backward_0_place, @experts_backward_0_inner, @experts_backward_0_sides, @experts_backward_0_input, @experts_backward_0_combine, @experts_backward_0_gates, @experts_backward_0_downs]}
// CHECK: gpu.func @experts_backward_0(
// CHECK: gpu.func @experts_backward_0_inner(
// CHECK-SAME: tp.grid = array<i64: 12, 2, 1>
// Lines of down lie across the reduction.
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>
// CHECK: gpu.func @experts_backward_0_gates(
// CHECK-SAME: tp.grid = array<i64: 4, 8, 2>
// CHECK-NOT: layout = #nvvm.mma_layout<row>
// CHECK-NOT: atomic
// CHECK: gpu.func @experts_backward_0_downs(
// CHECK-SAME: tp.grid = array<i64: 4, 8, 1>
func.func @derivative(%dy: tensor<64x128xbf16>, %x: tensor<64x128xbf16>, %r: tensor<64x8xf32>, %g: tensor<8x256x128xbf16>, %d: tensor<8x128x256xbf16>) -> (tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xf32>, tensor<8x256x128xf32>, tensor<8x128x256xf32>) {
  %0:5 = nn.experts_backward %dy, %x, %r, %g, %g, %d {activation = "silu", active = 0.25 : f64, top_k = 2 : i64} : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xbf16>, tensor<8x256x128xbf16>, tensor<8x128x256xbf16>) -> (tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xf32>, tensor<8x256x128xf32>, tensor<8x128x256xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<64x128xbf16>, tensor<64x8xf32>, tensor<8x256x128xf32>, tensor<8x256x128xf32>, tensor<8x128x256xf32>
}

// -----

func.func @wide(%x: tensor<4x8xf64>, %r: tensor<4x2xf32>, %g: tensor<2x8x8xf64>, %d: tensor<2x8x8xf64>) -> tensor<4x8xf64> {
  // expected-error @below {{expected rows of f32, bf16 or f16 and matrices that are not empty, with fewer than 33554431 rows and columns, got 'tensor<4x8xf64>' and 2 experts of width 8 with results of 8 elements}}
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "relu"} : (tensor<4x8xf64>, tensor<4x2xf32>, tensor<2x8x8xf64>, tensor<2x8x8xf64>, tensor<2x8x8xf64>) -> tensor<4x8xf64>
  return %0 : tensor<4x8xf64>
}

// -----

func.func @many(%x: tensor<1000000x8xf32>, %r: tensor<1000000x64xf32>, %g: tensor<64x8x8xf32>, %d: tensor<64x8x8xf32>) -> tensor<1000000x8xf32> {
  // expected-error @below {{expected fewer rows and columns than a grid has room for, got 1000000 rows of 64 experts each, and 64 experts of width 8 with results of 8 elements}}
  %0 = nn.experts %x, %r, %g, %g, %d {activation = "relu"} : (tensor<1000000x8xf32>, tensor<1000000x64xf32>, tensor<64x8x8xf32>, tensor<64x8x8xf32>, tensor<64x8x8xf32>) -> tensor<1000000x8xf32>
  return %0 : tensor<1000000x8xf32>
}
