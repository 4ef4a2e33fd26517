//===- LibrarySite.h - A library's operation in the step --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedule leaves an operation that a library computes where it is, or puts it
// into a function (`tp.kernel = "gemm"`) with what the library does on its way
// out, and perhaps with others that the same call computes. All of that is read
// here, so that the tables and the step need not ask which.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_LIBRARYSITE_H
#define TP_LIB_CONVERSION_LIBRARYSITE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Target/Target.h"

namespace tp {

struct LibrarySite {
  /// Operations are handles: reading through a const one reads.
  mutable LibraryOpInterface op;
  /// Null where the operation stands in the step.
  mutable mlir::func::CallOp call = {};
  LibraryUse use = {};
  /// The value that the function computes of `op`: its result, or what its
  /// epilogue makes of that.
  mutable mlir::Value last = {};
  /// Position of its description in its list.
  int64_t description = 0;

  /// An operand of `op` or of its epilogue, or a result of `op`, as the step
  /// has it. Null for a result that the step does not have.
  mlir::Value getActual(mlir::Value value) const;
  /// The operands of `op` and its epilogue, as the step has them.
  llvm::SmallVector<mlir::Value> getOperands() const;
};

/// Reads `op`: a library's operation, or the call of a function of one, or of
/// several that one call of the runtime computes. An error says what the target
/// cannot do.
mlir::FailureOr<llvm::SmallVector<LibrarySite>>
readLibrarySites(mlir::Operation *op, const Target &target);

} // namespace tp

#endif // TP_LIB_CONVERSION_LIBRARYSITE_H
