//===- NumberCollectives.cpp - tp-number-collectives ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ledger ids in program order, without gaps: the artifact numbers collectives
// by position, and both must be the number that --explain prints.
//
//===----------------------------------------------------------------------===//

#include "tp/Collectives/Passes.h"

#include "mlir/IR/Builders.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {
#define GEN_PASS_DEF_NUMBERCOLLECTIVES
#include "tp/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct NumberCollectives : tp::impl::NumberCollectivesBase<NumberCollectives> {
  void runOnOperation() override {
    if (failed(expectPerRank(getOperation())))
      return signalPassFailure();
    SmallVector<SmallVector<CollectiveOpInterface>> calls;
    getOperation().walk<WalkOrder::PreOrder>([&](CollectiveOpInterface op) {
      if (op.getLedgerEntry() && beginsCall(op))
        calls.push_back(getCall(op));
    });
    for (auto [id, call] : llvm::enumerate(calls))
      for (CollectiveOpInterface op : call) {
        LedgerAttr entry = op.getLedgerEntry();
        op.setLedgerEntry(LedgerAttr::get(&getContext(), id, entry.getCause(),
                                          entry.getAnnotation(),
                                          entry.getPass()));
      }
  }
};
} // namespace
