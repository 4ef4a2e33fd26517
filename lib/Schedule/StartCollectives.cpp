//===- StartCollectives.cpp - Collectives beside other work ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. Views of a result are computed nowhere, so they are moved
// behind the await with it.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Passes.h"

#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Views.h"

namespace tp {
#define GEN_PASS_DEF_STARTCOLLECTIVES
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The first operation of `block` that reads `value`, not counting views; these
/// are added to `views`.
static Operation *findFirstReader(Value value, Block &block,
                                  SmallVectorImpl<Operation *> &views) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *reader = block.findAncestorOpInBlock(*user);
    if (reader == user && isView(user)) {
      views.push_back(user);
      reader = findFirstReader(user->getResult(0), block, views);
    }
    if (reader && (!first || reader->isBeforeInBlock(first)))
      first = reader;
  }
  return first;
}

/// Moves `op` up to behind what its operand needs, and behind `previous`, the
/// collective before it.
static void hoist(Operation *op, Operation *previous) {
  Operation *after = previous;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp();
        producer && producer->getBlock() == op->getBlock() &&
        (!after || after->isBeforeInBlock(producer)))
      after = producer;
  if (!after)
    op->moveBefore(&op->getBlock()->front());
  else if (after->getNextNode() != op)
    op->moveAfter(after);
}

namespace {
struct StartCollectivesPass
    : tp::impl::StartCollectivesBase<StartCollectivesPass> {
  void runOnOperation() override {
    // The places of buffers are right for the order in which they were planned.
    WalkResult planned = getOperation().walk([](Operation *op) {
      if (!op->hasAttr(buffersAttrName))
        return WalkResult::advance();
      op->emitOpError("has its place in memory already: expected collectives "
                      "to be started before tp-plan-buffers");
      return WalkResult::interrupt();
    });
    if (planned.wasInterrupted())
      return signalPassFailure();
    getOperation().walk([&](Block *block) {
      Operation *previous = nullptr;
      SmallVector<Operation *> collectives;
      for (Operation &op : *block)
        if (isa<CollectiveOpInterface>(op))
          collectives.push_back(&op);
      for (Operation *op : collectives) {
        hoist(op, previous);
        previous = op;
      }
      for (Operation *op : collectives)
        await(op, *block);
    });
  }

  void await(Operation *collective, Block &block) {
    Value result = collective->getResult(0);
    SmallVector<Operation *> views;
    Operation *reader = findFirstReader(result, block, views);
    OpBuilder builder(collective);
    if (reader)
      builder.setInsertionPoint(reader);
    else
      builder.setInsertionPointAfter(collective);
    auto await = AwaitOp::create(builder, collective->getLoc(), result);
    result.replaceAllUsesExcept(await.getResult(), await);
    // Views were found from the result outwards: that order keeps definitions
    // before uses.
    Operation *last = await;
    for (Operation *view : views) {
      if (view->isBeforeInBlock(last)) {
        view->moveAfter(last);
        last = view;
      }
    }
    Operation *between = collective->getNextNode();
    while (between != await && isView(between))
      between = between->getNextNode();
    if (between != await)
      ++numOverlapped;
  }
};
} // namespace
