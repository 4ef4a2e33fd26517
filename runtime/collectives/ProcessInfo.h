//===- ProcessInfo.h - which rank a process is ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process learns its rank from its environment: from tp-run, torchrun, mpirun
// or Slurm. They also say which host it is on and name the job, which is how
// the ranks find each other.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROCESSINFO_H
#define TPRT_COLLECTIVES_PROCESSINFO_H

#include "tprt/status.h"

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tprt {

/// The rank that a process is, and where it meets the others.
struct ProcessInfo {
  int64_t rank = 0, ranks = 1;
  /// Among the ranks of its host. Where the starter does not say: as if all
  /// were on one.
  int64_t localRank = 0, localRanks = 1;
  int file = -1;       ///< the shared memory, if it was inherited
  std::string starter; ///< tp-run, mpirun, torchrun, Slurm
  std::string source;  ///< what says so, for messages
  std::string job;     ///< names the job, the same on all of its ranks
  std::string token;   ///< what ranks of this job alone bring
  std::string hosts;   ///< how we know of several hosts; empty: there is one
  /// Addresses at which rank 0 may be met over TCP, and ports it tries in turn.
  std::vector<std::string> addresses;
  std::vector<int> ports;

  bool oneHost() const { return hosts.empty(); }
};

/// Variables that tp-run sets for the ranks it starts.
inline constexpr const char *kRankVariable = "TPRT_RANK";
inline constexpr const char *kRanksVariable = "TPRT_WORLD_SIZE";
inline constexpr const char *kFileVariable = "TPRT_SHARED_MEMORY_FD";

/// Adds a secret of the user's to the token of a job.
inline constexpr const char *kTokenVariable = "TPRT_JOB_TOKEN";

/// A number of seconds above 0 that this variable states; none if it is not
/// set.
Expected<std::optional<double>> secondsFromEnvironment(
    const char *name,
    const std::function<const char *(const char *)> &get = getenv);

/// The first host of a list in Slurm's notation: `gpu[08-11,20],login` ->
/// gpu08.
std::string firstOfNodeList(const std::string &list);

/// Reads the rank from the environment; none: nobody has started ranks yet.
/// `get` is getenv, or a test's.
Expected<std::optional<ProcessInfo>> processInfoFromEnvironment(
    const std::function<const char *(const char *)> &get = getenv);

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSINFO_H
