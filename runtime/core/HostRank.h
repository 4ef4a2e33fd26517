//===- HostRank.h - a rank that computes on the host ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row kernels run on the rank's threads, GEMMs and attention in the libraries
// of
// ../kernels, collectives when they are called.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CORE_HOSTRANK_H
#define TPRT_CORE_HOSTRANK_H

#include "../kernels/Attention.h"
#include "../kernels/Gemm.h"
#include "Rank.h"

struct HostFunctions;

namespace tprt {

class HostRank final : public tprt_rank {
public:
  HostRank(const Manifest &manifest, const Program &program,
           std::unique_ptr<World> world, bool timeline);

  Status loadWeights(const Weights &weights) override;
  Status prepare(int64_t entry) override;
  Status resetStates() override;
  Expected<const void *> state(int64_t i) override {
    return static_cast<const void *>(states[i]);
  }
  Status step(int64_t entry) override;
  void *input(int64_t entry, int64_t i) override {
    return entries[entry].inputs[i];
  }
  void *output(int64_t entry, int64_t i) const override {
    return entries[entry].outputs[i];
  }
  Memory memory() const override;

private:
  friend struct ::HostFunctions;

  Status allocateStates();

  struct EntryMemory {
    bool ready = false;
    Buffer values;
    std::vector<void *> inputs, outputs;
  };

  GemmEngine gemms;
  AttentionEngine attentions;
  Buffer parameterMemory, stateMemory, arena, comm, scratch;
  std::vector<const void *> parameters;
  std::vector<void *> states;
  std::vector<EntryMemory> entries;
};

} // namespace tprt

#endif // TPRT_CORE_HOSTRANK_H
