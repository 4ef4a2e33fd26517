//===- Passes.h - Passes of the schedule stage ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the per-rank program to kernels, library calls and buffers: see
// Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_PASSES_H
#define TP_SCHEDULE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Cost/Profile.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Schedule/SumForm.h"
#include "tp/Target/Target.h"
#include <memory>

namespace tp {

#define GEN_PASS_DECL
#include "tp/Schedule/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Schedule/Passes.h.inc"

} // namespace tp

#endif // TP_SCHEDULE_PASSES_H
