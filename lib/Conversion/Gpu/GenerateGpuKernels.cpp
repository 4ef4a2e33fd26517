//===- GenerateGpuKernels.cpp - Row kernels for a device ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "GpuModule.h"
#include "tp/Conversion/Passes.h"
#include "tp/Schedule/RowKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace tp {
#define GEN_PASS_DEF_GENERATEGPUKERNELS
#include "tp/Conversion/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct GenerateGpuKernelsPass
    : tp::impl::GenerateGpuKernelsBase<GenerateGpuKernelsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto kind = function->getAttrOfType<StringAttr>(kernelAttrName);
      if (!kind || kind.getValue() != "rows")
        continue;
      function.emitOpError("has no generator for a device");
      return signalPassFailure();
    }
  }
};
} // namespace
