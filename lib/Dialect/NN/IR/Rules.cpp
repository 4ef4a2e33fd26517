//===- Rules.cpp - Sharding rules of the nn dialect
//-------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operation as an einsum over factors, and the per-rank form of those that
// read positions. The factors' names are those that diagnostics and the ledger
// use: b, s, t, heads, k, n, vocabulary.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

/// One parallel factor for each size, called d0, d1, ...
static Dims addDims(ShardingRule &rule, ArrayRef<int64_t> sizes,
                    bool readsIndex = false) {
  Dims dims;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    dims.push_back(
        {rule.addFactor(size, FactorKind::Parallel, "d" + std::to_string(i))});
    rule.factors.back().readsIndex = readsIndex;
  }
  return dims;
}

Dims tp::nn::addRows(ShardingRule &rule, ArrayRef<int64_t> sizes) {
  Dims dims = addDims(rule, sizes);
  if (sizes.size() == 2) {
    rule.factors[dims[0][0]].name = "b";
    rule.factors[dims[1][0]].name = "s";
  }
  return dims;
}

Dims tp::nn::with(Dims dims, unsigned factor) {
  dims.push_back({factor});
  return dims;
}

void tp::nn::addOperand(ShardingRule &rule, Dims dims, Linearity linearity) {
  rule.operands.push_back({std::move(dims)});
  rule.linearity.push_back(linearity);
}

/// An operand that is not a tensor.
static void addScalar(ShardingRule &rule) {
  addOperand(rule, {}, Linearity::None);
}

void tp::nn::addResult(ShardingRule &rule, Dims dims) {
  rule.results.push_back({std::move(dims)});
}

/// Norms: rows are independent, the normalised dimension is whole.
static ShardingRule getNormRule(Operation *op, unsigned numVectors) {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(op->getOperand(0));
  Dims rows = addRows(rule, input.drop_back());
  unsigned h = rule.addFactor(input.back(), FactorKind::Whole, "h");
  addOperand(rule, with(rows, h), Linearity::None);
  for (unsigned i = 0; i < numVectors; ++i)
    addOperand(rule, {{h}}, Linearity::None);
  addResult(rule, with(rows, h));
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    addResult(rule, rows);
  return rule;
}

FailureOr<ShardingRule> RMSNormOp::getShardingRule() {
  return getNormRule(*this, 1);
}

FailureOr<ShardingRule> LayerNormOp::getShardingRule() {
  return getNormRule(*this, getBias() ? 2 : 1);
}

FailureOr<ShardingRule> SoftmaxOp::getShardingRule() {
  return getNormRule(*this, 0);
}

FailureOr<ShardingRule> RotaryTableOp::getShardingRule() {
  ShardingRule rule;
  unsigned s = rule.addFactor(shapeOf(getCos())[0], FactorKind::Parallel, "s");
  rule.factors[s].readsIndex = !getPositions();
  unsigned j =
      rule.addFactor(shapeOf(getCos())[1], FactorKind::Whole, "frequencies");
  if (getOffset())
    addScalar(rule);
  if (getPositions())
    addOperand(rule, {{s}}, Linearity::None);
  addResult(rule, {{s}, {j}});
  addResult(rule, {{s}, {j}});
  return rule;
}

FailureOr<ShardingRule> RotaryOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput());
  unsigned b = rule.addFactor(input[0], FactorKind::Parallel, "b");
  unsigned s = rule.addFactor(input[1], FactorKind::Parallel, "s");
  unsigned heads = rule.addFactor(input[2], FactorKind::Parallel, "heads");
  unsigned d = rule.addFactor(input[3], FactorKind::Whole, "head size");
  unsigned j =
      rule.addFactor(shapeOf(getCos())[1], FactorKind::Whole, "frequencies");
  addOperand(rule, {{b}, {s}, {heads}, {d}}, Linearity::Multilinear);
  addOperand(rule, {{s}, {j}}, Linearity::None);
  addOperand(rule, {{s}, {j}}, Linearity::None);
  addResult(rule, {{b}, {s}, {heads}, {d}});
  return rule;
}

FailureOr<ShardingRule> EmbeddingOp::getShardingRule() {
  ShardingRule rule;
  Dims rows = addRows(rule, shapeOf(getIds()));
  ArrayRef<int64_t> table = shapeOf(getTable());
  unsigned v = rule.addFactor(table[0], FactorKind::Reduction, "vocabulary");
  rule.factors[v].readsIndex = true;
  unsigned h = rule.addFactor(table[1], FactorKind::Parallel, "h");
  addOperand(rule, rows, Linearity::None);
  addOperand(rule, {{v}, {h}}, Linearity::Multilinear);
  if (getOffset())
    addScalar(rule);
  addResult(rule, with(rows, h));
  return rule;
}

