//===- Paged.cpp - Ragged rows of tokens over a paged cache ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of nn.token_places, nn.cache_write and nn.paged_attention: what they
// accept, how they are cut, what they mean, and their library forms. A step of
// generation writes the keys and values of its tokens first and attends then,
// so that a token sees itself. KV heads are a factor of the cache as they are
// of attention, and everything else is whole: tokens and cells are found by
// number.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"
#include "CacheParts.h"
#include "PagedParts.h"
#include "QuantizedParts.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Interfaces/LibraryCalls.h"
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult tp::nn::expectPage(Operation *op, int64_t page) {
  if (page < 1)
    return op->emitOpError()
           << "expected a page of 1 or more cells, got " << page;
  return success();
}

/// Padding of heads holds what the operands' hold: nothing is known.
static SmallVector<PadState> knowNothing(Operation *op) {
  return SmallVector<PadState>(op->getNumResults(), PadState::Anything);
}

Value tp::nn::clamp(Scalar &e, Value value, int64_t end, Value &isValid) {
  Type index = e.b.getIndexType();
  if (!value.getType().isIndex())
    value = e.cast(value, index);
  Value isBelow = e.compare(CmpI::ult, value, end);
  isValid = isValid ? e.both(isValid, isBelow) : isBelow;
  return e.select(isBelow, value, 0);
}

Value tp::nn::findCell(Scalar &e, Value table, int64_t page, int64_t numPages,
                       Value row, Value position, Value &isValid) {
  Type index = e.b.getIndexType();
  ArrayRef<int64_t> shape = shapeOf(table);
  Value size = e.integer(page, index);
  Value slot = clamp(e, e.quotient(position, size), shape[1], isValid);
  Value entry =
      clamp(e,
            tensor::ExtractOp::create(
                e.b, table, ValueRange{clamp(e, row, shape[0], isValid), slot}),
            numPages, isValid);
  return e.add(e.mul(entry, size), e.remainder(position, size));
}

//===----------------------------------------------------------------------===//
// nn.token_places
//===----------------------------------------------------------------------===//

LogicalResult TokenPlacesOp::verify() {
  if (failed(expectRank(*this, "rows", getRows(), 1)) ||
      failed(expectRank(*this, "table", getTable(), 2)) ||
      failed(expectPage(*this, getPage())))
    return failure();
  int64_t tokens = shapeOf(getRows())[0], rows = shapeOf(getTable())[0];
  if (failed(expectShape(*this, "starts", getStarts(), {rows + 1})) ||
      failed(expectShape(*this, "context", getContext(), {rows})) ||
      failed(expectShape(*this, "positions", getPositions(), {tokens})))
    return failure();
  return expectShape(*this, "cells", getCells(), {tokens});
}

FailureOr<ShardingRule> TokenPlacesOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> table = shapeOf(getTable());
  auto whole = [&](int64_t size, StringRef name) {
    return rule.addFactor(size, FactorKind::Whole, name);
  };
  unsigned t = whole(shapeOf(getRows())[0], "tokens");
  unsigned bounds = whole(table[0] + 1, "bounds of rows");
  unsigned r = whole(table[0], "rows"), p = whole(table[1], "pages");
  addOperand(rule, {{bounds}}, Linearity::None);
  addOperand(rule, {{r}}, Linearity::None);
  addOperand(rule, {{r}, {p}}, Linearity::None);
  for (unsigned i = 0; i < 3; ++i)
    addResult(rule, {{t}});
  return rule;
}

SmallVector<PadState> TokenPlacesOp::getPaddingStates(unsigned,
                                                      ArrayRef<PadState>) {
  return knowNothing(*this);
}

