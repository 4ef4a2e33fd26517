//===- PagedConv.cpp - Causal convolutions in a step of generation --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of nn.conv_places and nn.paged_conv. A pool keeps the inputs of the last
// few positions of every page, at places that follow from the position alone:
// with 2 earlier positions and pages of 32, position 37 of a text whose second
// page is number 5 is in slot 5 * 2 + (37 % 32) % 2 = 11, until position 39
// takes it. Within a step a token finds its neighbours among the tokens, and
// only what is the last of its page goes into the pool (by nn.cache_write), so
// that a chunk of any size reads the pool before it is written.
//
//===----------------------------------------------------------------------===//

#include "ConvParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::nn;

//===----------------------------------------------------------------------===//
// nn.conv_places
//===----------------------------------------------------------------------===//

LogicalResult ConvPlacesOp::verify() {
  if (failed(expectRank(*this, "rows", getRows(), 1)) ||
      failed(expectRank(*this, "table", getTable(), 2)) ||
      failed(expectRank(*this, "sources", getSources(), 2)) ||
      failed(expectPage(*this, getPage())))
    return failure();
  int64_t tokens = shapeOf(getRows())[0];
  if (failed(expectShape(*this, "positions", getPositions(), {tokens})) ||
      failed(expectShape(*this, "cells", getCells(), {tokens})) ||
      failed(expectShape(*this, "slots", getSlots(), {tokens})))
    return failure();
  int64_t earlier = shapeOf(getSources())[1];
  if (earlier < 1)
    return emitOpError("expected sources of 1 or more earlier positions");
  return expectShape(*this, "sources", getSources(), {tokens, earlier});
}

FailureOr<ShardingRule> ConvPlacesOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> table = shapeOf(getTable()),
                    sources = shapeOf(getSources());
  auto whole = [&](int64_t size, StringRef name) {
    return rule.addFactor(size, FactorKind::Whole, name);
  };
  unsigned t = whole(sources[0], "tokens"), n = whole(sources[1], "earlier");
  unsigned r = whole(table[0], "rows"), p = whole(table[1], "pages");
  for (unsigned i = 0; i < 3; ++i)
    addOperand(rule, {{t}}, Linearity::None);
  addOperand(rule, {{r}, {p}}, Linearity::None);
  addResult(rule, {{t}});
  addResult(rule, {{t}, {n}});
  return rule;
}

SmallVector<PadState> ConvPlacesOp::getPaddingStates(unsigned,
                                                     ArrayRef<PadState>) {
  return SmallVector<PadState>(2, PadState::Anything);
}

/// The slot of a cell (an index), of pages that have `kept` slots each.
static Value findSlot(Scalar &e, Value cell, int64_t page, int64_t kept) {
  Type index = e.b.getIndexType();
  Value size = e.integer(page, index), slots = e.integer(kept, index);
  Value first = e.mul(e.quotient(cell, size), slots);
  Value within = e.remainder(e.remainder(cell, size), slots);
  return e.add(first, within);
}

namespace {
/// Builds both results, in index arithmetic.
struct PlaceBuilder {
  ConvPlacesOp op;
  Emitter &emitter;
  Type i32 = emitter.builder.getI32Type(),
       index = emitter.builder.getIndexType();
  int64_t tokens = shapeOf(op.getSources())[0],
          earlier = shapeOf(op.getSources())[1], page = op.getPage();
  int64_t kept = std::min(earlier, page);
  static constexpr int64_t any = std::numeric_limits<int32_t>::max();

  /// `value` as an i32, -1 unless `isValid`.
  Value orNone(Scalar &e, Value isValid, Value value) const {
    return e.select(isValid, e.cast(value, i32), -1);
  }
  Value isEqual(Scalar &e, Value a, Value b) const {
    return e.compare(CmpI::eq, a, b);
  }
  Value pageOf(Scalar &e, Value cell) const { return e.quotient(cell, page); }

  Value buildSlots();
  Value buildSources();
};
} // namespace

Value PlaceBuilder::buildSlots() {
  Loops d = emitter.loops(1);
  return emitter.map(
      typeOf(op.getSlots()), {{op.getCells(), d}},
      [&](Scalar &e, ValueRange v) {
        Value isToken, cell = clamp(e, v[0], any, isToken);
        // The token that takes the same slot, if it is in this step.
        Value isReplaced, later = e.add(e.index(0), kept);
        later = clamp(e, later, tokens, isReplaced);
        Value next =
            clamp(e, tensor::ExtractOp::create(e.b, op.getCells(), later), any,
                  isReplaced);
        isReplaced =
            e.both(isReplaced, isEqual(e, pageOf(e, cell), pageOf(e, next)));
        Value isKept =
            e.select(isReplaced, e.integer(0, e.b.getI1Type()), isToken);
        return orNone(e, isKept, findSlot(e, cell, page, kept));
      });
}

