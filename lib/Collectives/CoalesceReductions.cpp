//===- CoalesceReductions.cpp - tp-coalesce-reductions --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses which all-reduces of a block are one call, and puts those next to
// each other: what a call needs first, then the call, then what needs it. A
// call counts as one operation in that order, so that of two calls each of
// which needs some of the other only one can be.
//
// Example: target logits and exponentials are summed over the vocabulary; the
// latter need its maximum, the former do not, and are reduced later than they
// could be, in one call with the latter.
//
//===----------------------------------------------------------------------===//

#include "Rewrite.h"
#include "tp/Collectives/Passes.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

namespace tp {
#define GEN_PASS_DEF_COALESCEREDUCTIONS
#include "tp/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Up to here a call costs about as much for its rounds as for its bytes.
static constexpr int64_t smallBytes = 1 << 20;
/// So many calls are looked at for each reduction, the last ones.
static constexpr size_t numTried = 8;

/// A state that may be reduced where it lies.
static bool isState(CollectiveOpInterface op) {
  return bool(getReplacedState(op->getOperand(0)));
}

static bool isLargeState(CollectiveOpInterface op) {
  return isState(op) && getLocalBytes(op->getOperand(0)) > smallBytes;
}

/// What layers stack, and states, are in memory as a whole, whenever they are
/// reduced.
static bool isThere(CollectiveOpInterface op) {
  if (isState(op))
    return true;
  auto result = dyn_cast<OpResult>(op->getOperand(0));
  auto repeat = result ? dyn_cast<RepeatOp>(result.getOwner()) : RepeatOp();
  return repeat && result.getResultNumber() >= repeat.getInits().size();
}

namespace {
/// The calls of one block.
class BlockCalls {
public:
  explicit BlockCalls(Block &block) : block(block) {}

  /// Choose, move and mark; returns how many calls are saved. States of calls
  /// are added to `placed`.
  int64_t run(StringRef pass, DenseSet<Operation *> &placed);

private:
  struct Call {
    SmallVector<CollectiveOpInterface> members;
    /// Of the operands that are there anyway, and of others that are not small.
    int64_t thereBytes = 0, otherBytes = 0;
    /// Whether there are states that stay where they lie, and what is no state.
    bool hasLargeState = false, hasOther = false;
  };

  void add(CollectiveOpInterface op);
  static bool hasRoom(const Call &call, CollectiveOpInterface op);
  void put(CollectiveOpInterface op, Call &call, size_t number);
  /// Whether any of `ops` needs a result of one of `sources`.
  bool reaches(ArrayRef<CollectiveOpInterface> sources,
               ArrayRef<CollectiveOpInterface> ops) const;
  /// The operations of the block that `op` and all in it need, those that are
  /// one call with it not counted.
  template <typename Visit>
  void forEachNeed(Operation *op, Visit visit) const;
  /// Those of its call, or itself.
  SmallVector<Operation *> getUnit(Operation *op) const;
  void sort();

  Block &block;
  std::vector<Call> calls;
  llvm::DenseMap<Operation *, size_t> callOf;
};
} // namespace

SmallVector<Operation *> BlockCalls::getUnit(Operation *op) const {
  auto found = callOf.find(op);
  if (found == callOf.end())
    return {op};
  const Call &call = calls[found->second];
  return SmallVector<Operation *>(call.members.begin(), call.members.end());
}

template <typename Visit>
void BlockCalls::forEachNeed(Operation *op, Visit visit) const {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      Operation *top =
          producer ? block.findAncestorOpInBlock(*producer) : nullptr;
      if (top && top != op)
        visit(top);
    }
  });
}

bool BlockCalls::reaches(ArrayRef<CollectiveOpInterface> sources,
                         ArrayRef<CollectiveOpInterface> ops) const {
  llvm::SmallSetVector<Operation *, 32> work;
  for (CollectiveOpInterface op : ops)
    forEachNeed(op, [&](Operation *need) { work.insert(need); });
  for (size_t i = 0; i < work.size(); ++i)
    for (Operation *op : getUnit(work[i])) {
      if (llvm::is_contained(sources, op))
        return true;
      forEachNeed(op, [&](Operation *need) { work.insert(need); });
    }
  return false;
}

bool BlockCalls::hasRoom(const Call &call, CollectiveOpInterface op) {
  int64_t bytes = getLocalBytes(op->getOperand(0));
  return bytes <= smallBytes || isThere(op) ||
         call.otherBytes + bytes <= call.thereBytes;
}

void BlockCalls::put(CollectiveOpInterface op, Call &call, size_t number) {
  int64_t bytes = getLocalBytes(op->getOperand(0));
  if (isThere(op))
    call.thereBytes += bytes;
  else if (bytes > smallBytes)
    call.otherBytes += bytes;
  call.hasLargeState |= isLargeState(op);
  call.hasOther |= !isState(op);
  call.members.push_back(op);
  callOf[op] = number;
}

