//===- Passes.h - Passes of the import stage --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that bring programs into the form of import: see Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_PASSES_H
#define TP_IMPORT_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

#define GEN_PASS_DECL
#include "tp/Import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Import/Passes.h.inc"

} // namespace tp

#endif // TP_IMPORT_PASSES_H
