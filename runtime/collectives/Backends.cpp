//===- Backends.cpp - from a backend's name to its hub --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// threads: ranks of this process. processes: ranks of this host. mpi: ranks
// that an MPI has started, anywhere.
//
//===----------------------------------------------------------------------===//

#include "Backends.h"

#ifdef TPRT_HAS_CUDA
#include "nccl/NcclHub.h"
#endif
#include "net/NetChannel.h"
#include "processes/Processes.h"
#include "processes/Rendezvous.h"
#include "threads/Threads.h"

using namespace tprt;

#ifndef TPRT_HAS_CUDA
static constexpr const char *kNoCuda =
    "backend 'nccl' is not in this build, which was made without CUDA's "
    "headers (cuda.h, cublasLt.h, nccl.h): install the CUDA toolkit and "
    "libnccl-dev and configure with -DTPRT_CUDA=ON";
#endif

Status tprt::checkBackend(const std::string &backend) {
#ifdef TPRT_HAS_CUDA
  constexpr const char *kHas = "this build has: threads, processes, mpi, nccl";
  if (backend == "nccl")
    return {};
#else
  constexpr const char *kHas = "this build has: threads, processes, mpi";
  if (backend == "nccl")
    return userError(kNoCuda, "; ", kHas);
#endif
  for (const char *known : {"threads", "processes", "mpi"})
    if (backend == known)
      return {};
  return userError("unknown backend '", backend, "'; ", kHas);
}

Status tprt::checkProgram(const std::string &backend, const Manifest &manifest,
                          bool alone) {
  bool device = manifest.device == Device::Cuda;
#ifndef TPRT_HAS_CUDA
  if (device)
    return userError("the program is made for CUDA devices, but ", kNoCuda,
                     ", or compile it without --target cuda");
#endif
  if (device && backend != "nccl")
    return userError("the program is made for CUDA devices, backend '", backend,
                     "' is for the CPU; run it with --backend nccl");
  if (!device && backend == "nccl")
    return userError("the program is made for the CPU, backend 'nccl' is for "
                     "CUDA devices; compile it with --target cuda");
#ifdef TPRT_HAS_CUDA
  if (device)
    return checkDevices(alone ? 1 : manifest.mesh.size(),
                        !manifest.gemms.empty());
#endif
  return {};
}

bool tprt::startsOwnRanks(const std::string &backend) {
  return ranksAreProcesses(backend) && backend != "mpi";
}

bool tprt::ranksAreProcesses(const std::string &backend) {
  return backend != "threads";
}

namespace {

/// Which rank this process is, where nobody has said so. A world of one needs
/// no starter, and MPI says it itself.
Expected<std::shared_ptr<const Place>> ownPlace(const HubOptions &options) {
  auto found = placeFromEnvironment();
  if (!found)
    return found.status();
  if (!*found && options.ranks > 1 && options.backend != "mpi")
    return userError("backend '", options.backend, "' runs each of the ",
                     options.ranks,
                     " ranks as a process, and nothing says which one this is: "
                     "start all with tp-run, torchrun, mpirun or srun, or set "
                     "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in each");
  return std::make_shared<const Place>(found->value_or(Place()));
}

/// The shared memory of the ranks, all of which are on this host.
Expected<Segment> meetHere(const Place &place, int64_t bytes, double timeout) {
  auto segment = meet(place, bytes, timeout);
  if (segment && segment->ranks() != place.ranks)
    return userError("the rendezvous is of ", segment->ranks(),
                     " ranks, expected ", place.ranks);
  return segment;
}

Expected<std::unique_ptr<Hub>> makeProcesses(const HubOptions &options) {
  const Place &place = *options.place;
  if (!place.oneHost())
    return userError("backend 'processes' needs all ranks on one host: ",
                     place.hosts, "; put them on one host");
  auto segment =
      meetHere(place, options.sharedBytes, options.waits.timeoutSeconds);
  if (!segment)
    return segment.status();
  return std::unique_ptr<Hub>(
      std::make_unique<ProcessHub>(std::move(*segment), place, options.waits));
}

} // namespace

Expected<std::unique_ptr<SideChannel>>
tprt::connectRanks(const Place &place, const SideChannel::Options &options) {
  if (!place.oneHost()) {
    if (place.ports.empty())
      return userError("ranks are on several hosts (", place.hosts,
                       "), but nothing says where rank 0 is: set MASTER_ADDR "
                       "and MASTER_PORT");
    auto meeting = net::meet(place, options.timeoutSeconds);
    if (!meeting)
      return meeting.status();
    return std::unique_ptr<SideChannel>(
        std::make_unique<NetChannel>(std::move(*meeting), place, options));
  }
  auto segment = meetHere(place, 0, options.timeoutSeconds);
  if (!segment)
    return segment.status();
  return std::unique_ptr<SideChannel>(
      std::make_unique<SegmentChannel>(std::move(*segment), place, options));
}

Expected<std::unique_ptr<Hub>> tprt::makeHub(HubOptions options) {
  TPRT_TRY(checkBackend(options.backend));
  if (options.onlyRank)
    return makeAloneHub(*options.onlyRank, options.ranks);
  if (!ranksAreProcesses(options.backend))
    return std::unique_ptr<Hub>(std::make_unique<ThreadHub>(
        options.ranks, options.waits.timeoutSeconds, options.waits.describe));
  if (!options.place) {
    auto place = ownPlace(options);
    if (!place)
      return place.status();
    options.place = std::move(*place);
  }
  // MPI knows better than the environment.
  if (options.backend == "mpi")
    return makeMpiHub(options);
  if (options.place->ranks != options.ranks)
    return userError("the artifact is made for ", options.ranks, " ranks, but ",
                     options.place->source, " says ", options.place->ranks);
#ifdef TPRT_HAS_CUDA
  if (options.backend == "nccl") {
    auto channel = connectRanks(*options.place, options.waits);
    if (!channel)
      return channel.status();
    return std::unique_ptr<Hub>(std::make_unique<NcclHub>(std::move(*channel)));
  }
#endif
  return makeProcesses(options);
}
