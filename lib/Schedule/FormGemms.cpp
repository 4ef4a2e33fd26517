//===- FormGemms.cpp - Linear layers as library calls ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

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

/// The activation to compute in the GEMM of `linear`; null if there is none.
static Operation *findActivation(nn::LinearOp linear, Device device) {
  if (!linear.getResult().hasOneUse())
    return nullptr;
  Operation *user = *linear.getResult().user_begin();
  if (!isa<nn::GeluOp, nn::SiluOp>(user) ||
      user->getBlock() != linear->getBlock())
    return nullptr;
  // cuBLASLt has no other.
  auto gelu = dyn_cast<nn::GeluOp>(user);
  if (device == Device::Cuda && (!gelu || gelu.getKind() != nn::GeluKind::Tanh))
    return nullptr;
  return llvm::all_of(user->getUsers(), readsMemory) ? user : nullptr;
}

/// The sum of `linear` and a tensor that the GEMM of a device is to compute:
/// one that has to be in memory anyway. Null if there is none.
static Operation *findResidual(nn::LinearOp linear, Device device) {
  if (device != Device::Cuda || !linear.getResult().hasOneUse())
    return nullptr;
  auto sum = dyn_cast<arith::AddFOp>(*linear.getResult().user_begin());
  if (!sum || sum->getBlock() != linear->getBlock())
    return nullptr;
  bool isKept = llvm::hasNItemsOrMore(sum->getUses(), 2) ||
                llvm::all_of(sum->getUsers(), readsMemory);
  return isKept ? sum.getOperation() : nullptr;
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
          if (Operation *activation = findActivation(linear, target))
            group.push_back(activation);
          else if (Operation *residual = findResidual(linear, target))
            group.push_back(residual);
          outliner.outline(group, {});
          ++numGemms;
        }
      }
  }
};
} // namespace
