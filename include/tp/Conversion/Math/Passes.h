//===- Passes.h - Passes for math without a library ----------- -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the lower stage: functions as arithmetic, on scalars and vectors.
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_MATH_PASSES_H
#define TP_CONVERSION_MATH_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace tp {

#define GEN_PASS_DECL
#include "tp/Conversion/Math/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Conversion/Math/Passes.h.inc"

} // namespace tp

#endif // TP_CONVERSION_MATH_PASSES_H
