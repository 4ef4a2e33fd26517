//===- States.cpp - Updates of states in their own memory -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See States.h. Nothing is copied behind the user's back: what cannot be
// updated in place is refused, for a cache that is copied each step is no
// cache.
//
//===----------------------------------------------------------------------===//

#include "States.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"

using namespace mlir;
using namespace tp;

/// The result of `repeat` that becomes the successor of `state`; -1 if none.
static int64_t findStackedResult(RepeatOp repeat, FlatSymbolRefAttr state) {
  for (OpResult result : repeat.getStackedResults())
    for (OpOperand &use : result.getUses())
      if (isa<func::ReturnOp>(use.getOwner()) &&
          getResultState(repeat->getParentOp(), use.getOperandNumber()) ==
              state)
        return result.getResultNumber();
  return -1;
}

SmallVector<StateUpdate> tp::getStateUpdates(Block &block) {
  SmallVector<StateUpdate> updates;
  Operation *end = block.getTerminator();
  if (auto repeat = dyn_cast<RepeatOp>(block.getParentOp())) {
    if (!isa<func::FuncOp>(repeat->getParentOp()))
      return updates;
    unsigned carried = repeat.getInits().size();
    for (auto [i, operand] : llvm::enumerate(repeat.getStacked())) {
      auto whole = dyn_cast<BlockArgument>(operand);
      if (!whole)
        continue;
      FlatSymbolRefAttr state =
          getArgState(repeat->getParentOp(), whole.getArgNumber());
      int64_t result = state ? findStackedResult(repeat, state) : -1;
      if (result >= 0)
        updates.push_back({state, block.getArgument(1 + carried + i),
                           &end->getOpOperand(result)});
    }
    return updates;
  }
  auto function = dyn_cast<func::FuncOp>(block.getParentOp());
  if (!function)
    return updates;
  for (BlockArgument argument : block.getArguments()) {
    FlatSymbolRefAttr state = getArgState(function, argument.getArgNumber());
    for (OpOperand &use : end->getOpOperands())
      if (state && getResultState(function, use.getOperandNumber()) == state)
        updates.push_back({state, argument, &use});
  }
  return updates;
}

static Bytes getAllBytes(Value value) {
  return {0, getTensorBytes(cast<RankedTensorType>(value.getType()))};
}

static Operation *findReaderAfter(Value value, Bytes bytes, Operation *op) {
  Operation *first = nullptr;
  auto add = [&](Operation *reader) {
    if (reader && (!first || reader->isBeforeInBlock(first)))
      first = reader;
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
    if (!top || top->hasTrait<OpTrait::IsTerminator>())
      continue;
    if (isView(user) && top == user) {
      if (std::optional<Bytes> part = getViewedBytes(use, bytes))
        add(findReaderAfter(user->getResult(0), *part, op));
    } else if (op->isBeforeInBlock(top)) {
      add(top);
    }
    // An asynchronous collective reads until it is awaited.
    AwaitOp await = getAwait(user);
    if (await && await->getBlock() == op->getBlock() &&
        op->isBeforeInBlock(await))
      add(await);
  }
  return first;
}

Operation *tp::findReaderAfter(Value value, Operation *op) {
  return ::findReaderAfter(value, getAllBytes(value), op);
}

static bool isWhole(const ViewedTensor &view, Value value) {
  return getTensorBytes(cast<RankedTensorType>(view.root.getType())) ==
         getTensorBytes(cast<RankedTensorType>(value.getType()));
}

/// True if a kernel reads argument `operand` only in the operation that
/// computes its result `result`, and there each element where that is written.
static bool readsInPlace(func::FuncOp kernel, unsigned operand,
                         unsigned result) {
  if (kernel.isExternal())
    return false;
  Block &body = kernel.getBody().front();
  BlockArgument argument = body.getArgument(operand);
  auto made = dyn_cast<OpResult>(body.getTerminator()->getOperand(result));
  if (!made || argument.getType() != made.getType())
    return false;
  // A product is added to this by its epilogue.
  if (isa<arith::AddFOp>(made.getOwner()))
    return llvm::all_of(argument.getUsers(), [&](Operation *user) {
      return user == made.getOwner();
    });
  auto writer = dyn_cast<linalg::GenericOp>(made.getOwner());
  if (!writer)
    return false;
  AffineMap written = writer.getMatchingIndexingMap(
      writer.getDpsInitOperand(made.getResultNumber()));
  return llvm::all_of(argument.getUses(), [&](OpOperand &use) {
    return use.getOwner() == writer &&
           writer.getMatchingIndexingMap(&use) == written;
  });
}

/// True if `repeat` gets `value` layer by layer and in no other way: not as a
/// carried value, from above, or as a view.
static bool isOnlyStacked(RepeatOp repeat, Value value) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user == repeat.getOperation())
      return use.getOperandNumber() >= repeat.getInits().size();
    if (repeat->isAncestor(user))
      return false;
    return !isView(user) || !readsValue(repeat, user->getResult(0));
  });
}