FailureOr<SmallVector<Value>> TokenPlacesOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  RankedTensorType type = typeOf(getRows());
  Type i32 = type.getElementType(), index = builder.getIndexType();
  int64_t numRows = shapeOf(getTable())[0];
  Loops d = emitter.loops(2);
  auto toI32 = [&](Scalar &e, Value value) -> Value {
    return e.cast(value, i32);
  };
  auto orNone = [&](Scalar &e, Value isValid, Value value) {
    return e.select(isValid, value, -1);
  };
  // As many rows end at or before a token as come before its own. Counted in
  // floats, which hold such numbers.
  Value count =
      emitter.reduce(emitter.wideType(type.getShape()), {d[0]}, 2, Combine::Sum,
                     {{getStarts(), {d[1] + 1}}, {getContext(), {d[1]}}},
                     [&](Scalar &e, ValueRange v) {
                       Value isBefore =
                           e.compare(CmpI::sle, v[0], toI32(e, e.index(0)));
                       return e.select(isBefore, e.number(1), 0);
                     });
  Value rows =
      emitter.map(type, {{count, {d[0]}}}, [&](Scalar &e, ValueRange v) {
        Value row = e.cast(v[0], i32);
        Value isRow = e.compare(CmpI::slt, row, numRows);
        return orNone(e, isRow, row);
      });
  Value positions =
      emitter.map(type, {{rows, {d[0]}}}, [&](Scalar &e, ValueRange v) {
        Value isValid, row = clamp(e, v[0], numRows, isValid);
        Value start = tensor::ExtractOp::create(e.b, getStarts(), row);
        Value first = tensor::ExtractOp::create(e.b, getContext(), row);
        Value within = e.sub(toI32(e, e.index(0)), start);
        return orNone(e, isValid, e.add(first, within));
      });
  int64_t page = getPage(), limit = shapeOf(getTable())[1] * page;
  Value cells = emitter.map(
      type, {{rows, {d[0]}}, {positions, {d[0]}}},
      [&](Scalar &e, ValueRange v) {
        Value isValid, position = clamp(e, v[1], limit, isValid);
        constexpr int64_t anyPage = std::numeric_limits<int32_t>::max();
        Value cell = findCell(e, getTable(), page, anyPage, e.cast(v[0], index),
                              position, isValid);
        return orNone(e, isValid, toI32(e, cell));
      });
  return SmallVector<Value>{rows, positions, cells};
}

std::optional<IntegerRange> TokenPlacesOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() == getStarts())
    return IntegerRange{shapeOf(getRows())[0] + 1};
  ArrayRef<int64_t> table = shapeOf(getTable());
  return IntegerRange{operand.get() == getContext()
                          ? table[1] * int64_t(getPage())
                          : table[0] * table[1]};
}

//===----------------------------------------------------------------------===//
// nn.cache_write
//===----------------------------------------------------------------------===//

LogicalResult CacheWriteOp::verify() {
  if (failed(expectRank(*this, "input", getInput(), 3)) ||
      failed(expectRank(*this, "pool", getPool(), 3)))
    return failure();
  RankedTensorType pool = typeOf(getPool());
  SmallVector<int64_t> input(pool.getShape());
  input[0] = shapeOf(getInput())[0];
  if (failed(
          expect(*this, "input", getInput(), input, pool.getElementType())) ||
      failed(expectShape(*this, "cells", getCells(), {input[0]})))
    return failure();
  return expect(*this, "result", getResult(), pool.getShape(),
                pool.getElementType());
}

CacheFactors tp::nn::addCacheWrite(ShardingRule &rule, Value input,
                                   Value pool) {
  ArrayRef<int64_t> shape = shapeOf(pool);
  unsigned t = rule.addFactor(shapeOf(input)[0], FactorKind::Whole, "tokens");
  unsigned c = rule.addFactor(shape[0], FactorKind::Whole, "cells");
  unsigned g = rule.addFactor(shape[1], FactorKind::Parallel, "kv heads");
  unsigned d = rule.addFactor(shape[2], FactorKind::Whole, "head size");
  addOperand(rule, {{t}, {g}, {d}}, Linearity::None);
  addOperand(rule, {{t}}, Linearity::None);
  addOperand(rule, {{c}, {g}, {d}}, Linearity::None);
  return {c, g, d};
}

FailureOr<ShardingRule> CacheWriteOp::getShardingRule() {
  ShardingRule rule;
  auto [c, g, d] = addCacheWrite(rule, getInput(), getPool());
  addResult(rule, {{c}, {g}, {d}});
  return rule;
}

SmallVector<PadState> CacheWriteOp::getPaddingStates(unsigned,
                                                     ArrayRef<PadState> in) {
  bool zero = isZero(in[0]) && isZero(in[2]);
  return {zero ? PadState::Zero : PadState::Anything};
}

