//===- LibraryFunctions.h - What a target can call --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TP_CONVERSION_STEP_LIBRARYFUNCTIONS_H
#define TP_CONVERSION_STEP_LIBRARYFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Target/Target.h"

namespace tp {

/// Fails, after emitting the error that lower would, if the scheduled program
/// calls for a function of a library that `target` lacks.
mlir::LogicalResult checkLibraryFunctions(mlir::ModuleOp scheduled,
                                          const Target &target);

} // namespace tp

#endif // TP_CONVERSION_STEP_LIBRARYFUNCTIONS_H
