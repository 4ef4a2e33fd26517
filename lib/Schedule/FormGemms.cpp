//===- FormGemms.cpp - Library calls with what they do on the way out -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Epilogue.h"
#include "tp/Schedule/Outline.h"
#include "tp/Schedule/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Iterators.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interfaces/LibraryInterface.h"

namespace tp {
#define GEN_PASS_DEF_FORMGEMMS
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// True if `op` is computed by a library or the communicator, so that what it
/// reads must be in memory anyway.
static bool readsMemory(Operation *op) {
  return isa<LibraryOpInterface, CollectiveOpInterface, func::ReturnOp,
             YieldOp>(op);
}

/// A library's operation and its epilogue.
using Group = SmallVector<Operation *>;
/// Operations that are in a group.
using Taken = llvm::SmallPtrSet<Operation *, 16>;

/// The only operation that reads `value`, in the same block and no group; null
/// if there are more. A comparison belongs to the select that it is for.
static Operation *getOnlyReader(Value value, const Taken &taken) {
  Operation *reader = nullptr;
  for (Operation *user : value.getUsers()) {
    if (isa<arith::CmpFOp>(user) && user->hasOneUse())
      if (auto select = dyn_cast<arith::SelectOp>(*user->user_begin()))
        user = select;
    if (user->getBlock() != value.getParentBlock() ||
        (reader && reader != user))
      return nullptr;
    reader = user;
  }
  return taken.contains(reader) ? nullptr : reader;
}

/// Replaces `op` by an `Op` on tensors of `value`, which is in the group, and a
/// constant of its own, which joins it too.
template <typename Op>
static Value replaceInGroup(Operation *op, Value value, const APFloat &number,
                            Group &group) {
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(value.getType());
  auto constant = arith::ConstantOp::create(
      builder, op->getLoc(), DenseElementsAttr::get(type, number));
  auto made = Op::create(builder, op->getLoc(), value, constant);
  group.append({constant, made});
  auto select = dyn_cast<arith::SelectOp>(op);
  Operation *compare = select ? select.getCondition().getDefiningOp() : nullptr;
  op->getResult(0).replaceAllUsesWith(made);
  op->erase();
  if (compare && compare->use_empty())
    compare->erase();
  return made;
}

/// Adds the multiplication of the result by a number to the group.
static Value addScale(Value value, Group &group, const Taken &taken) {
  Operation *reader = getOnlyReader(value, taken);
  if (!reader)
    return value;
  std::optional<Scale> scale = matchScale(reader, value);
  if (!scale)
    return value;
  return scale->isDivisor
             ? replaceInGroup<arith::DivFOp>(reader, value, scale->constant,
                                             group)
             : replaceInGroup<arith::MulFOp>(reader, value, scale->constant,
                                             group);
}

/// Adds the activation that the library is to compute to the group, if there is
/// one.
static bool addActivation(Value value, ArrayRef<StringRef> activations,
                          Group &group, const Taken &taken) {
  Operation *reader = getOnlyReader(value, taken);
  if (!reader || reader->getNumResults() != 1 ||
      !llvm::all_of(reader->getUsers(), readsMemory))
    return false;
  StringRef activation = matchActivation(reader, value);
  if (!llvm::is_contained(activations, activation))
    return false;
  if (activation == "relu") {
    // The spelling that an artifact's tables know.
    auto type = cast<FloatType>(getElementTypeOrSelf(value));
    Value made = replaceInGroup<arith::MaximumFOp>(
        reader, value, APFloat::getZero(type.getFloatSemantics()), group);
    made.getDefiningOp<arith::MaximumFOp>().setFastmath(
        arith::FastMathFlags::nnan);
    return true;
  }
  group.push_back(reader);
  return true;
}

/// Adds the sum with a tensor that the library is to compute to the group, if
/// there is one: of a tensor that has to be in memory anyway.
static void addResidual(Value value, Group &group, const Taken &taken) {
  auto sum = dyn_cast_or_null<arith::AddFOp>(getOnlyReader(value, taken));
  if (!sum || !value.hasOneUse())
    return;
  if (llvm::hasNItemsOrMore(sum->getUses(), 2) ||
      llvm::all_of(sum->getUsers(), readsMemory))
    group.push_back(sum);
}

/// True if one of `to` reads, perhaps through others, what one of `from` makes.
/// All are in one block.
static bool reaches(ArrayRef<Operation *> from, ArrayRef<Operation *> to) {
  Block *block = from.front()->getBlock();
  Operation *last = *llvm::max_element(
      to, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Group work(from);
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      Operation *top = block->findAncestorOpInBlock(*user);
      if (llvm::is_contained(to, top))
        return true;
      if (top->isBeforeInBlock(last) && seen.insert(top).second)
        work.push_back(top);
    }
  return false;
}

/// True if the runtime can compute `next` in one call with `group`, which was
/// formed just before it: the same rows times weights of one type, with no
/// library call, collective or loop between them (results of products far apart
/// would be in memory for longer).
static bool canJoin(ArrayRef<Operation *> group, ArrayRef<Operation *> next,
                    const Target &target) {
  auto first = cast<LibraryOpInterface>(group.front());
  auto second = cast<LibraryOpInterface>(next.front());
  if (first->getBlock() != second->getBlock() ||
      first->getName() != second->getName())
    return false;
  std::optional<JoinedForm> form = first.getJoinedForm();
  std::optional<JoinedForm> other = second.getJoinedForm();
  if (!form || !other || form->slot != other->slot ||
      form->shared->get() != other->shared->get() ||
      !target.hasFunction(form->name))
    return false;
  OpOperand *weight = first.getPackedOperand();
  if (!weight ||
      getElementTypeOrSelf(weight->get()) !=
          getElementTypeOrSelf(second.getPackedOperand()->get()) ||
      getElementTypeOrSelf(first->getResult(0)) !=
          getElementTypeOrSelf(second->getResult(0)))
    return false;
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode())
    if (isa<LibraryOpInterface, CollectiveOpInterface, RepeatOp, func::CallOp>(
            op) &&
        !llvm::is_contained(group, op))
      return false;
  return !reaches(group, next) && !reaches(next, group);
}