Value tp::nn::buildCacheWrite(Emitter &emitter, Value rows, Value cells,
                              Value pool) {
  RankedTensorType type = typeOf(pool);
  int64_t tokens = shapeOf(rows)[0], numCells = type.getDimSize(0);
  unsigned rank = type.getRank();
  Loops d = emitter.loops(rank);
  // The last token of each cell, -1 for none. Floats hold such numbers.
  Value last = emitter.reduce(
      emitter.wideType({numCells}), {d[0]}, 2, Combine::Max, {{cells, {d[1]}}},
      [&](Scalar &e, ValueRange v) -> Value {
        Value isHere =
            e.compare(CmpI::eq, v[0], e.cast(e.index(0), v[0].getType()));
        Value token = e.cast(e.cast(e.index(1), e.b.getI64Type()), e.wide);
        return e.select(isHere, token, -1);
      });
  return emitter.map(
      type, {{last, {d[0]}}, {pool, d}}, [&](Scalar &e, ValueRange v) {
        Value isValid;
        SmallVector<Value> at{
            clamp(e, e.cast(v[0], e.b.getI64Type()), tokens, isValid)};
        for (unsigned dim = 1; dim < rank; ++dim)
          at.push_back(e.index(dim));
        Value element = tensor::ExtractOp::create(e.b, rows, at);
        if (isa<FloatType>(element.getType()))
          element = e.convert(element, e.wide);
        return e.select(isValid, element, v[1]);
      });
}

FailureOr<SmallVector<Value>> CacheWriteOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getResult()).getElementType());
  return SmallVector<Value>{
      buildCacheWrite(emitter, getInput(), getCells(), getPool())};
}

std::optional<IntegerRange> CacheWriteOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getCells())
    return std::nullopt;
  return IntegerRange{shapeOf(getPool())[0]};
}

OpOperand *CacheWriteOp::getReplacedOperand(unsigned) {
  return &getPoolMutable();
}

LibraryCall CacheWriteOp::getLibraryCall(const LibraryUse &) {
  RankedTensorType pool = typeOf(getPool());
  int64_t cellBytes = pool.getNumElements() / pool.getDimSize(0) *
                      pool.getElementTypeBitWidth() / 8;
  return abi::cache_write(shapeOf(getInput())[0], cellBytes, pool.getDimSize(0),
                          getInput(), getCells(), getPool(), getResult());
}

//===----------------------------------------------------------------------===//
// nn.paged_attention
//===----------------------------------------------------------------------===//

int64_t PagedAttentionOp::getNumPositions() {
  return shapeOf(getTable())[1] * int64_t(getPage());
}

Dims tp::nn::getScaleDims(Value scales, ArrayRef<int64_t> pool, unsigned cells,
                          unsigned heads) {
  ArrayRef<int64_t> shape = shapeOf(scales);
  Dims dims{{}, {}};
  if (shape[0] == pool[0])
    dims[0] = {cells};
  if (shape[1] == pool[1])
    dims[1] = {heads};
  return dims;
}

/// Bytes have elements and scales, floats neither.
static LogicalResult verifyCache(PagedAttentionOp op) {
  ArrayRef<int64_t> keys = shapeOf(op.getKeys());
  bool isBytes = typeOf(op.getKeys()).getElementType().isInteger(8);
  if (bool(op.getKeyScales()) != isBytes ||
      bool(op.getValueScales()) != isBytes ||
      op.getElement().has_value() != isBytes)
    return op.emitOpError()
           << (isBytes ? "expected an element and scales beside keys of bytes"
                       : "expected no element and no scales beside keys of "
                         "floats");
  if (!isBytes)
    return success();
  if (typeOf(op.getQuery()).getElementType().isF64())
    return op.emitOpError("expected a query of at most 32 bits beside keys of "
                          "bytes, got 'f64'");
  Value scales = op.getKeyScales();
  if (failed(verifyCacheElement(op, *op.getElement())) ||
      failed(expectRank(op, "key_scales", scales, 2)))
    return failure();
  SmallVector<int64_t> shape(shapeOf(scales));
  for (int dim : {0, 1})
    if (shape[dim] != 1)
      shape[dim] = keys[dim];
  if (failed(expectShape(op, "key_scales", scales, shape)))
    return failure();
  return expectShape(op, "value_scales", op.getValueScales(), shape);
}

