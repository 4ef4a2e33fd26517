//===- Sample.cpp - Sampling over a vocabulary that is split --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifiers, rules and library forms of nn.sample, nn.sample_records and
// nn.sample_pick; DecomposeSample.cpp has the decompositions.
//
// Each rank makes a record of its block of the vocabulary, and the records are
// all that is gathered. Blocks are a factor of their own, so that 131 tokens on
// 3 ranks are blocks of 44, 44 and 43: the dimension of the logits is (blocks
// tokens), and only blocks may be cut. Which block a rank has it is told by an
// operand, a constant that is cut as the blocks are.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "tp/Interfaces/LibraryCalls.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// nn.sample and nn.sample_pick: everything but the first operand.
template <typename Op>
static LogicalResult verifyRows(Op op, int64_t rows) {
  for (auto [what, value] :
       {std::pair<StringRef, Value>{"positions", op.getPositions()},
        {"seed", op.getSeed()},
        {"temperature", op.getTemperature()},
        {"top_k", op.getTopK()},
        {"top_p", op.getTopP()},
        {"min_p", op.getMinP()},
        {"token", op.getToken()},
        {"logprob", op.getLogprob()}})
    if (failed(expectShape(op, what, value, {rows})))
      return failure();
  return success();
}

/// Records hold tokens as f32.
static LogicalResult verifyVocabulary(Operation *op, int64_t vocabulary) {
  constexpr int64_t most = int64_t(1) << 24;
  if (vocabulary >= 1 && vocabulary <= most)
    return success();
  return op->emitOpError() << "expected a vocabulary of 1 to " << most
                           << " tokens, got " << vocabulary;
}

LogicalResult SampleOp::verify() {
  if (failed(expectRank(*this, "logits", getLogits(), 2)) ||
      failed(verifyVocabulary(*this, shapeOf(getLogits())[1])))
    return failure();
  return verifyRows(*this, shapeOf(getLogits())[0]);
}

LogicalResult SampleRecordsOp::verify() {
  if (failed(expectRank(*this, "logits", getLogits(), 2)) ||
      failed(expectRank(*this, "blocks", getBlocks(), 1)) ||
      failed(verifyVocabulary(*this, getVocabulary())))
    return failure();
  int64_t rows = shapeOf(getLogits())[0], blocks = shapeOf(getBlocks())[0];
  if (failed(expectShape(*this, "positions", getPositions(), {rows})) ||
      failed(expectShape(*this, "seed", getSeed(), {rows})) ||
      failed(expectShape(*this, "temperature", getTemperature(), {rows})))
    return failure();
  return expectShape(*this, "records", getRecords(),
                     {blocks, rows, TPRT_RECORD_WORDS});
}

LogicalResult SamplePickOp::verify() {
  if (failed(expectRank(*this, "records", getRecords(), 3)))
    return failure();
  ArrayRef<int64_t> records = shapeOf(getRecords());
  if (failed(expectShape(*this, "records", getRecords(),
                         {records[0], records[1], TPRT_RECORD_WORDS})))
    return failure();
  return verifyRows(*this, records[1]);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static void addRowOperands(ShardingRule &rule, unsigned row, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    addOperand(rule, {{row}}, Linearity::None);
}

FailureOr<ShardingRule> SampleOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  unsigned r = rule.addFactor(logits[0], FactorKind::Parallel, "rows");
  // Split logits need records: see tp-split-sampling.
  unsigned v = rule.addFactor(logits[1], FactorKind::Whole, "vocabulary");
  addOperand(rule, {{r}, {v}}, Linearity::None);
  addRowOperands(rule, r, 6);
  addResult(rule, {{r}});
  addResult(rule, {{r}});
  return rule;
}

FailureOr<ShardingRule> SampleRecordsOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  int64_t blocks = shapeOf(getBlocks())[0];
  int64_t size = llvm::divideCeil(logits[1], blocks);
  unsigned r = rule.addFactor(logits[0], FactorKind::Parallel, "rows");
  unsigned s = rule.addFactor(blocks, FactorKind::Parallel, "blocks");
  unsigned t = rule.addFactor(size, FactorKind::Whole, "tokens of a block");
  if (size * blocks != logits[1])
    rule.factors[t].total = logits[1];
  unsigned w = rule.addFactor(TPRT_RECORD_WORDS, FactorKind::Whole, "words");
  addOperand(rule, {{r}, {s, t}}, Linearity::None);
  addOperand(rule, {{s}}, Linearity::None);
  addRowOperands(rule, r, 3);
  addResult(rule, {{s}, {r}, {w}});
  return rule;
}

FailureOr<ShardingRule> SamplePickOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> records = shapeOf(getRecords());
  unsigned s =
      rule.addFactor(records[0], FactorKind::Whole, "sampling records");
  unsigned r = rule.addFactor(records[1], FactorKind::Parallel, "rows");
  unsigned w = rule.addFactor(records[2], FactorKind::Whole, "words");
  addOperand(rule, {{s}, {r}, {w}}, Linearity::None);
  addRowOperands(rule, r, 6);
  addResult(rule, {{r}});
  addResult(rule, {{r}});
  return rule;
}

/// Rows do not meet, and padding tokens are told by their number, whatever the
/// logits of padding are.
static SmallVector<PadState> knowNothing(Operation *op) {
  return SmallVector<PadState>(op->getNumResults(), PadState::Anything);
}

SmallVector<PadState> SampleOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  return knowNothing(*this);
}
SmallVector<PadState> SampleRecordsOp::getPaddingStates(unsigned,
                                                        ArrayRef<PadState>) {
  return knowNothing(*this);
}
SmallVector<PadState> SamplePickOp::getPaddingStates(unsigned,
                                                     ArrayRef<PadState>) {
  return knowNothing(*this);
}

//===----------------------------------------------------------------------===//
// Integers: of positions and top_k the small ones are telling
//===----------------------------------------------------------------------===//

std::optional<IntegerRange> SampleOp::getIntegerRange(OpOperand &) {
  return IntegerRange{100};
}

std::optional<IntegerRange>
SampleRecordsOp::getIntegerRange(OpOperand &operand) {
  return IntegerRange{operand.get() == getBlocks() ? shapeOf(getBlocks())[0]
                                                   : 100};
}

//===----------------------------------------------------------------------===//
// Library forms
//===----------------------------------------------------------------------===//

LibraryCall SampleRecordsOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  return abi::sample_records(logits[0], logits[1], shapeOf(getBlocks())[0],
                             int64_t(getVocabulary()), getLogits(), getBlocks(),
                             getPositions(), getSeed(), getTemperature(),
                             getRecords());
}

LibraryCall SamplePickOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> records = shapeOf(getRecords());
  return abi::sample_pick(records[1], records[0], getRecords(), getPositions(),
                          getSeed(), getTemperature(), getTopK(), getTopP(),
                          getMinP(), getToken(), getLogprob());
}
