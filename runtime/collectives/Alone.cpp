//===- Alone.cpp - one rank of many, without the others -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To measure what one rank computes: collectives do nothing, so that results
// mean nothing. For the host and for a device.
//
//===----------------------------------------------------------------------===//

#include "Backends.h"
#include "DeviceWorld.h"

#ifdef TPRT_HAS_CUDA
#include "../cuda/libraries/Driver.h"
#endif

using namespace tprt;

namespace {

class AloneCommunicator : public Communicator {
public:
  Status run(const Collective &, CallSite, const void *, void *) override {
    return {};
  }
};

class AloneWorld : public DeviceWorld {
public:
  AloneWorld(int64_t rank, int64_t ranks) : self(rank), ranks(ranks) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return ranks; }
  Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &) override {
    return std::unique_ptr<Communicator>(std::make_unique<AloneCommunicator>());
  }
  Status agree(uint64_t, const char *) override { return {}; }
  Expected<Buffer> allocate(int64_t bytes) override {
    return Buffer::allocate(bytes);
  }

  int64_t device(int64_t) const override { return 0; }
  Status attach(const Manifest &, CUstream_st *, int64_t) override {
    return {};
  }
  ~AloneWorld() override {
#ifdef TPRT_HAS_CUDA
    for (uint64_t memory : operands)
      (*Driver::get())->cuMemFree(memory);
#endif
  }
  Expected<uint64_t> allocateOperands(int64_t bytes) override {
#ifdef TPRT_HAS_CUDA
    auto cuda = Driver::get();
    if (!cuda)
      return cuda.status();
    CUdeviceptr memory = 0;
    TPRT_TRY((*cuda)->check(
        (*cuda)->cuMemAlloc(&memory, size_t(bytes)),
        detail::join("cannot allocate ", bytes, " bytes on the device")));
    operands.push_back(memory);
    return uint64_t(memory);
#else
    return internalError("this build has no devices");
#endif
  }
  Status endStep() override { return {}; }
  Status await(CUstream_st *stream) override {
#ifdef TPRT_HAS_CUDA
    auto cuda = Driver::get();
    if (!cuda)
      return cuda.status();
    return (*cuda)->check((*cuda)->cuStreamSynchronize(stream), "the step");
#else
    return {};
#endif
  }
  /// What the others say is left out as well.
  Expected<std::vector<std::string>>
  exchange(const std::string &bytes) override {
    return std::vector<std::string>(size_t(ranks), bytes);
  }
  int64_t deviceBytes() const override { return 0; }

private:
  int64_t self, ranks;
  std::vector<uint64_t> operands;
};

class AloneHub : public Hub {
public:
  AloneHub(int64_t rank, int64_t count) : self(rank) { ranks = count; }
  std::unique_ptr<World> world(int64_t) override {
    return std::make_unique<AloneWorld>(self, ranks);
  }

private:
  int64_t self;
};

} // namespace

std::unique_ptr<Hub> tprt::makeAloneHub(int64_t rank, int64_t ranks) {
  return std::make_unique<AloneHub>(rank, ranks);
}
