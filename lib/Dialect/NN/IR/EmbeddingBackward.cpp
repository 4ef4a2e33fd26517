//===- EmbeddingBackward.cpp - All of nn.embedding_backward ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition and library form of nn.embedding_backward.
// As a loop over rows, vocabulary and h it would look at every row of the table
// for every token.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Interfaces/LibraryCalls.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult EmbeddingBackwardOp::verify() {
  if (failed(expectRank(*this, "result", getResult(), 2)))
    return failure();
  RankedTensorType table = typeOf(getResult());
  SmallVector<int64_t> cotangent(shapeOf(getIds()));
  cotangent.push_back(table.getDimSize(1));
  Type element = table.getElementType();
  if (!element.isF32() && !element.isF64())
    return emitOpError() << "expected result of element type f32, got "
                         << element;
  if (failed(expect(*this, "cotangent", getCotangent(), cotangent, element)) ||
      failed(expectPaddingRow(*this, getPaddingRow(), getIds(),
                              table.getDimSize(0), getOffset())))
    return failure();
  if (getInto())
    return expect(*this, "into", getInto(), table.getShape(), element);
  return success();
}

FailureOr<ShardingRule> EmbeddingBackwardOp::getShardingRule() {
  ShardingRule rule;
  Dims rows = addRows(rule, shapeOf(getIds()));
  for (const auto &row : rows)
    rule.factors[row[0]].kind = FactorKind::Reduction;
  ArrayRef<int64_t> table = shapeOf(getResult());
  unsigned v = rule.addFactor(table[0], FactorKind::Parallel, "vocabulary");
  rule.factors[v].readsIndex = true;
  unsigned h = rule.addFactor(table[1], FactorKind::Parallel, "h");
  addOperand(rule, rows, Linearity::None);
  addOperand(rule, with(rows, h), Linearity::Multilinear);
  if (getInto())
    addOperand(rule, {{v}, {h}}, Linearity::Additive);
  if (getOffset())
    addOperand(rule, {}, Linearity::None);
  addResult(rule, {{v}, {h}});
  return rule;
}

SmallVector<PadState>
EmbeddingBackwardOp::getPaddingStates(unsigned factor, ArrayRef<PadState> in) {
  // Rows and h are padded as the cotangent is; an id past the vocabulary names
  // a row of its padding.
  bool isVocabulary = factor == unsigned(typeOf(getIds()).getRank());
  bool zero = !isVocabulary && isZero(in[1]) &&
              (!getInto() || in[2] == PadState::None || isZero(in[2]));
  return {zero ? PadState::Zero : PadState::Anything};
}

FailureOr<SmallVector<Value>>
EmbeddingBackwardOp::decompose(OpBuilder &builder) {
  RankedTensorType type = typeOf(getResult());
  Emitter emitter(builder, getLoc(), type.getElementType());
  unsigned rank = typeOf(getIds()).getRank();
  // Loops: rows, vocabulary, h.
  Loops d = emitter.loops(rank + 2);
  Loops rows(ArrayRef(d).take_front(rank)), columns = rows;
  columns.push_back(d[rank + 1]);
  Value sum =
      emitter.reduce(type, {d[rank], d[rank + 1]}, rank + 2, Combine::Sum,
                     {{getIds(), rows}, {getCotangent(), columns}},
                     [&](Scalar &e, ValueRange v) -> Value {
                       Value row = e.index(rank);
                       if (getOffset())
                         row = e.add(row, getOffset());
                       row = e.cast(row, v[0].getType());
                       Value hit = e.compare(CmpI::eq, row, v[0]);
                       if (std::optional<int64_t> padding = getPaddingRow()) {
                         Value counts = e.compare(CmpI::ne, v[0], *padding);
                         hit = e.both(hit, counts);
                       }
                       return e.select(hit, v[1], 0);
                     });
  if (getInto())
    sum = arith::AddFOp::create(builder, getLoc(), getInto(), sum);
  return SmallVector<Value>{sum};
}

FailureOr<SmallVector<Value>>
EmbeddingBackwardOp::buildLocal(OpBuilder &builder, ValueRange operands,
                                TypeRange resultTypes,
                                const LocalContext &context) {
  unsigned v = context.getRule().results[0].dims[0][0];
  if (!context.isSharded(v))
    return cloneLocal(*this, builder, operands, resultTypes);
  Value offset = addOffset(builder, getLoc(),
                           getOffset() ? operands.back() : Value(), context, v);
  return SmallVector<Value>{EmbeddingBackwardOp::create(
      builder, getLoc(), resultTypes[0], operands[0], operands[1],
      getInto() ? operands[2] : Value(), offset, getPaddingRowAttr())};
}

std::optional<IntegerRange>
EmbeddingBackwardOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getIds())
    return std::nullopt;
  return IntegerRange{shapeOf(getResult())[0]};
}

OpOperand *EmbeddingBackwardOp::getReplacedOperand(unsigned) {
  return getInto() ? &getIntoMutable()[0] : nullptr;
}

LogicalResult EmbeddingBackwardOp::verifyLibraryForm() {
  if (!getOffset() && !getPaddingRow())
    return success();
  return emitOpError() << "expected no "
                       << (getOffset() ? "offset" : "padding_row")
                       << ": tp-recognise-linear takes it off the ids";
}

LibraryCall EmbeddingBackwardOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> table = shapeOf(getResult());
  RankedTensorType ids = typeOf(getIds());
  return abi::embedding_backward(ids.getNumElements(), table[0], table[1],
                                 ids.getElementTypeBitWidth() / 8, getIds(),
                                 getCotangent(), getInto(), getResult());
}
