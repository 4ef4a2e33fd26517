//===- Describe.h - What the scheduled program needs ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of one rank, as the manifest states it, and the kernels that it
// runs: what the ledger's report cannot know before the program is scheduled.
// docs/Ledger.md defines every figure.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_DESCRIBE_H
#define TP_SCHEDULE_DESCRIBE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tp/Cost/Profile.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Schedule/Overlap.h"
#include "tp/Target/Target.h"

namespace tp {

/// Bytes of parameters: each part of a tensor once, whoever reads it.
int64_t getHeldParameterBytes(mlir::ModuleOp module);
int64_t getStateBytes(mlir::ModuleOp module);
/// Bytes of a function's arguments and results that are no states.
int64_t getValueBytes(mlir::FunctionOpInterface function);

/// True if `function` has a body, and all that it takes and gives has a size in
/// bytes; lower refuses what has none.
bool hasSizes(mlir::FunctionOpInterface function);

/// Add to a program's report the memory and the kernels of each of its
/// functions, of which `scheduled` is what schedule has made for `target` with
/// this choice of overlap, and of each collective what runs beside it; and the
/// times of all of them, if there is a profile. Fails, after an error, if an
/// operation has no iteration space.
mlir::LogicalResult addSchedule(mlir::ModuleOp scheduled, const Target &target,
                                Overlap overlap, const ProfileHandle &profile,
                                LedgerReport &report);

/// Add the times of a program's kernels, collectives and functions on the
/// device that `profile` describes. `scheduled` is what schedule has made of
/// the program. Fails, after an error, if an operation has no iteration space.
/// Products in a type that the profile has no figure for get no times, as those
/// of another type would be silently wrong: the report says why.
mlir::LogicalResult addSeconds(mlir::ModuleOp scheduled, const Profile &profile,
                               LedgerReport &report);

/// The times of one run of each function of a scheduled program, by name.
mlir::FailureOr<std::map<std::string, RunSeconds>>
getRunSeconds(mlir::ModuleOp scheduled, const Profile &profile);

} // namespace tp

#endif // TP_SCHEDULE_DESCRIBE_H
