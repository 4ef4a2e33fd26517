//===- Passes.h - Passes for the step ------------------------- -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the lower stage: entries as steps that call the runtime. See
// Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_STEP_PASSES_H
#define TP_CONVERSION_STEP_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Target/Target.h"
#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tp {

#define GEN_PASS_DECL
#include "tp/Conversion/Step/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Conversion/Step/Passes.h.inc"

/// Everything from the scheduled program to the LLVM dialect.
void buildLowerToLLVM(mlir::OpPassManager &manager, const TargetHandle &target);

} // namespace tp

#endif // TP_CONVERSION_STEP_PASSES_H
