//===- LinalgRules.cpp - Rules from indexing maps
//---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every loop of a structured operation is a factor; the indexing maps say which
// dimensions it is in and the body what a reduction computes. Whatever the body
// does that a split loop would change makes that loop whole: unknown code is
// then slower, never wrong.
//
//===----------------------------------------------------------------------===//

#include "LinalgBody.h"
#include "LinearForm.h"
#include "tp/Rules/Combiner.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::linalg;
using namespace tp;

std::optional<ReductionKind> tp::getReductionKind(LinalgOp op) {
  std::optional<SmallVector<Combiner>> combiners = matchCombiners(op);
  if (!combiners || combiners->empty())
    return std::nullopt;
  std::optional<ReductionKind> kind = getReductionKind(combiners->front());
  for (const Combiner &combiner : *combiners)
    if (getReductionKind(combiner) != kind)
      return std::nullopt;
  return kind;
}

/// True if every reduction loop is in the operand's map: each of its elements
/// then enters a sum once, however the loops are cut.
static bool isInAllReductions(LinalgOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  return llvm::all_of(loops,
                      [&](unsigned loop) { return map.isFunctionOfDim(loop); });
}

static SmallVector<Linearity, 4>
getLinearity(LinalgOp op, bool isReduction, std::optional<ReductionKind> kind) {
  unsigned size = op->getNumOperands();
  SmallVector<Linearity, 4> linearity(size, Linearity::None);
  bool isSum = kind == ReductionKind::Sum;
  if (isReduction && !isSum) {
    // The first value of a maximum may be that of a part, or of all of them.
    if (kind)
      for (OpOperand &init : op.getDpsInitsMutable())
        linearity[init.getOperandNumber()] = Linearity::Initial;
    return linearity;
  }
  // A scalar is the same on every rank; partial values are tensors.
  SmallVector<Form> inputs;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    inputs.push_back(isa<RankedTensorType>(operand.getType())
                         ? getInputForm(operand, i, size)
                         : getConstantForm(operand, size));
  DenseMap<Value, Form> forms = interpretBody<Form>(
      *op.getBlock(), inputs,
      [&](Value value) { return getConstantForm(value, size); },
      [&](Operation *inner, ArrayRef<Form> operands) -> Form {
        if (inner->hasTrait<OpTrait::ConstantLike>() ||
            isa<linalg::IndexOp>(inner))
          return getConstantForm(inner->getResult(0), size);
        return transferForm(inner, operands, size);
      });
  SmallVector<Term> terms;
  for (Value value : op.getBlock()->getTerminator()->getOperands())
    llvm::append_range(terms, forms[value]);
  linearity = classify(terms, size);
  // In the sum over k of x[m] + w[k], x is added as often as there are k: it
  // may neither count once nor be partial beside a w that does not.
  if (isSum)
    for (OpOperand *input : op.getDpsInputOperands())
      if (linearity[input->getOperandNumber()] == Linearity::Additive &&
          !isInAllReductions(op, *input))
        linearity.assign(size, Linearity::None);
  // An initial value counts once, even beside terms that are always zero.
  if (isSum)
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Linearity &enters = linearity[init.getOperandNumber()];
      if (enters == Linearity::None)
        enters = Linearity::Initial;
      else if (enters == Linearity::Multilinear)
        enters = Linearity::Additive;
    }
  return linearity;
}

/// The dimension that `expr` walks through whole, forwards or backwards; none
/// if it is another expression.
static std::optional<unsigned> getWholeDim(AffineExpr expr, int64_t size,
                                           unsigned numDims) {
  MLIRContext *context = expr.getContext();
  AffineExpr last = getAffineConstantExpr(size - 1, context);
  auto forwards = dyn_cast<AffineDimExpr>(expr);
  if (!forwards)
    forwards = dyn_cast<AffineDimExpr>(
        simplifyAffineExpr(last - expr, numDims, /*numSymbols=*/0));
  if (!forwards)
    return std::nullopt;
  return forwards.getPosition();
}

