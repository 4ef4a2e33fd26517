//===- SessionImpl.h - what a session holds ---------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SESSION_SESSIONIMPL_H
#define TPRT_SESSION_SESSIONIMPL_H

#include "../tensors/Values.h"
#include "CodeModule.h"
#include "Devices.h"
#include "RankThreads.h"
#include "Session.h"

#include <set>

namespace tprt {

struct Session::Impl {
  SessionOptions options;
  std::string where; ///< the artifact, for messages
  const BackendRow *backendRow = nullptr;
  LoadedFile file;
  Manifest manifest;
  CodeModule code;
  Program program;
  uint64_t hash = 0, scheduleHash = 0;
  std::unique_ptr<Backend> backend;
  std::vector<int64_t> here; ///< the ranks of this process
  /// By rank; null where it lives in another process.
  std::vector<std::unique_ptr<tprt_rank>> ranks;
  /// Inputs as set, per entry and input; empty: not set.
  std::vector<std::vector<std::optional<InputValue>>> inputs;
  /// Entries and inputs that setInput set by both names.
  std::set<std::pair<int64_t, size_t>> ownInputs;
  bool loaded = false, statesReady = false;
  /// Kept if a state begins with a parameter: it may be reset.
  std::optional<Weights> weights;
  Status left;             ///< why a thread was left behind, if one was
  int64_t downloaded = -1; ///< the entry whose outputs are on the host
  double loadSeconds = 0;
  std::vector<StepTimes> times; ///< by entry
  // Last, so that threads end before what they use.
  std::unique_ptr<RankThreads> threads;

  /// Opens the file and reads its tables; `texts` are the sections manifest,
  /// code and constants.
  Status readTables(const std::string &path, std::string_view (&texts)[3]);
  Status load(const std::string &path);
  Status start(std::shared_ptr<const ProcessInfo> process);
  Status connect();
  Expected<std::vector<CoreShare>> coreShares();
  Status checkKernels() const;
  int64_t sharedBytes() const;
  Status prepareStates();
  Status expectAllRanks() const;
  Status upload(tprt_rank &rank, int64_t entry);
  Status setInput(int64_t entry, size_t position, const TensorView &value,
                  bool copy);
  Status checkInputs(int64_t entry) const;
  Status bind(int64_t entry, const std::vector<Binding> &inputs,
              const std::vector<Binding> &outputs, std::vector<size_t> &places);
  Status run(const std::vector<int64_t> &entries, int64_t repeat,
             const std::vector<bool> &chosen);
  Expected<bool> assembleAll(const Value &value,
                             const std::function<const void *(int64_t)> &local,
                             tprt_type type, char *to);
  bool processes() const { return backend && backend->channel(); }
  bool root() const { return here[0] == 0; }
  /// One blob per rank: `mine` of each rank, on rank 0 or in threads.
  Expected<std::vector<std::string>>
  gather(const std::function<std::string(const tprt_rank &)> &mine);
  Status onRanks(const std::function<Status(int64_t)> &job);
  std::string describe(CallSite site) const;
};

} // namespace tprt

#endif // TPRT_SESSION_SESSIONIMPL_H
