//===- Rendezvous.h - how rank processes find each other --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process learns its rank from its environment: from tp-run, which hands it
// the shared memory as an open file, or from torchrun, mpirun or Slurm. Then
// rank 0 makes the memory and passes it on through an abstract Unix socket
// whose name comes from the job; such a socket leaves no file behind.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROCESSES_RENDEZVOUS_H
#define TPRT_COLLECTIVES_PROCESSES_RENDEZVOUS_H

#include "Segment.h"

namespace tprt {

/// A process' place in the run.
struct Place {
  int64_t rank = 0, ranks = 1;
  int file = -1;      ///< the shared memory, if it was inherited
  std::string socket; ///< else where it is handed out
  std::string source; ///< who said so, for messages
};

/// Variables that tp-run sets for the ranks it starts.
inline constexpr const char *kRankVariable = "TPRT_RANK";
inline constexpr const char *kRanksVariable = "TPRT_WORLD_SIZE";
inline constexpr const char *kFileVariable = "TPRT_SHARED_MEMORY_FD";

/// The place that the environment gives; none: nobody has started ranks yet.
/// `get` is getenv, or a test's.
Expected<std::optional<Place>>
placeFromEnvironment(const std::function<const char *(const char *)> &get);

/// The run's shared memory, once all ranks have come.
Expected<Segment> meet(const Place &place, int64_t regionBytes,
                       double timeoutSeconds);

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSES_RENDEZVOUS_H
