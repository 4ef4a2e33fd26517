//===- GenerateKernels.cpp - Loops of every row kernel --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the planner and the generator on each kernel and notes what callers
// need.
//
//===----------------------------------------------------------------------===//

#include "KernelGenerator.h"
#include "tp/Conversion/Cpu/Passes.h"
#include "tp/Conversion/Kernels/Kernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tp {
#define GEN_PASS_DEF_GENERATEKERNELS
#include "tp/Conversion/Cpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Elements of work that make a thread worth waking.
static constexpr int64_t leastElements = 16384;

/// Rows that make up so much work.
static int64_t getLeastRows(const KernelPlan &plan) {
  int64_t perRow = 1;
  for (const auto &op : plan.ops) {
    int64_t elements = 1;
    for (int64_t size : op->columnSizes)
      elements *= size;
    perRow += elements;
  }
  return std::max<int64_t>(1, leastElements / perRow);
}

namespace {
struct GenerateKernelsPass
    : tp::impl::GenerateKernelsBase<GenerateKernelsPass> {
  using GenerateKernelsBase::GenerateKernelsBase;

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      auto kind = function->getAttrOfType<StringAttr>(kernelAttrName);
      if (!kind || kind.getValue() != "rows")
        continue;
      FailureOr<KernelPlan> plan = KernelPlan::build(function);
      if (failed(plan))
        return signalPassFailure();
      FailureOr<func::FuncOp> body =
          generateKernel(function, *plan, vectorBits);
      if (failed(body))
        return signalPassFailure();
      auto set = [&](StringRef name, int64_t value) {
        function->setAttr(name, builder.getI64IntegerAttr(value));
      };
      set(rowCountAttrName, plan->getRowCount());
      set(scratchBytesAttrName, plan->scratchBytes);
      set(leastRowsAttrName, getLeastRows(*plan));
      function->setAttr(bodyAttrName,
                        FlatSymbolRefAttr::get(body->getNameAttr()));
    }
  }
};
} // namespace
