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

#include "BodyAnalysis.h"
#include "Internal.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace mlir::linalg;
using namespace tp;

/// The values of a body in order, each with what `transfer` makes of it from
/// what it made of the operands. `outside` reads values from outside the body.
template <typename T>
static DenseMap<Value, T>
interpret(Block &body, ArrayRef<T> inputs, llvm::function_ref<T(Value)> outside,
          llvm::function_ref<T(Operation *, ArrayRef<T>)> transfer) {
  DenseMap<Value, T> values;
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    values[argument] = input;
  for (Operation &op : body.without_terminator()) {
    SmallVector<T> operands;
    for (Value operand : op.getOperands()) {
      auto it = values.find(operand);
      operands.push_back(it != values.end() ? it->second : outside(operand));
    }
    for (Value result : op.getResults())
      values[result] = transfer(&op, operands);
  }
  for (Value operand : body.getTerminator()->getOperands())
    if (!values.contains(operand))
      values[operand] = outside(operand);
  return values;
}

static bool dependsOn(Value value, BlockArgument argument) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != argument.getOwner())
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return dependsOn(operand, argument);
  });
}

/// What one step of the combination of `out` with a term computes.
static std::optional<ReductionKind> getStepKind(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<ReductionKind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](auto) { return ReductionKind::Sum; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [](auto) { return ReductionKind::Max; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [](auto) { return ReductionKind::Min; })
      .Default([](Operation *) { return std::nullopt; });
}

/// The reduction that `yielded = out (+) term (+) term` computes, each step of
/// one kind; nothing if it is another computation.
static std::optional<ReductionKind> matchReductionKind(Value yielded,
                                                       BlockArgument out) {
  std::optional<ReductionKind> kind;
  Value value = yielded;
  while (value != out) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != out.getOwner())
      return std::nullopt;
    // out - term subtracts a sum; it has the same kind.
    bool isDifference = isa<arith::SubFOp, arith::SubIOp>(op);
    std::optional<ReductionKind> step =
        isDifference ? ReductionKind::Sum : getStepKind(op);
    if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    if (!step || (kind && *kind != *step))
      return std::nullopt;
    kind = step;
    bool left = dependsOn(op->getOperand(0), out);
    bool right = dependsOn(op->getOperand(1), out);
    if (left == right || (isDifference && right))
      return std::nullopt;
    value = op->getOperand(left ? 0 : 1);
  }
  return kind;
}

/// The kind that all results share; nothing if one differs.
static std::optional<ReductionKind> matchReductionKind(LinalgOp op) {
  std::optional<ReductionKind> kind;
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [out, value] :
       llvm::zip_equal(op.getRegionOutputArgs(), yield->getOperands())) {
    std::optional<ReductionKind> one = matchReductionKind(value, out);
    if (!one || (kind && *kind != *one))
      return std::nullopt;
    kind = one;
  }
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

static SmallVector<Linearity, 4> getLinearity(LinalgOp op, bool isReduction,
                                              bool isSum) {
  unsigned size = op->getNumOperands();
  SmallVector<Linearity, 4> linearity(size, Linearity::None);
  if (isReduction && !isSum)
    return linearity;
  // A scalar is the same on every rank; partial values are tensors.
  SmallVector<Form> inputs;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    inputs.push_back(isa<RankedTensorType>(operand.getType())
                         ? getInputForm(i, size)
                         : getConstantForm(operand, size));
  DenseMap<Value, Form> forms = interpret<Form>(
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
  if (isSum)
    for (OpOperand &init : op.getDpsInitsMutable())
      if (linearity[init.getOperandNumber()] == Linearity::None)
        linearity[init.getOperandNumber()] = Linearity::Initial;
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
    kind = matchReductionKind(op);
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
  rule.linearity = getLinearity(op, isReduction, kind == ReductionKind::Sum);
  return rule;
}

static LocalValues buildLocalLinalg(Operation *op, OpBuilder &builder,
                                    ValueRange operands, TypeRange resultTypes,
                                    const LocalContext &context) {
  SmallVector<Value> offsets;
  unsigned numLoops = cast<LinalgOp>(op).getNumLoops();
  llvm::SmallBitVector read(numLoops);
  cast<LinalgOp>(op).getBlock()->walk(
      [&](linalg::IndexOp index) { read.set(index.getDim()); });
  for (unsigned i = 0; i < numLoops; ++i)
    offsets.push_back(read.test(i) && context.isSharded(i)
                          ? context.getOffset(builder, op->getLoc(), i)
                          : Value());
  LocalValues results =
      cloneWithConstants(op, builder, operands, resultTypes, context);
  auto local = cast<LinalgOp>(results->front().getDefiningOp());
  OpBuilder::InsertionGuard guard(builder);
  local.getBlock()->walk([&](linalg::IndexOp index) {
    Value offset = offsets[index.getDim()];
    if (!offset)
      return;
    builder.setInsertionPointAfter(index);
    auto global = arith::AddIOp::create(builder, index.getLoc(),
                                        index.getResult(), offset);
    index.getResult().replaceAllUsesExcept(global, global);
  });
  return results;
}

static PadStates getLinalgStates(Operation *operation, unsigned factor,
                                 ArrayRef<PadState> states) {
  auto op = cast<LinalgOp>(operation);
  auto run = [&](ArrayRef<Lane> inputs) {
    DenseMap<Value, Lane> lanes = interpret<Lane>(
        *op.getBlock(), inputs, getSharedLane,
        [&](Operation *inner, ArrayRef<Lane> operands) -> Lane {
          if (auto index = dyn_cast<linalg::IndexOp>(inner))
            return index.getDim() == factor ? Lane() : Lane::finite();
          return transferLane(inner, operands);
        });
    SmallVector<Lane> results;
    for (Value value : op.getBlock()->getTerminator()->getOperands())
      results.push_back(lanes[value]);
    return results;
  };
  SmallVector<Lane> inputs;
  for (auto [state, operand] : llvm::zip_equal(states, op->getOperands()))
    inputs.push_back(isa<RankedTensorType>(operand.getType())
                         ? toLane(state)
                         : getSharedLane(operand));
  unsigned firstOut = op.getNumDpsInputs(), numOuts = op.getNumDpsInits();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  auto toStates = [](ArrayRef<Lane> lanes) {
    return PadStates(llvm::map_range(lanes, toPadState));
  };
  if (factor < iterators.size() &&
      iterators[factor] == utils::IteratorType::reduction) {
    // The terms alone: combine them with what the reduction ignores.
    std::optional<ReductionKind> kind = matchReductionKind(op);
    if (!kind)
      return PadStates(numOuts, PadState::Anything);
    for (unsigned i = 0; i < numOuts; ++i)
      inputs[firstOut + i] = toLane(getNeutralState(*kind));
    return toStates(run(inputs));
  }
  SmallVector<Lane> results = run(inputs);
  if (!llvm::is_contained(iterators, utils::IteratorType::reduction))
    return toStates(results);
  // Over the steps of a reduction the lane must keep what one step left.
  llvm::copy(results, inputs.begin() + firstOut);
  SmallVector<Lane> again = run(inputs);
  for (unsigned i = 0; i < numOuts; ++i)
    if (!(results[i] == again[i]))
      results[i] = Lane();
  return toStates(results);
}

RuleProvider tp::getLinalgRules(Operation *op) {
  if (!isa<LinalgOp>(op))
    return {};
  return {getRule, buildLocalLinalg, getLinalgStates};
}
