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
/// The most bytes that one instruction moves.
static constexpr int64_t widestCopy = 16;

AttentionCopies::AttentionCopies(KernelEmitter &emitter,
                                 const AttentionShape &shape,
                                 const AttentionTiles &tiles,
                                 const RowLayout &layout, ValueRange addresses)
    : e(emitter), shape(shape), tiles(tiles), layout(layout),
      element(shape.getElementBytes()) {
  for (chunkElements = widestCopy / element; layout.size % chunkElements != 0;)
    chunkElements /= 2;
  if (chunkElements == 1)
    return;
  Value bits = e.int64(0);
  for (Value address : addresses)
    bits = e.bitOr(bits, address);
  isAligned = e.compare(arith::CmpIPredicate::eq,
                        e.bitAnd(bits, chunkElements * element - 1), 0);
}

void AttentionCopies::byUnit(function_ref<void(int64_t)> copy) {
  if (!isAligned)
    return copy(1);
  e.ifElse(
      isAligned,
      [&] {
        copy(chunkElements);
        return KernelEmitter::Values();
      },
      [&] {
        copy(1);
        return KernelEmitter::Values();
      });
}

void AttentionCopies::clearPadding(Value to, int64_t rows, Value thread) {
  int64_t padding = layout.padded - layout.size;
  if (padding == 0)
    return;
  Value zero = element == 4
                   ? e.int32(0)
                   : Value(arith::ConstantOp::create(
                         e.builder, e.loc, e.builder.getI16IntegerAttr(0)));
  e.loopNoUnroll(
      thread, e.int32(rows * padding), tiles.getThreads(), [&](Value index) {
        Value row = e.div(index, padding);
        Value column = e.add(e.rem(index, padding), layout.size);
        Value bytes = e.add(e.mul(row, layout.pitch), e.mul(column, element));
        e.store(zero, e.offset(to, bytes), element);
      });
}

std::pair<Value, Value> AttentionCopies::getSkips(Value unit, int64_t elements,
                                                  Type type) {
  Value skip = e.mul(unit, elements * element);
  if (type == shape.type)
    return {skip, e.toInt64(skip)};
  return {skip, e.toInt64(e.mul(unit, elements * shape.getBytes(type)))};
}

/// Elements of one type as another.
static Value convert(KernelEmitter &e, Value value, Type to) {
  Type from = value.getType();
  if (auto vector = dyn_cast<VectorType>(from))
    to = vector.clone(to);
  if (getElementTypeOrSelf(from).getIntOrFloatBitWidth() <
      getElementTypeOrSelf(to).getIntOrFloatBitWidth())
    return arith::ExtFOp::create(e.builder, e.loc, to, value);
  return arith::TruncFOp::create(e.builder, e.loc, to, value);
}

static Type getUnitType(Type element, int64_t elements) {
  return elements == 1 ? element : VectorType::get(elements, element);
}

void AttentionCopies::loadUnit(Value to, Value from, int64_t elements,
                               Type type, Value inBounds) {
  int64_t bytes = elements * element;
  if (type == shape.type && bytes >= 4)
    return e.copyAsync(to, from, bytes, inBounds);
  // Asynchronous copies have at least four bytes, and do not convert.
  bool converts = type != shape.type;
  Type unit = converts ? getUnitType(type, elements) : e.i16;
  Value zero =
      arith::ConstantOp::create(e.builder, e.loc, e.builder.getZeroAttr(unit));
  int64_t globalBytes = elements * shape.getBytes(type);
  Value value = e.ifElse(
      inBounds,
      [&] { return KernelEmitter::Values{e.load(unit, from, globalBytes)}; },
      [&] { return KernelEmitter::Values{zero}; })[0];
  e.store(converts ? convert(e, value, shape.type) : value, to, bytes);
}

/// Unrolled, the loop would keep many addresses ready, which cost the registers
/// of the loop over tiles although this path is rarely taken.
void AttentionCopies::loadUnits(Value to, int64_t rows, Value thread,
                                int64_t elements, Type type, RowOf rowOf) {
  int64_t units = layout.size / elements;
  e.loopNoUnroll(
      thread, e.int32(rows * units), tiles.getThreads(), [&](Value index) {
        Value row = e.div(index, units);
        auto [skip, globalSkip] = getSkips(e.rem(index, units), elements, type);
        GlobalRow from = rowOf(row);
        loadUnit(e.offset(to, e.add(e.mul(row, layout.pitch), skip)),
                 e.offset(from.pointer, globalSkip), elements, type,
                 from.inBounds);
      });
}

void AttentionCopies::load(Value to, int64_t rows, Value thread, RowOf rowOf) {
  byUnit([&](int64_t elements) {
    loadUnits(to, rows, thread, elements, shape.queryType, rowOf);
  });
}

bool AttentionCopies::isShort(int64_t rows, int64_t elements) const {
  int64_t units = layout.size / elements;
  return elements == chunkElements && units <= tiles.getThreads() &&
         rows * units <= unrolledCopies * tiles.getThreads();
}

void AttentionCopies::inPasses(int64_t rows, Value thread, int64_t elements,
                               function_ref<void(int64_t, Value)> copy) {
  int64_t units = layout.size / elements;
  int64_t step = std::min(rows, tiles.getThreads() / units);
  Value row = e.div(thread, units);
  auto copyAll = [&] {
    int64_t first = 0;
    for (; first + step <= rows; first += step)
      copy(first, row);
    if (first < rows)
      e.ifThen(e.compare(arith::CmpIPredicate::slt, row, rows - first),
               [&] { copy(first, row); });
  };
  if (step * units == tiles.getThreads())
    return copyAll();
  e.ifThen(e.compare(arith::CmpIPredicate::slt, thread, step * units), copyAll);
}

