//===- LocalRanks.h - a process per rank on this host -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp-run as a launcher: starts itself once per rank and sees to it that all of
// them end.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_LAUNCHER_LOCALRANKS_H
#define TPRT_LAUNCHER_LOCALRANKS_H

#include "../collectives/processes/Segment.h"

namespace tprt {

/// Runs this program with the same arguments as every rank of `segment`, and
/// waits. Returns the exit code of the run; failures have been printed. With
/// `allowStops` a rank that stands still is waited for.
int runLocalRanks(const Segment &segment, char **argv,
                  const std::function<std::string(CallSite)> &describe,
                  bool allowStops);

} // namespace tprt

#endif // TPRT_LAUNCHER_LOCALRANKS_H