/// Results are computed, not changed in part: each element is written at one
/// position of the parallel loops, and all are.
static LogicalResult expectWholeResults(LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (auto [i, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    llvm::SmallBitVector seen(sizes.size());
    bool isWhole = true;
    for (auto [size, expr] :
         llvm::zip_equal(getShape(init.get()), map.getResults())) {
      if (size == 1)
        continue;
      std::optional<unsigned> loop = getWholeDim(expr, size, sizes.size());
      isWhole &= loop && sizes[*loop] == size && !seen.test(*loop);
      if (loop)
        seen.set(*loop);
    }
    for (auto [loop, size] : llvm::enumerate(sizes))
      isWhole &=
          size == 1 ||
          seen.test(loop) == (iterators[loop] == utils::IteratorType::parallel);
    if (!isWhole)
      return op.emitOpError("expected result ")
             << i
             << " to be written whole, at each of the parallel dimensions "
                "once, got the map "
             << AffineMapAttr::get(map);
  }
  return success();
}

static FailureOr<ShardingRule> getRule(Operation *operation) {
  auto op = cast<LinalgOp>(operation);
  if (failed(expectStatic(op)) || failed(expectNoCaptures(op)) ||
      failed(expectWholeResults(op)))
    return failure();
  ShardingRule rule;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  bool isReduction =
      llvm::is_contained(iterators, utils::IteratorType::reduction);
  std::optional<ReductionKind> kind;
  if (isReduction)
    kind = getReductionKind(op);
  for (auto [i, size] : llvm::enumerate(op.getStaticLoopRanges())) {
    unsigned factor =
        rule.addFactor(size, FactorKind::Parallel, "d" + std::to_string(i));
    if (iterators[i] != utils::IteratorType::parallel) {
      rule.factors[factor].kind =
          kind ? FactorKind::Reduction : FactorKind::Whole;
      rule.factors[factor].reduction = kind.value_or(ReductionKind::Sum);
    }
  }
  auto makeWhole = [&](unsigned loop) {
    rule.factors[loop].kind = FactorKind::Whole;
  };
  unsigned numLoops = iterators.size();
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    ArrayRef<int64_t> shape = getShape(operand.get());
    TensorFactors tensor;
    llvm::SmallBitVector seen(numLoops);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
        unsigned position = loop.getPosition();
        tensor.dims.push_back({position});
        // A diagonal cannot be cut along both of its dimensions.
        if (seen.test(position))
          makeWhole(position);
        seen.set(position);
        continue;
      }
      // Positions computed from several loops, or reversed.
      for (unsigned i = 0; i < numLoops; ++i)
        if (expr.isFunctionOfDim(i))
          makeWhole(i);
      tensor.dims.emplace_back();
      if (shape[dim] != 1)
        tensor.dims.back().push_back(
            rule.addFactor(shape[dim], FactorKind::Whole,
                           "x" + std::to_string(rule.factors.size())));
    }
    if (op.isDpsInit(&operand)) {
      for (unsigned i = 0; i < numLoops; ++i) {
        bool isParallel = iterators[i] == utils::IteratorType::parallel;
        // Written once per position of a parallel loop, or read again by it.
        if (seen.test(i) != isParallel)
          makeWhole(i);
      }
      rule.results.push_back(tensor);
    }
    rule.operands.push_back(std::move(tensor));
  }
  op.getBlock()->walk([&](linalg::IndexOp index) {
    rule.factors[index.getDim()].readsIndex = true;
  });
  rule.linearity = getLinearity(op, isReduction, kind);
  return rule;
}

bool tp::dependsOn(OpResult result, unsigned operand) {
  auto op = dyn_cast<LinalgOp>(result.getOwner());
  if (!op)
    return true;
  // Every loop has an iteration, so what is yielded is all there is.
  Value argument = op.getMatchingBlockArgument(&op->getOpOperand(operand));
  llvm::SetVector<Value> needed;
  needed.insert(
      op.getBlock()->getTerminator()->getOperand(result.getResultNumber()));
  for (size_t i = 0; i < needed.size(); ++i)
    if (Operation *maker = needed[i].getDefiningOp();
        maker && maker->getBlock() == op.getBlock()) {
      needed.insert_range(maker->getOperands());
      getUsedValuesDefinedAbove(maker->getRegions(), needed);
    }
  return needed.contains(argument);
}

RuleProvider tp::getLinalgRules(Operation *op) {
  if (!isa<LinalgOp>(op))
    return {};
  return {getRule, buildLocalLinalg, getLinalgStates, needsBodyGuard};
}
