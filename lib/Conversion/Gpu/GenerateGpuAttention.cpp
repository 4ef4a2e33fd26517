//===- GenerateGpuAttention.cpp - Attention for a device ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each attention its kernel; equal ones share it.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"
#include "GpuModule.h"
#include "tp/Conversion/Passes.h"
#include "tp/Schedule/RowKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tp {
#define GEN_PASS_DEF_GENERATEGPUATTENTION
#include "tp/Conversion/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct GenerateGpuAttentionPass
    : tp::impl::GenerateGpuAttentionBase<GenerateGpuAttentionPass> {
  void runOnOperation() override {
    SmallVector<std::pair<AttentionShape, FlatSymbolRefAttr>> known;
    WalkResult result = getOperation().walk([&](nn::AttentionOp op) {
      FailureOr<AttentionShape> shape = AttentionShape::get(op);
      if (failed(shape))
        return WalkResult::interrupt();
      auto *found = llvm::find_if(
          known, [&](const auto &entry) { return entry.first == *shape; });
      if (found == known.end()) {
        std::string name = "attention_" + std::to_string(known.size());
        generateAttention(getOrCreateKernelsModule(getOperation()), name,
                          *shape, op.getLoc());
        known.push_back({*shape, FlatSymbolRefAttr::get(&getContext(), name)});
        found = &known.back();
      }
      op->setAttr(kernelAttrName, found->second);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
