//===- PlanBuffers.cpp - A place in memory for every tensor ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block is planned after the blocks inside it. Its operations are numbered;
// a tensor lives from the operation that makes it to the last that reads it or
// a view of it. Largest first, each gets the lowest place that no tensor alive
// at the same time has. The body of a repeated layer is one tensor, as far as
// the block around it is concerned: its workspace.
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"
#include "PeerSlots.h"
#include "States.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Schedule/Outline.h"
#include "tp/Schedule/Passes.h"
#include "tp/Schedule/Views.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Support/Bytes.h"
#include "llvm/Support/MathExtras.h"

namespace tp {
#define GEN_PASS_DEF_PLANBUFFERS
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// True if elements of this type have a size in memory.
static bool hasBytes(Type element) {
  return isa<Float64Type, Float32Type, BFloat16Type, Float16Type>(element) ||
         llvm::any_of(ArrayRef<unsigned>{64, 32, 16, 8, 1}, [&](unsigned bits) {
           return element.isSignlessInteger(bits);
         });
}

namespace {

constexpr int64_t alignment = 64;

/// The join that `value` is computed for, and as which of its operands; what
/// else is joined has been copied.
static OpOperand *findJoin(Value value) {
  while (value.hasOneUse()) {
    OpOperand &use = *value.getUses().begin();
    if (isa<JoinOp>(use.getOwner()))
      return &use;
    if (!isView(use.getOwner()))
      return nullptr;
    value = use.getOwner()->getResult(0);
  }
  return nullptr;
}

/// Something that needs memory for a while.
struct Item {
  int64_t bytes;
  bool inComm;
  unsigned begin, end; ///< numbers of operations, inclusive
  int64_t offset = -1;
  /// Called with the place once it is known.
  std::function<void(int64_t)> assign;
};

struct Sizes {
  int64_t arena = 0, comm = 0;
};

/// Inserts the copies that the rules of placement need.
class Copies {
public:
  explicit Copies(ModuleOp module)
      : outliner(module, "rows"), builder(module) {}

  void run(func::FuncOp function) {
    function.walk([&](RepeatOp repeat) { prepareRepeat(repeat); });
    function.walk([&](CollectiveOpInterface op) {
      OpOperand &operand = op->getOpOperand(0);
      Value root = getViewedTensor(operand.get()).root;
      if (root.getDefiningOp<arith::ConstantOp>() ||
          (isa<PeersOp>(op) && !isMadeForPeers(operand)))
        copy(operand);
    });
    function.walk([&](JoinOp op) {
      if (op.getInPlace())
        return;
      for (OpOperand &operand : op->getOpOperands())
        if (!isMadeForJoin(operand))
          copy(operand);
    });
    llvm::DenseSet<Value> taken;
    Operation *end = function.getBody().front().getTerminator();
    for (OpOperand &operand : end->getOpOperands()) {
      ViewedTensor view = getViewedTensor(operand.get());
      if (staysInPlace(function, operand))
        continue;
      bool direct = (isWriter(view.root, end->getBlock()) ||
                     isStackedState(function, operand)) &&
                    isWhole(operand) && !feedsOther(view.root, end) &&
                    taken.insert(view.root).second;
      if (!direct)
        copy(operand);
    }
  }

private:
  Outliner outliner;
  OpBuilder builder;

