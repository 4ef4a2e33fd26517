//===- Alone.cpp - one rank of many, without the others -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Alone.h.
//
//===----------------------------------------------------------------------===//

#include "Alone.h"

#include "DeviceWorld.h"

#ifdef TPRT_HAS_CUDA
#include "../cuda/Driver.h"
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
  AloneWorld(AloneHub &hub, int64_t rank) : hub(hub), self(rank) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return hub.size(); }
  Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &) override {
    return std::unique_ptr<Communicator>(std::make_unique<AloneCommunicator>());
  }
  Status agree(uint64_t, const char *) override { return {}; }
  Expected<Buffer> allocate(int64_t bytes) override {
    return Buffer::allocate(bytes);
  }
  void abort(const Status &status) override { hub.abort(status); }

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
    return std::vector<std::string>(size_t(hub.size()), bytes);
  }
  int64_t deviceBytes() const override { return 0; }

private:
  AloneHub &hub;
  int64_t self;
  std::vector<uint64_t> operands;
};

} // namespace

AloneHub::AloneHub(int64_t rank, int64_t count) : self(rank) { ranks = count; }

std::unique_ptr<World> AloneHub::world(int64_t) {
  return std::make_unique<AloneWorld>(*this, self);
}

Status AloneHub::failure() const {
  std::lock_guard lock(mutex);
  return first;
}

void AloneHub::abort(const Status &status) {
  std::lock_guard lock(mutex);
  if (first.ok())
    first = status;
}
