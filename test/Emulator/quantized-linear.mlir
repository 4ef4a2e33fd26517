// Products by quantised weights, each format, groups of every kind, sizes that units of 16
// bytes divide and that they do not, of few rows (quantized_linear.cu) and more (32 by 32
// tiles of quantized_tiles.cu). Faults are noticed. One row is a product, too.
// RUN: tp-check-kernels %s --seeds=1 | FileCheck %s
// RUN: tp-check-kernels %s --seeds=1 --break=drop-barrier,overlap-blocks | FileCheck %s --check-prefix=BROKEN

// BROKEN: quantized_gemm_0: drop-barrier: noticed 1 of 1
// BROKEN: quantized_gemm_6: drop-barrier: noticed 1 of 1
// BROKEN: quantized_gemm_0: overlap-blocks: noticed 1 of 1
// BROKEN: quantized_gemm_7: overlap-blocks: noticed 2 of 2

// CHECK: quantized_gemm_0: right
// CHECK: quantized_gemm_1: right
// CHECK: quantized_gemm_2: right
// CHECK: quantized_gemm_3: right
// CHECK: quantized_gemm_4: right
// CHECK: quantized_gemm_5: right
// CHECK: quantized_gemm_6: right
// CHECK: quantized_gemm_7: right
// CHECK: quantized_gemm_8: right
// CHECK: quantized_gemm_9: right
// CHECK: quantized_gemm_10: right

// One row of 4 bits; lines of whole units, four bytes and odd ones.
func.func @p0(%x: tensor<1x128xbf16>) -> tensor<1x6xbf16> {
  %q = tp.parameter "p0.l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<6x128xi4>
  %s = tp.parameter "p0.l.weight_scale" storage <"F16"> : tensor<6x4xf16>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 32>} : (tensor<6x128xi4>, tensor<6x4xf16>) -> tensor<6x128xf32>
  %y = nn.linear %x, %w : (tensor<1x128xbf16>, tensor<6x128xf32>) -> tensor<1x6xbf16>
  return %y : tensor<1x6xbf16>
}

func.func @p1(%x: tensor<2x40xf32>) -> tensor<2x5xf32> {
  %q = tp.parameter "p1.l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<5x40xi4>
  %s = tp.parameter "p1.l.weight_scale" storage <"F32"> : tensor<5x1xf32>
  %z = tp.parameter "p1.l.zero" storage <"I32", bits = 4, dim = 0, offset = 8> : tensor<5x1xi8>
  %w = nn.dequantize %q, %s zeros %z {group = array<i64: 1, 0>} : (tensor<5x40xi4>, tensor<5x1xf32>, tensor<5x1xi8>) -> tensor<5x40xf32>
  %y = nn.linear %x, %w : (tensor<2x40xf32>, tensor<5x40xf32>) -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

func.func @p2(%x: tensor<3x67xf16>) -> tensor<3x9xf16> {
  %q = tp.parameter "p2.l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<9x67xi4>
  %s = tp.parameter "p2.l.weight_scale" storage <"BF16"> : tensor<9x5xbf16>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 16>} : (tensor<9x67xi4>, tensor<9x5xbf16>) -> tensor<9x67xf32>
  %b = tp.parameter "p2.bias" : tensor<9xf16>
  %y = nn.linear %x, %w bias %b : (tensor<3x67xf16>, tensor<9x67xf32>, tensor<9xf16>) -> tensor<3x9xf16>
  return %y : tensor<3x9xf16>
}

// Blocks, and groups that eight columns are no part of.
func.func @p3(%x: tensor<5x1040xf32>, %r: tensor<5x5xbf16>) -> tensor<5x5xbf16> {
  %q = tp.parameter "p3.l.weight_packed" storage <"F8_E4M3"> : tensor<5x1040xf8E4M3FN>
  %s = tp.parameter "p3.l.weight_scale" storage <"F32"> : tensor<2x9xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 4, 128>} : (tensor<5x1040xf8E4M3FN>, tensor<2x9xf32>) -> tensor<5x1040xf32>
  %y = nn.linear %x, %w : (tensor<5x1040xf32>, tensor<5x1040xf32>) -> tensor<5x5xbf16>
  %o = arith.addf %y, %r : tensor<5x5xbf16>
  return %o : tensor<5x5xbf16>
}

func.func @p4(%x: tensor<8x66xf32>) -> tensor<8x7xf32> {
  %q = tp.parameter "p4.l.weight_packed" storage <"I32", bits = 4, dim = 1> : tensor<7x66xf4E2M1FN>
  %s = tp.parameter "p4.l.weight_scale" storage <"F32"> : tensor<7x4xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 20>} : (tensor<7x66xf4E2M1FN>, tensor<7x4xf32>) -> tensor<7x66xf32>
  %y = nn.linear %x, %w : (tensor<8x66xf32>, tensor<7x66xf32>) -> tensor<8x7xf32>
  %c = arith.constant dense<0.0> : tensor<8x7xf32>
  %a = arith.maximumf %y, %c fastmath<nnan> : tensor<8x7xf32>
  return %a : tensor<8x7xf32>
}

