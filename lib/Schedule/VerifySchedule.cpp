//===- VerifySchedule.cpp - The schedule stage's contract -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the program in order as it will run, keeping the memory that holds a
// value still to be read, and checks each operation's results against it. This
// shares no code with the planner.
//
//===----------------------------------------------------------------------===//

#include "PeerSlots.h"
#include "States.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Passes.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Support/Bytes.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

/// Bytes that hold a value somebody will read.
struct Occupied {
  Value value;
  StringAttr space;
  int64_t begin, end;
};

class Checker {
public:
  Checker(func::FuncOp function, bool requireAwait)
      : function(function), requireAwait(requireAwait) {}

  LogicalResult check(Block &block, ArrayRef<Occupied> around) {
    for (const StateUpdate &update : getStateUpdates(block))
      if (failed(checkUpdate(update)))
        return failure();
    SmallVector<Occupied> live(around);
    for (Operation &op : block) {
      if (requireAwait && isa<CollectiveOpInterface>(op) && !isa<PeersOp>(op) &&
          !getAwait(&op))
        return op.emitOpError("is started and never awaited: expected "
                              "tp.await of its result");
      if (failed(checkKnown(&op)))
        return failure();
      // A view changes nothing; but an await ends the use of operands.
      if (op.hasTrait<OpTrait::IsTerminator>() ||
          (isView(&op) && !isa<AwaitOp>(op)))
        continue;
      SmallVector<Occupied> made;
      if (failed(collect(&op, made)))
        return failure();
      for (const Occupied &next : made) {
        if (failed(checkBounds(&op, next)))
          return failure();
        for (const Occupied &other : live) {
          bool overlaps = next.space == other.space && next.begin < other.end &&
                          other.begin < next.end;
          if (!overlaps || mayReplace(&op, next, other))
            continue;
          InFlightDiagnostic diag = op.emitOpError("writes bytes ")
                                    << next.begin << " to " << next.end
                                    << " of " << next.space.getValue()
                                    << ", where a value is that is still read";
          diag.attachNote(other.value.getLoc()) << "the value is made here";
          return diag;
        }
      }
      if (auto join = dyn_cast<JoinOp>(op);
          join && failed(checkJoin(join, made.front(), live)))
        return failure();
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        // All of the carried values' places are in use during the loop.
        SmallVector<Occupied> inside(live);
        llvm::append_range(inside, made);
        if (failed(check(*repeat.getBodyBlock(), inside)))
          return failure();
        // Afterwards only one place of each carried value matters.
        SmallVector<Occupied> after;
        for (auto [i, entry] : llvm::enumerate(made))
          if (i >= 2 * repeat.getInits().size() ||
              int64_t(i % 2) == repeat.getCount() % 2)
            after.push_back(entry);
        made = after;
      }
      llvm::append_range(live, made);
      // Forget what nobody reads after this operation.
      llvm::erase_if(live, [&](const Occupied &entry) {
        bool isOuter = llvm::any_of(around, [&](const Occupied &outer) {
          return outer.value == entry.value;
        });
        return !isOuter && !isReadAfter(entry.value, &op);
      });
    }
    return success();
  }

