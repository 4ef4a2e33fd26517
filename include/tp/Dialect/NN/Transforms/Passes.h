//===- Passes.h - Passes of the nn dialect ----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and registration; Passes.td is the manual.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_TRANSFORMS_PASSES_H
#define TP_DIALECT_NN_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tp {

#define GEN_PASS_DECL
#include "tp/Dialect/NN/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Dialect/NN/Transforms/Passes.h.inc"

} // namespace tp

#endif // TP_DIALECT_NN_TRANSFORMS_PASSES_H
