//===- Stages.h - The stages that tp-verify checks --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's pipelines as steps of verifyProgram.
//
//===----------------------------------------------------------------------===//

#ifndef TP_VERIFY_STAGES_H
#define TP_VERIFY_STAGES_H

#include "tp/Differentiate/Recompute.h"
#include "tp/Verify/Verify.h"

namespace tp {

/// The stages that can be compared, in order: propagate, partition,
/// collectives, lower, rows, which is collectives with rows in parts, and
/// peers, in which kernels sum up the addends of all ranks.
llvm::ArrayRef<llvm::StringRef> getVerifiableStages();

/// The stages import, which is compared, and differentiate, which adds
/// functions and may move parameters into states, for verifyProgram's `first`.
std::vector<VerifyStage>
makeFirstStages(Recompute recompute = Recompute::Selective);

/// The steps up to the last of `compared`, comparing at those. `plan` and
/// `mesh` are as tp-annotate takes them; with plan "none" nothing is annotated:
/// the module says it all.
std::vector<VerifyStage> makeVerifyStages(llvm::StringRef mesh,
                                          llvm::StringRef plan,
                                          llvm::ArrayRef<std::string> compared);

} // namespace tp

#endif // TP_VERIFY_STAGES_H
