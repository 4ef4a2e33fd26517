//===- Phase.h - Before partition or after it -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of a program are global before partition and local after it, and the
// same program means another thing in each. It says which it is by the global
// types that partition records, and by collectives.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_PHASE_H
#define TP_DIALECT_TP_IR_PHASE_H

#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// An operation that is there after partition alone, or that records a global
/// type; null if there is none.
mlir::Operation *findPerRank(mlir::ModuleOp module);

/// An error unless the module is as it is before partition, or as partition
/// leaves it: of the second, that of one rank may be either. No tensor may be
/// larger than Sizes.h allows.
mlir::LogicalResult expectGlobal(mlir::ModuleOp module);
mlir::LogicalResult expectPerRank(mlir::ModuleOp module);

} // namespace tp

#endif // TP_DIALECT_TP_IR_PHASE_H
