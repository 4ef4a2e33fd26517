//===- DropCollectives.cpp - tp-drop-collectives --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives that move nothing new. One walk in program order: what an
// operation is replaced with was visited before it.
//
//===----------------------------------------------------------------------===//

#include "Rewrite.h"
#include "tp/Collectives/Passes.h"

namespace tp {
#define GEN_PASS_DEF_DROPCOLLECTIVES
#include "tp/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The attributes that say what the operation does.
static DictionaryAttr getMeaning(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("ledger");
  return attributes.getDictionary(op->getContext());
}

/// An operation before `op`, in its block or around it, with the same result.
static Operation *findSame(Operation *op) {
  for (Operation *other : op->getOperand(0).getUsers()) {
    if (other == op || other->getName() != op->getName() ||
        other->getResultTypes() != op->getResultTypes() ||
        getMeaning(other) != getMeaning(op))
      continue;
    Operation *ancestor = other->getBlock()->findAncestorOpInBlock(*op);
    if (ancestor && other != ancestor && other->isBeforeInBlock(ancestor))
      return other;
  }
  return nullptr;
}

/// What `op` undoes: x for a slice of the gathered x and for a gather of the
/// sliced x.
static Value findUndone(Operation *op, const PerRankFunction &function) {
  Operation *before = op->getOperand(0).getDefiningOp();
  bool isPair = before && ((isa<SliceOp>(op) && isa<AllGatherOp>(before)) ||
                           (isa<AllGatherOp>(op) && isa<SliceOp>(before)));
  if (!isPair || op->getAttr("dim") != before->getAttr("dim") ||
      op->getAttr("axes") != before->getAttr("axes"))
    return {};
  Value origin = before->getOperand(0);
  const LocalState *state = function.getState(origin);
  const LocalState *result = function.getState(op->getResult(0));
  if (!state || !result || origin.getType() != op->getResult(0).getType() ||
      !sameLayout(state->shape, state->sharding, result->sharding))
    return {};
  // A slice pads with zeros, and masks were placed accordingly; the lanes of x
  // may hold anything.
  unsigned dim = op->getAttrOfType<IntegerAttr>("dim").getInt();
  if (getPadding(state->shape[dim], state->sharding.dims[dim]) != 0)
    return {};
  return origin;
}

namespace {
struct DropCollectives : tp::impl::DropCollectivesBase<DropCollectives> {
  void runOnOperation() override {
    auto run = [&](PerRankFunction &function) {
      SmallVector<Operation *> ops;
      function.function->walk([&](Operation *op) {
        if (isReshardStep(op))
          ops.push_back(op);
      });
      for (Operation *&op : ops) {
        if (Value value = findReplacement(op, function)) {
          op->getResult(0).replaceAllUsesWith(value);
          op->erase();
          op = nullptr;
          ++numDropped;
          continue;
        }
        // The same in every iteration, if there are any.
        auto repeat = op->getParentOfType<RepeatOp>();
        for (;
             repeat && repeat.getCount() > 0 &&
             !repeat.getBody().isAncestor(op->getOperand(0).getParentRegion());
             repeat = op->getParentOfType<RepeatOp>()) {
          op->moveBefore(repeat);
          ++numHoisted;
        }
      }
      for (Operation *op : llvm::reverse(ops))
        if (op && op->use_empty()) {
          op->erase();
          ++numDropped;
        }
      return success();
    };
    if (failed(forEachFunction(getOperation(), run)))
      return signalPassFailure();
  }

  static Value findReplacement(Operation *op, const PerRankFunction &function) {
    Value operand = op->getOperand(0);
    if (!isa<CollectivePermuteOp>(op) &&
        getShardCount(getStepAxes(op, function.mesh)) == 1 &&
        operand.getType() == op->getResult(0).getType())
      return operand;
    if (Value undone = findUndone(op, function))
      return undone;
    if (Operation *same = findSame(op))
      return same->getResult(0);
    return {};
  }
};
} // namespace
