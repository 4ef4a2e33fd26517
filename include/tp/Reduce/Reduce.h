//===- Reduce.h - A smaller program that fails as well ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes one small edit after the other and keeps those after which the program
// still fails, so that a failure can be read.
//
//===----------------------------------------------------------------------===//

#ifndef TP_REDUCE_REDUCE_H
#define TP_REDUCE_REDUCE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tp {

/// `fails` says whether a program still shows the failure; it is asked about
/// valid programs only and does not change them. A program that reads nothing
/// undefined is not made into one that does.
mlir::OwningOpRef<mlir::ModuleOp>
reduceProgram(mlir::ModuleOp module,
              llvm::function_ref<bool(mlir::ModuleOp)> fails);

} // namespace tp

#endif // TP_REDUCE_REDUCE_H