void BlockCalls::add(CollectiveOpInterface op) {
  size_t tried = 0;
  for (size_t number = calls.size(); number-- > 0 && tried < numTried;) {
    Call &call = calls[number];
    // States stay where they lie, but for small ones, which are copied to what
    // else there is.
    if (!areOfOneKind(call.members.front(), op) ||
        (call.hasLargeState && !isState(op)) ||
        (call.hasOther && isLargeState(op)))
      continue;
    ++tried;
    if (!hasRoom(call, op) || reaches(call.members, op) ||
        reaches(op, call.members))
      continue;
    return put(op, call, number);
  }
  calls.emplace_back();
  put(op, calls.back(), calls.size() - 1);
}

/// Operations in their order, as far as calls allow: each as soon as what it
/// needs is there and nothing that stood before it is ready.
void BlockCalls::sort() {
  llvm::DenseMap<Operation *, unsigned> position;
  for (Operation &op : block)
    position[&op] = position.size();
  // The last of a call stands for it.
  auto getLast = [&](Operation *op) {
    SmallVector<Operation *> unit = getUnit(op);
    return *llvm::max_element(unit, [&](Operation *a, Operation *b) {
      return position[a] < position[b];
    });
  };
  llvm::DenseMap<Operation *, llvm::SmallSetVector<Operation *, 4>> users;
  llvm::DenseMap<Operation *, unsigned> missing;
  using Entry = std::pair<unsigned, Operation *>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (Operation &op : block)
    forEachNeed(&op, [&](Operation *need) {
      if (users[getLast(need)].insert(getLast(&op)))
        ++missing[getLast(&op)];
    });
  for (Operation &op : block)
    if (getLast(&op) == &op && missing.lookup(&op) == 0)
      ready.push({position[&op], &op});
  while (!ready.empty()) {
    Operation *op = ready.top().second;
    ready.pop();
    for (Operation *member : getUnit(op))
      member->moveBefore(&block, block.end());
    for (Operation *user : users.lookup(op))
      if (--missing[user] == 0)
        ready.push({position[user], user});
  }
}

/// States that one call reduces are declared, and so lie, one behind the other;
/// a state can do so in one call.
static void placeStates(ArrayRef<CollectiveOpInterface> call,
                        DenseSet<Operation *> &placed) {
  SmallVector<StateOp> states;
  for (CollectiveOpInterface op : call) {
    states.push_back(getReplacedState(op->getOperand(0)));
    if (!states.back() || placed.contains(states.back()))
      return;
  }
  for (size_t i = 1; i < states.size(); ++i)
    states[i]->moveAfter(states[i - 1]);
  placed.insert_range(states);
}

int64_t BlockCalls::run(StringRef pass, DenseSet<Operation *> &placed) {
  SmallVector<CollectiveOpInterface> large;
  for (Operation &op : block) {
    auto collective = dyn_cast<AllReduceOp>(op);
    if (!collective || !collective.getLedgerAttr())
      continue;
    CollectiveOpInterface reduction = collective;
    if (getLocalBytes(collective.getInput()) <= smallBytes ||
        isThere(reduction))
      add(reduction);
    else
      large.push_back(reduction);
  }
  // They find all that is there.
  llvm::for_each(large, [&](CollectiveOpInterface op) { add(op); });
  int64_t saved = 0;
  for (Call &call : calls) {
    saved += call.members.size() - 1;
    llvm::sort(call.members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
  }
  if (saved == 0)
    return 0;
  sort();
  for (Call &call : calls)
    if (call.members.size() > 1) {
      placeStates(call.members, placed);
      for (CollectiveOpInterface op : call.members) {
        LedgerAttr entry = withPass(op.getLedgerEntry(), pass);
        int64_t id = call.members.front().getLedgerEntry().getId();
        op.setLedgerEntry(LedgerAttr::get(op.getContext(), id, entry.getCause(),
                                          entry.getAnnotation(),
                                          entry.getPass()));
      }
    }
  return saved;
}

namespace {
struct CoalesceReductions
    : tp::impl::CoalesceReductionsBase<CoalesceReductions> {
  void runOnOperation() override {
    DenseSet<Operation *> placed;
    auto run = [&](PerRankFunction &function) {
      SmallVector<Block *> blocks;
      function.function->walk([&](AllReduceOp op) {
        if (!llvm::is_contained(blocks, op->getBlock()))
          blocks.push_back(op->getBlock());
      });
      for (Block *block : blocks)
        numCoalesced += BlockCalls(*block).run(getArgument(), placed);
      return success();
    };
    if (failed(forEachFunction(getOperation(), run)))
      return signalPassFailure();
  }
};
} // namespace