Value PlaceBuilder::buildSources() {
  Loops d = emitter.loops(2);
  int64_t limit = shapeOf(op.getTable())[1] * page;
  return emitter.map(
      typeOf(op.getSources()),
      {{op.getRows(), {d[0]}}, {op.getPositions(), {d[0]}}},
      [&](Scalar &e, ValueRange v) {
        Value back = e.add(e.index(1), 1);
        Value position = e.sub(e.cast(v[1], index), back);
        Value inBounds;
        position = clamp(e, position, limit, inBounds);
        Value row = e.cast(v[0], index);
        Value cell =
            findCell(e, op.getTable(), page, any, row, position, inBounds);
        // The token so many places before, if it is the one at that position.
        Value isToken, token = e.sub(e.index(0), back);
        token = clamp(e, token, tokens, isToken);
        Value its =
            clamp(e, tensor::ExtractOp::create(e.b, op.getCells(), token), any,
                  isToken);
        isToken = e.both(isToken, isEqual(e, its, cell));
        Value slot = e.add(findSlot(e, cell, page, kept), tokens);
        return orNone(e, inBounds, e.select(isToken, token, slot));
      });
}

FailureOr<SmallVector<Value>> ConvPlacesOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  PlaceBuilder places{*this, emitter};
  return SmallVector<Value>{places.buildSlots(), places.buildSources()};
}

std::optional<IntegerRange> ConvPlacesOp::getIntegerRange(OpOperand &operand) {
  ArrayRef<int64_t> table = shapeOf(getTable());
  if (operand.get() == getRows())
    return IntegerRange{table[0]};
  if (operand.get() == getTable())
    return IntegerRange{table[0] * table[1]};
  return IntegerRange{table[1] * int64_t(getPage())};
}

//===----------------------------------------------------------------------===//
// nn.paged_conv
//===----------------------------------------------------------------------===//

LogicalResult PagedConvOp::verify() {
  if (failed(
          verifyConv(*this, getInput(), getWeight(), getBias(), getResult())) ||
      failed(expectRank(*this, "pool", getPool(), 3)))
    return failure();
  RankedTensorType input = typeOf(getInput());
  int64_t tokens = input.getDimSize(1), channels = input.getDimSize(2);
  if (failed(expectShape(*this, "input", getInput(), {1, tokens, channels})) ||
      failed(expect(*this, "pool", getPool(),
                    {shapeOf(getPool())[0], channels, 1},
                    input.getElementType())))
    return failure();
  return expectShape(*this, "sources", getSources(),
                     {tokens, shapeOf(getWeight())[2] - 1});
}

FailureOr<ShardingRule> PagedConvOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput());
  auto whole = [&](int64_t size, StringRef name) {
    return rule.addFactor(size, FactorKind::Whole, name);
  };
  unsigned b = whole(1, "b"), t = whole(input[1], "tokens");
  unsigned c = rule.addFactor(input[2], FactorKind::Parallel, "channels");
  unsigned one = whole(1, "one"), k = whole(shapeOf(getWeight())[2], "k");
  unsigned s = whole(shapeOf(getPool())[0], "slots"),
           single = whole(1, "single");
  unsigned n = whole(shapeOf(getSources())[1], "earlier");
  addOperand(rule, {{b}, {t}, {c}}, Linearity::None);
  addOperand(rule, {{c}, {one}, {k}}, Linearity::Multilinear);
  addOperand(rule, {{s}, {c}, {single}}, Linearity::None);
  addOperand(rule, {{t}, {n}}, Linearity::None);
  if (getBias())
    addOperand(rule, {{c}}, Linearity::Additive);
  addResult(rule, {{b}, {t}, {c}});
  return rule;
}

SmallVector<PadState> PagedConvOp::getPaddingStates(unsigned,
                                                    ArrayRef<PadState> in) {
  bool zero = isZero(in[0]) && isZero(in[1]) && isZero(in[2]) &&
              (!getBias() || isZero(in.back()));
  return {zero ? PadState::Zero : PadState::Anything};
}

FailureOr<SmallVector<Value>> PagedConvOp::decompose(OpBuilder &builder) {
  RankedTensorType type = typeOf(getResult());
  Emitter emitter(builder, getLoc(), type.getElementType());
  Loops d = emitter.loops(3);
  int64_t tokens = type.getDimSize(1), slots = shapeOf(getPool())[0];
  unsigned taps = shapeOf(getWeight())[2];
  SmallVector<Operand> operands =
      listTaps(emitter, getWeight(), getBias(), d[2]);
  unsigned first = operands.size();
  operands.push_back({getInput(), d});
  for (unsigned i = 0; i + 1 < taps; ++i)
    operands.push_back({getSources(), {d[1], emitter.constant(i)}});
  auto compute = [&](Scalar &e, ValueRange v) {
    Type index = e.b.getIndexType();
    auto inputAt = [&](unsigned back) -> Value {
      if (back == 0)
        return v[first];
      Value source = e.cast(v[first + back], index);
      Value isToken, isKept, token = clamp(e, source, tokens, isToken);
      Value slot = clamp(e, e.sub(source, tokens), slots, isKept);
      Value zero = e.integer(0, index);
      Value now = tensor::ExtractOp::create(
          e.b, getInput(), ValueRange{zero, token, e.index(2)});
      Value before = tensor::ExtractOp::create(
          e.b, getPool(), ValueRange{slot, e.index(2), zero});
      Value kept = e.select(isKept, e.convert(before, e.wide), 0);
      return e.select(isToken, e.convert(now, e.wide), kept);
    };
    return sumTaps(e, v.take_front(taps), getBias() ? v[taps] : Value(),
                   inputAt);
  };
  return SmallVector<Value>{emitter.map(type, operands, compute)};
}

std::optional<IntegerRange> PagedConvOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getSources())
    return std::nullopt;
  return IntegerRange{shapeOf(getInput())[1] + shapeOf(getPool())[0]};
}
