//===- Lifetimes.cpp - How long tensors live in memory --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses are followed through views, which are computed nowhere.
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"

using namespace mlir;
using namespace tp;

Numbers tp::numberOperations(Block &block) {
  Numbers number;
  for (Operation &op : block)
    number[&op] = number.size();
  return number;
}

bool tp::needsMemory(Operation *op) {
  return isa<func::CallOp, LibraryOpInterface, CollectiveOpInterface>(op) &&
         !isView(op) && !isa<PeersOp>(op);
}

unsigned tp::getLastUse(Value value, Block &block, const Numbers &number,
                        unsigned last, Operation *inPlace) {
  for (Operation *user : value.getUsers()) {
    Operation *top = block.findAncestorOpInBlock(*user);
    last = std::max(last, number.lookup(top));
    if (AwaitOp await = getAwait(user); await && user != inPlace && user == top)
      last = std::max(last, number.lookup(await));
    if (isView(user))
      last = getLastUse(user->getResult(0), block, number, last, inPlace);
  }
  return last;
}

Value tp::getInPlaceOperand(Operation *op, Block &block,
                            const Numbers &number) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || !collective.getRow().inPlace || isa<PeersOp>(op))
    return nullptr;
  ViewedTensor view = getViewedTensor(op->getOperand(0));
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (view.byteOffset != 0 || view.root.getParentBlock() != &block ||
      getTensorBytes(cast<RankedTensorType>(view.root.getType())) !=
          getTensorBytes(type))
    return nullptr;
  if (getLastUse(view.root, block, number, 0, op) > number.lookup(op))
    return nullptr;
  return view.root;
}

BufferAttr tp::getFixedPlace(Value value) {
  auto at = [&](StringRef space, unsigned index) {
    return BufferAttr::get(value.getContext(),
                           StringAttr::get(value.getContext(), space), index);
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    unsigned index = use.getOperandNumber();
    if (isa<func::ReturnOp>(user))
      return at("output", index);
    if (isa<YieldOp>(user)) {
      unsigned carried = cast<RepeatOp>(user->getParentOp()).getInits().size();
      return index < carried ? at("next", index)
                             : at("stacked", index - carried);
    }
    if (isView(user)) {
      if (BufferAttr found = getFixedPlace(user->getResult(0)))
        return found;
      continue;
    }
    // The first of the two places of the carried value: set with them.
    if (auto repeat = dyn_cast<RepeatOp>(user);
        repeat && index < repeat.getInits().size())
      return at("init", index);
  }
  return nullptr;
}

Operation *tp::findFirstReader(Value value, Block &block,
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

int64_t tp::getPeakBytes(Block &block) {
  Numbers number = numberOperations(block);
  // The bytes that begin and that have ended at each position.
  SmallVector<int64_t> change(number.size() + 2, 0);
  for (Operation &op : block) {
    unsigned now = number.lookup(&op);
    auto repeat = dyn_cast<RepeatOp>(op);
    if (!repeat && !needsMemory(&op))
      continue;
    if (repeat) {
      int64_t inside = getPeakBytes(*repeat.getBodyBlock());
      change[now] += inside;
      change[now + 1] -= inside;
    }
    // A result in place takes over what its operand has.
    unsigned begin = now;
    if (Value shared = getInPlaceOperand(&op, block, number))
      begin = getLastUse(shared, block, number, now) + 1;
    for (Value result : op.getResults()) {
      unsigned end = getLastUse(result, block, number, now) + 1;
      if (getFixedPlace(result) || begin >= end)
        continue;
      int64_t bytes = getTensorBytes(cast<RankedTensorType>(result.getType()));
      change[begin] += bytes;
      change[end] -= bytes;
    }
  }
  int64_t bytes = 0, most = 0;
  for (int64_t step : change)
    most = std::max(most, bytes += step);
  return most;
}
