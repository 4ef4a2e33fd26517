//===- PeerSlots.cpp - Memory of addends that peers read ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A member of a group that arrives at a tp.peers has read what it read of those
// before. So an addend is free once its readers have run here and this rank has
// then passed another tp.peers of the group: all members have arrived there.
// The program is run with an endless supply of slots until nothing changes; two
// addends of which one is written while the other is not free need two slots.
//
// Example: a loop of two sums a and b, and a sum c behind it. b is written when
// a has been read but not passed, a when b has, c when b has, and a, in the
// next step, when c has: three slots. With c in the loop as well, two do not
// close the cycle of three either; with four sums in the loop they do.
//
//===----------------------------------------------------------------------===//

#include "PeerSlots.h"

#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

PeersOp tp::findPeers(Value value) {
  for (Operation *user : value.getUsers()) {
    if (auto peers = dyn_cast<PeersOp>(user))
      return peers;
    if (isView(user))
      if (PeersOp found = findPeers(user->getResult(0)))
        return found;
  }
  return nullptr;
}

namespace {

/// An addend lives from its producer to the last operation that reads it, or
/// the other ranks' addends.
struct Site {
  PeersOp op;
  Operation *writer, *lastReader;
  int64_t bytes;
  llvm::BitVector conflicts; ///< sites that need another slot
  bool meets = false;        ///< a tp.meet follows the last reader
};

enum class Phase : uint8_t { Free, Read, Reading, Written };
using Phases = SmallVector<Phase>;

class Runs {
public:
  explicit Runs(ArrayRef<func::FuncOp> functions) : functions(functions) {
    for (func::FuncOp function : functions)
      func::FuncOp(function).walk([&](PeersOp op) { addSite(op); });
    for (Site &site : sites)
      site.conflicts.resize(sites.size());
  }

  /// Until no addend stands in its own way.
  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Site &site : sites)
        site.conflicts.reset();
      runFunctions();
      for (auto [i, site] : llvm::enumerate(sites))
        if (site.conflicts[i])
          changed = site.meets = true;
    }
  }

  SmallVector<Site> sites;

private:
  ArrayRef<func::FuncOp> functions;
  DenseMap<Operation *, SmallVector<unsigned, 1>> writtenBy, lastReadBy;
  DenseMap<Operation *, unsigned> siteOf;

  static Operation *findLastReader(PeersOp op) {
    Operation *last = op;
    SmallVector<Value> values(op.getAddends());
    values.push_back(getViewedTensor(op.getInput()).root);
    while (!values.empty())
      for (Operation *user : values.pop_back_val().getUsers()) {
        Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
        if (last->isBeforeInBlock(top))
          last = top;
        if (isView(user))
          values.push_back(user->getResult(0));
      }
    return last;
  }

  void addSite(PeersOp op) {
    Operation *writer = getViewedTensor(op.getInput()).root.getDefiningOp();
    Operation *lastReader = findLastReader(op);
    siteOf[op] = sites.size();
    writtenBy[writer].push_back(sites.size());
    lastReadBy[lastReader].push_back(sites.size());
    auto type = cast<RankedTensorType>(op.getInput().getType());
    sites.push_back({op, writer, lastReader, getTensorBytes(type), {}});
  }

  /// The functions in every order: each begins as any may have ended.
  void runFunctions() {
    Phases start(sites.size(), Phase::Free);
    for (bool changed = true; changed;) {
      changed = false;
      for (func::FuncOp function : functions) {
        Phases end = start;
        runBlock(function.getBody().front(), end);
        for (auto [before, after] : llvm::zip(start, end))
          if (after > before) {
            before = after;
            changed = true;
          }
      }
    }
  }

  void runBlock(Block &block, Phases &phases) {
    for (Operation &op : block) {
      if (auto repeat = dyn_cast<RepeatOp>(op))
        runRepeat(repeat, phases);
      for (unsigned site : writtenBy.lookup(&op))
        write(site, phases);
      if (auto peers = dyn_cast<PeersOp>(op)) {
        pass(peers, phases);
        phases[siteOf[peers]] = Phase::Reading;
      }
      for (unsigned site : lastReadBy.lookup(&op)) {
        phases[site] = Phase::Read;
        if (sites[site].meets)
          pass(sites[site].op, phases);
      }
    }
  }

  void runRepeat(RepeatOp repeat, Phases &phases) {
    for (uint64_t i = 0; i < repeat.getCount(); ++i) {
      Phases before = phases;
      runBlock(*repeat.getBodyBlock(), phases);
      if (phases == before)
        return;
    }
  }

  void write(unsigned site, Phases &phases) {
    for (auto [other, phase] : llvm::enumerate(phases))
      if (phase != Phase::Free) {
        sites[site].conflicts.set(other);
        sites[other].conflicts.set(site);
      }
    phases[site] = Phase::Written;
  }

  /// This rank is past a meeting of the group of `at`.
  void pass(PeersOp at, Phases &phases) {
    for (auto [site, phase] : llvm::zip(sites, phases))
      if (phase == Phase::Read && site.op.getMeshAttr() == at.getMeshAttr() &&
          site.op.getAxes() == at.getAxes())
        phase = Phase::Free;
  }
};

struct Slot {
  llvm::BitVector sites;
  int64_t bytes = 0, offset = 0;
};

} // namespace

PeerSlots tp::assignPeerSlots(ArrayRef<func::FuncOp> functions,
                              int64_t alignment) {
  Runs runs(functions);
  runs.run();
  SmallVector<Slot> slots;
  SmallVector<unsigned> slotOf;
  for (auto [i, site] : llvm::enumerate(runs.sites)) {
    auto free = llvm::find_if(slots, [&](const Slot &slot) {
      return !slot.sites.anyCommon(site.conflicts);
    });
    slotOf.push_back(free - slots.begin());
    if (free == slots.end())
      slots.push_back({llvm::BitVector(runs.sites.size())});
    Slot &slot = slots[slotOf.back()];
    slot.sites.set(i);
    slot.bytes = std::max(slot.bytes, site.bytes);
  }
  PeerSlots result;
  for (Slot &slot : slots) {
    slot.offset = result.bytes;
    result.bytes += llvm::alignTo(slot.bytes, alignment);
  }
  for (auto [site, slot] : llvm::zip(runs.sites, slotOf)) {
    result.sites.push_back({site.op, slots[slot].offset});
    if (!site.meets)
      continue;
    OpBuilder builder(site.op->getContext());
    builder.setInsertionPointAfter(site.lastReader);
    MeetOp::create(builder, site.op.getLoc(), site.op.getMeshAttr(),
                   site.op.getAxes(), site.op.getLedgerAttr());
  }
  return result;
}
