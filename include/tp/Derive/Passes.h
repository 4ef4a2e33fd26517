//===- Passes.h - Passes that derive programs -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and registration of the passes that Passes.td describes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DERIVE_PASSES_H
#define TP_DERIVE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Derive/DeriveSteps.h"
#include "tp/Derive/DeriveTraining.h"

namespace tp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Derive/Passes.h.inc"

} // namespace tp

#endif // TP_DERIVE_PASSES_H