FailureOr<ShardingRule> CrossEntropyOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  Dims rows = addRows(rule, logits.drop_back());
  // Split logits need the decomposition, whose reductions over the vocabulary
  // are separate operations: see tp-decompose-cross-entropy.
  unsigned v = rule.addFactor(logits.back(), FactorKind::Whole, "vocabulary");
  addOperand(rule, with(rows, v), Linearity::None);
  addOperand(rule, rows, Linearity::None);
  addResult(rule, rows);
  if (getLse())
    addResult(rule, rows);
  return rule;
}

static ShardingRule getElementwiseRule(Operation *op) {
  ShardingRule rule;
  Dims dims = addDims(rule, shapeOf(op->getOperand(0)));
  addOperand(rule, dims, Linearity::None);
  addResult(rule, dims);
  return rule;
}

FailureOr<ShardingRule> GeluOp::getShardingRule() {
  return getElementwiseRule(*this);
}

FailureOr<ShardingRule> SiluOp::getShardingRule() {
  return getElementwiseRule(*this);
}

FailureOr<ShardingRule> DropoutOp::getShardingRule() {
  ShardingRule rule;
  Dims dims = addDims(rule, shapeOf(getInput()), /*readsIndex=*/true);
  addOperand(rule, dims, Linearity::Multilinear);
  for (unsigned i = 1; i < getNumOperands(); ++i)
    addScalar(rule);
  addResult(rule, dims);
  return rule;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

std::optional<IntegerRange> EmbeddingOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getIds())
    return std::nullopt;
  return IntegerRange{shapeOf(getTable())[0]};
}

std::optional<IntegerRange>
CrossEntropyOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getLabels())
    return std::nullopt;
  return IntegerRange{shapeOf(getLogits()).back()};
}

//===----------------------------------------------------------------------===//
// Per-rank forms
//===----------------------------------------------------------------------===//

Value tp::nn::addOffset(OpBuilder &builder, Location loc, Value offset,
                        const LocalContext &context, unsigned factor) {
  Value shard = context.getOffset(builder, loc, factor);
  return offset ? arith::AddIOp::create(builder, loc, offset, shard)
                : Value(shard);
}

FailureOr<SmallVector<Value>>
RotaryTableOp::buildLocal(OpBuilder &builder, ValueRange operands,
                          TypeRange resultTypes, const LocalContext &context) {
  unsigned s = context.getRule().results[0].dims[0][0];
  if (!context.isSharded(s) || getPositions())
    return cloneLocal(*this, builder, operands, resultTypes);
  Value offset = addOffset(
      builder, getLoc(), operands.empty() ? Value() : operands[0], context, s);
  return SmallVector<Value>(
      RotaryTableOp::create(builder, getLoc(), resultTypes[0], resultTypes[1],
                            offset, /*positions=*/Value(), getInvFreq(),
                            getAttentionScaling())
          .getResults());
}

FailureOr<SmallVector<Value>>
EmbeddingOp::buildLocal(OpBuilder &builder, ValueRange operands,
                        TypeRange resultTypes, const LocalContext &context) {
  unsigned v = context.getRule().operands[1].dims[0][0];
  if (!context.isSharded(v))
    return cloneLocal(*this, builder, operands, resultTypes);
  Value offset = addOffset(builder, getLoc(),
                           getOffset() ? operands[2] : Value(), context, v);
  return SmallVector<Value>{
      EmbeddingOp::create(builder, getLoc(), resultTypes[0], operands[0],
                          operands[1], offset, getPaddingRowAttr())};
}

FailureOr<SmallVector<Value>>
DropoutOp::buildLocal(OpBuilder &builder, ValueRange operands,
                      TypeRange resultTypes, const LocalContext &context) {
  const Dims &dims = context.getRule().operands[0].dims;
  if (llvm::none_of(dims,
                    [&](const auto &dim) { return context.isSharded(dim[0]); }))
    return cloneLocal(*this, builder, operands, resultTypes);
  // Operands: input, seed, step, [layer], [offsets].
  Value layer = getLayer() ? operands[3] : Value();
  ValueRange old = operands.drop_front(getLayer() ? 4 : 3);
  SmallVector<Value> offsets;
  for (auto [i, dim] : llvm::enumerate(dims))
    offsets.push_back(addOffset(
        builder, getLoc(), old.empty() ? Value() : old[i], context, dim[0]));
  SmallVector<int64_t> shape(getGlobalShape().value_or(shapeOf(getInput())));
  return SmallVector<Value>{DropoutOp::create(
      builder, getLoc(), resultTypes[0], operands[0], operands[1], operands[2],
      layer, offsets, getProbabilityAttr(), getOpIdAttr(),
      builder.getDenseI64ArrayAttr(shape))};
}
