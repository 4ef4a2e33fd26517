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
static Operation *findActivation(nn::LinearOp linear) {
  if (!linear.getResult().hasOneUse())
    return nullptr;
  Operation *user = *linear.getResult().user_begin();
  if (!isa<nn::GeluOp, nn::SiluOp>(user) ||
      user->getBlock() != linear->getBlock())
    return nullptr;
  return llvm::all_of(user->getUsers(), readsMemory) ? user : nullptr;
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
  void runOnOperation() override {
    Outliner outliner(getOperation(), "gemm");
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!function->hasAttr(kernelAttrName)) {
        dropNotes(function);
        SmallVector<nn::LinearOp> linears;
        function.walk([&](nn::LinearOp op) { linears.push_back(op); });
        for (nn::LinearOp linear : linears) {
          SmallVector<Operation *> group{linear};
          if (Operation *activation = findActivation(linear))
            group.push_back(activation);
          outliner.outline(group, {});
          ++numGemms;
        }
      }
  }
};
} // namespace
