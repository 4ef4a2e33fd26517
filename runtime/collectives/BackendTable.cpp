//===- BackendTable.cpp - the table of backends ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows, and how a process that is a rank learns which one.
//
//===----------------------------------------------------------------------===//

#include "BackendTable.h"

#include "net/NetRendezvous.h"
#include "processes/Segment.h"

#include <cstdio>
#include <cstdlib>

using namespace tprt;
using Ranks = BackendRow::Ranks;

namespace tprt {
/// Each in its folder.
BackendRow::Connect connectThreads, connectProcesses, connectMpi, connectNccl;
Status checkNccl();
} // namespace tprt

namespace {

/// Nothing that ranks of several hosts share before they meet is a secret.
constexpr const char *kGuessableToken =
    "the ranks are on several hosts and know each other by what other users of "
    "these hosts can find out too (the job's number, the meeting place): set "
    "TPRT_JOB_TOKEN to a secret, the same for all ranks";

/// Without a name the first that serves a program is taken.
constexpr BackendRow kBackends[] = {
    {"threads", "ranks of one process", Ranks::Threads, Device::Cpu,
     connectThreads},
    {"processes", "a process per rank, on one host", Ranks::Processes,
     Device::Cpu, connectProcesses},
    {"mpi", "a process per rank, under mpirun or srun", Ranks::Launched,
     Device::Cpu, connectMpi},
    {"nccl", "a process and a GPU per rank", Ranks::Processes, Device::Cuda,
#ifdef TPRT_HAS_CUDA
     connectNccl, checkNccl},
#else
     nullptr, nullptr, kNoCuda},
#endif
};

/// `a, b or c`.
template <typename Where>
std::string listNames(const char *lastComma, Where where) {
  std::vector<std::string> names;
  for (const BackendRow &backend : kBackends)
    if (where(backend))
      names.push_back(backend.name);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? lastComma : ", ") + names[i];
  return text;
}

/// Reads which rank this process is from the environment. A run of one needs no
/// starter, and a transport's launcher says it itself.
Expected<std::shared_ptr<const ProcessInfo>>
ownProcessInfo(const BackendRow &backend, int64_t ranks) {
  TPRT_ASSIGN(auto found, processInfoFromEnvironment());
  if (!found && ranks > 1 && backend.ranks != Ranks::Launched)
    return userError("backend '", backend.name, "' runs each of the ", ranks,
                     " ranks as a process, and nothing says which one this is: "
                     "start all with tp-run, torchrun, mpirun or srun, or set "
                     "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in each");
  return std::make_shared<const ProcessInfo>(found.value_or(ProcessInfo()));
}

} // namespace

Status tprt::checkBackendName(const std::string &name) {
  for (const BackendRow &backend : kBackends)
    if (name == backend.name)
      return {};
  return userError("unknown backend '", name, "'; this build has: ",
                   listNames(", ", [](auto &row) { return row.connect; }));
}

Expected<const BackendRow *> tprt::findBackend(const std::string &name,
                                               Device device, int64_t ranks) {
  for (const BackendRow &backend : kBackends) {
    if (name.empty() ? !backend.serves(device, ranks) : name != backend.name)
      continue;
    if (backend.connect)
      return &backend;
    return userError("backend '", backend.name, "' is not in this build, ",
                     backend.missing, "; this build has: ",
                     listNames(", ", [](auto &row) { return row.connect; }));
  }
  return checkBackendName(name);
}

Expected<const BackendRow *> tprt::findBackend(const ProcessInfo &process,
                                               Device device) {
  // Between hosts the host's memory goes by messages of the launcher's own
  // transport; a device's library finds its way by itself.
  bool launched = device == Device::Cpu && !process.oneHost();
  if (launched && process.starter == "torchrun")
    return userError("torchrun started ranks on several hosts (", process.hosts,
                     "), which no backend of this program's device connects: "
                     "start them with mpirun or srun and --backend mpi");
  for (const BackendRow &backend : kBackends)
    if (backend.ranksAreProcesses() && backend.memory == device &&
        (!launched || backend.ranks == Ranks::Launched))
      return findBackend(backend.name, device, process.ranks);
  return findBackend("", device, process.ranks);
}

std::string tprt::backendsFor(Device device, int64_t ranks) {
  return listNames(" or ", [&](const BackendRow &backend) {
    return backend.serves(device, ranks);
  });
}

std::string tprt::describeBackends() {
  std::string text;
  for (const BackendRow &backend : kBackends)
    if (backend.connect)
      text += detail::join(text.empty() ? "" : "; ", backend.name, ": ",
                           backend.summary);
  return text;
}

Expected<std::unique_ptr<SideChannel>>
tprt::connectRanks(const ProcessInfo &process,
                   const SideChannel::Options &options) {
  if (!process.oneHost()) {
    if (process.ports.empty())
      return userError("ranks are on several hosts (", process.hosts,
                       "), but nothing says where rank 0 is: set MASTER_ADDR "
                       "and MASTER_PORT");
    if (process.rank == 0 && !std::getenv(kTokenVariable))
      std::fprintf(stderr, "tp-run: warning: %s\n", kGuessableToken);
    TPRT_ASSIGN(auto connections,
                net::rendezvous(process, options.timeoutSeconds));
    return net::makeChannel(std::move(connections), process, options);
  }
  TPRT_ASSIGN(auto here, rendezvous(process, 0, options.timeoutSeconds));
  return net::makeChannel(std::move(here.connections), process, options,
                          std::move(here.memory));
}

Expected<std::unique_ptr<Backend>> tprt::makeBackend(BackendOptions options) {
  TPRT_ASSIGN(auto found,
              findBackend(options.backend, options.device, options.ranks));
  const BackendRow &backend = *found;
  // The others are left out, or there are none and the transport is for
  // another memory.
  if (options.onlyRank || backend.memory != options.device)
    return makeAloneBackend(options.onlyRank.value_or(0), options.ranks,
                            options.device, options.waits.timeoutSeconds);
  if (backend.ranksAreProcesses() && !options.process) {
    TPRT_ASSIGN(options.process, ownProcessInfo(backend, options.ranks));
  }
  // A transport's launcher knows better than the environment.
  if (backend.ranks == Ranks::Processes &&
      options.process->ranks != options.ranks)
    return userError("the artifact is made for ", options.ranks, " ranks, but ",
                     options.process->source, " says ", options.process->ranks);
  // One device has nobody to talk to.
  if (options.ranks == 1 && options.device != Device::Cpu)
    return makeAloneBackend(0, 1, options.device, options.waits.timeoutSeconds);
  return backend.connect(options);
}
