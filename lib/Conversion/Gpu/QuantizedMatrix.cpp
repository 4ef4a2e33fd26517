//===- QuantizedMatrix.cpp - Quantised numbers in kernels -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponents that fit those of f32 are moved there with the mantissa, and a
// product by a power of two makes the number, subnormal ones included.
//
//===----------------------------------------------------------------------===//

#include "QuantizedMatrix.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tp;

int64_t QuantizedMatrix::getScaleRows() const {
  return groupRows == 0 ? 1 : llvm::divideCeil(rows, groupRows);
}
int64_t QuantizedMatrix::getScaleColumns() const {
  return groupColumns == 0 ? 1 : llvm::divideCeil(columns, groupColumns);
}

static Value toFloat(KernelEmitter &e, Value bits) {
  return arith::BitcastOp::create(e.builder, e.loc, e.f32, bits);
}

/// A signed integer of `width` bits, which are the highest of `bits`.
static Value decodeInteger(KernelEmitter &e, Value bits, int64_t width) {
  Value number =
      arith::ShRSIOp::create(e.builder, e.loc, bits, e.int32(32 - width));
  return arith::SIToFPOp::create(e.builder, e.loc, e.f32, number);
}

/// A float whose sign is bit 31 of `bits`, its exponent and mantissa the
/// `width` bits below.
static Value decodeFloat(KernelEmitter &e, Value bits, int64_t width,
                         int64_t mantissa, int64_t bias) {
  Value magnitude =
      e.shiftRight(e.bitAnd(bits, 0x7FFFFFFF), 31 - width - (23 - mantissa));
  // The bits below the element's own belong to its neighbours.
  magnitude =
      e.bitAnd(magnitude, ((int64_t(1) << width) - 1) << (23 - mantissa));
  Value number = e.mulf(toFloat(e, magnitude),
                        e.float32(std::ldexp(1.0, int(127 - bias))));
  Value sign = e.bitAnd(bits, e.int32(int64_t(INT32_MIN)));
  Value whole = arith::BitcastOp::create(e.builder, e.loc, e.i32, number);
  return toFloat(e, e.bitOr(whole, sign));
}

static Value orNaN(KernelEmitter &e, Value isNaN, Value number) {
  return e.select(isNaN, e.float32(std::numeric_limits<float>::quiet_NaN()),
                  number);
}

/// The element in the highest bits of `bits`.
static Value decode(KernelEmitter &e, Value bits, Type element) {
  if (element.isInteger())
    return decodeInteger(e, bits, element.getIntOrFloatBitWidth());
  if (isa<Float4E2M1FNType>(element))
    return decodeFloat(e, bits, 3, 1, 1);
  Value own = e.bitAnd(e.shiftRight(bits, 24), 0x7F);
  if (isa<Float8E4M3FNType>(element))
    return orNaN(e, e.compare(arith::CmpIPredicate::eq, own, 0x7F),
                 decodeFloat(e, bits, 7, 3, 7));
  // The upper half of an f16, infinities and all.
  Value half = arith::TruncIOp::create(
      e.builder, e.loc, e.i16,
      e.bitAnd(e.shiftRight(bits, 16), int64_t(0xFF00)));
  half =
      arith::BitcastOp::create(e.builder, e.loc, e.builder.getF16Type(), half);
  return arith::ExtFOp::create(e.builder, e.loc, e.f32, half);
}

/// The number at `index` (i64) of a table of scales.
static Value loadScale(KernelEmitter &e, Value base, Value index, Type type) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  Value place = e.offset(base, e.mul(index, bytes));
  if (type.isF32())
    return e.load(e.f32, place, 4);
  if (bytes == 2)
    return arith::ExtFOp::create(e.builder, e.loc, e.f32,
                                 e.load(type, place, 2));
  Value byte =
      arith::ExtUIOp::create(e.builder, e.loc, e.i32, e.load(e.i8, place, 1));
  // A power of two, the least of which is below the normal numbers.
  Value power = e.shiftLeft(byte, e.int32(23));
  power = e.select(e.compare(arith::CmpIPredicate::eq, byte, 0),
                   e.int32(1 << 22), power);
  return orNaN(e, e.compare(arith::CmpIPredicate::eq, byte, 255),
               toFloat(e, power));
}