/// A thread keeps its column and goes from row to row by adding.
void AttentionCopies::loadInPasses(Value to, int64_t rows, Value thread,
                                   int64_t elements, const GlobalRows &from) {
  int64_t units = layout.size / elements;
  int64_t step = std::min(rows, tiles.getThreads() / units);
  Value ownRow = e.div(thread, units);
  auto [skip, globalSkip] =
      getSkips(e.rem(thread, units), elements, shape.keyType);
  Value source = e.offset(
      from.pointer, e.add(e.mul(e.toInt64(ownRow), from.pitch), globalSkip));
  Value target = e.offset(to, e.add(e.mul(ownRow, layout.pitch), skip));
  Value distance = e.mul(from.pitch, step);
  inPasses(rows, thread, elements, [&](int64_t first, Value row) {
    loadUnit(
        e.offset(target, first * layout.pitch), source, elements, shape.keyType,
        e.compare(arith::CmpIPredicate::slt, row, e.sub(from.count, first)));
    source = e.offset(source, distance);
  });
}

void AttentionCopies::load(Value to, int64_t rows, Value thread,
                           const GlobalRows &from) {
  byUnit([&](int64_t elements) {
    if (isShort(rows, elements))
      return loadInPasses(to, rows, thread, elements, from);
    loadUnits(to, rows, thread, elements, shape.keyType, [&](Value row) {
      return GlobalRow{
          e.offset(from.pointer, e.mul(e.toInt64(row), from.pitch)),
          e.compare(arith::CmpIPredicate::slt, row, from.count)};
    });
  });
}

void AttentionCopies::load(ArrayRef<TileOf> tilesOf, int64_t rows, Value thread,
                           function_ref<FoundRow(Value)> find) {
  auto copy = [&](Value row, Value unit, int64_t elements) {
    FoundRow found = find(row);
    auto [skip, globalSkip] = getSkips(unit, elements, shape.keyType);
    Value target = e.add(e.mul(row, layout.pitch), skip);
    Value source = e.add(found.offset, globalSkip);
    for (const TileOf &tile : tilesOf)
      loadUnit(e.offset(tile.to, target), e.offset(tile.from, source), elements,
               shape.keyType, found.inBounds);
  };
  byUnit([&](int64_t elements) {
    int64_t units = layout.size / elements;
    if (isShort(rows, elements))
      return inPasses(rows, thread, elements, [&](int64_t first, Value row) {
        copy(e.add(row, first), e.rem(thread, units), elements);
      });
    e.loopNoUnroll(thread, e.int32(rows * units), tiles.getThreads(),
                   [&](Value index) {
                     copy(e.div(index, units), e.rem(index, units), elements);
                   });
  });
}

void AttentionCopies::storeUnits(Value from, int64_t rows, Value lane,
                                 int64_t elements, RowOf rowOf) {
  int64_t units = layout.size / elements, bytes = elements * element;
  bool converts = shape.queryType != shape.type;
  Type type = e.builder.getIntegerType(8 * std::min<int64_t>(bytes, 8));
  if (bytes == widestCopy)
    type = VectorType::get(4, e.i32);
  if (converts)
    type = getUnitType(shape.type, elements);
  e.loopNoUnroll(lane, e.int32(rows * units), 32, [&](Value index) {
    Value row = e.div(index, units), column = e.rem(index, units);
    GlobalRow to = rowOf(row);
    e.ifThen(to.inBounds, [&] {
      auto [skip, globalSkip] = getSkips(column, elements, shape.queryType);
      Value source = e.offset(from, e.add(e.mul(row, layout.pitch), skip));
      Value value = e.load(type, source, bytes);
      if (converts)
        value = convert(e, value, shape.queryType);
      e.store(value, e.offset(to.pointer, globalSkip),
              elements * shape.getBytes(shape.queryType));
    });
  });
}

void AttentionCopies::store(Value from, int64_t rows, Value lane, RowOf rowOf) {
  byUnit(
      [&](int64_t elements) { storeUnits(from, rows, lane, elements, rowOf); });
}

AttentionTileCopies::AttentionTileCopies(KernelEmitter &emitter,
                                         const AttentionShape &shape,
                                         const AttentionTiles &tiles,
                                         ArrayRef<Value> headAddresses,
                                         ArrayRef<Value> valueAddresses)
    : e(emitter), tiles(tiles) {
  SmallVector<Value> addresses(headAddresses);
  if (areOne())
    llvm::append_range(addresses, valueAddresses);
  head.emplace(e, shape, tiles, tiles.head, addresses);
  if (!areOne())
    value.emplace(e, shape, tiles, tiles.value, valueAddresses);
}

void AttentionTileCopies::clearPadding(Value shared, Value thread) {
  if (areOne())
    return head->clearPadding(shared, tiles.getSharedBytes() / tiles.head.pitch,
                              thread);
  int64_t rows = tiles.getRows(), behind = rows * tiles.head.pitch;
  head->clearPadding(shared, rows, thread);
  if (tiles.rowBytes == tiles.head.pitch + tiles.value.pitch)
    value->clearPadding(e.offset(shared, behind), rows, thread);
  for (int64_t stage : {int64_t(0), tiles.getStageBytes()}) {
    head->clearPadding(e.offset(shared, stage + tiles.getKeysOffset()),
                       tiles.keys, thread);
    value->clearPadding(e.offset(shared, stage + tiles.getValuesOffset()),
                        tiles.keys, thread);
  }
}
