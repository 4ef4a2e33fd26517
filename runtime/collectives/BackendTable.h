//===- BackendTable.h - the table of backends -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows which backends there are: a row each. What executes
// a program is a device, chosen by the artifact; what connects its ranks is a
// backend, and one rank needs none. docs/Adding.md says what a new row needs.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_BACKENDTABLE_H
#define TPRT_COLLECTIVES_BACKENDTABLE_H

#include "Backend.h"
#include "SideChannel.h"

namespace tprt {

struct Nccl;

/// The arguments of makeBackend.
struct BackendOptions {
  std::string backend;
  Device device = Device::Cpu; ///< of the artifact
  int64_t ranks = 1;           ///< of the artifact
  /// This process, where ranks are processes; null: the environment says it.
  std::shared_ptr<const ProcessInfo> process;
  std::optional<int64_t> onlyRank; ///< this rank alone, no collectives
  int64_t sharedBytes = 0;         ///< of buffers that other ranks may read
  SideChannel::Options waits;
};

/// A row of the table.
struct BackendRow {
  enum class Ranks {
    Threads,   ///< of this process
    Processes, ///< one each, which tp-run starts where nobody else has
    Launched,  ///< one each, by a launcher that the transport brings
  };
  const char *name;
  const char *summary; ///< for the list of backends
  Ranks ranks;
  Device memory; ///< whose memory it moves between ranks
  /// The backend of this process, once all ranks have come. `process` is set
  /// where ranks are processes.
  using Connect =
      Expected<std::unique_ptr<Backend>>(const BackendOptions &options);
  Connect *connect;
  /// An error where this machine lacks what connecting ranks needs, before any
  /// of them is started; null: nothing can lack.
  Status (*check)() = nullptr;
  const char *missing = nullptr; ///< why there is no `connect` in this build

  bool ranksAreProcesses() const { return ranks != Ranks::Threads; }
  /// True if it can run so many ranks of a program for the device: a rank
  /// without others needs a thread alone, whatever its device.
  bool serves(Device device, int64_t count) const {
    return memory == device || (count == 1 && ranks == Ranks::Threads);
  }
};

/// Why a build has no device. It stands here whether one has, so that a file
/// that includes this is the same file in both.
inline constexpr const char *kNoCuda =
    "which was made without CUDA's headers (cuda.h, cublasLt.h, nccl.h): "
    "install the CUDA toolkit and libnccl-dev and configure with "
    "-DTPRT_CUDA=ON";

/// An error if the table has no row of that name.
Status checkBackendName(const std::string &name);
/// The backend of that name, or, for none, the first that serves the program;
/// an error if there is none, or not in this build.
Expected<const BackendRow *> findBackend(const std::string &name, Device device,
                                         int64_t ranks);
/// The backend of a process that a launcher has started as one of several,
/// where nobody has named one: it connects these processes, and never runs all
/// ranks in each of them.
Expected<const BackendRow *> findBackend(const ProcessInfo &process,
                                         Device device);
/// The names of those that serve it, `a, b or c`, for messages.
std::string backendsFor(Device device, int64_t ranks);
/// All of this build: `name: summary; ...`.
std::string describeBackends();

/// A rank whose collectives NCCL moves (nccl/), for what has met already.
std::unique_ptr<DeviceBackend>
makeNcclBackend(std::shared_ptr<SideChannel> channel, const Nccl &nccl);
/// The only rank, or one of many, without the others (Alone.cpp). Its device is
/// lost if it does not answer within the time limit.
std::unique_ptr<Backend> makeAloneBackend(int64_t rank, int64_t ranks,
                                          Device device, double timeoutSeconds);
/// The backend of this process, once all ranks have come.
Expected<std::unique_ptr<Backend>> makeBackend(BackendOptions options);

} // namespace tprt

#endif // TPRT_COLLECTIVES_BACKENDTABLE_H