// Groups by column.
func.func @p5(%x: tensor<4x64xf32>) -> tensor<4x9xf32> {
  %q = tp.parameter "p5.l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<9x64xi4>
  %s = tp.parameter "p5.l.weight_scale" storage <"F16"> : tensor<9x4xf16>
  %z = tp.parameter "p5.l.zero" storage <"I32", bits = 4, dim = 0, offset = 8> : tensor<9x4xi8>
  %g = arith.constant dense<[0, 3, 0, 0, 1, 0, 2, 1, 2, 2, 3, 2, 0, 3, 0, 0, 1, 0, 2, 1, 2, 2, 3, 2, 0, 3, 0, 0, 1, 0, 2, 1, 2, 2, 3, 2, 0, 3, 0, 0, 1, 0, 2, 1, 2, 2, 3, 2, 0, 3, 0, 0, 1, 0, 2, 1, 2, 2, 3, 2, 0, 3, 0, 0]> : tensor<64xi32>
  %w = nn.dequantize %q, %s zeros %z groups %g {group = array<i64: 1, 0>} : (tensor<9x64xi4>, tensor<9x4xf16>, tensor<9x4xi8>, tensor<64xi32>) -> tensor<9x64xf32>
  %y = nn.linear %x, %w : (tensor<4x64xf32>, tensor<9x64xf32>) -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}

// Tiles: an input of f32 in three and in two parts.
func.func @p6(%x: tensor<9x144xf32>) -> tensor<9x33xf32> {
  %q = tp.parameter "p6.l.weight_packed" storage <"I8"> : tensor<33x144xi8>
  %s = tp.parameter "p6.l.weight_scale" storage <"F16"> : tensor<33x3xf16>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 48>} : (tensor<33x144xi8>, tensor<33x3xf16>) -> tensor<33x144xf32>
  %y = nn.linear %x, %w : (tensor<9x144xf32>, tensor<33x144xf32>) -> tensor<9x33xf32>
  return %y : tensor<9x33xf32>
}

func.func @p7(%x: tensor<33x70xf32>) -> tensor<33x34xbf16> {
  %q = tp.parameter "p7.l.weight_packed" storage <"F8_E4M3"> : tensor<34x70xf8E4M3FN>
  %s = tp.parameter "p7.l.weight_scale" storage <"F32"> : tensor<2x3xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 32, 32>} : (tensor<34x70xf8E4M3FN>, tensor<2x3xf32>) -> tensor<34x70xf32>
  %b = tp.parameter "p7.bias" : tensor<34xbf16>
  %y = nn.linear %x, %w bias %b : (tensor<33x70xf32>, tensor<34x70xf32>, tensor<34xbf16>) -> tensor<33x34xbf16>
  return %y : tensor<33x34xbf16>
}

// Of 16 bits, whole lines with one scale, and groups that are scaled before.
func.func @p8(%x: tensor<12x72xbf16>, %r: tensor<12x36xbf16>) -> tensor<12x36xbf16> {
  %q = tp.parameter "p8.l.weight_packed" storage <"F8_E5M2"> : tensor<36x72xf8E5M2>
  %s = tp.parameter "p8.l.weight_scale" storage <"F32"> : tensor<1x1xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 0, 0>} : (tensor<36x72xf8E5M2>, tensor<1x1xf32>) -> tensor<36x72xf32>
  %b = tp.parameter "p8.bias" : tensor<36xbf16>
  %y = nn.linear %x, %w bias %b : (tensor<12x72xbf16>, tensor<36x72xf32>, tensor<36xbf16>) -> tensor<12x36xbf16>
  %c = arith.constant dense<0.0> : tensor<12x36xbf16>
  %a = arith.maximumf %y, %c fastmath<nnan> : tensor<12x36xbf16>
  %o = arith.addf %a, %r : tensor<12x36xbf16>
  return %o : tensor<12x36xbf16>
}

func.func @p9(%x: tensor<17x128xf16>) -> tensor<17x40xf16> {
  %q = tp.parameter "p9.l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<40x128xi4>
  %s = tp.parameter "p9.l.weight_scale" storage <"F16"> : tensor<40x3xf16>
  %z = tp.parameter "p9.l.zero" storage <"I32", bits = 4, dim = 0, offset = 8> : tensor<40x3xi8>
  %g = arith.constant dense<[0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 1]> : tensor<128xi32>
  %w = nn.dequantize %q, %s zeros %z groups %g {group = array<i64: 1, 0>} : (tensor<40x128xi4>, tensor<40x3xf16>, tensor<40x3xi8>, tensor<128xi32>) -> tensor<40x128xf32>
  %y = nn.linear %x, %w : (tensor<17x128xf16>, tensor<40x128xf32>) -> tensor<17x40xf16>
  return %y : tensor<17x40xf16>
}

func.func @p10(%x: tensor<10x67xbf16>) -> tensor<10x20xbf16> {
  %q = tp.parameter "p10.l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<20x67xi4>
  %s = tp.parameter "p10.l.weight_scale" storage <"F32"> : tensor<20x4xf32>
  %w = nn.dequantize %q, %s {group = array<i64: 1, 20>} : (tensor<20x67xi4>, tensor<20x4xf32>) -> tensor<20x67xf32>
  %y = nn.linear %x, %w : (tensor<10x67xbf16>, tensor<20x67xf32>) -> tensor<10x20xbf16>
  return %y : tensor<10x20xbf16>
}
