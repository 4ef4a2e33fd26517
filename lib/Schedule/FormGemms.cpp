//===- FormGemms.cpp - Library calls with what they do on the way out -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Epilogue.h"
#include "tp/Schedule/Outline.h"
#include "tp/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Iterators.h"
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

/// The only operation that reads `value`, in the same block; null if there are
/// more. A comparison belongs to the select that it is for.
static Operation *getOnlyReader(Value value) {
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
  return reader;
}

/// Replaces `op` by an `Op` on tensors of `value`, which is in the group, and a
/// constant of its own, which joins it too.
template <typename Op>
static Value replaceInGroup(Operation *op, Value value, const APFloat &number,
                            SmallVectorImpl<Operation *> &group) {
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
static Value addScale(Value value, SmallVectorImpl<Operation *> &group) {
  Operation *reader = getOnlyReader(value);
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
                          SmallVectorImpl<Operation *> &group) {
  Operation *reader = getOnlyReader(value);
  if (!reader || reader->getNumResults() != 1 ||
      !llvm::all_of(reader->getUsers(), readsMemory))
    return false;
  StringRef activation = matchActivation(reader, value);
  if (!llvm::is_contained(activations, activation))
    return false;
  if (activation == "relu") {
    // Of its spellings the one that an artifact's tables know.
    auto type = cast<FloatType>(getElementTypeOrSelf(value));
    replaceInGroup<arith::MaximumFOp>(
        reader, value, APFloat::getZero(type.getFloatSemantics()), group);
    return true;
  }
  group.push_back(reader);
  return true;
}

/// Adds the sum with a tensor that the library is to compute to the group, if
/// there is one: of a tensor that has to be in memory anyway.
static void addResidual(Value value, SmallVectorImpl<Operation *> &group) {
  auto sum = dyn_cast_or_null<arith::AddFOp>(getOnlyReader(value));
  if (!sum || !value.hasOneUse())
    return;
  if (llvm::hasNItemsOrMore(sum->getUses(), 2) ||
      llvm::all_of(sum->getUsers(), readsMemory))
    group.push_back(sum);
}

/// Removes what earlier stages noted on operations; from here on the types are
/// local and the collectives fixed.
static void dropNotes(func::FuncOp function) {
  function.getBody().walk([](Operation *op) {
    if (isa<ParameterOp>(op))
      return;
    for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
      if (isa_and_nonnull<TPDialect>(attribute.getNameDialect()))
        op->removeDiscardableAttr(attribute.getName());
  });
}

/// What nothing reads is not computed: a call of it would have no result.
static void dropUnread(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

namespace {
struct FormGemmsPass : tp::impl::FormGemmsBase<FormGemmsPass> {
  using FormGemmsBase::FormGemmsBase;

  void runOnOperation() override {
    Outliner outliner(getOperation(), "gemm");
    EpilogueSet known = target->getEpilogues();
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!function->hasAttr(kernelAttrName)) {
        dropNotes(function);
        dropUnread(function);
        SmallVector<LibraryOpInterface> ops;
        function.walk([&](LibraryOpInterface op) { ops.push_back(op); });
        for (LibraryOpInterface op : ops) {
          std::optional<EpilogueSet> epilogues = op.getEpilogues(known);
          if (!epilogues)
            continue;
          SmallVector<Operation *> group{op};
          Value value = op->getResult(0);
          if (epilogues->scale)
            value = addScale(value, group);
          if (!addActivation(value, epilogues->activations, group) &&
              epilogues->residual)
            addResidual(value, group);
          outliner.outline(group, {});
          ++numGemms;
        }
      }
  }
};
} // namespace
