//===- Replay.h - Judge a program one operation at a time -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a program hangs on rounding (two numbers of 16 bits that one rank's
// rounding makes equal, a floor, a recurrence that overflows), the ranks may
// rightly have something else at its end than one device. So each value is then
// compared with what its operation makes, on one device, of what the ranks had
// of its operands. A program whose every operation is right is right: it does
// what the one-device program does, but for roundings.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_VERIFY_REPLAY_H
#define TP_LIB_VERIFY_REPLAY_H

#include "CompareValue.h"

namespace tp {

/// An operation's `locals` become what the ranks go on with.
using ObservationVisitor =
    llvm::function_ref<mlir::LogicalResult(Observation &)>;
/// Runs the ranks' program again and hands out all that is observed in it, in
/// the program's order. Fails where a visit does or the program stops, and
/// where it cannot be disturbed.
using RanksRun = llvm::function_ref<mlir::LogicalResult(
    ObservationVisitor, const interp::Disturbance &)>;

/// The sharding of an argument or result of a per-rank function; replicated if
/// none is written.
TensorSharding getBoundaryLayout(ShardingAttr sharding,
                                 const interp::Tensor &tensor,
                                 const Mesh &mesh);

/// Compare with what the reference has there, if it has something. Fails and
/// notes the divergence where that differs.
mlir::LogicalResult compareObservation(const Observation &observation,
                                       const Mesh &mesh, Reference &reference,
                                       Comparison &comparison);

/// The last word on a comparison that found a difference or elements that it
/// could not judge. `first` is returned as it is where nothing is to be
/// decided, or where nothing can be (values that were not kept for want of
/// memory).
Comparison judgeByOperation(Comparison first, const Mesh &mesh,
                            const Reference &reference, RanksRun run,
                            const VerifyOptions &options);

/// Why the one-device program stops as well, from what the ranks had before
/// their program stopped; empty if it does not, or if that is not known.
std::string findStopByOperation(const Mesh &mesh, const Reference &reference,
                                RanksRun run, const VerifyOptions &options);

} // namespace tp

#endif // TP_LIB_VERIFY_REPLAY_H
