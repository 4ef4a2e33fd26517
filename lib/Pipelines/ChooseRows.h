//===- ChooseRows.h - Which rows are computed in parts ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice of `--overlap auto`.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_CHOOSEROWS_H
#define TP_LIB_PIPELINES_CHOOSEROWS_H

#include "mlir/Pass/Pass.h"
#include "tp/Cost/Profile.h"

namespace tp {

using BuildPasses = std::function<void(mlir::OpPassManager &)>;

/// Creates the pass that computes rows of a module's functions in as many parts
/// as take the least time on the device of `profile`. Each choice is scheduled
/// on a copy by the passes of `buildRest`, which follow this one, and timed.
std::unique_ptr<mlir::Pass> createChooseRows(ProfileHandle profile,
                                             BuildPasses buildRest);

} // namespace tp

#endif // TP_LIB_PIPELINES_CHOOSEROWS_H
