//===- Kept.cpp - What a plan keeps for a derivative ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop in the other direction that computes a value again is found from the
// two layers alone, so that derivatives written by hand are served as well: its
// slices of what the first has stacked are known values of that layer, and so
// is, in order, the result of each operation that does the same to known
// values.
//
//===----------------------------------------------------------------------===//

#include "Kept.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Dialect/TP/IR/Stacks.h"

using namespace mlir;
using namespace tp;

/// The loops that run through the layers of `forward` the other way and read
/// something that it has stacked.
static SmallVector<RepeatOp, 1> getReverses(RepeatOp forward) {
  SmallVector<RepeatOp, 1> reverses;
  for (Value stack : forward.getStackedResults())
    for (Operation *user : stack.getUsers()) {
      auto reverse = dyn_cast<RepeatOp>(user);
      if (reverse && reverse.getReverse() != forward.getReverse() &&
          reverse.getCount() == forward.getCount() &&
          reverse.getFirstIndex() == forward.getFirstIndex() &&
          llvm::is_contained(reverse.getStacked(), stack) &&
          !llvm::is_contained(reverses, reverse))
        reverses.push_back(reverse);
    }
  return reverses;
}

/// Values of the reverse layer as those of the forward one that they equal.
static DenseMap<Value, Value> matchLayers(RepeatOp forward, RepeatOp reverse) {
  DenseMap<Value, Value> known;
  known[reverse.getIndex()] = forward.getIndex();
  for (auto [operand, slice] :
       llvm::zip(reverse.getStacked(), reverse.getStackedArgs())) {
    if (operand.getDefiningOp() == forward)
      known[slice] = forward.getYield().getOperand(
          cast<OpResult>(operand).getResultNumber());
    for (auto [given, arg] :
         llvm::zip(forward.getStacked(), forward.getStackedArgs()))
      if (given == operand)
        known[slice] = arg;
  }
  auto isSame = [&](Value first, Value again) {
    auto found = known.find(again);
    return success(first == (found == known.end() ? again : found->second));
  };
  auto flags = OperationEquivalence::IgnoreLocations |
               OperationEquivalence::IgnoreDiscardableAttrs;
  for (Operation &again : reverse.getBodyBlock()->without_terminator())
    for (Operation &first : forward.getBodyBlock()->without_terminator())
      if (isMemoryEffectFree(&first) &&
          OperationEquivalence::isEquivalentTo(&first, &again, isSame,
                                               /*markEquivalent=*/nullptr,
                                               flags)) {
        for (auto [value, equal] :
             llvm::zip(again.getResults(), first.getResults()))
          known[value] = equal;
        break;
      }
  return known;
}

/// Let `reverse` read `values` of `forward` from stacks; `again` are the
/// results of its own that they replace. Returns what `forward` has become.
static RepeatOp keep(RepeatOp forward, RepeatOp reverse,
                     ArrayRef<OpResult> values, ArrayRef<OpResult> again) {
  RepeatOp wide = stackResults(forward, ValueRange(SmallVector<Value>(values)));
  forward.erase();
  for (auto [stack, value] :
       llvm::zip(wide.getResults().take_back(values.size()), again)) {
    reverse.getStackedMutable().append(stack);
    Value(value).replaceAllUsesWith(
        reverse.getBodyBlock()->addArgument(value.getType(), value.getLoc()));
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*reverse.getBodyBlock())))
    if (isOpTriviallyDead(&op))
      op.erase();
  return wide;
}

void tp::keepValues(ModuleOp module,
                    llvm::function_ref<bool(OpResult)> isWanted) {
  SmallVector<RepeatOp> loops;
  module.walk([&](RepeatOp op) { loops.push_back(op); });
  for (RepeatOp forward : loops)
    for (RepeatOp reverse : getReverses(forward)) {
      DenseMap<Value, Value> known = matchLayers(forward, reverse);
      SmallVector<OpResult> values, again;
      for (Operation &op : reverse.getBodyBlock()->without_terminator()) {
        OpResult result = op.getNumResults() ? op.getResult(0) : OpResult();
        Value value = result ? known.lookup(result) : Value();
        if (value && !result.use_empty() &&
            isa<RankedTensorType>(result.getType()) &&
            isWanted(cast<OpResult>(value))) {
          values.push_back(cast<OpResult>(value));
          again.push_back(result);
        }
      }
      if (!values.empty())
        forward = keep(forward, reverse, values, again);
    }
}

OpResult tp::getKeptValue(OpResult stack) {
  auto forward = dyn_cast<RepeatOp>(stack.getOwner());
  unsigned number = stack.getResultNumber();
  if (!forward || number < forward.getInits().size() ||
      llvm::none_of(
          getReverses(forward),
          [&](RepeatOp reverse) {
            return llvm::is_contained(reverse.getStacked(), stack);
          }))
    return {};
  auto value = dyn_cast<OpResult>(forward.getYield().getOperand(number));
  return value && value.getResultNumber() == 0 ? value : OpResult();
}
