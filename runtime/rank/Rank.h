//===- Rank.h - one rank of a running program -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code knows a rank as tprt_rank: its memory, parameters and
// communicators, and the functions that the compiled step calls. What executes
// them is the host (HostRank.h) or a device (CudaRank.h). A rank is used by one
// thread.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_RANK_RANK_H
#define TPRT_RANK_RANK_H

#include "../collectives/Backend.h"
#include "../format/Manifest.h"
#include "../support/Memory.h"
#include "../tensors/Weights.h"
#include "Timeline.h"

#include <map>
#include <memory>
#include <optional>

namespace tprt {

/// The artifact's sections beside the manifest. The session owns them.
struct Program {
  const tprt_program *steps = nullptr;
  std::string_view constants;
  /// Device code by section: kernels.ptx, kernels.sm_90, ...
  std::map<std::string, std::string_view> kernels;
};

/// The layout of a rank's states, inputs and outputs in one block of memory.
struct ValueLayout {
  explicit ValueLayout(const Manifest &manifest);

  struct Places {
    std::vector<int64_t> inputs, outputs; ///< offsets; of a state, the state's
    int64_t bytes = 0;                    ///< beside the states
  };
  std::vector<int64_t> states; ///< offsets; they come first
  std::vector<Places> entries;
  int64_t stateBytes = 0, bytes = 0;
};

} // namespace tprt

struct tprt_rank {
public:
  virtual ~tprt_rank();

  /// Makes the communicators of all ledger entries.
  virtual tprt::Status connect();
  /// Loads this rank's parameters.
  virtual tprt::Status loadWeights(const tprt::Weights &weights) = 0;
  /// Makes the entry ready to run: memory, and what is done once for all steps.
  virtual tprt::Status prepare(int64_t entry) = 0;
  /// Takes the inputs from where input() has them.
  virtual tprt::Status upload(int64_t entry) { return {}; }
  /// Gives every state its initial value; after prepare of all entries, which
  /// may run on live buffers. `weights` may be null if no state begins with a
  /// parameter.
  virtual tprt::Status resetStates(const tprt::Weights *weights) = 0;
  /// Host memory that holds `bytes` of the local block of a state from `offset`
  /// on, as they are now.
  virtual tprt::Expected<const void *> state(int64_t i, int64_t offset,
                                             int64_t bytes) = 0;
  virtual tprt::Status step(int64_t entry) = 0;
  /// Brings the `chosen` outputs of the last step to where output() has them.
  virtual tprt::Status download(int64_t entry,
                                const std::vector<bool> &chosen) {
    return {};
  }

  /// The same of `bytes` of one output from `offset` on.
  virtual tprt::Status downloadPart(int64_t entry, int64_t output,
                                    int64_t offset, int64_t bytes) {
    return {};
  }

  const std::vector<int64_t> &coordinates() const { return meshCoordinates; }
  /// Host memory of local, padded values.
  void *input(int64_t entry, int64_t i) const {
    return values + layout.entries[size_t(entry)].inputs[size_t(i)];
  }
  void *output(int64_t entry, int64_t i) const {
    return values + layout.entries[size_t(entry)].outputs[size_t(i)];
  }

  /// Memory of this rank, in bytes.
  struct Memory {
    int64_t parameters, arenaStated, arenaUsed, commStated, commUsed, scratch,
        values, states;
    int64_t stated; ///< the compiler's peak
    /// Memory of a device alone: what the runtime allocated in all; what was in
    /// use when it began (the driver's context, and others on the device); and
    /// what the communication library took.
    int64_t allocated, context, communicators;
    /// The part of `scratch` that products and collectives need beside the
    /// plan.
    int64_t workspace;
    int64_t peak() const {
      return parameters + arenaUsed + commUsed + scratch + values + states;
    }
  };
  virtual Memory memory() const = 0;
  /// Times of the entry's steps on the device; null on the host.
  virtual const tprt::StepTimes *deviceTimes(int64_t entry) const {
    return nullptr;
  }

  int64_t loadedBytes = 0;
  tprt::Timeline timeline;

protected:
  /// The backend outlives it.
  tprt_rank(const tprt::Manifest &manifest, const tprt::Program &program,
            tprt::Backend &backend, int64_t rank, bool timeline);

  /// Ends the communicators, for ranks that must do so before their own end.
  void disconnect();
  /// Records the first error and turns it into the table's status.
  int32_t finish(tprt::Status status);
  /// Runs the entry's code with a function table.
  tprt::Status call(int64_t entry, const tprt_api &table,
                    const tprt_step_args &args);
  /// The compiler's figures for these entries together, inputs and outputs of
  /// each among them.
  Memory planned(const std::vector<bool> &chosen) const;
  /// Writes the initial value of a state to host memory.
  tprt::Status initialise(const tprt::State &state,
                          const tprt::Weights *weights, void *local);
  /// Executes, starts or enqueues a ledger entry.
  tprt::Status collective(int32_t id, int64_t layer, const void *in, void *out);
  /// Gives the addends of a ledger entry's members (tprt_api::peers).
  tprt::Status peers(int32_t id, int64_t layer, const void *in,
                     const void **addends);
  /// Bytes that collectives take beside the plan.
  int64_t collectiveScratch() const;
  /// Waits for the last start of an entry in `layer`.
  tprt::Status finishCollective(int32_t id, int64_t layer);
  /// After a step that failed: nothing of what it started goes on.
  void abandonCollectives();

  const tprt::Manifest &manifest;
  const tprt::Program &program;
  tprt::Backend &backend;
  const int64_t self;
  std::vector<int64_t> meshCoordinates;
  const tprt::ValueLayout layout;
  char *values = nullptr; ///< host memory of all values; the derived class'
  int64_t layer = 0;      ///< that the step is in: tprt_step_args::layer

private:
  std::vector<tprt::Communicator *> perEntry; ///< ledger entry -> communicator
  std::map<std::vector<int64_t>, std::unique_ptr<tprt::Communicator>>
      communicators;
  std::optional<tprt::Status> error;
};

#endif // TPRT_RANK_RANK_H