private:
  func::FuncOp function;
  /// Collectives are asynchronous.
  bool requireAwait;

  /// The successor lies where the old value lies.
  LogicalResult checkUpdate(const StateUpdate &update) {
    Operation *writer =
        getViewedTensor(update.successor->get()).root.getDefiningOp();
    if (!writer)
      return success();
    bool readsItself = readsValue(writer, update.old);
    if (isReadAfter(update.old, writer) ||
        (readsItself && !readsInPlace(writer, update))) {
      InFlightDiagnostic diag = writer->emitOpError("writes state ")
                                << update.state
                                << ", whose old value is still read";
      diag.attachNote(update.old.getLoc()) << "the value is this";
      return diag;
    }
    return success();
  }

  LogicalResult checkKnown(Operation *op) {
    if (auto join = dyn_cast<JoinOp>(op); join && join.getInPlace())
      return checkStates(join);
    if (isa<func::CallOp, func::ReturnOp, LibraryOpInterface,
            CollectiveOpInterface, RepeatOp, YieldOp, ParameterOp, RankOp,
            arith::ConstantOp, tensor::EmptyOp, JoinOp, MeetOp>(op) ||
        isView(op))
      return success();
    bool isScalar = llvm::none_of(
        llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                 llvm::to_vector(op->getResultTypes())),
        [](Type type) { return isa<RankedTensorType>(type); });
    if (isScalar && op->hasTrait<OpTrait::Elementwise>())
      return success();
    return op->emitOpError(
        "is left after schedule: expected kernels, "
        "collectives, library operations and scalar arithmetic; "
        "give it a decomposition to linalg");
  }

  LogicalResult collect(Operation *op, SmallVectorImpl<Occupied> &made) {
    if (!isa<func::CallOp, LibraryOpInterface, CollectiveOpInterface, RepeatOp,
             JoinOp>(op))
      return success();
    auto buffers = op->getAttrOfType<ArrayAttr>(buffersAttrName);
    auto repeat = dyn_cast<RepeatOp>(op);
    size_t numCarried = repeat ? repeat.getInits().size() : 0;
    if (!buffers || buffers.size() != op->getNumResults() + numCarried)
      return op->emitOpError("expected a place for each result");
    for (auto [i, attr] : llvm::enumerate(buffers)) {
      auto buffer = dyn_cast<BufferAttr>(attr);
      if (!buffer)
        return op->emitOpError("expected a #tp.buffer, got ") << attr;
      size_t result = i < 2 * numCarried ? i / 2 : i - numCarried;
      Value value = op->getResult(result);
      StringRef space = buffer.getSpace().getValue();
      if (space != "arena" && space != "comm") {
        if (isa<PeersOp>(op) ? space != "peer" : isa<CollectiveOpInterface>(op))
          return op->emitOpError("expected a result in an arena, got ")
                 << buffer;
        continue;
      }
      int64_t bytes = getTensorBytes(cast<RankedTensorType>(value.getType()));
      made.push_back({value, buffer.getSpace(), buffer.getOffset(),
                      buffer.getOffset() + bytes});
    }
    return success();
  }

  LogicalResult checkBounds(Operation *op, const Occupied &entry) {
    StringRef name = entry.space.getValue() == "arena" ? arenaBytesAttrName
                                                       : commBytesAttrName;
    auto size = function->getAttrOfType<IntegerAttr>(name);
    int64_t bytes = size ? size.getInt() : 0;
    // Slots lie before the places in "comm".
    auto slots = function->getAttrOfType<IntegerAttr>(slotBytesAttrName);
    if (slots && name == commBytesAttrName)
      bytes -= slots.getInt();
    if (!size || entry.begin < 0 || entry.end > bytes)
      return op->emitOpError("writes outside the ")
             << entry.space.getValue() << " arena: bytes " << entry.begin
             << " to " << entry.end << " of " << bytes;
    return success();
  }

  /// States that are joined in place lie one behind the other, and nobody else
  /// wants their old values.
  LogicalResult checkStates(JoinOp join) {
    StateOp before;
    for (auto [index, input] : llvm::enumerate(join.getInputs())) {
      StateOp state = getReplacedState(input);
      if (!state)
        return join.emitOpError("expected operand ")
               << index
               << " to be a state that the function replaces and reads here "
                  "alone";
      if (before && !liesBehind(state, before)) {
        InFlightDiagnostic diag = join.emitOpError("expected state @")
                                  << state.getSymName()
                                  << " to be declared right behind @"
                                  << before.getSymName();
        diag.attachNote(state.getLoc()) << "it is declared here";
        return diag;
      }
      before = state;
    }
    return success();
  }

  /// A part that is joined lies in its place.
  LogicalResult checkJoin(JoinOp join, const Occupied &whole,
                          ArrayRef<Occupied> live) {
    int64_t bytes = getElementBytes(join.getType().getElementType());
    for (auto [index, input] : llvm::enumerate(join.getInputs())) {
      Value root = getViewedTensor(input).root;
      int64_t begin = whole.begin + join.getOffsets()[index] * bytes;
      if (!llvm::any_of(live, [&](const Occupied &part) {
            return part.value == root && part.space == whole.space &&
                   part.begin == begin;
          }))
        return join.emitOpError("expected operand ")
               << index << " to lie where it is joined, at byte " << begin
               << " of " << whole.space.getValue();
    }
    return success();
  }

  /// True if `op` may write `next` over `other`, which it reads.
  bool mayReplace(Operation *op, const Occupied &next, const Occupied &other) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      return collective.getRow().inPlace &&
             getViewedTensor(op->getOperand(0)).root == other.value &&
             next.begin == other.begin && next.end == other.end &&
             !isReadAfter(other.value, op, op);
    // It writes nothing.
    if (isa<JoinOp>(op))
      return llvm::any_of(op->getOperands(), [&](Value input) {
        return getViewedTensor(input).root == other.value &&
               !isReadAfter(other.value, op);
      });
    // The first place of a carried value holds the initial value.
    if (auto repeat = dyn_cast<RepeatOp>(op))
      return llvm::is_contained(repeat.getInits(), other.value) &&
             next.begin == other.begin && next.end == other.end &&
             !isReadAfter(other.value, op);
    return false;
  }

  /// True if an operation after `op` in its block reads `value` or a view, or
  /// began to read it, asynchronously, and is awaited after `op`; `inPlace` is
  /// a collective that may overwrite it.
  bool isReadAfter(Value value, Operation *op, Operation *inPlace = nullptr) {
    auto type = cast<RankedTensorType>(value.getType());
    return isReadAfter(value, {0, getTensorBytes(type)}, op, inPlace);
  }

  bool isReadAfter(Value value, Bytes bytes, Operation *op,
                   Operation *inPlace) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      std::optional<Bytes> part =
          isView(user) ? getViewedBytes(use, bytes) : bytes;
      if (!part)
        continue;
      Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
      if (top && op->isBeforeInBlock(top))
        return true;
      AwaitOp await = getAwait(user);
      if (await && user != inPlace && await->getBlock() == op->getBlock() &&
          op->isBeforeInBlock(await))
        return true;
      if (top && isView(user) &&
          isReadAfter(user->getResult(0), *part, op, inPlace))
        return true;
    }
    return false;
  }
};

struct VerifySchedulePass : tp::impl::VerifyScheduleBase<VerifySchedulePass> {
  using VerifyScheduleBase::VerifyScheduleBase;
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(kernelAttrName) || function.isExternal())
        continue;
      functions.push_back(function);
      if (failed(Checker(function, asynchronous)
                     .check(function.getBody().front(), {})))
        return signalPassFailure();
    }
    if (failed(verifyPeerSlots(functions)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
