//===- Outline.h - Operations into functions --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves a group of operations of one block into a private function and calls
// it. Groups that compute the same share a function, so that the work of lower
// does not grow with the number of layers, rolled or not.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_OUTLINE_H
#define TP_SCHEDULE_OUTLINE_H

#include "tp/Schedule/RowKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace tp {

/// Functions that differ in more than their names and locations.
class DistinctFunctions {
public:
  /// The one that was added before and does the same; `function`, which is
  /// added, if there is none.
  mlir::func::FuncOp add(mlir::func::FuncOp function);
  unsigned size() const { return count; }

private:
  llvm::DenseMap<size_t, llvm::SmallVector<mlir::func::FuncOp>> byHash;
  unsigned count = 0;
};

class Outliner {
public:
  /// Functions are marked `tp.kernel = kind` and named `kind` and a number.
  Outliner(mlir::ModuleOp module, llvm::StringRef kind);

  /// Replaces `ops` (of one block, in order) by a call, placed where the last
  /// of them is, of a function with the extra `attributes`. Results used
  /// outside the group become the call's. Constants and tensor.empty are copied
  /// in; every other value from outside becomes an argument. The caller
  /// re-sorts the block if users stand before the call.
  mlir::func::CallOp outline(llvm::ArrayRef<mlir::Operation *> ops,
                             llvm::ArrayRef<mlir::NamedAttribute> attributes);

  /// Number of distinct functions made.
  unsigned getNumFunctions() const { return functions.size(); }

private:
  mlir::ModuleOp module;
  std::string kind;
  mlir::SymbolTable symbols;
  DistinctFunctions functions;
};

} // namespace tp

#endif // TP_SCHEDULE_OUTLINE_H
