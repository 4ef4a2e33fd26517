//===- Backends.h - from a backend's name to its hub ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows which backends there are.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_BACKENDS_H
#define TPRT_COLLECTIVES_BACKENDS_H

#include "Hub.h"
#include "SideChannel.h"

namespace tprt {

/// What a hub is made from.
struct HubOptions {
  std::string backend;
  int64_t ranks = 1; ///< of the artifact
  /// Where ranks are processes; null: the environment says it.
  std::shared_ptr<const Place> place;
  std::optional<int64_t> onlyRank; ///< this rank alone, no collectives
  int64_t sharedBytes = 0;         ///< of buffers that other ranks may read
  SideChannel::Options waits;
};

/// An error for a backend that there is not, or not in this build.
Status checkBackend(const std::string &backend);
/// An error where the backend cannot run the program, or this machine lacks
/// what the backend needs for it; `alone`: for one rank without the others.
Status checkProgram(const std::string &backend, const Manifest &manifest,
                    bool alone);
/// Whether each rank of the backend is a process of its own.
bool ranksAreProcesses(const std::string &backend);
/// Whether tp-run starts them, where nobody else has.
bool startsOwnRanks(const std::string &backend);

/// One rank of many, without the others (Alone.cpp).
std::unique_ptr<Hub> makeAloneHub(int64_t rank, int64_t ranks);
/// That of backend mpi (mpi/Mpi.cpp), whose rank MPI knows.
Expected<std::unique_ptr<Hub>> makeMpiHub(const HubOptions &options);

/// The hub of this process, once all ranks have come.
Expected<std::unique_ptr<Hub>> makeHub(HubOptions options);

} // namespace tprt

#endif // TPRT_COLLECTIVES_BACKENDS_H