LogicalResult PagedAttentionOp::verify() {
  if (failed(expectRank(*this, "query", getQuery(), 4)) ||
      failed(expectRank(*this, "keys", getKeys(), 3)) ||
      failed(expectRank(*this, "table", getTable(), 2)) ||
      failed(expectPage(*this, getPage())))
    return failure();
  RankedTensorType query = typeOf(getQuery()), keys = typeOf(getKeys());
  int64_t tokens = query.getDimSize(1), kvHeads = keys.getDimSize(1);
  int64_t heads = query.getDimSize(2);
  if (failed(expectShape(*this, "query", getQuery(),
                         {1, tokens, heads, keys.getDimSize(2)})) ||
      failed(expectRank(*this, "values", getValues(), 3)))
    return failure();
  int64_t e = shapeOf(getValues())[2];
  if (failed(expect(*this, "values", getValues(),
                    {keys.getDimSize(0), kvHeads, e}, keys.getElementType())) ||
      failed(expectShape(*this, "rows", getRows(), {tokens})) ||
      failed(expectShape(*this, "positions", getPositions(), {tokens})) ||
      failed(expect(*this, "result", getResult(), {1, tokens, heads, e},
                    query.getElementType())) ||
      failed(verifyCache(*this)) ||
      failed(verifyScores(*this, heads, kvHeads)) || failed(verifySinks(*this)))
    return failure();
  int64_t reached = getNumPositions();
  if (getBias() &&
      failed(expectShape(*this, "bias", getBias(), {heads, reached})))
    return failure();
  if (keys.getDimSize(0) % getPage() != 0)
    return emitOpError() << "expected the cells to be whole pages of "
                         << getPage() << ", got " << keys.getDimSize(0);
  if (getWindow().value_or(1) < 1)
    return emitOpError() << "expected a window of 1 or more positions, got "
                         << *getWindow();
  return success();
}

FailureOr<ShardingRule> PagedAttentionOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> query = shapeOf(getQuery()), keys = shapeOf(getKeys());
  ArrayRef<int64_t> table = shapeOf(getTable());
  auto add = [&](int64_t size, FactorKind kind, StringRef name) {
    return rule.addFactor(size, kind, name);
  };
  unsigned b = add(query[0], FactorKind::Parallel, "b");
  unsigned t = add(query[1], FactorKind::Whole, "tokens");
  unsigned g = add(keys[1], FactorKind::Parallel, "kv heads");
  unsigned r =
      add(query[2] / keys[1], FactorKind::Parallel, "queries per kv head");
  unsigned d = add(query[3], FactorKind::Whole, "head size"), e = d;
  if (int64_t size = shapeOf(getValues())[2]; size != query[3])
    e = add(size, FactorKind::Whole, "value size");
  unsigned c = add(keys[0], FactorKind::Whole, "cells");
  unsigned rows = add(table[0], FactorKind::Whole, "rows");
  unsigned pages = add(table[1], FactorKind::Whole, "pages");
  addOperand(rule, {{b}, {t}, {g, r}, {d}}, Linearity::None);
  addOperand(rule, {{c}, {g}, {d}}, Linearity::None);
  addOperand(rule, {{c}, {g}, {e}}, Linearity::None);
  addOperand(rule, {{t}}, Linearity::None);
  addOperand(rule, {{t}}, Linearity::None);
  addOperand(rule, {{rows}, {pages}}, Linearity::None);
  if (getKeyScales())
    for (Value scales : {getKeyScales(), getValueScales()})
      addOperand(rule, getScaleDims(scales, keys, c, g), Linearity::None);
  if (getBias()) {
    unsigned p = add(getNumPositions(), FactorKind::Whole, "positions");
    addOperand(rule, {{g, r}, {p}}, Linearity::None);
  }
  if (getSinks())
    addOperand(rule, {{g, r}}, Linearity::None);
  addResult(rule, {{b}, {t}, {g, r}, {e}});
  return rule;
}

/// Each token names its row and its position.
std::optional<PartForm> PagedAttentionOp::getPartForm(unsigned factor) {
  const unsigned tokens = 1; // as the rule adds it
  return factor == tokens ? std::optional(PartForm{}) : std::nullopt;
}

SmallVector<PadState>
PagedAttentionOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  // As nn.attention: an average of zeros, by weights of scores that are zero.
  bool zero = llvm::all_of(in.take_front(3), isZero);
  // A scale may be no number, which times zero is none.
  if (getKeyScales())
    zero &= llvm::all_of(in.slice(6, 2), [](PadState state) {
      return state == PadState::None || isZero(state);
    });
  if (getSinks())
    zero &= in.back() == PadState::None || isZero(in.back());
  return {zero ? PadState::Zero : PadState::Anything};
}

namespace {
/// The source of element (token, position) of the scores.
struct SeenCell {
  Value cell, isSeen;
};
} // namespace

