// A mixture of experts: any number of rows for an expert, tiles of each size, rows
// without an expert, a row that breaks the promise of top_k becomes NaN and spoils no other.
// Blocks that do the same part, barriers and waits that are missing are noticed.
// RUN: tp-check-kernels %s | FileCheck %s
// RUN: tp-check-kernels %s --seeds=1 --break=overlap-blocks,drop-barrier,drop-cp-async-wait > %t
// RUN: grep overlap-blocks %t | FileCheck %s --check-prefix=OVERLAP
// RUN: grep drop-barrier %t | FileCheck %s --check-prefix=BARRIER
// RUN: grep drop-cp-async-wait %t | FileCheck %s --check-prefix=WAIT

// CHECK-NOT: WRONG
// CHECK: experts_0: right
// CHECK: experts_0_place: right
// CHECK: experts_0_gate: right
// CHECK: experts_0_down: right
// CHECK: experts_0_combine: right
// CHECK-NOT: WRONG
// CHECK: experts_3_combine: right
// CHECK-NOT: WRONG
// CHECK: experts_6_combine: right

// OVERLAP: experts_0_combine: overlap-blocks: noticed 1 of 1,
// OVERLAP: experts_1_place: overlap-blocks: noticed 1 of 1,
// OVERLAP: experts_1_gate: overlap-blocks: noticed 2 of 2,
// OVERLAP: experts_1_down: overlap-blocks: noticed 1 of 1,
// BARRIER: experts_1_place: drop-barrier: noticed 1 of 1,
// BARRIER: experts_1_gate: drop-barrier: noticed 1 of 1,
// BARRIER: experts_1_down: drop-barrier: noticed 1 of 1,
// WAIT: experts_1_gate: drop-cp-async-wait: noticed 1 of 1,
// WAIT: experts_1_down: drop-cp-async-wait: noticed 1 of 1,

// Row 1 has one expert more, row 4 none; expert 2 has no row.
func.func @promise(%x: tensor<6x40xbf16>, %g: tensor<4x24x40xbf16>, %u: tensor<4x24x40xbf16>, %d: tensor<4x40x24xbf16>) -> tensor<6x40xbf16> {
  %r = arith.constant dense<[[0.5, 0.0, 0.0, 0.5], [0.5, 0.25, 0.0, 0x7FC00000], [0.0, 1.0, 0.0, 0.0], [0.0, -2.0, 0.0, 0.5], [0.0, 0.0, 0.0, -0.0], [0.25, 0.75, 0.0, 0.0]]> : tensor<6x4xf32>
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.25 : f64, top_k = 2 : i64} : (tensor<6x40xbf16>, tensor<6x4xf32>, tensor<4x24x40xbf16>, tensor<4x24x40xbf16>, tensor<4x40x24xbf16>) -> tensor<6x40xbf16>
  return %y : tensor<6x40xbf16>
}

func.func @routed(%x: tensor<2x50x64xbf16>, %l: tensor<2x50x3xbf16>, %g: tensor<3x80x64xbf16>, %u: tensor<3x80x64xbf16>, %d: tensor<3x96x80xbf16>) -> tensor<2x50x96xbf16> {
  %r = nn.router %l {normalized, top_k = 2 : i64} : (tensor<2x50x3xbf16>) -> tensor<2x50x3xf32>
  %y = nn.experts %x, %r, %g, %u, %d {activation = "gelu_tanh", active = 0.66 : f64, top_k = 2 : i64} : (tensor<2x50x64xbf16>, tensor<2x50x3xf32>, tensor<3x80x64xbf16>, tensor<3x80x64xbf16>, tensor<3x96x80xbf16>) -> tensor<2x50x96xbf16>
  return %y : tensor<2x50x96xbf16>
}

// Any row may have any expert; tiles of 128 rows.
func.func @dense(%x: tensor<130x34xf16>, %r: tensor<130x2xf32>, %g: tensor<2x10x34xf16>, %u: tensor<2x10x34xf16>, %d: tensor<2x5x10xf16>) -> tensor<130x5xf16> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "gelu_erf"} : (tensor<130x34xf16>, tensor<130x2xf32>, tensor<2x10x34xf16>, tensor<2x10x34xf16>, tensor<2x5x10xf16>) -> tensor<130x5xf16>
  return %y : tensor<130x5xf16>
}