  /// Made by an operation of `block` that can write anywhere.
  static bool isWriter(Value value, Block *block) {
    Operation *op = value.getDefiningOp();
    return op && op->getBlock() == block &&
           isa<func::CallOp, LibraryOpInterface>(op);
  }
  /// Nothing else reads it, and what makes it can write it into the join.
  static bool isMadeForJoin(OpOperand &operand) {
    Value root = getViewedTensor(operand.get()).root;
    Block *block = operand.getOwner()->getBlock();
    auto repeat = root.getDefiningOp<RepeatOp>();
    bool isStack = repeat && repeat->getBlock() == block &&
                   llvm::is_contained(repeat.getStackedResults(), root);
    return (isStack || isWriter(root, block)) && isWhole(operand) &&
           findJoin(root) == &operand;
  }
  /// Nothing else has a say in its place, and what makes it can write it into a
  /// slot.
  static bool isMadeForPeers(OpOperand &operand) {
    Operation *op = operand.getOwner();
    Value root = getViewedTensor(operand.get()).root;
    return isWriter(root, op->getBlock()) && isWhole(operand) &&
           !feedsOther(root, op);
  }
  /// A state that the function returns as it was.
  static bool staysInPlace(func::FuncOp function, OpOperand &operand) {
    auto argument = dyn_cast<BlockArgument>(operand.get());
    FlatSymbolRefAttr state =
        getResultState(function, operand.getOperandNumber());
    return state && argument &&
           getArgState(function, argument.getArgNumber()) == state;
  }
  /// A state that a repeated layer makes, layer by layer.
  static bool isStackedState(func::FuncOp function, OpOperand &operand) {
    auto repeat = operand.get().getDefiningOp<RepeatOp>();
    return repeat &&
           llvm::is_contained(repeat.getStackedResults(), operand.get()) &&
           getResultState(function, operand.getOperandNumber());
  }
  /// The operand is all of its root.
  static bool isWhole(OpOperand &operand) {
    Value root = getViewedTensor(operand.get()).root;
    return getTensorBytes(cast<RankedTensorType>(root.getType())) ==
           getTensorBytes(cast<RankedTensorType>(operand.get().getType()));
  }
  /// A view of `value` is read by an operation that has a say in its place.
  static bool feedsOther(Value value, Operation *except) {
    for (Operation *user : value.getUsers()) {
      if (user == except)
        continue;
      if (isa<CollectiveOpInterface, RepeatOp, YieldOp, func::ReturnOp, JoinOp>(
              user))
        return true;
      if (isView(user) && feedsOther(user->getResult(0), except))
        return true;
    }
    return false;
  }

  void prepareRepeat(RepeatOp repeat) {
    for (OpOperand &init :
         repeat->getOpOperands().take_front(repeat.getInits().size())) {
      Value root = getViewedTensor(init.get()).root;
      if (root != init.get() || !isWriter(root, repeat->getBlock()) ||
          !root.hasOneUse())
        copy(init);
    }
    llvm::DenseSet<Value> taken;
    Operation *yield = repeat.getYield();
    for (OpOperand &operand : yield->getOpOperands()) {
      Value root = getViewedTensor(operand.get()).root;
      bool direct = isWriter(root, yield->getBlock()) && isWhole(operand) &&
                    !feedsOther(root, yield) && taken.insert(root).second;
      if (!direct)
        copy(operand);
    }
  }

  void copy(OpOperand &operand) {
    Value value = operand.get();
    Location loc = value.getLoc();
    builder.setInsertionPoint(operand.getOwner());
    auto type = cast<RankedTensorType>(value.getType());
    auto emitter = nn::Emitter::inType(builder, loc, type.getElementType());
    Value copied = emitter.mapEach(
        type, value, [](nn::Scalar &, ValueRange v) { return v[0]; });
    operand.set(copied);
    auto generic = copied.getDefiningOp<linalg::GenericOp>();
    Value empty = generic.getDpsInits().front();
    outliner.outline(
        {generic.getOperation()},
        builder.getNamedAttr(rowDimsAttrName,
                             builder.getI64IntegerAttr(
                                 std::max<int64_t>(0, type.getRank() - 1))));
    if (empty.use_empty())
      empty.getDefiningOp()->erase();
  }
};

class Planner {
public:
  explicit Planner(MLIRContext *context) : context(context) {}

