//===- FuseSlices.cpp - tp-fuse-slices ------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice right after an all_reduce or an all_gather over the same axes: the
// two together are one cheaper row of the reshard table. Whether they are that
// row is asked of checkStep, as the verifier does.
//
//===----------------------------------------------------------------------===//

#include "Rewrite.h"
#include "tp/Collectives/Passes.h"

namespace tp {
#define GEN_PASS_DEF_FUSESLICES
#include "tp/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The one operation for `slice` of `whole`'s result; null if there is none.
static Operation *fuse(SliceOp slice, CollectiveOpInterface whole,
                       StringRef pass, PerRankFunction &function) {
  OpBuilder builder(slice);
  LedgerAttr ledger = withPass(whole.getLedgerEntry(), pass);
  Type type = slice.getType();
  ShardingAttr from = whole.getFromSharding(), to = slice.getToAttr();
  Operation *fused = nullptr;
  if (auto reduce = dyn_cast<AllReduceOp>(whole.getOperation()))
    fused = ReduceScatterOp::create(
        builder, reduce.getLoc(), type, reduce.getInput(),
        reduce.getReductionAttr(), slice.getDimAttr(), reduce.getMeshAttr(),
        reduce.getAxes(), from, to, ledger);
  else if (auto gather = dyn_cast<AllGatherOp>(whole.getOperation());
           gather && gather.getDim() != slice.getDim())
    fused = AllToAllOp::create(builder, gather.getLoc(), type,
                               gather.getInput(), slice.getDimAttr(),
                               gather.getDimAttr(), gather.getMeshAttr(),
                               gather.getAxes(), from, to, ledger);
  if (!fused)
    return nullptr;
  const LocalState *state = function.getState(whole->getOperand(0));
  if (checkStep(fused, state->shape, from.toSharding(function.mesh),
                to.toSharding(function.mesh), function.mesh)
          .empty())
    return fused;
  fused->erase();
  return nullptr;
}

namespace {
struct FuseSlices : tp::impl::FuseSlicesBase<FuseSlices> {
  void runOnOperation() override {
    auto run = [&](PerRankFunction &function) {
      SmallVector<SliceOp> slices;
      function.function->walk([&](SliceOp op) { slices.push_back(op); });
      for (SliceOp slice : slices) {
        auto whole = slice.getInput().getDefiningOp<CollectiveOpInterface>();
        if (!whole || !slice.getInput().hasOneUse() ||
            whole->getBlock() != slice->getBlock() || !slice.getToAttr() ||
            !whole.getFromSharding() || !whole.getLedgerEntry() ||
            whole.getCollectiveAxes() != slice.getAxes())
          continue;
        Operation *fused = fuse(slice, whole, getArgument(), function);
        if (!fused)
          continue;
        function.states[fused->getResult(0)] =
            *function.getState(slice.getResult());
        slice.getResult().replaceAllUsesWith(fused->getResult(0));
        slice.erase();
        whole->erase();
        ++numFused;
      }
      return success();
    };
    if (failed(forEachFunction(getOperation(), run)))
      return signalPassFailure();
  }
};
} // namespace
