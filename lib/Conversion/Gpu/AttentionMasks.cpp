//===- AttentionMasks.cpp - Which keys a row sees -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionMasks.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionMasks.h"

#include <limits>

using namespace mlir;
using namespace tp;

AttentionMasks::AttentionMasks(KernelEmitter &emitter,
                               const AttentionShape &shape,
                               const AttentionTiles &tiles, Sight sight,
                               Value keyLength, Value queryOffset,
                               Value queries, Value mask, Value blockRow,
                               Value warpRow, Value warpKey, Value lane)
    : e(emitter), shape(shape), tiles(tiles), sight(sight),
      keyLength(keyLength), queryOffset(queryOffset), mask(mask),
      warpKey(warpKey), lane(lane) {
  firstRow = e.add(e.add(blockRow, warpRow), e.div(lane, 4));
  auto getPosition = [&](Value query) {
    return e.add(queryOffset, e.toInt64(query));
  };
  Value first = getPosition(e.div(blockRow, shape.getSharing()));
  Value lastRow = e.add(blockRow, tiles.getRows() - 1);
  Value last =
      getPosition(e.min(e.div(lastRow, shape.getSharing()), e.sub(queries, 1)));
  firstKey = e.toInt32(getLowest(first));
  firstTile = e.div(firstKey, tiles.keys);
  endTile =
      e.div(e.add(e.toInt32(getHighest(last)), tiles.keys - 1), tiles.keys);
  wholeFrom = e.toInt32(getLowest(last));
  wholeTo = e.toInt32(getHighest(first));
}

/// For row g + 8 * half: the first key it sees, and how many from there on.
std::pair<Value, Value> AttentionMasks::getVisible(int64_t half) {
  Value query = e.div(e.add(firstRow, 8 * half), shape.getSharing());
  Value position = e.add(queryOffset, e.toInt64(query));
  Value from = e.toInt32(getLowest(position));
  Value to = e.toInt32(getHighest(position));
  return {from, e.max(e.sub(to, from), 0)};
}

Value AttentionMasks::getLowest(Value position) {
  if (!sight.from)
    return e.int64(0);
  Value key = e.add(position, *sight.from);
  return e.min(e.max(key, 0), keyLength);
}

Value AttentionMasks::getHighest(Value position) {
  if (!sight.to)
    return keyLength;
  Value key = e.add(position, *sight.to);
  return e.min(e.max(key, 0), keyLength);
}

void AttentionMasks::readBits(Value start,
                              function_ref<Value(Value, Value)> isSeen) {
  padding.clear();
  hasAll = Value();
  int64_t keys = tiles.getWarpKeys();
  for (int64_t word = 0; word < keys; word += 32) {
    Value own = e.add(lane, word), isOwn;
    if (keys < 32)
      isOwn = e.compare(arith::CmpIPredicate::slt, own, keys);
    Value bits = e.ballot(isSeen(e.add(e.add(start, warpKey), own), isOwn));
    int64_t all = keys < 32 ? (int64_t(1) << keys) - 1 : -1;
    Value isFull = e.compare(arith::CmpIPredicate::eq, bits, all);
    hasAll = hasAll ? e.bitAnd(hasAll, isFull) : isFull;
    // Bit 2t + j of what lane t keeps moves to bit j: its own first column.
    padding.push_back(e.shiftRight(bits, e.mul(e.rem(lane, 4), 2)));
  }
}

void AttentionMasks::readPadding(Value start) {
  if (!shape.maskType)
    return;
  int64_t bytes = std::max(1u, shape.maskType.getIntOrFloatBitWidth() / 8);
  Type type = e.builder.getIntegerType(8 * bytes);
  readBits(start, [&](Value position, Value isOwn) {
    Value key = e.toInt64(position);
    Value inBounds = e.compare(arith::CmpIPredicate::slt, key, keyLength);
    if (isOwn)
      inBounds = e.bitAnd(inBounds, isOwn);
    Value hidden = e.builder.createOrFold<arith::ConstantOp>(
        e.loc, e.builder.getBoolAttr(false));
    return e.ifElse(
        inBounds,
        [&] {
          Value loaded = e.load(type, e.offset(mask, e.mul(key, bytes)), bytes);
          return KernelEmitter::Values{
              e.compare(arith::CmpIPredicate::ne, loaded, 0)};
        },
        [&] { return KernelEmitter::Values{hidden}; })[0];
  });
}

void AttentionMasks::readPages(Value start, function_ref<Value(Value)> hasKey) {
  readBits(start, [&](Value key, Value isOwn) {
    Value isSeen = hasKey(key);
    return isOwn ? e.bitAnd(isSeen, isOwn) : isSeen;
  });
}

Fragments AttentionMasks::applyByElement(const Fragments &scores, Value start) {
  Value hidden = e.float32(-std::numeric_limits<double>::infinity());
  Value column = e.add(e.add(start, warpKey), e.mul(e.rem(lane, 4), 2));
  Fragments result = scores;
  for (auto [fragment, tileScores] : llvm::enumerate(result))
    for (int64_t half = 0; half < 2; ++half) {
      auto [from, count] = getVisible(2 * fragment + half);
      Value own = e.sub(column, from);
      for (auto [tile, values] : llvm::enumerate(tileScores))
        for (int64_t side = 0; side < 2; ++side) {
          int64_t key = 8 * tile + side;
          Value isSeen =
              e.compare(arith::CmpIPredicate::ult, e.add(own, key), count);
          if (!padding.empty()) {
            Value bit = e.bitAnd(padding[key / 32], int64_t(1) << key % 32);
            isSeen =
                e.bitAnd(isSeen, e.compare(arith::CmpIPredicate::ne, bit, 0));
          }
          Value &score = values[2 * half + side];
          score = e.select(isSeen, score, hidden);
        }
    }
  return result;
}

Fragments AttentionMasks::apply(const Fragments &scores, Value start) {
  if (shape.maskType)
    return applyByElement(scores, start);
  Value isWhole = e.bitAnd(
      e.compare(arith::CmpIPredicate::sge, start, wholeFrom),
      e.compare(arith::CmpIPredicate::sle, e.add(start, tiles.keys), wholeTo));
  if (hasAll)
    isWhole = e.bitAnd(isWhole, hasAll);
  auto flatten = [](const Fragments &fragments) {
    KernelEmitter::Values values;
    for (const Fragment &fragment : fragments)
      for (const auto &tile : fragment)
        llvm::append_range(values, tile);
    return values;
  };
  KernelEmitter::Values flat = e.ifElse(
      isWhole, [&] { return flatten(scores); },
      [&] { return flatten(applyByElement(scores, start)); });
  Fragments result = scores;
  size_t next = 0;
  for (Fragment &fragment : result)
    for (auto &tile : fragment)
      for (Value &value : tile)
        value = flat[next++];
  return result;
}
