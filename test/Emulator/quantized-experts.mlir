// Mixtures of experts whose matrices are quantised: each kind of element and of scale, zero
// points, groups of every kind, sizes that words of memory divide and that they do not, tiles
// of each size. Faults are noticed.
// RUN: tp-check-kernels %s --seeds=1 | FileCheck %s
// RUN: tp-check-kernels %s --seeds=1 --break=drop-barrier,overlap-blocks | FileCheck %s --check-prefix=BROKEN

// CHECK-NOT: WRONG
// CHECK: quantized_experts_0_combine: right
// CHECK: quantized_experts_1_combine: right
// CHECK: quantized_experts_2_combine: right
// CHECK: quantized_experts_3_combine: right
// CHECK: quantized_experts_4_combine: right
// CHECK-NOT: WRONG

// BROKEN: quantized_experts_0_gate: drop-barrier: noticed 1 of 1
// BROKEN: quantized_experts_0_down: drop-barrier: noticed 1 of 1

// Four bits with scales that are powers of two, and what gpt-oss has besides.
func.func @blocks(%x: tensor<6x64xbf16>, %bg: tensor<4x32xf32>, %bu: tensor<4x32xf32>) -> tensor<6x40xbf16> {
  %r = arith.constant dense<[[0.5, 0.0, 0.0, 0.5], [0.5, 0.25, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, -2.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]]> : tensor<6x4xf32>
  %gq = tp.parameter "blocks.{e}.g" storage <"U8", bits = 4, dim = 2> : tensor<4x32x64xf4E2M1FN>
  %gs = tp.parameter "blocks.{e}.g.scale" storage <"U8"> : tensor<4x32x2xf8E8M0FNU>
  %g = nn.dequantize %gq, %gs {group = array<i64: 1, 1, 32>} : (tensor<4x32x64xf4E2M1FN>, tensor<4x32x2xf8E8M0FNU>) -> tensor<4x32x64xf32>
  %uq = tp.parameter "blocks.{e}.u" storage <"U8", bits = 4, dim = 2> : tensor<4x32x64xf4E2M1FN>
  %us = tp.parameter "blocks.{e}.u.scale" storage <"U8"> : tensor<4x32x2xf8E8M0FNU>
  %u = nn.dequantize %uq, %us {group = array<i64: 1, 1, 32>} : (tensor<4x32x64xf4E2M1FN>, tensor<4x32x2xf8E8M0FNU>) -> tensor<4x32x64xf32>
  %dq = tp.parameter "blocks.{e}.d" storage <"U8", bits = 4, dim = 2> : tensor<4x40x32xf4E2M1FN>
  %ds = tp.parameter "blocks.{e}.d.scale" storage <"U8"> : tensor<4x40x1xf8E8M0FNU>
  %d = nn.dequantize %dq, %ds {group = array<i64: 1, 1, 32>} : (tensor<4x40x32xf4E2M1FN>, tensor<4x40x1xf8E8M0FNU>) -> tensor<4x40x32xf32>
  %y = nn.experts %x, %r, %g, %u, %d biases %bg, %bu {activation = "silu", active = 0.25 : f64, top_k = 2 : i64, alpha = 1.702 : f64, limit = 0.25 : f64, up_offset = 1.0 : f64} : (tensor<6x64xbf16>, tensor<6x4xf32>, tensor<4x32x64xf32>, tensor<4x32x64xf32>, tensor<4x40x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<6x40xbf16>
  return %y : tensor<6x40xbf16>
}

// Floats of eight bits in blocks of both dimensions, of an odd width; tiles of 32 rows.
func.func @squares(%x: tensor<40x72xbf16>, %r: tensor<40x3xf32>) -> tensor<40x50xbf16> {
  %gq = tp.parameter "squares.{e}.g" storage <"F8_E4M3"> : tensor<3x27x72xf8E4M3FN>
  %gs = tp.parameter "squares.{e}.g.scale" storage <"F32"> : tensor<3x2x3xf32>
  %g = nn.dequantize %gq, %gs {group = array<i64: 1, 16, 32>} : (tensor<3x27x72xf8E4M3FN>, tensor<3x2x3xf32>) -> tensor<3x27x72xf32>
  %uq = tp.parameter "squares.{e}.u" storage <"F8_E4M3"> : tensor<3x27x72xf8E4M3FN>
  %us = tp.parameter "squares.{e}.u.scale" storage <"F32"> : tensor<3x2x3xf32>
  %u = nn.dequantize %uq, %us {group = array<i64: 1, 16, 32>} : (tensor<3x27x72xf8E4M3FN>, tensor<3x2x3xf32>) -> tensor<3x27x72xf32>
  %dq = tp.parameter "squares.{e}.d" storage <"F8_E4M3"> : tensor<3x50x27xf8E4M3FN>
  %ds = tp.parameter "squares.{e}.d.scale" storage <"F32"> : tensor<3x4x4xf32>
  %d = nn.dequantize %dq, %ds {group = array<i64: 1, 16, 8>} : (tensor<3x50x27xf8E4M3FN>, tensor<3x4x4xf32>) -> tensor<3x50x27xf32>
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.66 : f64} : (tensor<40x72xbf16>, tensor<40x3xf32>, tensor<3x27x72xf32>, tensor<3x27x72xf32>, tensor<3x50x27xf32>) -> tensor<40x50xbf16>
  return %y : tensor<40x50xbf16>
}