func.func @few(%x: tensor<20x36xf32>, %l: tensor<20x40xf32>, %g: tensor<40x20x36xf32>, %u: tensor<40x20x36xf32>, %d: tensor<40x12x20xf32>) -> tensor<20x12xf32> {
  %r = nn.router %l {top_k = 1 : i64} : (tensor<20x40xf32>) -> tensor<20x40xf32>
  %y = nn.experts %x, %r, %g, %u, %d {activation = "relu", active = 0.6 : f64, top_k = 1 : i64} : (tensor<20x36xf32>, tensor<20x40xf32>, tensor<40x20x36xf32>, tensor<40x20x36xf32>, tensor<40x12x20xf32>) -> tensor<20x12xf32>
  return %y : tensor<20x12xf32>
}

// The last positions of the width are left out, though rows of gate make infinities there.
func.func @padded(%x: tensor<20x36xbf16>, %r: tensor<20x4xf32>, %g: tensor<4x10x36xbf16>, %u: tensor<4x10x36xbf16>, %d: tensor<4x12x10xbf16>) -> tensor<20x12xbf16> {
  %inf = arith.constant dense<0x7F80> : tensor<4x3x36xbf16>
  %zero = arith.constant dense<0.0> : tensor<4x12x3xbf16>
  %i = arith.constant dense<[1, 1, 1, 1, 1, 1, 1, 0, 0, 0]> : tensor<10xi32>
  %gate = tensor.insert_slice %inf into %g[0, 7, 0] [4, 3, 36] [1, 1, 1] : tensor<4x3x36xbf16> into tensor<4x10x36xbf16>
  %down = tensor.insert_slice %zero into %d[0, 0, 7] [4, 12, 3] [1, 1, 1] : tensor<4x12x3xbf16> into tensor<4x12x10xbf16>
  %y = nn.experts %x, %r, %gate, %u, %down inside %i {activation = "silu"} : (tensor<20x36xbf16>, tensor<20x4xf32>, tensor<4x10x36xbf16>, tensor<4x10x36xbf16>, tensor<4x12x10xbf16>, tensor<10xi32>) -> tensor<20x12xbf16>
  return %y : tensor<20x12xbf16>
}

// Biases, bounds and another slope, as gpt-oss has them.
func.func @bounded(%x: tensor<6x40xbf16>, %g: tensor<4x24x40xbf16>, %u: tensor<4x24x40xbf16>, %d: tensor<4x16x24xbf16>, %bg: tensor<4x24xf32>, %bu: tensor<4x24xf32>) -> tensor<6x16xbf16> {
  %r = arith.constant dense<[[0.5, 0.0, 0.0, 0.5], [0.5, 0.25, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, -2.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]]> : tensor<6x4xf32>
  %y = nn.experts %x, %r, %g, %u, %d biases %bg, %bu {activation = "silu", active = 0.5 : f64, top_k = 2 : i64, alpha = 1.702 : f64, limit = 0.75 : f64, up_offset = 1.0 : f64} : (tensor<6x40xbf16>, tensor<6x4xf32>, tensor<4x24x40xbf16>, tensor<4x24x40xbf16>, tensor<4x16x24xbf16>, tensor<4x24xf32>, tensor<4x24xf32>) -> tensor<6x16xbf16>
  return %y : tensor<6x16xbf16>
}

// Weights of what is read, as Llama 4 has them.
func.func @scaled(%x: tensor<7x20xf32>, %r: tensor<7x3xf32>, %g: tensor<3x9x20xf32>, %u: tensor<3x9x20xf32>, %d: tensor<3x12x9xf32>) -> tensor<7x12xf32> {
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", scales_input} : (tensor<7x20xf32>, tensor<7x3xf32>, tensor<3x9x20xf32>, tensor<3x9x20xf32>, tensor<3x12x9xf32>) -> tensor<7x12xf32>
  return %y : tensor<7x12xf32>
}
