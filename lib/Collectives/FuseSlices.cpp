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
  ShardingAttr from = whole.getFromSharding(), to = slice.getToSharding();
  // The row from what the one takes to what the other leaves.
  const CollectiveRow *row = findRow(whole.getRow().from, SliceOp::holdsAfter);
  int64_t gathered = whole.getGatheredDim(), cut = slice.getCutDim();
  if (whole.getRow().to != SliceOp::holdsBefore || !row || gathered == cut)
    return nullptr;
  Operation *fused = createStep(
      builder, whole.getLoc(), row->kind, slice.getType(), whole->getOperand(0),
      {whole.getReductionName(), gathered, cut, whole.getGroupMesh(),
       whole.getGroupAxes(), /*pairs=*/{}, from, to, ledger});
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
            whole.getGroupAxes() != slice.getAxes())
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