  /// Plans `block`; the places it writes are relative to its own workspace.
  Sizes plan(Block &block) {
    Numbers number = numberOperations(block);
    SmallVector<Item> items;
    // All-reduces in place share their operand's item.
    llvm::DenseMap<Value, unsigned> itemOf;
    for (Operation &op : block) {
      unsigned now = number[&op];
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        planRepeat(repeat, now, number, items, itemOf);
        continue;
      }
      if (auto join = dyn_cast<JoinOp>(op); join && !join.getInPlace())
        planJoin(join, now, number, items, itemOf);
      if (auto peers = dyn_cast<PeersOp>(op))
        setPeers(peers);
      if (!needsMemory(&op))
        continue;
      SmallVector<Attribute> buffers(op.getNumResults());
      op.setAttr(buffersAttrName, UnitAttr::get(context));
      for (OpResult result : op.getResults()) {
        // Slots are assigned to all functions together.
        if (findJoin(result) || findPeers(result))
          continue;
        unsigned last = getLastUse(result, block, number, now);
        if (BufferAttr fixed = getFixedPlace(result)) {
          setBuffer(result, fixed);
          continue;
        }
        bool inComm = isa<CollectiveOpInterface>(op) || feedsCollective(result);
        if (Value shared = getInPlaceOperand(&op, block, number)) {
          auto found = itemOf.find(shared);
          if (found != itemOf.end()) {
            Item &item = items[found->second];
            item.end = std::max(item.end, last);
            itemOf[result] = found->second;
            auto before = item.assign;
            item.assign = [=, this](int64_t offset) {
              before(offset);
              setBuffer(result, getPlace(true, offset));
            };
            continue;
          }
        }
        itemOf[result] = items.size();
        items.push_back(
            {getTensorBytes(cast<RankedTensorType>(result.getType())), inComm,
             now, last, -1, [=, this](int64_t offset) {
               setBuffer(result, getPlace(inComm, offset));
             }});
      }
    }
    return place(items);
  }

  static void setBuffer(OpResult result, BufferAttr buffer) {
    Operation *op = result.getOwner();
    SmallVector<Attribute> buffers;
    if (auto old = op->getAttrOfType<ArrayAttr>(buffersAttrName))
      buffers.assign(old.begin(), old.end());
    buffers.resize(op->getNumResults(), buffer);
    buffers[result.getResultNumber()] = buffer;
    op->setAttr(buffersAttrName, ArrayAttr::get(op->getContext(), buffers));
  }

  static void placeAddend(const PeerSlot &slot) {
    setBuffer(cast<OpResult>(getViewedTensor(PeersOp(slot.op).getInput()).root),
              getPlace(slot.op->getContext(), "slot", slot.offset));
  }

private:
  MLIRContext *context;

  static BufferAttr getPlace(MLIRContext *context, StringRef space,
                             int64_t offset) {
    return BufferAttr::get(context, StringAttr::get(context, space), offset);
  }

  /// Each result is the memory of a member of the group.
  static void setPeers(PeersOp op) {
    for (OpResult result : op->getResults())
      setBuffer(result,
                getPlace(op.getContext(), "peer", result.getResultNumber()));
  }

  BufferAttr getPlace(bool inComm, int64_t offset) {
    return BufferAttr::get(
        context, StringAttr::get(context, inComm ? "comm" : "arena"), offset);
  }

  static bool feedsCollective(Value value) {
    for (Operation *user : value.getUsers())
      if (isa<CollectiveOpInterface>(user) ||
          (isView(user) && feedsCollective(user->getResult(0))))
        return true;
    return false;
  }

