//===- GenerateGpuSampling.cpp - Sampling for a device --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each nn.sample_records and nn.sample_pick its kernel; equal ones share
// it.
//
//===----------------------------------------------------------------------===//

#include "SampleKernels.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Schedule/RowKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tp {
#define GEN_PASS_DEF_GENERATEGPUSAMPLING
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The largest second extent of a grid.
static constexpr int64_t gridLimit = 65535;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {
struct GenerateGpuSamplingPass
    : tp::impl::GenerateGpuSamplingBase<GenerateGpuSamplingPass> {
  /// Names the kernel for `shape`, which `generate` writes if it is new.
  template <typename Shape>
  void name(Operation *op, StringRef prefix, SmallVector<Shape> &known,
            const Shape &shape,
            function_ref<void(gpu::GPUModuleOp, StringRef)> generate) {
    size_t number = llvm::find(known, shape) - known.begin();
    std::string name = (prefix + Twine(number)).str();
    if (number == known.size()) {
      known.push_back(shape);
      generate(getOrCreateKernelsModule(getOperation()), name);
    }
    setKernels(op, {name});
  }

  void runOnOperation() override {
    if (failed(checkKernelsName(getOperation())))
      return signalPassFailure();
    SmallVector<RecordsShape> records;
    SmallVector<PickShape> picks;
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (auto record = dyn_cast<nn::SampleRecordsOp>(op)) {
        ArrayRef<int64_t> logits = shapeOf(record.getLogits());
        RecordsShape shape{logits[0], logits[1], shapeOf(record.getBlocks())[0],
                           int64_t(record.getVocabulary())};
        if (shape.rows < 1 || shape.blocks < 1 || shape.blocks > gridLimit) {
          op->emitOpError("expected rows, and 1 to ")
              << gridLimit << " blocks for a device, got "
              << record.getLogits().getType() << " and " << shape.blocks;
          return WalkResult::interrupt();
        }
        name(op, "sample_records_", records, shape,
             [&](gpu::GPUModuleOp module, StringRef name) {
               generateSampleRecords(module, name, shape, op->getLoc());
             });
      } else if (auto pick = dyn_cast<nn::SamplePickOp>(op)) {
        ArrayRef<int64_t> all = shapeOf(pick.getRecords());
        PickShape shape{all[1], all[0]};
        if (shape.rows < 1 || shape.blocks < 1 || shape.blocks > gridLimit) {
          op->emitOpError("expected 1 or more rows, and 1 to ")
              << gridLimit << " records of each for a device, got "
              << pick.getRecords().getType();
          return WalkResult::interrupt();
        }
        name(op, "sample_pick_", picks, shape,
             [&](gpu::GPUModuleOp module, StringRef name) {
               generateSamplePick(module, name, shape, op->getLoc());
             });
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
