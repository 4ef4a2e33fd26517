//===- AssignValueIds.cpp - tp-assign-value-ids ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids are attributes and not part of the location, so that the stages' clones
// carry them and what is built new (masks, offsets) has none.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Verify/Passes.h"

namespace tp {
#define GEN_PASS_DEF_ASSIGNVALUEIDS
#include "tp/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;

namespace {
struct AssignValueIds : tp::impl::AssignValueIdsBase<AssignValueIds> {
  void runOnOperation() override {
    int64_t next = 0;
    getOperation()->walk([&](Operation *op) {
      if (auto id = op->getAttrOfType<IntegerAttr>(tp::valueIdAttrName))
        next = std::max(next, id.getInt() + 1);
    });
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>())
      function->walk<WalkOrder::PreOrder>([&](Operation *op) {
        // Bodies of structured operations hold scalars.
        bool isProgram = isa<func::FuncOp, tp::RepeatOp>(op->getParentOp()) ||
                         op == function;
        if (!isProgram)
          return WalkResult::skip();
        if ((op == function || op->getNumResults()) &&
            !op->hasAttr(tp::valueIdAttrName))
          op->setAttr(tp::valueIdAttrName, builder.getI64IntegerAttr(next++));
        return WalkResult::advance();
      });
  }
};
} // namespace
