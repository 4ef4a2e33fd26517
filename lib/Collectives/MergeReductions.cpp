//===- MergeReductions.cpp - tp-merge-reductions --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AR(a) + AR(b) = AR(a + b), in program order, so that a sum of many becomes
// one reduction. Sums are reassociated for it: a block whose attention and MLP
// read the same input, (h + AR(a)) + AR(b), is h + AR(a + b).
//
//===----------------------------------------------------------------------===//

#include "Rewrite.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Collectives/Passes.h"

namespace tp {
#define GEN_PASS_DEF_MERGEREDUCTIONS
#include "tp/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The operands that are results of reductions alike, each with no other use;
/// empty if there are not at least two, or another tensor is added.
static SmallVector<unsigned> findMergeable(Operation *op,
                                           const PerRankFunction &function) {
  SmallVector<unsigned> operands;
  CollectiveOpInterface first;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    CollectiveOpInterface reduction = getSumReduction(operand);
    if (!reduction || !operand.hasOneUse() ||
        reduction->getBlock() != op->getBlock())
      continue;
    if (!first)
      first = reduction;
    if (areAlike(first, reduction))
      operands.push_back(index);
  }
  if (operands.size() < 2 ||
      !isLinearIn(op, operands, getStepAxes(first, function.mesh),
                  first.getRow().cuts(), function))
    return {};
  return operands;
}

static bool isAddition(Operation *op) {
  return isa_and_nonnull<arith::AddFOp, arith::AddIOp>(op) &&
         op->hasAttr(TPDialect::getRuleAttrName());
}

/// (h + R(a)) + R(b) in any order becomes h + (R(a) + R(b)).
static bool reassociate(Operation *op, PerRankFunction &function) {
  auto getOwn = [&](Value value, Operation *user) -> CollectiveOpInterface {
    CollectiveOpInterface reduction = getSumReduction(value);
    if (!reduction || !value.hasOneUse() ||
        reduction->getBlock() != user->getBlock())
      return {};
    return reduction;
  };
  for (unsigned side : {0, 1}) {
    CollectiveOpInterface second = getOwn(op->getOperand(1 - side), op);
    Operation *inner = op->getOperand(side).getDefiningOp();
    if (!second || !isAddition(inner) || !inner->hasOneUse() ||
        inner->getBlock() != op->getBlock())
      continue;
    for (unsigned innerSide : {0, 1}) {
      Value added = inner->getOperand(1 - innerSide);
      CollectiveOpInterface first = getOwn(added, inner);
      // Two reductions in the inner sum are merged as they are.
      if (!first || !areAlike(first, second) ||
          getOwn(inner->getOperand(innerSide), inner))
        continue;
      OpBuilder builder(op);
      Operation *sum = builder.clone(*op);
      sum->setOperands({added, second->getResult(0)});
      // Another value than that of `op`, whose notes are not about it.
      for (NamedAttribute note : llvm::to_vector(op->getDiscardableAttrs()))
        if (note.getName() != TPDialect::getRuleAttrName() &&
            note.getName() != TPDialect::getShardingsAttrName())
          sum->removeDiscardableAttr(note.getName());
      function.states[sum->getResult(0)] =
          LocalState(*function.getState(op->getResult(0)));
      op->setOperands({inner->getOperand(innerSide), sum->getResult(0)});
      function.states.erase(inner->getResult(0));
      inner->erase();
      return true;
    }
  }
  return false;
}

/// One walk; returns the reductions that were merged into another.
static int64_t mergeOnce(PerRankFunction &function, StringRef pass) {
  SmallVector<Operation *> additions, ops;
  function.function->walk([&](Operation *op) {
    if (isAddition(op))
      additions.push_back(op);
  });
  // What goes comes before the addition that it goes for.
  for (Operation *op : additions)
    reassociate(op, function);
  // Merging erases reductions and the addition itself, nothing else.
  function.function->walk([&](Operation *op) {
    if (op->hasAttr(TPDialect::getRuleAttrName()))
      ops.push_back(op);
  });
  int64_t merged = 0;
  for (Operation *op : ops) {
    SmallVector<unsigned> operands = findMergeable(op, function);
    if (operands.empty())
      continue;
    LedgerAttr ledger;
    for (unsigned index : operands) {
      CollectiveOpInterface reduction = getSumReduction(op->getOperand(index));
      LedgerAttr entry = reduction.getLedgerEntry();
      ledger = ledger ? joinEntries(ledger, entry, pass) : entry;
    }
    reduceAfter(op, operands, ledger, function);
    merged += operands.size() - 1;
  }
  return merged;
}

namespace {
struct MergeReductions : tp::impl::MergeReductionsBase<MergeReductions> {
  void runOnOperation() override {
    auto merge = [&](PerRankFunction &function) {
      while (int64_t merged = mergeOnce(function, getArgument()))
        numMerged += merged;
      return success();
    };
    if (failed(forEachFunction(getOperation(), merge)))
      return signalPassFailure();
  }
};
} // namespace
