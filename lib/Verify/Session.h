//===- Session.h - Run a per-rank program natively --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the output of partition or collectives, through schedule and lower, to
// the results of N threads, in one process.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_VERIFY_SESSION_H
#define TP_LIB_VERIFY_SESSION_H

#include "tp/Verify/Verify.h"

namespace tp {

/// Compile a copy of `perRank` for this machine, run `function` on its mesh and
/// return the global results. Emits why it cannot; only where the program
/// itself fails while it runs (ranks that must agree do not), it sets `fault`
/// and emits nothing.
mlir::FailureOr<llvm::SmallVector<interp::Tensor>>
executeProgram(mlir::ModuleOp perRank, llvm::StringRef function,
               llvm::ArrayRef<interp::Tensor> inputs,
               const VerifyOptions &options, std::string &fault);

} // namespace tp

#endif // TP_LIB_VERIFY_SESSION_H
