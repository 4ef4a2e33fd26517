//===- PaddingAnalysis.cpp - What padding holds, and masks ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward walk with one state per dimension. Factors are followed one at a
// time: an element is padding of a dimension whatever its other positions are.
// Repeated layers are walked until the carried states no longer change.
//
//===----------------------------------------------------------------------===//

#include "PaddingAnalysis.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Rules/Rules.h"
#include <numeric>

using namespace mlir;
using namespace tp;

PaddingAnalysis::States PaddingAnalysis::zeros(Value value) {
  ArrayRef<int64_t> shape = getGlobalShape(value);
  TensorSharding sharding = getSharding(value).toSharding(mesh);
  States result;
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims))
    result.push_back(getPadding(size, dim) ? PadState::Zero : PadState::None);
  return result;
}

LogicalResult PaddingAnalysis::run(Block &body) {
  for (BlockArgument arg : body.getArguments())
    if (isa<RankedTensorType>(arg.getType())) {
      states[arg] = zeros(arg);
      // The state that a step before this one left there.
      if (auto function = dyn_cast<func::FuncOp>(body.getParentOp());
          function && getArgState(function, arg.getArgNumber()))
        for (PadState &state : states[arg])
          if (state != PadState::None)
            state = PadState::Anything;
    }
  return block(body);
}

LogicalResult PaddingAnalysis::block(Block &block) {
  for (Operation &op : block)
    if (failed(operation(&op)))
      return failure();
  return success();
}

/// Follows the padding of each dimension through the steps of a stage, on the
/// stage's view.
static void passSteps(const ReshardStage &stage,
                      MutableArrayRef<PadState> all) {
  TensorSharding from = stage.from;
  for (const ReshardStep &step : stage.plan.steps) {
    // Zeros past the end of one dimension are so in the padding of all others.
    bool addsZeros = false;
    for (auto [dim, size] : llvm::enumerate(stage.shape))
      addsZeros |= !step.getRow().permutes() &&
                   getPadding(size, step.result.dims[dim]) != 0 &&
                   from.dims[dim].axes != step.result.dims[dim].axes;
    for (auto [dim, state] : llvm::enumerate(all)) {
      const DimSharding &before = from.dims[dim];
      const DimSharding &after = step.result.dims[dim];
      if (getPadding(stage.shape[dim], after) == 0) {
        state = PadState::None;
      } else if (before.axes == after.axes) {
        // Other ranks hold zeros; a sum of infinities stays one.
        if (addsZeros || (step.getRow().to == Holding::Partial &&
                          step.reduction == ReductionKind::Sum))
          state = join(state, PadState::Zero);
      } else if (step.getRow().permutes()) {
        state = PadState::Anything;
      } else {
        // Newly cut parts are padded with zeros.
        state = join(state, PadState::Zero);
      }
    }
    from = step.result;
  }
}

PaddingAnalysis::States PaddingAnalysis::reshard(ReshardOp op) {
  ArrayRef<int64_t> shape = getGlobalShape(op.getInput());
  States result = states[op.getInput()];
  for (const ReshardStage &stage :
       planReshardStages(shape, op.getFrom().toSharding(mesh),
                         op.getTo().toSharding(mesh), mesh)) {
    States view;
    for (auto [d, state] : llvm::enumerate(result))
      view.append(llvm::is_contained(stage.split, d) ? 2 : 1, state);
    passSteps(stage, view);
    // The padding of blocks is that of both their dimensions.
    const PadState *next = view.begin();
    for (auto [d, state] : llvm::enumerate(result)) {
      state = *next++;
      if (llvm::is_contained(stage.split, d))
        state = join(state, *next++);
    }
  }
  return result;
}

LogicalResult PaddingAnalysis::repeat(RepeatOp op) {
  SmallVector<States> carried;
  for (auto [init, arg] : llvm::zip(op.getInits(), op.getCarriedArgs())) {
    if (!isa<RankedTensorType>(init.getType()))
      continue;
    // A copy: making the new entry may move the old one.
    States state = states[init];
    states[arg] = std::move(state);
  }
  for (auto [value, arg] : llvm::zip(op.getStacked(), op.getStackedArgs())) {
    States slice = states[value];
    slice.erase(slice.begin());
    states[arg] = std::move(slice);
  }
  // Joining only goes up, and every dimension has few states.
  for (bool changed = true; changed;) {
    changed = false;
    if (failed(block(*op.getBodyBlock())))
      return failure();
    for (auto [arg, next] :
         llvm::zip(op.getCarriedArgs(), op.getYield().getOperands())) {
      if (!isa<RankedTensorType>(arg.getType()))
        continue;
      States joined = states[arg], from = states[next];
      for (auto [state, other] : llvm::zip_equal(joined, from))
        state = join(state, other);
      changed |= joined != states[arg];
      states[arg] = std::move(joined);
    }
  }
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    States state = states[op.getYield().getOperand(index)];
    if (index < op.getInits().size())
      state = states[op.getCarriedArgs()[index]];
    else
      state.insert(state.begin(), PadState::None);
    states[result] = std::move(state);
  }
  return success();
}

