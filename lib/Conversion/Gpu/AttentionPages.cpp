//===- AttentionPages.cpp - Tokens and keys found by number ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionPages.h. Numbers are i32; one that is negative is, as an
// unsigned one, not below any bound.
//
//===----------------------------------------------------------------------===//

#include "AttentionPages.h"

using namespace mlir;
using namespace tp;

Value AttentionPages::loadNumber(Value base, Value index) {
  return e.load(e.i32, e.offset(base, e.toInt64(e.mul(index, 4))), 4);
}

Value AttentionPages::isRow(Value row) {
  return e.compare(arith::CmpIPredicate::ult, row, pages.rows);
}

Value AttentionPages::goesOn(Value token) {
  Value before = e.sub(token, 1);
  Value row = loadNumber(rows, token), rowBefore = loadNumber(rows, before);
  Value next = e.add(loadNumber(positions, before), 1);
  Value isNext = e.bitAnd(
      e.compare(arith::CmpIPredicate::eq, row, rowBefore),
      e.compare(arith::CmpIPredicate::eq, next, loadNumber(positions, token)));
  Value isNone = e.compare(arith::CmpIPredicate::uge, row, pages.rows);
  Value wasNone = e.compare(arith::CmpIPredicate::uge, rowBefore, pages.rows);
  return e.select(isNone, wasNone, isNext);
}

Value AttentionPages::beginsRun(Value token) {
  Value isFirst = e.compare(arith::CmpIPredicate::eq, e.rem(token, most), 0);
  Value isNew = e.compare(arith::CmpIPredicate::eq, goesOn(e.max(token, 1)), 0);
  return e.bitOr(isFirst, isNew);
}

/// The first token behind `token` that begins a run or is none: a lane looks at
/// each, and of the first words of 32 the first bit counts.
Value AttentionPages::countTokens(Value token, Value lane) {
  int64_t tokens = shape.queryLength;
  SmallVector<Value> words;
  for (int64_t first = 1; first <= most; first += 32) {
    Value other = e.add(token, e.add(lane, first));
    Value isEnd = e.compare(arith::CmpIPredicate::sge, other, tokens);
    words.push_back(
        e.ballot(e.bitOr(isEnd, beginsRun(e.min(other, tokens - 1)))));
  }
  Value count = e.int32(most);
  for (int64_t i = int64_t(words.size()) - 1; i >= 0; --i) {
    Value isNone = e.compare(arith::CmpIPredicate::eq, words[i], 0);
    Value bit = LLVM::CountTrailingZerosOp::create(
        e.builder, e.loc, e.i32, words[i], /*is_zero_poison=*/false);
    count = e.select(isNone, count, e.add(bit, 32 * i + 1));
  }
  return count;
}

void AttentionPages::place(Value token, Value count, Value &queryOffset,
                           Value &keyLength) {
  Value row = loadNumber(rows, token);
  Value inBounds = isRow(row);
  Value own = e.select(inBounds, row, e.int32(0));
  slots = e.offset(table, e.toInt64(e.mul(own, pages.slots * 4)));
  queryOffset = e.toInt64(loadNumber(positions, token));
  Value end = e.add(queryOffset, e.toInt64(count));
  Value seen = e.min(e.max(end, 0), shape.keyCapacity);
  keyLength = e.select(inBounds, seen, e.int64(0));
}

FoundRow AttentionPages::find(Value key, Value from, Value to, int64_t size) {
  Value inBounds =
      e.compare(arith::CmpIPredicate::ult, e.sub(key, from), e.sub(to, from));
  Value slot = e.select(inBounds, e.div(key, pages.page), e.int32(0));
  Value page = loadNumber(slots, slot);
  inBounds = e.bitAnd(inBounds, e.compare(arith::CmpIPredicate::ult, page,
                                          pages.cells / pages.page));
  Value cell =
      e.select(inBounds, e.add(e.mul(page, pages.page), e.rem(key, pages.page)),
               e.int32(0));
  int64_t bytes = shape.keyHeads * size * shape.getBytes(shape.keyType);
  return {e.mul(e.toInt64(cell), bytes), inBounds};
}
