//===- GenerateGpuAttention.cpp - Attention for a device ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each attention, over pages or not, its kernel, and its derivative its
// two; equal ones share them.
//
//===----------------------------------------------------------------------===//

#include "AttentionBackwardKernel.h"
#include "AttentionKernel.h"
#include "AttentionSplits.h"
#include "HopperAttention.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Schedule/RowKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tp {
#define GEN_PASS_DEF_GENERATEGPUATTENTION
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct Known {
  AttentionShape shape;
  AttentionTiles tiles;
  std::string name;
};

struct GenerateGpuAttentionPass
    : tp::impl::GenerateGpuAttentionBase<GenerateGpuAttentionPass> {
  static std::string getCombineName(StringRef name) {
    return (name + "_combine").str();
  }

  LogicalResult generateBackward() {
    SmallVector<AttentionShape> known;
    WalkResult result = getOperation().walk([&](nn::AttentionBackwardOp op) {
      FailureOr<AttentionShape> shape = AttentionShape::get(op);
      if (failed(shape))
        return WalkResult::interrupt();
      size_t number = llvm::find(known, *shape) - known.begin();
      std::string byQueries = "attention_backward_" + std::to_string(number);
      std::string byKeys = byQueries + "_keys";
      if (number == known.size()) {
        known.push_back(*shape);
        generateAttentionBackward(getOrCreateKernelsModule(getOperation()),
                                  byQueries, byKeys, *shape, op.getLoc());
      }
      setKernels(op, {byQueries, byKeys});
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    if (failed(checkKernelsName(getOperation())) || failed(generateBackward()))
      return signalPassFailure();
    SmallVector<Known, 0> known;
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!isa<nn::AttentionOp, nn::PagedAttentionOp>(op))
        return WalkResult::advance();
      FailureOr<AttentionShape> shape = AttentionShape::get(op);
      if (failed(shape))
        return WalkResult::interrupt();
      auto *found = llvm::find_if(
          known, [&](const Known &entry) { return entry.shape == *shape; });
      if (found == known.end()) {
        std::string name = (shape->pages ? "paged_attention_" : "attention_") +
                           std::to_string(known.size());
        gpu::GPUModuleOp module = getOrCreateKernelsModule(getOperation());
        AttentionTiles tiles = AttentionTiles::choose(*shape);
        auto kernel =
            generateAttention(module, name, *shape, tiles, op->getLoc());
        if (hasHopperAttention(*shape, tiles))
          addKernelImage(kernel, getHopperAttention(*shape, op->getContext()));
        if (tiles.splits > 1)
          generateAttentionCombine(module, getCombineName(name), *shape, tiles,
                                   op->getLoc());
        known.push_back({*shape, tiles, name});
        found = &known.back();
      }
      if (hasHopperAttention(found->shape, found->tiles))
        setKernels(op, {found->name}, hopperAttentionScratchBytes);
      else if (found->tiles.splits == 1)
        setKernels(op, {found->name});
      else
        setKernels(op, {found->name, getCombineName(found->name)},
                   AttentionSplits::getScratchBytes(*shape, found->tiles));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