/// The cell of the position at loop `loop`, for a token that stands at
/// `position` of row `row`.
static SeenCell findSeenCell(Scalar &e, PagedAttentionOp op, Value row,
                             Value position, unsigned loop) {
  Type index = e.b.getIndexType();
  Value key = e.index(loop);
  Value last = e.cast(position, index);
  Value isSeen = e.compare(CmpI::sle, key, last);
  if (op.getWindow()) {
    Value first = e.sub(last, *op.getWindow());
    isSeen = e.both(isSeen, e.compare(CmpI::sgt, key, first));
  }
  int64_t numPages = shapeOf(op.getKeys())[0] / op.getPage();
  Value cell =
      findCell(e, op.getTable(), op.getPage(), numPages, row, key, isSeen);
  return {cell, isSeen};
}

/// A number of a pool, at the element of loop `element`; bytes are scaled.
static Value readPool(Scalar &e, PagedAttentionOp op, Value pool, Value scales,
                      Value cell, unsigned element) {
  Value value = tensor::ExtractOp::create(
      e.b, pool, ValueRange{cell, e.index(2), e.index(element)});
  if (!scales)
    return e.convert(value, e.wide);
  SmallVector<Value> at{cell, e.index(2)};
  for (auto [index, size] : llvm::zip(at, shapeOf(scales)))
    if (size == 1)
      index = e.integer(0, e.b.getIndexType());
  Value number = e.mul(decodeByte(e, value, *op.getElement()),
                       tensor::ExtractOp::create(e.b, scales, at));
  return e.convert(number, e.wide);
}

/// The sum of `left` times what is seen of a pool, at the positions of loop
/// `position`, over loop 5. What is not seen is not multiplied: it may be no
/// number.
static Value multiplySeen(Emitter &emitter, PagedAttentionOp op,
                          RankedTensorType type, Value left, Value pool,
                          Value scales, unsigned position, unsigned element) {
  Loops d = emitter.loops(6), all(ArrayRef(d).take_front(5));
  return emitter.reduce(type, all, 6, Combine::Sum,
                        {{left, {d[0], d[1], d[2], d[3], d[5]}},
                         {op.getRows(), {d[1]}},
                         {op.getPositions(), {d[1]}}},
                        [&](Scalar &e, ValueRange v) {
                          SeenCell seen =
                              findSeenCell(e, op, v[1], v[2], position);
                          Value right =
                              readPool(e, op, pool, scales, seen.cell, element);
                          return e.select(seen.isSeen, e.mul(v[0], right), 0);
                        });
}

static Value isNone(Scalar &e, Value value, double none) {
  return e.compare(CmpF::OEQ, value, none);
}

FailureOr<SmallVector<Value>> PagedAttentionOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getQuery()).getElementType());
  ArrayRef<int64_t> keys = shapeOf(getKeys());
  Value query =
      emitter.split(getQuery(), 2, {keys[1], shapeOf(getQuery())[2] / keys[1]});
  SmallVector<int64_t> shape(shapeOf(query));
  int64_t positions = getNumPositions();
  // Loops: b, t, g, r, position, d; in the second half b, t, g, r, d, position.
  Loops d = emitter.loops(6), all(ArrayRef(d).take_front(5)),
        heads(ArrayRef(d).take_front(4));
  Operand rows{getRows(), {d[1]}}, at{getPositions(), {d[1]}};
  auto same = [](Scalar &, ValueRange v) { return v[0]; };
  SmallVector<int64_t> scoreShape(shape);
  scoreShape.back() = positions;
  RankedTensorType scoreType = emitter.wideType(scoreShape);
  Value dots = multiplySeen(emitter, *this, scoreType, query, getKeys(),
                            getKeyScales(), 4, 5);
  double infinity = std::numeric_limits<double>::infinity();
  SmallVector<Operand> shaping{{dots, all}, rows, at};
  if (getBias())
    shaping.push_back({emitter.split(getBias(), 0, {shape[2], shape[3]}),
                       {d[2], d[3], d[4]}});
  Value scores = emitter.map(scoreType, shaping, [&](Scalar &e, ValueRange v) {
    SeenCell seen = findSeenCell(e, *this, v[1], v[2], 4);
    Value score = e.mul(v[0], getScale().convertToDouble());
    score = capScore(e, *this, score);
    if (getBias())
      score = e.add(score, v[3]);
    return e.select(seen.isSeen, score, -infinity);
  });
  RankedTensorType headType =
      emitter.wideType(ArrayRef<int64_t>(shape).drop_back());
  Value max =
      emitter.reduce(headType, heads, 5, Combine::Max, {{scores, all}}, same);
  SmallVector<Operand> sinks;
  if (getSinks()) {
    sinks.push_back(
        {emitter.split(getSinks(), 0, {shape[2], shape[3]}), {d[2], d[3]}});
    max = emitter.map(
        headType, {{max, heads}, sinks.front()},
        [](Scalar &e, ValueRange v) -> Value { return e.max(v[0], v[1]); });
  }
  Value weights = emitter.map(
      scoreType, {{scores, all}, {max, heads}}, [&](Scalar &e, ValueRange v) {
        // Relative to 0 where nothing is seen: -inf - -inf is no
        // number.
        Value origin = e.select(isNone(e, v[1], -infinity), e.number(0), v[1]);
        return e.exp(e.sub(v[0], origin));
      });
  Value sum =
      emitter.reduce(headType, heads, 5, Combine::Sum, {{weights, all}}, same);
  if (getSinks())
    sum = emitter.map(headType, {{sum, heads}, {max, heads}, sinks.front()},
                      [](Scalar &e, ValueRange v) {
                        return e.add(v[0], e.exp(e.sub(v[2], v[1])));
                      });
  shape.back() = shapeOf(getValues())[2];
  Value total = multiplySeen(emitter, *this, emitter.wideType(shape), weights,
                             getValues(), getValueScales(), 5, 4);
  Value average = emitter.map(
      typeOf(query).clone(shape), {{total, all}, {sum, heads}},
      [&](Scalar &e, ValueRange v) {
        return e.select(isNone(e, v[1], 0), e.number(0), e.div(v[0], v[1]));
      });
  return SmallVector<Value>{emitter.join(average, 2, 2)};
}