// Integers with zero points, and inputs that the weights multiply.
func.func @zeros(%x: tensor<20x36xf16>, %r: tensor<20x5xf32>) -> tensor<20x12xf16> {
  %gq = tp.parameter "zeros.{e}.g" storage <"I32", bits = 4, dim = 2, offset = 8> : tensor<5x10x36xi4>
  %gs = tp.parameter "zeros.{e}.g.scale" storage <"F16"> : tensor<5x10x3xf16>
  %gz = tp.parameter "zeros.{e}.g.zero" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<5x10x3xi8>
  %g = nn.dequantize %gq, %gs zeros %gz {group = array<i64: 1, 1, 12>} : (tensor<5x10x36xi4>, tensor<5x10x3xf16>, tensor<5x10x3xi8>) -> tensor<5x10x36xf32>
  %uq = tp.parameter "zeros.{e}.u" storage <"I32", bits = 4, dim = 2, offset = 8> : tensor<5x10x36xi4>
  %us = tp.parameter "zeros.{e}.u.scale" storage <"F16"> : tensor<5x10x3xf16>
  %uz = tp.parameter "zeros.{e}.u.zero" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<5x10x3xi8>
  %u = nn.dequantize %uq, %us zeros %uz {group = array<i64: 1, 1, 12>} : (tensor<5x10x36xi4>, tensor<5x10x3xf16>, tensor<5x10x3xi8>) -> tensor<5x10x36xf32>
  %dq = tp.parameter "zeros.{e}.d" storage <"I32", bits = 4, dim = 2, offset = 8> : tensor<5x12x10xi4>
  %ds = tp.parameter "zeros.{e}.d.scale" storage <"F16"> : tensor<5x12x1xf16>
  %dz = tp.parameter "zeros.{e}.d.zero" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<5x12x1xi8>
  %d = nn.dequantize %dq, %ds zeros %dz {group = array<i64: 1, 1, 0>} : (tensor<5x12x10xi4>, tensor<5x12x1xf16>, tensor<5x12x1xi8>) -> tensor<5x12x10xf32>
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.2 : f64, scales_input} : (tensor<20x36xf16>, tensor<20x5xf32>, tensor<5x10x36xf32>, tensor<5x10x36xf32>, tensor<5x12x10xf32>) -> tensor<20x12xf16>
  return %y : tensor<20x12xf16>
}

