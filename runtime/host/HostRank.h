//===- HostRank.h - a rank that computes on the host ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row kernels run on the rank's threads, what a library computes in a file each
// beside this one, collectives when they are called, or, where the program says
// so, from their call until it waits for them.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_HOSTRANK_H
#define TPRT_HOST_HOSTRANK_H

#include "../rank/FunctionTable.h"
#include "../rank/Rank.h"

#include <array>

/// The functions that compiled code calls on the host. Those of a library are
/// defined in its file.
struct HostFunctions {
#define TPRT_DECLARE(name, parameters)                                         \
  static int32_t name(tprt_rank *rank parameters);
  TPRT_FOR_EACH_FUNCTION(TPRT_DECLARE)
#undef TPRT_DECLARE
};

namespace tprt {

/// The state that a library's function keeps between its calls on one rank.
class Engine {
public:
  virtual ~Engine() = default;
  /// In bytes.
  virtual int64_t scratchBytes() const { return 0; }
};

class HostRank final : public tprt_rank {
public:
  HostRank(const Manifest &manifest, const Program &program, Backend &backend,
           int64_t rank, bool timeline);

  Status loadWeights(const Weights &weights) override;
  Status prepare(int64_t entry) override;
  Status resetStates(const Weights *weights) override;
  Expected<const void *> state(int64_t i, int64_t offset,
                               int64_t bytes) override {
    return static_cast<const void *>(values + layout.states[size_t(i)] +
                                     offset);
  }
  Status step(int64_t entry) override;
  Memory memory() const override;

private:
  friend struct ::HostFunctions;

  /// The engine of a function, made from the manifest when it is first asked
  /// for.
  template <typename T>
  T &engine(tprt_slot slot) {
    if (!engines[slot])
      engines[slot] = std::make_unique<T>(manifest);
    return static_cast<T &>(*engines[slot]);
  }
  /// Runs `work`, an event of the timeline.
  template <typename Work>
  int32_t traced(Timeline::Kind kind, int64_t id, int64_t layer, Work work) {
    timeline.begin(kind, id, layer);
    Status status = work();
    timeline.end();
    return finish(std::move(status));
  }
  void abandon(const Status &status);
  bool isAsynchronous(int32_t id) const {
    const auto &all = manifest.collectives;
    return id >= 0 && size_t(id) < all.size() && all[size_t(id)].asynchronous;
  }

  struct EntryMemory {
    bool ready = false;
    std::vector<void *> inputs, outputs;
  };

  std::array<std::unique_ptr<Engine>, TPRT_SLOT_COUNT> engines;
  /// By ledger entry: when it was started last, where a timeline is recorded.
  std::vector<Timeline::Clock::time_point> startTimes;
  Buffer parameterMemory, valueMemory, arena, comm, scratch;
  std::vector<const void *> parameters;
  std::vector<EntryMemory> entries;
  std::vector<bool> ran; ///< by entry: memory of others was never touched
};

} // namespace tprt

#endif // TPRT_HOST_HOSTRANK_H
