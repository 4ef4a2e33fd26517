//===- Passes.h - The differentiate stage -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that make the gradient function of a loss, and a training step of
// it: see Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIFFERENTIATE_PASSES_H
#define TP_DIFFERENTIATE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Differentiate/Recompute.h"

namespace tp {

#define GEN_PASS_DECL
#include "tp/Differentiate/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Differentiate/Passes.h.inc"

} // namespace tp

#endif // TP_DIFFERENTIATE_PASSES_H