// Tiles of 128 rows, lines of bytes that words do not divide.
func.func @bytes(%x: tensor<130x35xbf16>, %r: tensor<130x2xf32>, %bg: tensor<2x13xf32>, %bu: tensor<2x13xf32>) -> tensor<130x5xbf16> {
  %gq = tp.parameter "bytes.{e}.g" storage <"I32", bits = 8, dim = 2, offset = 128> : tensor<2x13x35xi8>
  %gs = tp.parameter "bytes.{e}.g.scale" storage <"BF16"> : tensor<2x1x1xbf16>
  %g = nn.dequantize %gq, %gs {group = array<i64: 1, 0, 0>} : (tensor<2x13x35xi8>, tensor<2x1x1xbf16>) -> tensor<2x13x35xf32>
  %uq = tp.parameter "bytes.{e}.u" storage <"I32", bits = 8, dim = 2, offset = 128> : tensor<2x13x35xi8>
  %us = tp.parameter "bytes.{e}.u.scale" storage <"BF16"> : tensor<2x1x1xbf16>
  %u = nn.dequantize %uq, %us {group = array<i64: 1, 0, 0>} : (tensor<2x13x35xi8>, tensor<2x1x1xbf16>) -> tensor<2x13x35xf32>
  %dq = tp.parameter "bytes.{e}.d" storage <"I32", bits = 8, dim = 2, offset = 128> : tensor<2x5x13xi8>
  %ds = tp.parameter "bytes.{e}.d.scale" storage <"BF16"> : tensor<2x5x1xbf16>
  %d = nn.dequantize %dq, %ds {group = array<i64: 1, 1, 0>} : (tensor<2x5x13xi8>, tensor<2x5x1xbf16>) -> tensor<2x5x13xf32>
  %y = nn.experts %x, %r, %g, %u, %d biases %bg, %bu {activation = "silu", active = 1.0 : f64} : (tensor<130x35xbf16>, tensor<130x2xf32>, tensor<2x13x35xf32>, tensor<2x13x35xf32>, tensor<2x5x13xf32>, tensor<2x13xf32>, tensor<2x13xf32>) -> tensor<130x5xbf16>
  return %y : tensor<130x5xbf16>
}

// The other floats of eight bits, scales of f32.
func.func @halves(%x: tensor<9x48xf32>, %r: tensor<9x6xf32>) -> tensor<9x24xf32> {
  %gq = tp.parameter "halves.{e}.g" storage <"F8_E5M2"> : tensor<6x16x48xf8E5M2>
  %gs = tp.parameter "halves.{e}.g.scale" storage <"F32"> : tensor<6x16x3xf32>
  %g = nn.dequantize %gq, %gs {group = array<i64: 1, 1, 16>} : (tensor<6x16x48xf8E5M2>, tensor<6x16x3xf32>) -> tensor<6x16x48xf32>
  %uq = tp.parameter "halves.{e}.u" storage <"F8_E5M2"> : tensor<6x16x48xf8E5M2>
  %us = tp.parameter "halves.{e}.u.scale" storage <"F32"> : tensor<6x16x3xf32>
  %u = nn.dequantize %uq, %us {group = array<i64: 1, 1, 16>} : (tensor<6x16x48xf8E5M2>, tensor<6x16x3xf32>) -> tensor<6x16x48xf32>
  %dq = tp.parameter "halves.{e}.d" storage <"F8_E5M2"> : tensor<6x24x16xf8E5M2>
  %ds = tp.parameter "halves.{e}.d.scale" storage <"F32"> : tensor<6x24x1xf32>
  %d = nn.dequantize %dq, %ds {group = array<i64: 1, 1, 16>} : (tensor<6x24x16xf8E5M2>, tensor<6x24x1xf32>) -> tensor<6x24x16xf32>
  %y = nn.experts %x, %r, %g, %u, %d {activation = "silu", active = 0.5 : f64} : (tensor<9x48xf32>, tensor<9x6xf32>, tensor<6x16x48xf32>, tensor<6x16x48xf32>, tensor<6x24x16xf32>) -> tensor<9x24xf32>
  return %y : tensor<9x24xf32>
}
