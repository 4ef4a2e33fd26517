//===- Passes.h - The propagate stage ---------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that spread annotations over a program, check the result and explain
// it: see Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PROPAGATE_PASSES_H
#define TP_PROPAGATE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

#define GEN_PASS_DECL
#include "tp/Propagate/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Propagate/Passes.h.inc"

} // namespace tp

#endif // TP_PROPAGATE_PASSES_H
