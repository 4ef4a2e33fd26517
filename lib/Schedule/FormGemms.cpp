//===- FormGemms.cpp - Linear layers as library calls ---------------------===//
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
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {
#define GEN_PASS_DEF_FORMGEMMS
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// True if `op` is computed by a library or the communicator, so that what it
/// reads must be in memory anyway.
static bool readsMemory(Operation *op) {
  return isa<nn::LinearOp, nn::AttentionOp, CollectiveOpInterface,
             func::ReturnOp, YieldOp>(op);
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

/// Adds the multiplication of the product by a number to the group; before the
/// sum with a bias that is a library's alone to do.
static Value addScale(nn::LinearOp linear,
                      SmallVectorImpl<Operation *> &group) {
  Value value = linear.getResult();
  Operation *reader = linear.getBias() ? nullptr : getOnlyReader(value);
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

/// Adds the activation that the GEMM is to compute to the group, if there is
/// one.
static bool addActivation(Value value, Device device,
                          SmallVectorImpl<Operation *> &group) {
  Operation *reader = getOnlyReader(value);
  if (!reader || reader->getNumResults() != 1 ||
      !llvm::all_of(reader->getUsers(), readsMemory))
    return false;
  auto gelu = dyn_cast<nn::GeluOp>(reader);
  if (device == Device::Cuda) {
    // cuBLASLt has no other.
    if (isRelu(reader, value)) {
      auto type = cast<FloatType>(getElementTypeOrSelf(value));
      replaceInGroup<arith::MaximumFOp>(
          reader, value, APFloat::getZero(type.getFloatSemantics()), group);
      return true;
    }
    if (!gelu || gelu.getKind() != nn::GeluKind::Tanh)
      return false;
  } else if (!gelu && !isa<nn::SiluOp>(reader)) {
    return false;
  }
  group.push_back(reader);
  return true;
}

/// Adds the sum with a tensor that the GEMM of a device is to compute to the
/// group, if there is one: of a tensor that has to be in memory anyway.
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

namespace {
struct FormGemmsPass : tp::impl::FormGemmsBase<FormGemmsPass> {
  using FormGemmsBase::FormGemmsBase;

  void runOnOperation() override {
    Outliner outliner(getOperation(), "gemm");
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!function->hasAttr(kernelAttrName)) {
        dropNotes(function);
        SmallVector<nn::LinearOp> linears;
        function.walk([&](nn::LinearOp op) { linears.push_back(op); });
        for (nn::LinearOp linear : linears) {
          SmallVector<Operation *> group{linear};
          bool isDevice = target == Device::Cuda;
          Value value = isDevice ? addScale(linear, group) : linear.getResult();
          if (!addActivation(value, target, group) && isDevice)
            addResidual(value, group);
          outliner.outline(group, {});
          ++numGemms;
        }
      }
  }
};
} // namespace