  /// One place from the first operand that is made until nothing of the join is
  /// read any more.
  void planJoin(JoinOp join, unsigned now, Numbers &number,
                SmallVector<Item> &items,
                llvm::DenseMap<Value, unsigned> &itemOf) {
    unsigned begin = now;
    SmallVector<OpResult> parts;
    for (Value input : join.getInputs()) {
      parts.push_back(cast<OpResult>(getViewedTensor(input).root));
      begin = std::min(begin, number[parts.back().getOwner()]);
    }
    OpResult whole = join->getResult(0);
    bool inComm = feedsCollective(whole);
    itemOf[whole] = items.size();
    items.push_back(
        {getTensorBytes(join.getType()), inComm, begin,
         getLastUse(whole, *join->getBlock(), number, now), -1,
         [=, this](int64_t offset) mutable {
           setBuffer(whole, getPlace(inComm, offset));
           int64_t bytes = getElementBytes(join.getType().getElementType());
           for (auto [part, first] : llvm::zip(parts, join.getOffsets())) {
             BufferAttr place = getPlace(inComm, offset + first * bytes);
             if (auto repeat = dyn_cast<RepeatOp>(part.getOwner()))
               setSlot(repeat,
                       repeat.getInits().size() + part.getResultNumber(),
                       place);
             else
               setBuffer(part, place);
           }
         }});
  }

  /// The place of a carried value or of a stacked result.
  static void setSlot(Operation *repeat, size_t slot, BufferAttr buffer) {
    auto old = repeat->getAttrOfType<ArrayAttr>(buffersAttrName);
    SmallVector<Attribute> buffers(old.begin(), old.end());
    buffers[slot] = buffer;
    repeat->setAttr(buffersAttrName,
                    ArrayAttr::get(repeat->getContext(), buffers));
  }

  void planRepeat(RepeatOp repeat, unsigned now, Numbers &number,
                  SmallVector<Item> &items,
                  llvm::DenseMap<Value, unsigned> &itemOf) {
    Sizes inside = plan(*repeat.getBodyBlock());
    for (bool inComm : {false, true}) {
      int64_t bytes = inComm ? inside.comm : inside.arena;
      if (bytes == 0)
        continue;
      items.push_back({bytes, inComm, now, now, -1, [=, this](int64_t offset) {
                         shift(repeat, inComm, offset);
                       }});
    }
    // [first place, second place] of each carried value, then stacked results.
    size_t numCarried = repeat.getInits().size();
    size_t numStacked = repeat->getNumResults() - numCarried;
    repeat->setAttr(buffersAttrName,
                    ArrayAttr::get(context, SmallVector<Attribute>(
                                                2 * numCarried + numStacked,
                                                getPlace(false, 0))));
    auto setSlot = [op = repeat.getOperation()](size_t slot,
                                                BufferAttr buffer) {
      Planner::setSlot(op, slot, buffer);
    };
    for (size_t i = 0; i < numCarried; ++i) {
      auto init = cast<OpResult>(repeat.getInits()[i]);
      int64_t bytes = getTensorBytes(cast<RankedTensorType>(init.getType()));
      Value result = repeat->getResult(i);
      unsigned last = getLastUse(result, *repeat->getBlock(), number, now);
      // The last value is in the first place after an even number of steps.
      bool endsInFirst = repeat.getCount() % 2 == 0;
      items.push_back({bytes, false, number[init.getOwner()],
                       endsInFirst ? last : now, -1, [=, this](int64_t offset) {
                         setBuffer(init, getPlace(false, offset));
                         setSlot(2 * i, getPlace(false, offset));
                       }});
      items.push_back({bytes, false, now, endsInFirst ? now : last, -1,
                       [=, this](int64_t offset) {
                         setSlot(2 * i + 1, getPlace(false, offset));
                       }});
    }
    for (size_t i = 0; i < numStacked; ++i) {
      OpResult result = repeat->getResult(numCarried + i);
      if (findJoin(result))
        continue;
      if (BufferAttr fixed = getFixedPlace(result)) {
        setSlot(2 * numCarried + i, fixed);
        continue;
      }
      items.push_back({getTensorBytes(cast<RankedTensorType>(result.getType())),
                       false, now,
                       getLastUse(result, *repeat->getBlock(), number, now), -1,
                       [=, this](int64_t offset) {
                         setSlot(2 * numCarried + i, getPlace(false, offset));
                       }});
    }
  }

