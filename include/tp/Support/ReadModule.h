//===- ReadModule.h - Read IR that may be hostile ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser is recursive: text nested deeply enough overflows its stack.
// All our tools read IR through here, where the nesting is checked first.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_READMODULE_H
#define TP_SUPPORT_READMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"

namespace tp {

/// Brackets of any kind that may be open at one place of a text.
inline constexpr int maxNesting = 256;

/// The place where textual IR is nested more deeply than maxNesting: line and
/// column, counted from 1. Strings and comments do not count; bytecode is never
/// too deep.
struct NestingProblem {
  int line;
  int column;
};
std::optional<NestingProblem> findDeepNesting(llvm::StringRef text);

/// Check a buffer and print `file:line:column: error: ...` to `os` if it is too
/// deep. Returns true if it may be parsed.
bool checkNesting(llvm::MemoryBufferRef buffer, llvm::raw_ostream &os);

/// Read a module from `path` ("-" is standard input), text or bytecode. Emits
/// errors through the context and returns null if there is no such file or it
/// is not valid IR.
mlir::OwningOpRef<mlir::ModuleOp> readModule(mlir::MLIRContext *context,
                                             llvm::StringRef path);

} // namespace tp

#endif // TP_SUPPORT_READMODULE_H
