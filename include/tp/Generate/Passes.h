//===- Passes.h - Passes that derive steps of generation --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and registration of the passes that Passes.td describes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_GENERATE_PASSES_H
#define TP_GENERATE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Generate/DeriveSteps.h"

namespace tp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Generate/Passes.h.inc"

} // namespace tp

#endif // TP_GENERATE_PASSES_H
