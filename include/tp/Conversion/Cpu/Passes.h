//===- Passes.h - Passes for row kernels for the host --------- -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the lower stage: kernels as functions beside the step. See
// Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_CPU_PASSES_H
#define TP_CONVERSION_CPU_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tp {

#define GEN_PASS_DECL
#include "tp/Conversion/Cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Conversion/Cpu/Passes.h.inc"

} // namespace tp

#endif // TP_CONVERSION_CPU_PASSES_H
