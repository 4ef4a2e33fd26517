//===- GenerateGpuExperts.cpp - Mixtures of experts on a device -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each nn.experts, nn.quantized_experts and nn.experts_backward its
// kernels (ExpertKernels.h); equal ones share them.
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
} // namespace

static constexpr Part forwardParts[] = {{"", generateExpertMark},
                                        {"_place", generateExpertPlace},
                                        {"_gate", generateExpertGate},
                                        {"_down", generateExpertDown},
                                        {"_combine", generateExpertCombine}};
static constexpr Part backwardParts[] = {
    {"", generateExpertMark},        {"_place", generateExpertPlace},
    {"_inner", generateExpertInner}, {"_sides", generateExpertSides},
    {"_input", generateExpertInput}, {"_combine", generateExpertCombine},
    {"_gates", generateExpertGates}, {"_downs", generateExpertDowns}};

namespace {
struct GenerateGpuExpertsPass
    : tp::impl::GenerateGpuExpertsBase<GenerateGpuExpertsPass> {
  /// The kernels of all operations of one kind.
  template <typename Op>
  LogicalResult generate(StringRef prefix, ArrayRef<Part> parts) {
    SmallVector<ExpertShape, 0> known;
    WalkResult result = getOperation().walk([&](Op op) {
      FailureOr<ExpertShape> shape = ExpertShape::get(op);
      if (failed(shape))
        return WalkResult::interrupt();
      size_t number = llvm::find(known, *shape) - known.begin();
      bool isNew = number == known.size();
      if (isNew)
        known.push_back(*shape);
      SmallVector<std::string> names;
      for (const Part &part : parts) {
        names.push_back((prefix + Twine(number) + part.suffix).str());
        if (isNew)
          part.generate(getOrCreateKernelsModule(getOperation()), names.back(),
                        *shape, op.getLoc());
      }
      setKernels(op, names, ExpertScratch(*shape).bytes);
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    if (failed(checkKernelsName(getOperation())) ||
        failed(generate<nn::ExpertsOp>("experts_", forwardParts)) ||
        failed(generate<nn::QuantizedExpertsOp>("quantized_experts_",
                                                forwardParts)) ||
        failed(generate<nn::ExpertsBackwardOp>("experts_backward_",
                                               backwardParts)))
      signalPassFailure();
  }
};
} // namespace
