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

/// What `op` folds to (a group of one; a slice of what was gathered and the
/// reverse: the folders know when positions change), if that is the same part
/// of the same value.
static Value findFolded(Operation *op, const PerRankFunction &function) {
  SmallVector<OpFoldResult> folded;
  SmallVector<Attribute> constants(op->getNumOperands());
  if (failed(op->fold(constants, folded)) || folded.size() != 1)
    return {};
  auto value = dyn_cast<Value>(folded.front());
  if (!value)
    return {};
  const LocalState *state = function.getState(value);
  const LocalState *result = function.getState(op->getResult(0));
  if (!state || !result ||
      !sameLayout(state->shape, state->sharding, result->sharding))
    return {};
  return value;
}

namespace {
struct DropCollectives : tp::impl::DropCollectivesBase<DropCollectives> {
  void runOnOperation() override {
    auto run = [&](PerRankFunction &function) {
      SmallVector<Operation *> ops;
      function.function->walk([&](Operation *op) {
        if (isa<ReshardStepOpInterface>(op))
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
    if (Value folded = findFolded(op, function))
      return folded;
    if (Operation *same = findSame(op))
      return same->getResult(0);
    return {};
  }
};
} // namespace
