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
  e.keptLoop(
      thread, e.int32(rows * padding), tiles.getThreads(), [&](Value index) {
        Value row = e.div(index, padding);
        Value column = e.add(e.rem(index, padding), shape.headSize);
        Value bytes = e.add(e.mul(row, tiles.pitch), e.mul(column, element));
        e.store(zero, e.offset(shared, bytes), element);
      });
}

void AttentionCopies::loadUnit(Value to, Value from, int64_t bytes,
                               Value isThere) {
  if (bytes >= 4)
    return e.copyAsync(to, from, bytes, isThere);
  // Asynchronous copies have at least four bytes.
  Value zero = arith::ConstantOp::create(e.builder, e.loc,
                                         e.builder.getI16IntegerAttr(0));
  Value value = e.choose(
      isThere,
      [&] { return KernelEmitter::Values{e.load(e.i16, from, bytes)}; },
      [&] { return KernelEmitter::Values{zero}; })[0];
  e.store(value, to, bytes);
}

/// Unrolled, the loop would keep many addresses ready, which cost the registers
/// of the loop over tiles although this path is rarely taken.
void AttentionCopies::loadUnits(Value to, int64_t rows, Value thread,
                                int64_t bytes, RowOf rowOf) {
  int64_t units = getUnits(bytes);
  e.keptLoop(
      thread, e.int32(rows * units), tiles.getThreads(), [&](Value index) {
        Value row = e.div(index, units);
        Value skip = e.mul(e.rem(index, units), bytes);
        GlobalRow from = rowOf(row);
        loadUnit(e.offset(to, e.add(e.mul(row, tiles.pitch), skip)),
                 e.offset(from.pointer, e.toInt64(skip)), bytes, from.isThere);
      });
}

void AttentionCopies::load(Value to, int64_t rows, Value thread, RowOf rowOf) {
  byUnit([&](int64_t bytes) { loadUnits(to, rows, thread, bytes, rowOf); });
}

/// As many whole rows at a time as there are threads for; a thread keeps its
/// column and goes from row to row by adding.
void AttentionCopies::loadInPasses(Value to, int64_t rows, Value thread,
                                   int64_t bytes, const GlobalRows &from) {
  int64_t units = getUnits(bytes);
  int64_t step = std::min(rows, tiles.getThreads() / units);
  Value row = e.div(thread, units);
  Value skip = e.mul(e.rem(thread, units), bytes);
  Value source = e.offset(
      from.pointer, e.add(e.mul(e.toInt64(row), from.pitch), e.toInt64(skip)));
  Value target = e.offset(to, e.add(e.mul(row, tiles.pitch), skip));
  Value distance = e.mul(from.pitch, step);
  auto copy = [&](int64_t first) {
    loadUnit(
        e.offset(target, first * tiles.pitch), source, bytes,
        e.compare(arith::CmpIPredicate::slt, row, e.sub(from.count, first)));
  };
  auto copyAll = [&] {
    int64_t first = 0;
    for (; first + step <= rows; first += step) {
      copy(first);
      source = e.offset(source, distance);
    }
    if (first < rows)
      e.when(e.compare(arith::CmpIPredicate::slt, row, rows - first),
             [&] { copy(first); });
  };
  if (step * units == tiles.getThreads())
    return copyAll();
  e.when(e.compare(arith::CmpIPredicate::slt, thread, step * units), copyAll);
}

void AttentionCopies::load(Value to, int64_t rows, Value thread,
                           const GlobalRows &from) {
  byUnit([&](int64_t bytes) {
    int64_t units = getUnits(bytes);
    if (bytes == chunk && units <= tiles.getThreads() &&
        rows * units <= unrolledCopies * tiles.getThreads())
      return loadInPasses(to, rows, thread, bytes, from);
    loadUnits(to, rows, thread, bytes, [&](Value row) {
      return GlobalRow{
          e.offset(from.pointer, e.mul(e.toInt64(row), from.pitch)),
          e.compare(arith::CmpIPredicate::slt, row, from.count)};
    });
  });
}

void AttentionCopies::storeUnits(Value from, int64_t rows, Value lane,
                                 int64_t bytes, RowOf rowOf) {
  int64_t units = getUnits(bytes);
  Type type = e.builder.getIntegerType(8 * std::min<int64_t>(bytes, 8));
  if (bytes == 16)
    type = VectorType::get(4, e.i32);
  e.keptLoop(lane, e.int32(rows * units), 32, [&](Value index) {
    Value row = e.div(index, units), column = e.rem(index, units);
    GlobalRow to = rowOf(row);
    e.when(to.isThere, [&] {
      Value skip = e.mul(column, bytes);
      Value source = e.offset(from, e.add(e.mul(row, tiles.pitch), skip));
      e.store(e.load(type, source, bytes),
              e.offset(to.pointer, e.toInt64(skip)), bytes);
    });
  });
}

void AttentionCopies::store(Value from, int64_t rows, Value lane, RowOf rowOf) {
  byUnit([&](int64_t bytes) { storeUnits(from, rows, lane, bytes, rowOf); });
}
