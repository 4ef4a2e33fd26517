//===- Alone.cpp - one rank without others --------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only rank of a program, which needs no transport, or one of many, to
// measure what it computes: then collectives between ranks do nothing, so that
// results mean nothing. For the host and for a device.
//
//===----------------------------------------------------------------------===//

#include "BackendTable.h"
#include "DeviceRankContext.h"
#include "LocalCollective.h"
#ifdef TPRT_HAS_CUDA
#include "../cuda/libraries/Handles.h"
#include "DeviceCopy.h"
#endif

using namespace tprt;

namespace {

class AloneRankContext : public DeviceRankContext {
public:
  AloneRankContext(int64_t rank, int64_t ranks) : self(rank), ranks(ranks) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return ranks; }
  Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &members) override;
  Status agree(uint64_t, const char *) override { return {}; }
  Expected<Buffer> allocate(int64_t bytes) override {
    return Buffer::allocate(bytes);
  }

  int64_t device(int64_t) const override { return 0; }
  Status attach(const Manifest &manifest, CUstream_st *stream,
                int64_t devices) override;
  Expected<uint64_t> allocateOperands(int64_t bytes) override;
  Status endStep() override { return {}; }
  Status await(CUstream_st *stream) override;
  /// What the others say is left out as well.
  Expected<std::vector<std::string>>
  exchange(const std::string &bytes) override {
    return std::vector<std::string>(size_t(ranks), bytes);
  }
  int64_t deviceBytes() const override { return stagingSize; }

  /// What an entry does in a group of one.
  Status copy(const Collective &entry, const void *in, void *out);

private:
  int64_t self, ranks, stagingSize = 0;
  CUstream_st *stream = nullptr; ///< null: on the host
  uint64_t staging = 0;
#ifdef TPRT_HAS_CUDA
  std::vector<DeviceBytes> operands;
#endif
};

class AloneCommunicator : public Communicator {
public:
  AloneCommunicator(AloneRankContext &context, bool only)
      : context(context), only(only) {}
  Status run(const Collective &entry, CallSite, const void *in,
             void *out) override {
    return only ? context.copy(entry, in, out) : Status();
  }

private:
  AloneRankContext &context;
  bool only; ///< in its group
};

Expected<std::unique_ptr<Communicator>>
AloneRankContext::communicator(const std::vector<int64_t> &members) {
  return std::unique_ptr<Communicator>(
      std::make_unique<AloneCommunicator>(*this, members.size() == 1));
}

#ifdef TPRT_HAS_CUDA
Status AloneRankContext::attach(const Manifest &manifest,
                                CUstream_st *theStream, int64_t) {
  stream = theStream;
  stagingSize = stagingBytes(manifest, self);
  if (stagingSize == 0)
    return {};
  TPRT_ASSIGN(staging, allocateOperands(stagingSize));
  return {};
}

Expected<uint64_t> AloneRankContext::allocateOperands(int64_t bytes) {
  TPRT_ASSIGN(auto cuda, Driver::get());
  CUdeviceptr memory = 0;
  TPRT_TRY(cuda->check(
      cuda->cuMemAlloc(&memory, size_t(bytes)),
      detail::join("cannot allocate ", bytes, " bytes on the device")));
  operands.emplace_back(*cuda, memory);
  return uint64_t(memory);
}

Status AloneRankContext::await(CUstream_st *waited) {
  const Driver &cuda = **Driver::get();
  return cuda.check(cuda.cuStreamSynchronize(waited), "the step");
}

Status AloneRankContext::copy(const Collective &entry, const void *in,
                              void *out) {
  if (!stream) {
    runLocally(entry, 0, {in}, {out});
    return {};
  }
  const Driver &cuda = **Driver::get();
  auto *staged = reinterpret_cast<const void *>(staging);
  for (const TransferStep &step : planTransfer(entry, 0, 1).steps)
    TPRT_TRY(
        cuda.check(enqueueCopy(cuda, step, step.from.address(in, out, staged),
                               step.to.address(in, out, staged), stream),
                   "a copy"));
  return {};
}
#else
/// Only ranks on devices ask for these.
static Status noDevices() { return internalError("this build has no devices"); }
Status AloneRankContext::attach(const Manifest &, CUstream_st *, int64_t) {
  return noDevices();
}
Expected<uint64_t> AloneRankContext::allocateOperands(int64_t) {
  return noDevices();
}
Status AloneRankContext::await(CUstream_st *) { return noDevices(); }
Status AloneRankContext::copy(const Collective &entry, const void *in,
                              void *out) {
  runLocally(entry, 0, {in}, {out});
  return {};
}
#endif

class AloneBackend : public Backend {
public:
  AloneBackend(int64_t rank, int64_t count) : self(rank) { ranks = count; }
  std::unique_ptr<RankContext> rankContext(int64_t) override {
    return std::make_unique<AloneRankContext>(self, ranks);
  }
  void reset() override {
    std::lock_guard lock(mutex);
    first = {};
  }

private:
  int64_t self;
};

} // namespace

std::unique_ptr<Backend> tprt::makeAloneBackend(int64_t rank, int64_t ranks) {
  return std::make_unique<AloneBackend>(rank, ranks);
}
