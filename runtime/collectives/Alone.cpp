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
#include "Transfer.h"
#ifdef TPRT_HAS_CUDA
#include "DeviceCopy.h"
#include "DeviceWait.h"
#include "tprt/units.h"
#endif

using namespace tprt;

namespace {

/// The backend's kind is what the program's device asks for.
template <typename Kind>
class Alone : public Kind {
public:
  Alone(int64_t rank, int64_t count) : self(rank) { this->ranks = count; }

  Status agree(int64_t, uint64_t, const char *) override { return {}; }
  void reset() override {
    std::lock_guard lock(this->mutex);
    if (this->quiet())
      this->first = {};
  }

protected:
  Expected<std::unique_ptr<Communicator>>
  join(const std::vector<int64_t> &members, int64_t) override {
    return std::make_unique<Group>(*this, members.size() == 1);
  }
  /// Executes an entry in a group of one.
  virtual Status copy(const Collective &entry, const void *in, void *out) {
    runLocally(entry, 0, {in}, {out});
    return {};
  }

  const int64_t self;

private:
  struct Group : public Communicator {
    Group(Alone &backend, bool only) : backend(backend), only(only) {}
    Status run(const Collective &entry, CallSite, const void *in,
               void *out) override {
      return only ? backend.copy(entry, in, out) : Status();
    }
    Alone &backend;
    bool only; ///< in its group
  };
};

#ifdef TPRT_HAS_CUDA
class AloneOnDevice : public Alone<DeviceBackend> {
public:
  AloneOnDevice(int64_t rank, int64_t count, double timeoutSeconds)
      : Alone(rank, count), cuda(**Driver::get()), limit(timeoutSeconds) {}
  ~AloneOnDevice() override {
    // Giving memory back waits for the device.
    if (lost)
      for (DeviceBytes &memory : operands)
        (void)memory.release();
  }

  int64_t device(int64_t) const override { return 0; }
  Status attach(const Manifest &manifest, CUstream theStream,
                int64_t) override {
    stream = theStream;
    stagingSize = stagingBytes(manifest, self);
    if (stagingSize == 0)
      return {};
    TPRT_ASSIGN(staging, allocateOperands(stagingSize));
    return {};
  }
  Expected<uint64_t> allocateOperands(int64_t bytes) override {
    CUdeviceptr memory = 0;
    TPRT_TRY(
        cuda.check(cuda.cuMemAlloc(&memory, size_t(bytes)),
                   detail::join("cannot allocate ", formatBytes(double(bytes)),
                                " on the device")));
    operands.emplace_back(cuda, memory);
    return uint64_t(memory);
  }
  Status endStep() override { return {}; }
  /// A device that does not answer is as good as a rank that is lost: nothing
  /// can be done with it any more.
  Status await(const Query &query) override {
    auto look = [&](double seconds) -> Status {
      if (seconds <= limit)
        return {};
      lost = true;
      return lostError("its device did not answer within ", limit.load(), " s");
    };
    TPRT_ASSIGN(auto result, pollDevice(query, look));
    return cuda.check(result, "the step");
  }
  void limitWaits(double seconds) override { limit = seconds; }
  bool quiet() const override { return !lost; }
  /// The other ranks' values are left out as well.
  Expected<std::vector<std::string>>
  exchange(const std::string &bytes) override {
    return std::vector<std::string>(size_t(ranks), bytes);
  }
  int64_t deviceBytes() const override { return stagingSize; }
  void detach() override { operands.clear(); }

protected:
  Status copy(const Collective &entry, const void *in, void *out) override {
    auto *staged = reinterpret_cast<const void *>(staging);
    for (const TransferStep &step : planTransfer(entry, 0, 1).steps)
      TPRT_TRY(
          cuda.check(enqueueCopy(cuda, step, step.from.address(in, out, staged),
                                 step.to.address(in, out, staged), stream),
                     "a copy"));
    return {};
  }

private:
  const Driver &cuda; ///< opened already: the device's check has
  CUstream stream = nullptr;
  int64_t stagingSize = 0;
  uint64_t staging = 0;
  std::vector<DeviceBytes> operands;
  std::atomic<double> limit; ///< of a wait, in seconds
  std::atomic<bool> lost = false;
};
#endif

} // namespace

std::unique_ptr<Backend> tprt::makeAloneBackend(int64_t rank, int64_t ranks,
                                                Device device,
                                                double timeoutSeconds) {
#ifdef TPRT_HAS_CUDA
  if (device == Device::Cuda)
    return std::make_unique<AloneOnDevice>(rank, ranks, timeoutSeconds);
#endif
  return std::make_unique<Alone<Backend>>(rank, ranks);
}
