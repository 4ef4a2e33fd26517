//===- GenerateGpuAttention.cpp - Attention for a device ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "GpuModule.h"
#include "tp/Conversion/Passes.h"
#include "tp/Dialect/NN/IR/NNOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

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
    WalkResult result = getOperation().walk([](nn::AttentionOp op) {
      op.emitOpError("has no generator for a device");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
