//===- GenerateGpuExperts.cpp - Mixtures of experts on a device -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each nn.experts its kernels (ExpertKernels.h); equal ones share them.
//
//===----------------------------------------------------------------------===//

#include "ExpertKernels.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Conversion/Kernels/Kernels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tp {
#define GEN_PASS_DEF_GENERATEGPUEXPERTS
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct Part {
  StringLiteral suffix;
  GenerateExpertKernel *generate;
};

struct GenerateGpuExpertsPass
    : tp::impl::GenerateGpuExpertsBase<GenerateGpuExpertsPass> {
  static constexpr Part parts[] = {{"", generateExpertMark},
                                   {"_place", generateExpertPlace},
                                   {"_gate", generateExpertGate},
                                   {"_down", generateExpertDown},
                                   {"_combine", generateExpertCombine}};

  void runOnOperation() override {
    if (failed(checkKernelsName(getOperation())))
      return signalPassFailure();
    SmallVector<ExpertShape, 0> known;
    WalkResult result = getOperation().walk([&](nn::ExpertsOp op) {
      FailureOr<ExpertShape> shape = ExpertShape::get(op);
      if (failed(shape))
        return WalkResult::interrupt();
      size_t number = llvm::find(known, *shape) - known.begin();
      bool isNew = number == known.size();
      if (isNew)
        known.push_back(*shape);
      ExpertTiles tiles = ExpertTiles::choose(*shape);
      SmallVector<std::string> names;
      for (const Part &part : parts) {
        names.push_back(("experts_" + Twine(number) + part.suffix).str());
        if (isNew)
          part.generate(getOrCreateKernelsModule(getOperation()), names.back(),
                        *shape, tiles, op.getLoc());
      }
      setKernels(op, names, ExpertScratch(*shape, tiles).bytes);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
