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

/// A program compiled for this machine, with its ranks and weights. What fails
/// emits why; only where the program itself fails while it runs (ranks that
/// must agree do not), `run` sets `fault` and emits nothing.
class NativeProgram {
public:
  /// Compiles a copy of `perRank`, its states as they are, or as arguments and
  /// results like others.
  static mlir::FailureOr<std::unique_ptr<NativeProgram>>
  open(mlir::ModuleOp perRank, bool keepsStates, const VerifyOptions &options);
  virtual ~NativeProgram() = default;

  /// One step; from the arguments that are no states the global results that
  /// are none.
  virtual mlir::FailureOr<llvm::SmallVector<interp::Tensor>>
  run(llvm::StringRef function, llvm::ArrayRef<interp::Tensor> inputs,
      std::string &fault) = 0;
  /// The contents of a state, the `index`-th of the module.
  virtual mlir::FailureOr<interp::Tensor> getState(int64_t index) = 0;
};

/// A native result as what the only rank has of `expected`.
struct Observation;
Observation observeNative(const interp::Tensor &got,
                          const Reference::Value &expected);

/// Compile `perRank`, states as values, and run one step of `function`.
mlir::FailureOr<llvm::SmallVector<interp::Tensor>>
executeProgram(mlir::ModuleOp perRank, llvm::StringRef function,
               llvm::ArrayRef<interp::Tensor> inputs,
               const VerifyOptions &options, std::string &fault);

} // namespace tp

#endif // TP_LIB_VERIFY_SESSION_H