std::optional<IntegerRange>
PagedAttentionOp::getIntegerRange(OpOperand &operand) {
  ArrayRef<int64_t> table = shapeOf(getTable());
  if (operand.get() == getRows())
    return IntegerRange{table[0]};
  if (operand.get() == getPositions())
    return IntegerRange{getNumPositions()};
  if (operand.get() == getTable())
    return IntegerRange{shapeOf(getKeys())[0] / int64_t(getPage())};
  return std::nullopt;
}

/// Scores, and their product with the values: of each token the positions of
/// one row, which is a part of the iteration space of all cells.
double PagedAttentionOp::getFlopsPerPoint() {
  double cells = shapeOf(getKeys())[0];
  double positions = double(shapeOf(getTable())[1]) * getPage();
  double d = shapeOf(getKeys())[2], e = shapeOf(getValues())[2];
  return (d == e ? 4 : 2 / d + 2 / e) * positions / cells;
}

std::optional<LibraryDescription>
PagedAttentionOp::getLibraryDescription(const LibraryUse &) {
  ArrayRef<int64_t> query = shapeOf(getQuery()), keys = shapeOf(getKeys());
  llvm::json::Object fields{
      {"q_heads", query[2]},
      {"kv_heads", keys[1]},
      {"head_size", query[3]},
      {"type", getTypeName(typeOf(getQuery()).getElementType())},
      {"cache_type", getTypeName(typeOf(getKeys()).getElementType())},
      {"page", int64_t(getPage())},
      {"cells", keys[0]},
      {"rows", shapeOf(getTable())[0]},
      {"pages", shapeOf(getTable())[1]},
      {"window", int64_t(getWindow().value_or(0))},
      {"scale", getScale().convertToDouble()}};
  describeScores(*this, getValues(), fields);
  if (Value scales = getKeyScales()) {
    ArrayRef<int64_t> shape = shapeOf(scales);
    fields["element"] = getQuantizedName(*getElement());
    fields["scales"] = shape[0] != 1   ? "cells"
                       : shape[1] != 1 ? "heads"
                                       : "one";
  }
  if (getBias())
    fields["bias_type"] = getTypeName(typeOf(getBias()).getElementType());
  return LibraryDescription{
      "paged_attentions", std::move(fields), {{"tokens", query[1]}}};
}

LibraryCall PagedAttentionOp::getLibraryCall(const LibraryUse &) {
  if (getKeyScales())
    return abi::quantized_paged_attention(
        shapeOf(getQuery())[1], getQuery(), getKeys(), getKeyScales(),
        getValues(), getValueScales(), getRows(), getPositions(), getTable(),
        getBias(), getSinks(), getResult());
  return abi::paged_attention(shapeOf(getQuery())[1], getQuery(), getKeys(),
                              getValues(), getRows(), getPositions(),
                              getTable(), getBias(), getSinks(), getResult());
}
