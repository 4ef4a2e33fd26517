//===- Passes.h - Passes of the ledger --------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and registration of the passes that Passes.td describes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LEDGER_PASSES_H
#define TP_LEDGER_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Ledger/Passes.h.inc"

} // namespace tp

#endif // TP_LEDGER_PASSES_H
