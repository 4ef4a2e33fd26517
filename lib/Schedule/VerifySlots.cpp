//===- VerifySlots.cpp - No addend is overwritten while peers read it -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of tp-verify-schedule. The program is run on the bytes of the slots, and
// shares no code with what assigns them: a range that was handed to peers stays
// theirs until this rank has passed a meeting of their group behind its own
// last read of the group's addends.
//
//===----------------------------------------------------------------------===//

#include "PeerSlots.h"

#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"
#include <set>
#include <tuple>

using namespace mlir;
using namespace tp;

namespace {

/// Bytes of a slot that peers may read, or will.
struct Lent {
  int64_t begin, end;
  Operation *writer;
  Operation *peers = nullptr; ///< that has handed them out
  bool left = false;          ///< the block of `peers` has run to its end

  bool operator<(const Lent &other) const {
    return std::tie(begin, end, writer, peers, left) <
           std::tie(other.begin, other.end, other.writer, other.peers,
                    other.left);
  }
  bool operator==(const Lent &other) const = default;
};
using LentSet = std::set<Lent>;

class SlotChecker {
public:
  LogicalResult check(ArrayRef<func::FuncOp> functions) {
    LentSet start;
    for (bool changed = true; changed;) {
      changed = false;
      for (func::FuncOp function : functions) {
        bytes = 0;
        if (auto attr = function->getAttrOfType<IntegerAttr>(slotBytesAttrName))
          bytes = attr.getInt();
        LentSet lent = start;
        if (failed(check(function.getBody().front(), lent)))
          return failure();
        for (const Lent &one : lent)
          changed |= start.insert(one).second;
      }
    }
    return success();
  }

private:
  int64_t bytes = 0; ///< of the function's slots

  LogicalResult check(Block &block, LentSet &lent) {
    for (Operation &op : block) {
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        for (uint64_t i = 0; i < repeat.getCount(); ++i) {
          LentSet before = lent;
          if (failed(check(*repeat.getBodyBlock(), lent)))
            return failure();
          if (lent == before)
            break;
        }
        continue;
      }
      if (isa<PeersOp, MeetOp>(op))
        pass(&op, lent);
      if (failed(isa<PeersOp>(op) ? lend(cast<PeersOp>(op), lent)
                                  : write(&op, lent)))
        return failure();
    }
    LentSet after;
    for (Lent one : lent) {
      one.left |= one.peers && one.peers->getBlock() == &block;
      after.insert(one);
    }
    lent = std::move(after);
    return success();
  }

  /// The place of a result in a slot, if that is where it lies.
  static std::optional<int64_t> getSlot(OpResult result) {
    auto buffers = result.getOwner()->getAttrOfType<ArrayAttr>(buffersAttrName);
    if (!buffers || result.getResultNumber() >= buffers.size())
      return std::nullopt;
    auto buffer = dyn_cast<BufferAttr>(buffers[result.getResultNumber()]);
    if (!buffer || buffer.getSpace().getValue() != "slot")
      return std::nullopt;
    return buffer.getOffset();
  }

  LogicalResult write(Operation *op, LentSet &lent) {
    for (OpResult result : op->getResults()) {
      std::optional<int64_t> begin = getSlot(result);
      if (!begin)
        continue;
      int64_t end =
          *begin + getTensorBytes(cast<RankedTensorType>(result.getType()));
      if (*begin < 0 || end > bytes)
        return op->emitOpError("writes outside of the slots: bytes ")
               << *begin << " to " << end << " of " << bytes;
      for (const Lent &one : lent) {
        if (one.begin >= end || *begin >= one.end)
          continue;
        InFlightDiagnostic diag = op->emitOpError("writes bytes ")
                                  << *begin << " to " << end
                                  << " of the slots, where an addend may "
                                     "still be read";
        diag.attachNote(one.writer->getLoc()) << "the addend is made here";
        return diag;
      }
      lent.insert({*begin, end, op});
    }
    return success();
  }

  static LogicalResult lend(PeersOp op, LentSet &lent) {
    auto root = dyn_cast<OpResult>(getViewedTensor(op.getInput()).root);
    std::optional<int64_t> begin = root ? getSlot(root) : std::nullopt;
    if (begin)
      for (Lent one : lent)
        if (one.writer == root.getOwner() && !one.peers &&
            one.begin == *begin) {
          lent.erase(one);
          one.peers = op;
          lent.insert(one);
          return success();
        }
    return op.emitOpError("expected an addend in a slot, made since it was "
                          "handed out last");
  }

  /// True if the addends of `peers`, or what it has as its own, are read in its
  /// block behind `op`.
  static bool isReadBehind(Operation *peers, Operation *op) {
    Operation *at = peers->getBlock()->findAncestorOpInBlock(*op);
    if (!at)
      return false;
    SmallVector<Value> values(peers->getResults());
    values.push_back(getViewedTensor(peers->getOperand(0)).root);
    while (!values.empty())
      for (Operation *user : values.pop_back_val().getUsers()) {
        Operation *top = peers->getBlock()->findAncestorOpInBlock(*user);
        if (!top || !top->isBeforeInBlock(at))
          return true;
        if (isView(user))
          values.push_back(user->getResult(0));
      }
    return false;
  }

  static bool areOfOneGroup(Operation *a, Operation *b) {
    return a->getAttr("mesh") == b->getAttr("mesh") &&
           a->getAttr("axes") == b->getAttr("axes");
  }

  static void pass(Operation *meeting, LentSet &lent) {
    std::erase_if(lent, [&](const Lent &one) {
      return one.peers && areOfOneGroup(one.peers, meeting) &&
             (one.left || !isReadBehind(one.peers, meeting));
    });
  }
};

} // namespace

LogicalResult tp::verifyPeerSlots(ArrayRef<func::FuncOp> functions) {
  return SlotChecker().check(functions);
}
