//===- SplitRows.cpp - Collectives beside other rows' products ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. What is cut is RowPlan.cpp's matter, how WriteParts.cpp's.
//
//===----------------------------------------------------------------------===//

#include "RowOrder.h"
#include "tp/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Overlap.h"
#include "tp/Schedule/SplitRows.h"

namespace tp {
#define GEN_PASS_DEF_SPLITROWS
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Notes of each collective that stays whole why.
static void noteReasons(const RowPlan &plan) {
  for (const auto &[op, reason] : plan.reasons)
    op->setAttr(wholeAttrName, StringAttr::get(op->getContext(), reason));
  for (const auto &[op, inner] : plan.loops)
    noteReasons(*inner);
}

void tp::noteWholeRows(func::FuncOp function, unsigned chunks) {
  noteReasons(*planRows(function.getBody().front(), chunks));
}

unsigned tp::splitRows(func::FuncOp function, const RowSplit &split) {
  Block &block = function.getBody().front();
  std::shared_ptr<RowPlan> plan =
      planRows(block, split.chunks, split.isSelective ? split.model : nullptr);
  noteReasons(*plan);
  return plan->cutsAnything() ? writeParts(block, *plan, split.model) : 0;
}

namespace {
struct SplitRowsPass : tp::impl::SplitRowsBase<SplitRowsPass> {
  using SplitRowsBase::SplitRowsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (chunks < 2 || chunks > int64_t(mostChunks)) {
      function.emitError("tp-split-rows: expected chunks from 2 to ")
          << mostChunks << ", got " << chunks.getValue();
      return signalPassFailure();
    }
    WalkResult walk = function.walk([&](CollectiveOpInterface op) {
      if (!getAwait(op) && !op->hasAttr(buffersAttrName))
        return WalkResult::advance();
      op->emitOpError("is scheduled already: expected rows to be split before "
                      "kernels are formed and collectives started");
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    MeshOp mesh = getUniqueMesh(function->getParentOfType<ModuleOp>());
    std::optional<CostModel> model;
    if (link.getValue() && mesh)
      model.emplace(*link.getValue(), mesh.getMesh().toMesh());
    numSplit +=
        splitRows(function, {unsigned(chunks), model ? &*model : nullptr,
                             selective && model});
  }
};
} // namespace
