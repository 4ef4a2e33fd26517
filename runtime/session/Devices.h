//===- Devices.h - the table of devices -------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows which devices compute: a row each. The artifact says
// which it is made for.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SESSION_DEVICES_H
#define TPRT_SESSION_DEVICES_H

#include "../collectives/BackendTable.h"
#include "../rank/Rank.h"

namespace tprt {

/// An error where this build or this machine cannot run the program on `ranks`
/// ranks that the backend connects.
Status checkProgram(const BackendRow &backend, const Manifest &manifest,
                    int64_t ranks);

/// A rank on the program's device.
std::unique_ptr<tprt_rank> makeRank(const Manifest &manifest,
                                    const Program &program, Backend &backend,
                                    int64_t rank, bool timeline);

} // namespace tprt

#endif // TPRT_SESSION_DEVICES_H
