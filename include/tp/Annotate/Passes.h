//===- Passes.h - The annotate stage ----------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass that declares the mesh and applies a plan: see Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_ANNOTATE_PASSES_H
#define TP_ANNOTATE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

#define GEN_PASS_DECL
#include "tp/Annotate/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Annotate/Passes.h.inc"

} // namespace tp

#endif // TP_ANNOTATE_PASSES_H
