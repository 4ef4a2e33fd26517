//===- CudaRank.h - a rank that computes on a CUDA device -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All memory is allocated once, when the parameters are loaded: inside a step
// nothing is allocated and nothing waits. Kernels, GEMMs and attention go to
// the computation stream, collectives to the communication stream, and events
// order the two where the compiled step says so. A step is captured as a graph
// once and replayed.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_CUDARANK_H
#define TPRT_CUDA_CUDARANK_H

#include "../rank/Rank.h"
#include "CudaDevice.h"
#include "DeviceTimeline.h"
#include "GemmPlans.h"
#include "KernelImages.h"
#include "ParameterLoader.h"
#include "libraries/Libraries.h"

struct CudaFunctions;

namespace tprt {

class CudaRank final : public tprt_rank {
public:
  CudaRank(const Manifest &manifest, const Program &program, Backend &backend,
           int64_t rank, bool timeline);
  ~CudaRank() override;

  Status connect() override;
  Status loadWeights(const Weights &weights) override;
  Status prepare(int64_t entry) override;
  Status upload(int64_t entry) override;
  Status resetStates(const Weights *weights) override;
  Expected<const void *> state(int64_t i, int64_t offset,
                               int64_t bytes) override;
  Status step(int64_t entry) override;
  Status download(int64_t entry, const std::vector<bool> &chosen) override;
  Status downloadPart(int64_t entry, int64_t output, int64_t offset,
                      int64_t bytes) override;
  Memory memory() const override;
  const StepTimes *deviceTimes(int64_t entry) const override {
    return &entries[entry].times;
  }

private:
  friend struct ::CudaFunctions;

  struct EntryState {
    std::vector<void *> inputs, outputs; ///< device addresses
    bool ready = false;
    GraphExec graph;
    StepTimes times;
  };

  Status allocate();
  /// Copies on the computation stream; `what` is for the message.
  Status toDevice(CUdeviceptr to, const void *from, int64_t bytes,
                  const std::string &what) const;
  Status fromDevice(void *to, CUdeviceptr from, int64_t bytes,
                    const std::string &what) const;
  /// Work given to `after` from here on waits for the work that `before` has so
  /// far.
  Status order(CUstream before, const Event &event, CUstream after,
               const char *what) const;
  Status forkStreams();
  Status joinStreams();
  Status enqueueStep(int64_t entry, const tprt_api &table);
  Status connectAll(int64_t entry);
  Status capture(int64_t entry);
  Status await(const std::string &what);
  Status explain(const Status &status, bool graph) const;
  tprt_step_args arguments(int64_t entry);
  Status startCollective(int32_t id, int64_t layer, const void *in, void *out);
  Status waitFor(int32_t id);

  const Driver *cuda = nullptr;
  DeviceBackend *device = nullptr; ///< the backend
  CudaDevice gpu;
  // Destroyed in reverse order: what uses a stream goes before it.
  Stream compute, communication;
  Event reached, joined, begun, ended;
  std::vector<Event> finished; ///< of the last call of each ledger entry
  KernelImages kernels;
  GemmPlans gemms;
  std::unique_ptr<DeviceTimeline> trace;

  ParameterPlan parameterPlan;
  DeviceBytes block;        ///< device memory of this rank alone
  CUdeviceptr operands = 0; ///< what collectives move; the backend's
  PinnedBytes staging;      ///< of one state, and of the values
  char *stagedState = nullptr;
  struct Layout {
    int64_t parameters = 0, constants = 0, arena = 0, scratch = 0,
            workspace = 0, total = 0;
  } places; ///< offsets in the block
  struct Operands {
    int64_t comm = 0, values = 0, total = 0;
  } shared; ///< offsets in what collectives move
  int64_t scratchBytes = 0;
  int64_t contextBytes = 0, communicatorBytes = 0;
  std::vector<const void *> parameters;
  std::vector<EntryState> entries;
  std::vector<tprt_gemm_call> noted; ///< by the noting table
  /// The last call of the step, for messages.
  Timeline::Event last{Timeline::Kind::Step, 0, 0, {}, {}};
};

/// An error that says what of this machine is missing to run the program: the
/// driver, a device, or cuBLASLt if it has products. Makes no context.
Status checkCuda(const Manifest &manifest);

} // namespace tprt

#endif // TPRT_CUDA_CUDARANK_H