bool tp::readsInPlace(Operation *op, const StateUpdate &update) {
  ViewedTensor made = getViewedTensor(update.successor->get());
  auto result = cast<OpResult>(made.root);
  // Its body is looked at on its own.
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return isOnlyStacked(repeat, update.old);
  if (auto library = dyn_cast<LibraryOpInterface>(op)) {
    OpOperand *replaced = library.getReplacedOperand(result.getResultNumber());
    return replaced &&
           llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
             ViewedTensor read = getViewedTensor(operand.get());
             return read.root != update.old ||
                    (&operand == replaced && isWhole(read, operand.get()));
           });
  }
  auto call = dyn_cast<func::CallOp>(op);
  auto kernel = call ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                           call, call.getCalleeAttr())
                     : func::FuncOp();
  if (!kernel || !kernel->hasAttr(kernelAttrName))
    return false;
  for (OpOperand &operand : call->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    ViewedTensor read = getViewedTensor(operand.get());
    if (read.root == update.old &&
        (!isWhole(read, operand.get()) ||
         !::readsInPlace(kernel, operand.getOperandNumber(),
                         result.getResultNumber())))
      return false;
  }
  return true;
}

static bool readsValue(Operation *op, Value value, Bytes bytes) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    if (op->isAncestor(use.getOwner()))
      return true;
    if (!isView(use.getOwner()))
      return false;
    std::optional<Bytes> part = getViewedBytes(use, bytes);
    return part && readsValue(op, use.getOwner()->getResult(0), *part);
  });
}

bool tp::readsValue(Operation *op, Value value) {
  return ::readsValue(op, value, getAllBytes(value));
}

/// The first operation behind `op` that reads one of its results.
static Operation *findFirstUser(Operation *op) {
  Operation *first = op->getBlock()->getTerminator();
  for (Value result : op->getResults())
    if (Operation *reader = findReaderAfter(result, op);
        reader && reader->isBeforeInBlock(first))
      first = reader;
  // A view of a result has to stay behind it.
  for (Operation *user : op->getUsers())
    if (Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
        top && top->isBeforeInBlock(first))
      first = top;
  return first;
}

/// Put the operation that writes the successor behind the readers of the old
/// value, where it can go there, and kernels among them that need nothing of it
/// before it.
static void moveBehindReaders(const StateUpdate &update) {
  Operation *writer =
      getViewedTensor(update.successor->get()).root.getDefiningOp();
  if (!writer || !findReaderAfter(update.old, writer))
    return;
  writer->moveBefore(findFirstUser(writer));
  while (Operation *reader = findReaderAfter(update.old, writer)) {
    bool isReady = llvm::none_of(reader->getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer &&
             (producer == writer || writer->isBeforeInBlock(producer));
    });
    if (!isReady || !isa<func::CallOp, LibraryOpInterface>(reader))
      return;
    reader->moveBefore(writer);
  }
}

static LogicalResult checkUpdate(const StateUpdate &update) {
  Operation *writer =
      getViewedTensor(update.successor->get()).root.getDefiningOp();
  // As it was.
  if (!writer)
    return success();
  auto refuse = [&]() {
    return writer->emitOpError("cannot update state ")
           << update.state << " in its own memory: its old value is read ";
  };
  if (Operation *reader = findReaderAfter(update.old, writer)) {
    InFlightDiagnostic diag = refuse() << "after that";
    diag.attachNote(reader->getLoc())
        << "it is read here: read it before, or keep what is needed of it in a "
           "state of its own";
    return diag;
  }
  if (readsValue(writer, update.old) && !readsInPlace(writer, update)) {
    InFlightDiagnostic diag =
        refuse() << "by what writes it, at other elements than are written";
    diag.attachNote(update.old.getLoc())
        << "this is the old value: compute its successor element by element, "
           "and what is read elsewhere before it, as a value of its own";
    return diag;
  }
  // Device code may then not take the memories for different ones.
  auto call = dyn_cast<func::CallOp>(writer);
  if (call && readsValue(call, update.old))
    SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call,
                                                       call.getCalleeAttr())
        ->setAttr(inPlaceAttrName, UnitAttr::get(call.getContext()));
  return success();
}

LogicalResult tp::orderUpdates(Block &block) {
  for (Operation &op : block)
    if (auto repeat = dyn_cast<RepeatOp>(op))
      if (failed(orderUpdates(*repeat.getBodyBlock())))
        return failure();
  SmallVector<StateUpdate> updates = getStateUpdates(block);
  // One may move behind what another's old value is read by.
  for (size_t pass = 0; pass < updates.size(); ++pass)
    llvm::for_each(updates, moveBehindReaders);
  for (const StateUpdate &update : updates)
    if (failed(checkUpdate(update)))
      return failure();
  return success();
}