  /// Moves everything planned inside `repeat` to its workspace at `offset`.
  void shift(RepeatOp repeat, bool inComm, int64_t offset) {
    StringRef space = inComm ? "comm" : "arena";
    repeat.getBodyBlock()->walk([&](Operation *op) {
      auto buffers = op->getAttrOfType<ArrayAttr>(buffersAttrName);
      if (!buffers)
        return;
      SmallVector<Attribute> moved;
      for (Attribute attr : buffers) {
        auto buffer = cast<BufferAttr>(attr);
        if (buffer.getSpace().getValue() == space)
          buffer = getPlace(inComm, buffer.getOffset() + offset);
        moved.push_back(buffer);
      }
      op->setAttr(buffersAttrName, ArrayAttr::get(context, moved));
    });
  }

  Sizes place(SmallVector<Item> &items) {
    SmallVector<Item *> order, placed;
    for (Item &item : items)
      order.push_back(&item);
    // Pointers into one vector: the order is the program's among equals.
    llvm::sort(order, [](const Item *a, const Item *b) {
      return std::tuple(-a->bytes, a) < std::tuple(-b->bytes, b);
    });
    Sizes sizes;
    for (Item *item : order) {
      SmallVector<Item *> others;
      for (Item *other : placed)
        if (other->inComm == item->inComm && other->begin <= item->end &&
            item->begin <= other->end)
          others.push_back(other);
      llvm::sort(others, [](const Item *a, const Item *b) {
        return a->offset < b->offset;
      });
      int64_t offset = 0;
      for (Item *other : others) {
        if (offset + item->bytes <= other->offset)
          break;
        offset =
            std::max(offset, static_cast<int64_t>(llvm::alignTo(
                                 other->offset + other->bytes, alignment)));
      }
      item->offset = offset;
      placed.push_back(item);
      int64_t &size = item->inComm ? sizes.comm : sizes.arena;
      size = std::max<int64_t>(size,
                               llvm::alignTo(offset + item->bytes, alignment));
    }
    for (Item &item : items)
      item.assign(item.offset);
    return sizes;
  }
};

struct PlanBuffersPass : tp::impl::PlanBuffersBase<PlanBuffersPass> {
  void runOnOperation() override {
    if (failed(expectPerRank(getOperation())))
      return signalPassFailure();
    OpBuilder builder(&getContext());
    WalkResult result = getOperation()->walk([](Operation *op) {
      for (Type type : op->getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type);
            tensor && !hasBytes(tensor.getElementType())) {
          op->emitOpError("expected tensors of f64, f32, bf16, f16, i64, i32, "
                          "i16, i8 or i1 in memory, got ")
              << type;
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function->hasAttr(kernelAttrName) && !function.isExternal())
        functions.push_back(function);
    for (func::FuncOp function : functions) {
      Copies(getOperation()).run(function);
      if (failed(orderUpdates(function.getBody().front())))
        return signalPassFailure();
      Sizes sizes = Planner(&getContext()).plan(function.getBody().front());
      function->setAttr(arenaBytesAttrName,
                        builder.getI64IntegerAttr(sizes.arena));
      function->setAttr(commBytesAttrName,
                        builder.getI64IntegerAttr(sizes.comm));
    }
    assignSlots(functions);
  }

  /// Places in "comm" count from behind the slots.
  static void assignSlots(ArrayRef<func::FuncOp> functions) {
    PeerSlots slots = assignPeerSlots(functions, alignment);
    llvm::for_each(slots.sites, Planner::placeAddend);
    if (slots.sites.empty())
      return;
    for (func::FuncOp function : functions) {
      Builder builder(function);
      auto comm = function->getAttrOfType<IntegerAttr>(commBytesAttrName);
      function->setAttr(slotBytesAttrName,
                        builder.getI64IntegerAttr(slots.bytes));
      function->setAttr(commBytesAttrName,
                        builder.getI64IntegerAttr(comm.getInt() + slots.bytes));
    }
  }
};

} // namespace
