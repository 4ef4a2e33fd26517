//===- NcclRankContext.h - one rank's collectives on its device -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A communicator per distinct list of members, made from an identifier that the
// first member draws and the side channel distributes. A call enqueues its plan
// (Transfer.h) on the communication stream. Beside it, on a stream of its own
// that nothing else waits for, the device writes where it is: right also when a
// graph is replayed without the host, and when the rank's process is frozen.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_NCCL_NCCLRANKCONTEXT_H
#define TPRT_COLLECTIVES_NCCL_NCCLRANKCONTEXT_H

#include "../../cuda/libraries/Driver.h"
#include "../../cuda/libraries/Nccl.h"
#include "../DeviceCopy.h"
#include "../DeviceRankContext.h"
#include "../SideChannel.h"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>

namespace tprt {

class NcclRankContext : public DeviceRankContext {
public:
  /// Outlived by the channel; `nccl` is null in a world of one rank.
  NcclRankContext(SideChannel &channel, const Driver &cuda, const Nccl *nccl);
  ~NcclRankContext() override;

  int64_t rank() const override { return channel.rank(); }
  int64_t size() const override { return channel.size(); }
  Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &members) override;
  Status agree(uint64_t value, const char *what) override {
    return channel.agree(value, what);
  }
  Expected<Buffer> allocate(int64_t bytes) override {
    return Buffer::allocate(bytes);
  }

  int64_t device(int64_t devices) const override {
    return channel.localRank() % devices;
  }
  Status attach(const Manifest &manifest, CUstream stream,
                int64_t devices) override;
  Expected<uint64_t> allocateOperands(int64_t bytes) override;
  Status endStep() override;
  Status await(CUstream stream) override;
  Expected<std::vector<std::string>>
  exchange(const std::string &bytes) override {
    return channel.exchange(bytes);
  }
  int64_t deviceBytes() const override { return stagingSize; }

private:
  class Group;

  Status checkCuda(CUresult result, const char *what) const;
  Status checkNccl(ncclResult_t result, const std::string &what,
                   ncclComm_t communicator) const;
  Expected<ncclComm_t> connect(const std::vector<int64_t> &members);
  Status shareDevices(int64_t devices) const;
  Status showPosition();
  Status mark(CallSite site, bool inside);
  ncclResult_t call(const TransferStep &step, const Collective &entry,
                    ncclComm_t group, void *from, void *to);
  Status enqueue(const Transfer &plan, const Collective &entry,
                 ncclComm_t communicator, const void *in, void *out);
  Status stuck() const;
  Status poll();
  bool abortAll();

  SideChannel &channel;
  const Driver &cuda;
  const Nccl *nccl;
  const Manifest *manifest = nullptr;
  CUstream stream = nullptr;  ///< communication
  CUstream markers = nullptr; ///< writes of the position
  CUevent reached = nullptr;  ///< between the two
  bool marked = false;        ///< in this step
  CUdeviceptr staging = 0;
  int64_t stagingSize = 0;
  /// Device memory and whether NCCL gave it.
  std::vector<std::pair<CUdeviceptr, bool>> operands;
  /// Position::device as the device sees it, and the host memory it lies in:
  /// the channel's own, in a page that is registered, or, where that cannot be
  /// shown to the device, a pinned word that the watcher copies from.
  CUdeviceptr position = 0;
  const std::atomic<uint32_t> *word = nullptr;
  void *registered = nullptr, *pinned = nullptr;

  /// Held while this rank's thread is in a call of NCCL; none is made once
  /// the communicators have been aborted.
  std::mutex calling;
  std::atomic<bool> aborted = false;

  std::mutex mutex; // guards what follows, for the watcher
  std::map<std::vector<int64_t>, ncclComm_t> communicators;
  std::optional<std::chrono::steady_clock::time_point> failingSince;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_NCCL_NCCLRANKCONTEXT_H