/// True if the factor is cut unevenly.
static bool isPadded(const ShardingRule &rule, const FactorShardings &factors,
                     unsigned f) {
  return getPadding(rule.factors[f].size, getFactorCut(rule, factors, f)) != 0;
}

static std::string listDegrees(int64_t size, int64_t grain) {
  std::string text;
  int64_t grains = size / grain;
  for (int64_t degree = 1; degree <= grains && degree <= 1024; ++degree)
    if (grains % degree == 0)
      text += (text.empty() ? "" : ", ") + std::to_string(degree);
  return text;
}

LogicalResult PaddingAnalysis::operation(Operation *op) {
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return this->repeat(repeat);
  if (isa<func::ReturnOp, YieldOp>(op) || !hasTensors(op))
    return success();
  if (auto reshardOp = dyn_cast<ReshardOp>(op)) {
    states[reshardOp.getResult()] = reshard(reshardOp);
    return success();
  }
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      states[result] = States(getGlobalShape(result).size(), PadState::None);
  if (auto parameter = dyn_cast<ParameterOp>(op)) {
    states[parameter.getResult()] = zeros(parameter.getResult());
    return success();
  }
  FailureOr<OpAnalysis> analysis = analyzeOp(op, mesh);
  if (failed(analysis))
    return failure();
  for (OpOperand &operand : op->getOpOperands())
    masks.erase(&operand);
  guarded.erase(op);
  for (unsigned f = 0; f < analysis->rule.factors.size(); ++f)
    if (isPadded(analysis->rule, analysis->resolved.factors, f) &&
        failed(factor(op, *analysis, f)))
      return failure();
  return success();
}

PadState PaddingAnalysis::getOperandState(Value value, unsigned dim) {
  ArrayRef<PadState> all = states[value];
  auto isPadding = [](PadState state) { return state != PadState::None; };
  // If two dimensions are padded, a mask of one may overwrite the other's.
  if (llvm::count_if(all, isPadding) > 1 && isPadding(all[dim]) &&
      all[dim] != PadState::Zero)
    return PadState::Anything;
  return all[dim];
}

/// The dimension of a tensor that carries `factor`.
static std::optional<unsigned> findDim(const TensorFactors &tensor,
                                       unsigned factor) {
  for (auto [dim, list] : llvm::enumerate(tensor.dims))
    if (llvm::is_contained(list, factor))
      return dim;
  return std::nullopt;
}

/// Two factors of one dimension have the same padding.
static void addMask(SmallVectorImpl<Mask> &masks, const Mask &mask) {
  if (!llvm::is_contained(masks, mask))
    masks.push_back(mask);
}

LogicalResult PaddingAnalysis::factor(Operation *op, const OpAnalysis &analysis,
                                      unsigned f) {
  const ShardingRule &rule = analysis.rule;
  const Factor &cut = rule.factors[f];
  States operands;
  for (auto [index, value] : llvm::enumerate(op->getOperands())) {
    std::optional<unsigned> dim = findDim(rule.operands[index], f);
    operands.push_back(dim ? getOperandState(value, *dim) : PadState::None);
  }
  std::optional<PaddingGuard> guard = getPaddingGuard(op, rule, f, operands);
  if (guard && guard->inBody && analysis.resolved.factors.forms[f].block)
    return op->emitOpError()
           << "cannot split factor " << analysis.getFactorName(f)
           << " in blocks: no mask of an operand makes their padding harmless";
  if (!guard)
    return op->emitOpError()
           << "cannot split factor " << analysis.getFactorName(f) << " of size "
           << cut.size << " in "
           << getShardCount(analysis.resolved.factors.axes[f])
           << " parts: the padding would be counted and no mask makes "
              "it harmless; degrees that fit: "
           << listDegrees(cut.size, cut.grain);
  for (auto [index, mask] : llvm::enumerate(guard->masks))
    if (mask)
      addMask(masks[&op->getOpOperand(index)],
              {*findDim(rule.operands[index], f), *mask});
  if (guard->inBody)
    guarded[op].push_back(f);
  SmallVector<PadState> results =
      getPaddingStates(op, f, applyMasks(*guard, operands));
  for (auto [index, state] : llvm::enumerate(results))
    if (std::optional<unsigned> dim = findDim(rule.results[index], f)) {
      PadState &all = states[op->getResult(index)][*dim];
      all = join(all, state);
    }
  return success();
}
