//===- AttentionCopies.cpp - Tiles between global and shared memory -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionCopies.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionCopies.h"

using namespace mlir;
using namespace tp;

/// Copies written out one after the other; more become a loop.
static constexpr int64_t unrolledCopies = 16;

AttentionCopies::AttentionCopies(KernelEmitter &emitter,
                                 const AttentionShape &shape,
                                 const AttentionTiles &tiles,
                                 ValueRange addresses)
    : e(emitter), shape(shape), tiles(tiles), element(shape.getElementBytes()) {
  int64_t rowBytes = shape.headSize * element;
  for (chunk = 16; rowBytes % chunk != 0;)
    chunk /= 2;
  if (chunk == element)
    return;
  Value bits = e.int64(0);
  for (Value address : addresses)
    bits = e.bitOr(bits, address);
  isAligned = e.compare(arith::CmpIPredicate::eq, e.bitAnd(bits, chunk - 1), 0);
}

void AttentionCopies::byUnit(function_ref<void(int64_t)> copy) {
  if (!isAligned)
    return copy(element);
  e.choose(
      isAligned,
      [&] {
        copy(chunk);
        return KernelEmitter::Values();
      },
      [&] {
        copy(element);
        return KernelEmitter::Values();
      });
}

void AttentionCopies::clearPadding(Value shared, Value thread) {
  int64_t padding = tiles.paddedHead - shape.headSize;
  if (padding == 0)
    return;
  int64_t rows = tiles.getSharedBytes() / tiles.pitch;
  Value zero = element == 4
                   ? e.int32(0)
                   : Value(arith::ConstantOp::create(
                         e.builder, e.loc, e.builder.getI16IntegerAttr(0)));
  e.loop(thread, e.int32(rows * padding), tiles.getThreads(), {},
         [&](Value index, ValueRange) {
           Value row = e.div(index, padding);
           Value column = e.add(e.rem(index, padding), shape.headSize);
           Value bytes = e.add(e.mul(row, tiles.pitch), e.mul(column, element));
           e.store(zero, e.offset(shared, bytes), element);
           return KernelEmitter::Values();
         });
}

void AttentionCopies::loadUnit(Value to, Value index, int64_t bytes,
                               RowOf rowOf) {
  int64_t units = shape.headSize * element / bytes;
  Value row = e.div(index, units), column = e.rem(index, units);
  GlobalRow from = rowOf(row);
  Value skip = e.mul(column, bytes);
  Value source = e.offset(from.pointer, e.toInt64(skip));
  Value target = e.offset(to, e.add(e.mul(row, tiles.pitch), skip));
  if (bytes >= 4)
    return e.copyAsync(target, source, bytes, from.isThere);
  // Asynchronous copies have at least four bytes.
  Value zero = arith::ConstantOp::create(e.builder, e.loc,
                                         e.builder.getI16IntegerAttr(0));
  Value value = e.choose(
      from.isThere,
      [&] { return KernelEmitter::Values{e.load(e.i16, source, bytes)}; },
      [&] { return KernelEmitter::Values{zero}; })[0];
  e.store(value, target, bytes);
}

void AttentionCopies::loadUnits(Value to, int64_t rows, Value thread,
                                int64_t bytes, RowOf rowOf) {
  int64_t units = shape.headSize * element / bytes, total = rows * units;
  int64_t threads = tiles.getThreads();
  if (total > unrolledCopies * threads || bytes < chunk) {
    e.loop(thread, e.int32(total), threads, {}, [&](Value index, ValueRange) {
      loadUnit(to, index, bytes, rowOf);
      return KernelEmitter::Values();
    });
    return;
  }
  int64_t first = 0;
  for (; first + threads <= total; first += threads)
    loadUnit(to, e.add(thread, first), bytes, rowOf);
  if (first < total)
    e.when(e.compare(arith::CmpIPredicate::slt, thread, total - first),
           [&] { loadUnit(to, e.add(thread, first), bytes, rowOf); });
}

void AttentionCopies::load(Value to, int64_t rows, Value thread, RowOf rowOf) {
  byUnit([&](int64_t bytes) { loadUnits(to, rows, thread, bytes, rowOf); });
}

void AttentionCopies::storeUnits(Value from, int64_t rows, Value lane,
                                 int64_t bytes, RowOf rowOf) {
  int64_t units = shape.headSize * element / bytes;
  Type type = e.builder.getIntegerType(8 * std::min<int64_t>(bytes, 8));
  if (bytes == 16)
    type = VectorType::get(4, e.i32);
  e.loop(lane, e.int32(rows * units), 32, {}, [&](Value index, ValueRange) {
    Value row = e.div(index, units), column = e.rem(index, units);
    GlobalRow to = rowOf(row);
    e.when(to.isThere, [&] {
      Value skip = e.mul(column, bytes);
      Value source = e.offset(from, e.add(e.mul(row, tiles.pitch), skip));
      e.store(e.load(type, source, bytes),
              e.offset(to.pointer, e.toInt64(skip)), bytes);
    });
    return KernelEmitter::Values();
  });
}

void AttentionCopies::store(Value from, int64_t rows, Value lane, RowOf rowOf) {
  byUnit([&](int64_t bytes) { storeUnits(from, rows, lane, bytes, rowOf); });
}
