//===- DelayReductions.cpp - tp-delay-reductions --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks down the chain of linear operations after a reduction and moves it to
// where it is least, or where it meets what it can be merged with; out of a
// repeated layer that only stacks what was reduced. It is never moved for
// nothing: a later reduction keeps a full addend alive for longer.
//
//===----------------------------------------------------------------------===//

#include "Rewrite.h"
#include "tp/Collectives/Passes.h"

namespace tp {
#define GEN_PASS_DEF_DELAYREDUCTIONS
#include "tp/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
class ReductionDelayer {
public:
  ReductionDelayer(CollectiveOpInterface reduction, PerRankFunction &function)
      : reduction(reduction), function(function),
        axes(getStepAxes(reduction, function.mesh)),
        isScatter(reduction.getRow().cuts()) {}

  /// How many of the operations after the reduction it should move past.
  unsigned findTarget() const;
  /// Move past the next one.
  CollectiveOpInterface moveOnce(StringRef pass);

private:
  /// The only use of `value`, if it is in the same block and linear in it.
  Operation *getLinearUser(Value value) const;
  /// True if `op` adds `value` to what another such reduction can reach.
  bool meetsAnother(Operation *op, Value value) const;
  bool comesFromAlike(Value value) const;
  /// True if `op` takes this rank's part along the reduction's axes.
  bool isSliceOfIt(Operation *op) const {
    auto slice = dyn_cast<SliceOp>(op);
    return !isScatter && slice && getStepAxes(slice, function.mesh) == axes;
  }

  CollectiveOpInterface reduction;
  PerRankFunction &function;
  AxisList axes;
  bool isScatter;
};
} // namespace

Operation *ReductionDelayer::getLinearUser(Value value) const {
  if (!value.hasOneUse())
    return nullptr;
  OpOperand &use = *value.getUses().begin();
  Operation *user = use.getOwner();
  if (user->getBlock() != reduction->getBlock() ||
      !isLinearIn(user, use.getOperandNumber(), axes, isScatter, function))
    return nullptr;
  return user;
}

bool ReductionDelayer::comesFromAlike(Value value) const {
  while (value.hasOneUse()) {
    if (CollectiveOpInterface other = getSumReduction(value))
      return areAlike(reduction, other);
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != reduction->getBlock())
      return false;
    // The one operand that a reduction may have made.
    std::optional<unsigned> through;
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (isa<RankedTensorType>(operand.getType()) && operand.hasOneUse() &&
          isLinearIn(op, static_cast<unsigned>(index), axes, isScatter,
                     function) &&
          getLocalBytes(value) <= getLocalBytes(operand))
        through = index;
    if (!through)
      return false;
    value = op->getOperand(*through);
  }
  return false;
}

bool ReductionDelayer::meetsAnother(Operation *op, Value value) const {
  SmallVector<unsigned> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (operand == value ||
        (isa<RankedTensorType>(operand.getType()) && comesFromAlike(operand)))
      operands.push_back(index);
  return operands.size() >= 2 &&
         isLinearIn(op, operands, axes, isScatter, function);
}

unsigned ReductionDelayer::findTarget() const {
  Value value = reduction->getResult(0);
  int64_t limit = getLocalBytes(reduction->getOperand(0));
  int64_t least = limit;
  unsigned target = 0;
  for (unsigned passed = 0;; ++passed) {
    if (passed > 0) {
      int64_t bytes = getLocalBytes(value);
      if (isScatter)
        bytes *= getShardCount(axes);
      if (bytes > limit)
        return target;
      bool meets = false;
      if (value.hasOneUse()) {
        Operation *user = *value.getUsers().begin();
        meets = user->getBlock() == reduction->getBlock() &&
                (isSliceOfIt(user) || meetsAnother(user, value));
      }
      if (bytes < least || (meets && bytes <= least)) {
        least = bytes;
        target = passed;
      }
    }
    Operation *user = getLinearUser(value);
    if (!user)
      return target;
    value = user->getResult(0);
  }
}

CollectiveOpInterface ReductionDelayer::moveOnce(StringRef pass) {
  OpOperand &use = *reduction->getResult(0).getUses().begin();
  return cast<CollectiveOpInterface>(
      reduceAfter(use.getOwner(), use.getOperandNumber(),
                  withPass(reduction.getLedgerEntry(), pass), function));
}

/// Where layers only stack the sums that `reduction` finishes, let them stack
/// the addends and finish all of them at once behind the layers. Null if they
/// do something else with them.
static CollectiveOpInterface moveBehindLayers(CollectiveOpInterface reduction,
                                              PerRankFunction &function,
                                              StringRef pass) {
  Value sum = reduction->getResult(0);
  auto repeat = dyn_cast<RepeatOp>(reduction->getParentOp());
  if (!repeat || repeat.getCount() < 2 || reduction.getRow().cuts() ||
      !sum.hasOneUse())
    return {};
  OpOperand &use = *sum.getUses().begin();
  unsigned number = use.getOperandNumber();
  if (!isa<YieldOp>(use.getOwner()) || number < repeat.getInits().size())
    return {};
  Value stack = repeat.getResult(number);
  const LocalState *known = function.getState(stack);
  if (!known || (known->sharding.isPartial() &&
                 known->sharding.reduction != ReductionKind::Sum))
    return {};
  LocalState after = *known, before = after;
  AxisList axes = getStepAxes(reduction, function.mesh);
  before.sharding.partial.append(axes.begin(), axes.end());
  before.sharding.reduction = ReductionKind::Sum;
  before.sharding.normalize(before.shape);

  use.set(reduction->getOperand(0));
  setSharding(stack, function.getAttr(before.sharding));
  function.states[stack] = before;
  OpBuilder builder(repeat);
  builder.setInsertionPointAfter(repeat);
  auto moved =
      cast<CollectiveOpInterface>(builder.clone(*reduction.getOperation()));
  stack.replaceAllUsesWith(moved->getResult(0));
  moved->setOperand(0, stack);
  moved->getResult(0).setType(stack.getType());
  moved->setAttr("from", function.getAttr(before.sharding));
  moved->setAttr("to", function.getAttr(after.sharding));
  moved.setLedgerEntry(withPass(reduction.getLedgerEntry(), pass));
  function.states[moved->getResult(0)] = after;
  function.states.erase(sum);
  reduction->erase();
  return moved;
}

namespace {
struct DelayReductions : tp::impl::DelayReductionsBase<DelayReductions> {
  void runOnOperation() override {
    auto delay = [&](PerRankFunction &function) {
      SmallVector<CollectiveOpInterface> reductions;
      function.function->walk([&](Operation *op) {
        if (op->getNumResults() == 1)
          if (CollectiveOpInterface reduction =
                  getSumReduction(op->getResult(0)))
            reductions.push_back(reduction);
      });
      for (CollectiveOpInterface reduction : reductions) {
        unsigned steps = ReductionDelayer(reduction, function).findTarget();
        for (unsigned i = 0; i < steps; ++i)
          reduction =
              ReductionDelayer(reduction, function).moveOnce(getArgument());
        numDelayed += steps;
        while (CollectiveOpInterface behind =
                   moveBehindLayers(reduction, function, getArgument())) {
          reduction = behind;
          ++numDelayed;
        }
      }
      return success();
    };
    if (failed(forEachFunction(getOperation(), delay)))
      return signalPassFailure();
  }
};
} // namespace
