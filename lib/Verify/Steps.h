//===- Steps.h - Steps that carry states ------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that run one after the other, each with the states that the one
// before left.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_VERIFY_STEPS_H
#define TP_LIB_VERIFY_STEPS_H

#include "Script.h"

namespace tp {

/// One run of an entry.
struct EntryRun {
  std::string entry;
  /// The number of the step that it belongs to, from 1.
  int64_t number = 1;
  /// The inputs of a script's step, and the cells that mean nothing any more.
  /// Without one all inputs are random.
  const Script::Step *scripted = nullptr;
};

/// Run `runs`, from the initial values of the states in `program`, and compare
/// each run of `perRank` with what the one-device program makes of the states
/// that the ranks had before it. Fails, after an error, where the one-device
/// program does not run.
mlir::FailureOr<Comparison> compareSteps(mlir::ModuleOp program,
                                         mlir::ModuleOp perRank,
                                         const Mesh &mesh, Check check,
                                         llvm::ArrayRef<EntryRun> runs,
                                         const VerifyOptions &options);

/// The initial states of a program, whole.
mlir::FailureOr<NamedTensors> makeInitialStates(mlir::ModuleOp module,
                                                const VerifyOptions &options);
/// Inputs of a step: the states as they are, those of `given` by their names,
/// others random.
mlir::FailureOr<llvm::SmallVector<interp::Tensor>>
makeStepInputs(mlir::func::FuncOp function, const NamedTensors &states,
               const NamedTensors *given, uint64_t seed);
/// Add what a step's comparison says to that of all.
void append(Comparison &all, Comparison step, int64_t number);

} // namespace tp

#endif // TP_LIB_VERIFY_STEPS_H
