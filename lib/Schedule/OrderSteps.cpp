//===- OrderSteps.cpp - Work beside collectives ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. What a block's order may be is a matter of its operands alone,
// as its operations have no other effects; what it costs is the memory that
// lives at once.
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"
#include "States.h"
#include "tp/Schedule/Passes.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"

#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Ledger/Ledger.h"
#include "llvm/ADT/SetVector.h"

namespace tp {
#define GEN_PASS_DEF_ORDERSTEPS
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// True if a library computes `op`: what takes as long as a collective.
static bool isProduct(Operation *op) {
  if (isa<LibraryOpInterface>(op))
    return !isView(op);
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return false;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  auto kind =
      kernel ? kernel->getAttrOfType<StringAttr>(kernelAttrName) : nullptr;
  return kind && kind.getValue() == "gemm";
}

/// Moves `ops`, in their order, before `place`.
static void moveBefore(ArrayRef<Operation *> ops, Operation *place) {
  for (Operation *op : ops)
    op->moveBefore(place);
}

namespace {

/// An order of one block's operations that can be taken back.
class Order {
public:
  explicit Order(Block &block) {
    for (Operation &op : block)
      ops.push_back(&op);
  }
  void restore() { moveBefore(ArrayRef(ops).drop_back(), ops.back()); }

private:
  SmallVector<Operation *> ops;
};

class BlockOrder {
public:
  BlockOrder(Block &block, int64_t leastBytes)
      : block(block), leastBytes(leastBytes) {}

  /// The products that were moved.
  unsigned run() {
    SmallVector<Operation *> collectives;
    for (Operation &op : block)
      if (isa<CollectiveOpInterface>(op) && !isa<PeersOp>(op) &&
          getCallBytes(cast<CollectiveOpInterface>(op)) >= leastBytes)
        collectives.push_back(&op);
    if (collectives.empty())
      return 0;
    most = getPeakBytes(block);
    unsigned moved = 0;
    for (Operation *collective : collectives)
      moved += fill(collective);
    for (Operation *collective : collectives)
      sink(collective);
    return moved;
  }

private:
  Block &block;
  int64_t leastBytes;
  int64_t most = 0; ///< bytes that may live at once

  /// Brings products that do not need the result of `collective` before what
  /// does. Returns how many.
  unsigned fill(Operation *collective) {
    SmallVector<Operation *> views;
    Operation *reader = findFirstReader(collective->getResult(0), block, views);
    if (!reader || reader == block.getTerminator())
      return 0;
    SmallVector<Operation *> products = findFree(collective, reader);
    if (products.empty() || bring(products, reader))
      return products.size();
    // All at once is too much: those that cost nothing.
    unsigned moved = 0;
    for (Operation *product : products)
      moved += bring(product, reader);
    return moved;
  }

  /// The products from `reader` on that do not depend on `collective`.
  SmallVector<Operation *> findFree(Operation *collective, Operation *reader) {
    SmallVector<Operation *> products;
    llvm::SmallPtrSet<Operation *, 32> bound;
    auto isBound = [&](Operation *op) {
      return op == collective || bound.contains(op);
    };
    for (Operation *op = collective->getNextNode();
         op && !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
      bool depends = false;
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *producer = operand.getDefiningOp())
            depends |= isBound(producer);
      });
      if (depends)
        bound.insert(op);
      else if (isProduct(op) && !op->isBeforeInBlock(reader))
        products.push_back(op);
    }
    return products;
  }

  /// Moves `products`, and what they need, before `reader`, unless more memory
  /// would live at once than before this pass.
  bool bring(ArrayRef<Operation *> products, Operation *reader) {
    llvm::SetVector<Operation *> needed;
    for (Operation *product : products)
      addNeeded(product, reader, needed);
    SmallVector<Operation *> ops = needed.takeVector();
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    Order before(block);
    moveBefore(ops, reader);
    if (getPeakBytes(block) <= most)
      return true;
    before.restore();
    return false;
  }

  /// Adds `op` and its operands' producers that are not before `reader`.
  void addNeeded(Operation *op, Operation *reader,
                 llvm::SetVector<Operation *> &needed) {
    if (op->isBeforeInBlock(reader) || !needed.insert(op))
      return;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && producer->getBlock() == &block)
          addNeeded(producer, reader, needed);
    });
  }

  /// True if `op` reads the old value of a state that the block replaces: then
  /// it has a place among those that write it.
  bool readsState(Operation *op) {
    return llvm::any_of(getStateUpdates(block), [&](const StateUpdate &update) {
      return readsValue(op, update.old);
    });
  }

  /// Moves a collective to its first reader, so that those that are needed
  /// first come first.
  void sink(Operation *collective) {
    SmallVector<Operation *> views;
    Operation *reader = findFirstReader(collective->getResult(0), block, views);
    if (!reader || reader == block.getTerminator() || readsState(collective))
      return;
    Operation *next = collective->getNextNode();
    while (next != reader && isView(next))
      next = next->getNextNode();
    if (next == reader)
      return;
    Order before(block);
    collective->moveBefore(reader);
    for (Operation *view : views)
      if (view->isBeforeInBlock(collective))
        view->moveBefore(reader);
    if (getPeakBytes(block) > most)
      before.restore();
  }
};

struct OrderStepsPass : tp::impl::OrderStepsBase<OrderStepsPass> {
  using OrderStepsBase::OrderStepsBase;
  void runOnOperation() override {
    getOperation().walk([&](Block *block) {
      numMoved += BlockOrder(*block, leastBytes).run();
    });
  }
};

} // namespace
