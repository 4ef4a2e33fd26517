//===- MergeReductions.cpp - tp-merge-reductions --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AR(a) + AR(b) = AR(a + b), in one walk in program order, so that a sum of
// many becomes one reduction.
//
//===----------------------------------------------------------------------===//

#include "Rewrite.h"
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
                  isa<ReduceScatterOp>(first.getOperation()), function))
    return {};
  return operands;
}

namespace {
struct MergeReductions : tp::impl::MergeReductionsBase<MergeReductions> {
  void runOnOperation() override {
    auto merge = [&](PerRankFunction &function) {
      SmallVector<Operation *> ops;
      // Merging erases reductions and the addition itself, nothing else.
      function.function->walk([&](Operation *op) {
        if (op->hasAttr(TPDialect::getRuleAttrName()))
          ops.push_back(op);
      });
      for (Operation *op : ops) {
        SmallVector<unsigned> operands = findMergeable(op, function);
        if (operands.empty())
          continue;
        LedgerAttr ledger;
        for (unsigned index : operands) {
          CollectiveOpInterface reduction =
              getSumReduction(op->getOperand(index));
          LedgerAttr entry = reduction.getLedgerEntry();
          ledger = ledger ? joinEntries(ledger, entry, getArgument()) : entry;
        }
        reduceAfter(op, operands, ledger, function);
        numMerged += operands.size() - 1;
      }
      return success();
    };
    if (failed(forEachFunction(getOperation(), merge)))
      return signalPassFailure();
  }
};
} // namespace
