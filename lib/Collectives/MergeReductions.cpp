//===- MergeReductions.cpp - tp-merge-reductions --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AR(a) + AR(b) = AR(a + b), in program order, so that a sum of many becomes
// one reduction. Sums are reassociated for it: a block whose attention and MLP
// read the same input, (h + AR(a)) + AR(b), is h + AR(a + b). And of two
// reductions over unlike axes, the narrow one is made as wide as the other:
// queries over all ranks, and keys of which two ranks have a copy.
//
//===----------------------------------------------------------------------===//

#include "Rewrite.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Collectives/Passes.h"
#include "tp/Partition/Steps.h"
#include "tp/Resolve/Resolve.h"

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

/// R_A(a) + R_B(b) with the axes A a part of B: over the rest of B each rank
/// has a copy of a, of which the first counts. R_A(a) becomes R_B of that, so
/// that the two are alike.
static void widen(Operation *op, PerRankFunction &function) {
  const Mesh &mesh = function.mesh;
  for (unsigned side : {0, 1}) {
    CollectiveOpInterface narrow = getSumReduction(op->getOperand(side)),
                          wide = getSumReduction(op->getOperand(1 - side));
    if (!narrow || !wide || !isa<AllReduceOp>(narrow) ||
        !isa<AllReduceOp>(wide) || !narrow->getResult(0).hasOneUse() ||
        !wide->getResult(0).hasOneUse())
      continue;
    AxisList axes = getStepAxes(narrow, mesh), all = getStepAxes(wide, mesh);
    AxisList rest = subtractAxes(all, axes);
    const LocalState *state = function.getState(narrow->getOperand(0));
    if (rest.empty() || !containsAxes(all, axes) || !state ||
        overlap(state->sharding.getUsedAxes(), rest))
      continue;
    ReshardStep step;
    step.kind = CollectiveKind::KeepFirst;
    step.axes = rest;
    step.result = state->sharding;
    step.result.partial.append(rest);
    llvm::sort(step.result.partial);
    step.result.partial = canonicalize(step.result.partial);
    step.result.normalize(state->shape);
    LocalState kept{state->shape, step.result};
    OpBuilder builder(narrow);
    Value once =
        buildStep(builder, narrow.getLoc(), narrow->getOperand(0), kept.shape,
                  state->sharding, step, mesh, function.symbol, LedgerAttr());
    function.states[once] = kept;
    builder.setInsertionPointAfterValue(narrow->getResult(0));
    Operation *reduction = builder.clone(*wide);
    reduction->setLoc(narrow.getLoc());
    reduction->setOperand(0, once);
    reduction->getResult(0).setType(narrow->getResult(0).getType());
    reduction->setAttr("from", function.getAttr(kept.sharding));
    reduction->setAttr("to", narrow->getAttr("to"));
    cast<CollectiveOpInterface>(reduction).setLedgerEntry(
        narrow.getLedgerEntry());
    function.states[reduction->getResult(0)] =
        *function.getState(narrow->getResult(0));
    function.states.erase(narrow->getResult(0));
    op->setOperand(side, reduction->getResult(0));
    narrow->erase();
    return;
  }
}

/// One walk; returns the reductions that were merged into another.
static int64_t mergeOnce(PerRankFunction &function, StringRef pass) {
  SmallVector<Operation *> additions, ops;
  function.function->walk([&](Operation *op) {
    if (isAddition(op))
      additions.push_back(op);
  });
  for (Operation *op : additions)
    widen(op, function);
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
