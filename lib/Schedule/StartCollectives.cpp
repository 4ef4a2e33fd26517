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

#include "Lifetimes.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"

namespace tp {
#define GEN_PASS_DEF_STARTCOLLECTIVES
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

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

/// True if `op` computes something.
static bool isWork(Operation *op) {
  return isa<RepeatOp>(op) ||
         (needsMemory(op) && !isa<CollectiveOpInterface>(op));
}

/// The bytes that the operations between `collective` and `reader` read and
/// write; a loop counts as if it ran once.
static int64_t getBytesBeside(Operation *collective, Operation *reader) {
  int64_t bytes = 0;
  for (Operation *op = collective->getNextNode(); op && op != reader;
       op = op->getNextNode())
    if (isWork(op))
      for (Type type : llvm::concat<const Type>(op->getOperandTypes(),
                                                op->getResultTypes()))
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          bytes += getTensorBytes(tensor);
  return bytes;
}

namespace {
struct StartCollectivesPass
    : tp::impl::StartCollectivesBase<StartCollectivesPass> {
  using StartCollectivesBase::StartCollectivesBase;

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
      SmallVector<Operation *> collectives, started;
      for (Operation &op : *block)
        if (isa<CollectiveOpInterface>(op) && !isa<PeersOp>(op))
          collectives.push_back(&op);
      for (Operation *op : collectives) {
        Operation *next = op->getNextNode();
        if (!atOnce)
          hoist(op, previous);
        if (isWorthStarting(op, *block))
          started.push_back(op);
        else
          op->moveBefore(next);
        previous = op;
      }
      for (Operation *op : started)
        await(op, *block);
    });
  }

  bool isWorthStarting(Operation *collective, Block &block) {
    if (leastBytes == 0)
      return true;
    SmallVector<Operation *> views;
    Operation *reader = findFirstReader(collective->getResult(0), block, views);
    return reader &&
           getCallBytes(cast<CollectiveOpInterface>(collective)) >=
               leastBytes &&
           getBytesBeside(collective, reader) >= leastBytes;
  }

  void await(Operation *collective, Block &block) {
    Value result = collective->getResult(0);
    SmallVector<Operation *> views;
    Operation *reader = findFirstReader(result, block, views);
    OpBuilder builder(collective);
    if (reader && !atOnce)
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
    if (getBytesBeside(collective, await) > 0)
      ++numOverlapped;
  }
};
} // namespace