/// Removes what earlier stages noted on operations; from here on the types are
/// local and the collectives fixed.
static void dropNotes(func::FuncOp function) {
  function.getBody().walk([](Operation *op) {
    if (isa<ParameterOp>(op))
      return;
    for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
      if (isa_and_nonnull<TPDialect>(attribute.getNameDialect()) &&
          attribute.getName() != partAttrName &&
          attribute.getName() != wholeAttrName)
        op->removeDiscardableAttr(attribute.getName());
  });
}

/// A product that nothing reads is not computed: a call of it would have no
/// result.
static void dropUnread(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

/// A value of another float type.
static Value convert(OpBuilder &builder, Location loc, Value value,
                     Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  if (type.getElementTypeBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type.clone(element), value);
  return arith::TruncFOp::create(builder, loc, type.clone(element), value);
}

/// Gives a product operands of one type, a result of that or f32, and what it
/// adds the result's: operands that differ become f32, which is exact. Those of
/// f64 stay what they are: no library of a device is called for them.
static void unifyTypes(Operation *op) {
  auto isWide = [](Type type) {
    return getElementTypeOrSelf(type).getIntOrFloatBitWidth() > 32;
  };
  if (llvm::any_of(op->getOperandTypes(), isWide) ||
      llvm::any_of(op->getResultTypes(), isWide))
    return;
  OpBuilder builder(op);
  Type f32 = builder.getF32Type();
  auto getElement = [](Value value) { return getElementTypeOrSelf(value); };
  auto setOperand = [&](unsigned i, Type element) {
    op->setOperand(i,
                   convert(builder, op->getLoc(), op->getOperand(i), element));
  };
  if (getElement(op->getOperand(0)) != getElement(op->getOperand(1)))
    for (unsigned i : {0, 1})
      setOperand(i, f32);
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  if (getElement(result) != getElement(op->getOperand(0)) &&
      getElement(result) != f32) {
    result.setType(type.clone(f32));
    builder.setInsertionPointAfter(op);
    Value narrow =
        convert(builder, op->getLoc(), result, type.getElementType());
    result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
    builder.setInsertionPoint(op);
  }
  for (unsigned i = 2; i < op->getNumOperands(); ++i)
    setOperand(i, getElement(result));
}

/// The rows of a product's result.
static int64_t countRows(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return type.getNumElements() / std::max<int64_t>(1, type.getShape().back());
}

namespace {
struct FormGemmsPass : tp::impl::FormGemmsBase<FormGemmsPass> {
  using FormGemmsBase::FormGemmsBase;

  void runOnOperation() override {
    if (failed(expectPerRank(getOperation())))
      return signalPassFailure();
    Outliner outliner(getOperation(), "gemm");
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!function->hasAttr(kernelAttrName)) {
        dropNotes(function);
        dropUnread(function);
        SmallVector<Group> groups = formGroups(function);
        while (!groups.empty())
          outlineNext(groups, outliner);
      }
  }

  /// The last group comes first.
  SmallVector<Group> formGroups(func::FuncOp function) {
    EpilogueSet known = target->getEpilogues();
    int64_t mostRowsWithoutGemm = target->getTraits().mostRowsWithoutGemm;
    SmallVector<Group> groups;
    Taken taken;
    SmallVector<LibraryOpInterface> ops;
    function.walk([&](LibraryOpInterface op) { ops.push_back(op); });
    for (LibraryOpInterface op : ops) {
      std::optional<EpilogueSet> epilogues = op.getEpilogues(known);
      if (!epilogues)
        continue;
      // The target's own kernels take any rows and types.
      if (target->getKernelPass(op.getLibraryCall({}).name).empty()) {
        if (countRows(op) <= mostRowsWithoutGemm)
          continue;
        if (!target->getTraits().mixesTypes)
          unifyTypes(op);
      }
      Group group{op};
      Value value = op->getResult(0);
      if (epilogues->scale)
        value = addScale(value, group, taken);
      if (!addActivation(value, epilogues->activations, group, taken) &&
          epilogues->residual)
        addResidual(value, group, taken);
      taken.insert_range(group);
      groups.push_back(std::move(group));
    }
    std::reverse(groups.begin(), groups.end());
    return groups;
  }

  /// Outlines the first group, and those that are computed in the same call.
  void outlineNext(SmallVector<Group> &groups, Outliner &outliner) {
    Group group = groups.pop_back_val();
    Block *block = group.front()->getBlock();
    bool isJoined = false;
    for (; !groups.empty() && canJoin(group, groups.back(), *target);
         isJoined = true)
      group.append(groups.pop_back_val());
    outliner.outline(group, {});
    ++numGemms;
    // A reader of one product may stand before the last one.
    if (isJoined)
      sortTopologically(block);
  }
};
} // namespace