/// Words of four bytes of a row, from byte `begin` (i32) on.
static KernelEmitter::Values loadWords(KernelEmitter &e, Value row, Value begin,
                                       int64_t rowBytes, int64_t words) {
  KernelEmitter::Values loaded;
  for (int64_t word = 0; word < words; ++word) {
    Value first = e.add(begin, 4 * word);
    if (rowBytes % 4 == 0) {
      // Bytes behind the row belong to no element that counts.
      Value at = e.min(first, rowBytes - 4);
      loaded.push_back(e.load(e.i32, e.offset(row, e.toInt64(at)), 4));
      continue;
    }
    Value bits = e.int32(0);
    for (int64_t i = 0; i < 4; ++i) {
      Value at = e.min(e.add(first, i), rowBytes - 1);
      Value byte =
          arith::ExtUIOp::create(e.builder, e.loc, e.i32,
                                 e.load(e.i8, e.offset(row, e.toInt64(at)), 1));
      bits = e.bitOr(bits, e.shiftLeft(byte, e.int32(8 * i)));
    }
    loaded.push_back(bits);
  }
  return loaded;
}

KernelEmitter::Values tp::loadNumbers(KernelEmitter &e,
                                      const QuantizedMatrix &matrix,
                                      const QuantizedAddresses &addresses,
                                      Value index, Value row, Value column,
                                      int64_t size) {
  int64_t bits = matrix.getBits(), rowBytes = matrix.getRowBytes();
  auto inBounds = [&](Value position) {
    return e.compare(arith::CmpIPredicate::slt, position, matrix.columns);
  };
  auto load = [&] {
    Value line = e.add(e.mul(e.toInt64(index), matrix.rows), e.toInt64(row));
    // Four numbers of four bits are half a word.
    Value begin = e.div(e.mul(column, bits), 8);
    Value inWord = size * bits < 32 ? e.rem(e.div(begin, size * bits / 8),
                                            32 / (size * bits))
                                    : e.int32(0);
    begin = e.mul(e.div(begin, 4), 4);
    KernelEmitter::Values words =
        loadWords(e, e.offset(addresses.values, e.mul(line, rowBytes)), begin,
                  rowBytes, llvm::divideCeil(size * bits, 32));
    Value scaleLine = e.mul(e.toInt64(index), matrix.getScaleRows());
    if (matrix.groupRows != 0)
      scaleLine = e.add(scaleLine, e.toInt64(e.div(row, matrix.groupRows)));
    scaleLine = e.mul(scaleLine, matrix.getScaleColumns());
    bool isShared = matrix.groupColumns == 0 || matrix.groupColumns % size == 0;
    Value scale, zero;
    KernelEmitter::Values numbers;
    for (int64_t i = 0; i < size; ++i) {
      Value position = e.add(column, i);
      if (i == 0 || !isShared) {
        Value group = scaleLine;
        if (matrix.groupColumns != 0)
          group =
              e.add(group, e.toInt64(e.div(e.min(position, matrix.columns - 1),
                                           matrix.groupColumns)));
        scale = loadScale(e, addresses.scales, group, matrix.scale);
        if (matrix.zero && matrix.zero.isF32())
          zero = e.load(e.f32, e.offset(addresses.zeros, e.mul(group, 4)), 4);
        else if (matrix.zero)
          zero = arith::SIToFPOp::create(
              e.builder, e.loc, e.f32,
              e.load(e.i8, e.offset(addresses.zeros, group), 1));
      }
      Value word = words[size_t(i * bits / 32)];
      Value place = e.add(e.mul(inWord, size * bits), i * bits % 32);
      Value own = e.shiftLeft(word, e.sub(e.int32(32 - bits), place));
      Value number = decode(e, own, matrix.element);
      if (zero)
        number = e.addf(number, e.negate(zero));
      number = e.mulf(number, scale);
      if (matrix.columns % size != 0)
        number = e.select(inBounds(position), number, e.float32(0));
      numbers.push_back(number);
    }
    return numbers;
  };
  return e.ifElse(inBounds(column), load, [&] {
    return KernelEmitter::Values(size_t(size), e.float32(0));
  });
}
