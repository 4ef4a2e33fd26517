//===- Rank.h - one rank of a running program -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled code holds as tprt_rank: the rank's place in the mesh, its
// communicators, engines and memory, and the function table's implementations.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CORE_RANK_H
#define TPRT_CORE_RANK_H

#include "../collectives/Communicator.h"
#include "../kernels/Attention.h"
#include "../kernels/Gemm.h"
#include "Manifest.h"
#include "Memory.h"
#include "Timeline.h"
#include "Weights.h"

#include <map>
#include <memory>
#include <optional>

/// Made and used on the rank's own thread.
struct tprt_rank {
public:
  tprt_rank(const tprt::Manifest &manifest, std::unique_ptr<tprt::World> world,
            bool timeline);

  /// Makes the communicators of all ledger entries.
  tprt::Status connect();
  /// Loads and packs this rank's parameters.
  tprt::Status loadWeights(const tprt::Weights &weights);
  /// Allocates the entry's memory, once.
  tprt::Status prepare(int64_t entry);
  /// One step: inputs are in place, outputs are when it returns.
  tprt::Status step(int64_t entry, tprt_step function, const void *constants);

  const std::vector<int64_t> &coordinates() const { return place; }
  void *input(int64_t entry, int64_t i) { return entries[entry].inputs[i]; }
  void *output(int64_t entry, int64_t i) const {
    return entries[entry].outputs[i];
  }

  /// Of this rank, in bytes.
  struct Memory {
    int64_t parameters, arenaStated, arenaUsed, commStated, commUsed, scratch,
        values;
    int64_t peak() const {
      return parameters + arenaUsed + commUsed + scratch + values;
    }
  };
  Memory memory() const;

  int64_t loadedBytes = 0;
  tprt::Timeline timeline;
  std::unique_ptr<tprt::World> world;

private:
  friend struct RankFunctions;
  /// Records the first error and turns it into the table's status.
  int32_t finish(tprt::Status status);

  struct EntryMemory {
    bool ready = false;
    tprt::Buffer values;
    std::vector<void *> inputs, outputs;
  };

  const tprt::Manifest &manifest;
  std::vector<int64_t> place;
  std::vector<tprt::Communicator *> perEntry; ///< ledger entry -> communicator
  std::map<std::vector<int64_t>, std::unique_ptr<tprt::Communicator>>
      communicators;
  tprt::GemmEngine gemms;
  tprt::AttentionEngine attentions;
  tprt::Buffer parameterMemory, arena, comm, scratch;
  std::vector<const void *> parameters;
  std::vector<EntryMemory> entries;
  std::optional<tprt::Status> error;
};

namespace tprt {
/// The function table that every step is given.
const tprt_api &functionTable();
} // namespace tprt

#endif // TPRT_CORE_RANK_H
