//===- Nccl.cpp - communicators, groups and calls -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group becomes one node per communicator and stream. As with the real
// library, two ranks of one host (NCCL_HOSTID, where set) on one device are
// refused once all have arrived.
//
//===----------------------------------------------------------------------===//

#include "Collective.h"
#include "Device.h"
#include "Memory.h"
#include "Stream.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <unistd.h>

using namespace fake;

// The header leaves it open what a communicator is.
struct ncclComm {
  CommunicatorRef shared;
};

namespace {

std::map<ncclComm_t, bool> &communicators() {
  static auto *all = new std::map<ncclComm_t, bool>;
  return *all;
}

/// Memory that ncclMemAlloc gave.
std::set<CUdeviceptr> &operands() {
  static auto *all = new std::set<CUdeviceptr>;
  return *all;
}

bool isLive(ncclComm_t comm) { return communicators().count(comm) != 0; }

thread_local std::string lastError;

ncclResult_t refuse(ncclResult_t result, const std::string &what) {
  lastError = what;
  std::fprintf(stderr, "fake-cuda: %s\n", what.c_str());
  return result;
}

struct Pending {
  CommunicatorRef communicator;
  CUstream stream;
  std::vector<Call> calls;
};

thread_local int depth = 0;
thread_local std::vector<Pending> group;
/// Communicators whose creation the end of the group waits for.
thread_local std::vector<CommunicatorRef> arriving;

std::string hostIdentity() {
  // Read once per process, as in the real library.
  static std::string identity = [] {
    if (const char *id = std::getenv("NCCL_HOSTID"))
      return std::string(id);
    char name[64] = {};
    gethostname(name, sizeof(name) - 1);
    return std::string(name);
  }();
  return identity;
}

/// Waits without the lock, so that calls of other threads go on.
ncclResult_t waitForAll(const CommunicatorRef &c) {
  while (true) {
    {
      Guard guard;
      c->poll();
      if (c->state != ncclInProgress || c->aborted)
        return c->aborted ? ncclInternalError : c->state;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

ncclResult_t flush() {
  std::vector<Pending> launches;
  launches.swap(group);
  for (Pending &pending : launches) {
    std::string name = nameOf(pending.calls.front().operation);
    CommunicatorRef c = pending.communicator;
    std::vector<Call> calls = pending.calls;
    CUresult result = submit(
        pending.stream, name,
        [c, calls](const NodeRef &node) {
          c->last = node;
          return launch(c, calls);
        },
        c.get());
    if (result != CUDA_SUCCESS)
      return refuse(ncclUnhandledCudaError,
                    name + " was refused by the stream");
  }
  return ncclSuccess;
}

/// As in NCCL, the first collective of a communicator makes its connections,
/// and the host waits in it until all members have come. What that does while a
/// stream is captured depends on NCCL's version and the mode of the capture: it
/// is refused here.
ncclResult_t connectFirst(ncclComm_t comm, CUstream stream,
                          const std::string &name) {
  CommunicatorRef c;
  {
    Guard guard;
    if (!isLive(comm) || comm->shared->connected ||
        comm->shared->state != ncclSuccess)
      return ncclSuccess;
    c = comm->shared;
    if (isCapturing(stream))
      return refuse(ncclInvalidUsage,
                    name + ": the first collective of a communicator is "
                           "captured, before its connections are made");
    c->segment->shared().members[c->rank].connecting = 1;
  }
  while (true) {
    {
      Guard guard;
      bool all = true;
      for (int r = 0; r < c->ranks; ++r)
        all &= c->segment->shared().members[r].connecting != 0;
      c->connected |= all;
      if (all || c->aborted)
        return all ? ncclSuccess : ncclInternalError;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

bool overlap(const void *a, size_t aBytes, const void *b, size_t bBytes) {
  auto *x = static_cast<const char *>(a), *y = static_cast<const char *>(b);
  return aBytes && bBytes && x < y + bBytes && y < x + aBytes;
}

/// Checks a call and puts it into the group that is open, or one of its own.
ncclResult_t enqueue(ncclComm_t comm, CUstream stream, Call call) {
  std::string name = nameOf(call.operation);
  // Pairs that send and receive connect among themselves.
  if (call.operation != Operation::Send && call.operation != Operation::Receive)
    TRY(connectFirst(comm, stream, name));
  Guard guard;
  if (!isLive(comm))
    return refuse(ncclInvalidArgument, name + ": no such communicator");
  CommunicatorRef c = comm->shared;
  if (c->state == ncclInProgress)
    c->poll();
  if (c->state != ncclSuccess || c->finalized)
    return refuse(ncclInvalidUsage, name + ": the communicator is not ready");
  if (bytesOf(call.type) == 0 || unsigned(call.reduction) >= ncclNumOps ||
      call.reduction == ncclAvg)
    return refuse(ncclInvalidArgument, name + ": type or reduction");
  if (call.peer < 0 || call.peer >= c->ranks)
    return refuse(ncclInvalidArgument,
                  name + ": no rank " + std::to_string(call.peer));
  size_t from = call.fromBytes(c->ranks), to = call.toBytes(c->ranks);
  if (from > kSlotBytes || to > kSlotBytes * size_t(c->ranks))
    return refuse(ncclInvalidArgument, name + ": more than this library moves");
  if ((from && !onDevice(call.from, from)) || (to && !onDevice(call.to, to)))
    return refuse(
        ncclInvalidArgument,
        name + ": " +
            describe(from && !onDevice(call.from, from) ? call.from : call.to));
  // Operand and result are apart, or placed as the in-place form wants it.
  auto *input = static_cast<const char *>(call.from);
  auto *output = static_cast<const char *>(call.to);
  if (call.operation == Operation::AllGather)
    output += size_t(c->rank) * from;
  if (call.operation == Operation::ReduceScatter)
    input += size_t(c->rank) * to;
  if (input != output && overlap(call.from, from, call.to, to))
    return refuse(ncclInvalidArgument, name + ": operand and result overlap");
  if (call.count == 0)
    return ncclSuccess;
  Pending *place = nullptr;
  for (Pending &pending : group)
    if (pending.communicator == c && pending.stream == stream)
      place = &pending;
  if (!place) {
    group.push_back({c, stream, {}});
    place = &group.back();
  }
  place->calls.push_back(call);
  return depth ? ncclSuccess : flush();
}

} // namespace

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "unhandled cuda error";
  case ncclSystemError:
    return "unhandled system error";
  case ncclInternalError:
    return "internal error";
  case ncclInvalidArgument:
    return "invalid argument";
  case ncclInvalidUsage:
    return "invalid usage";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInProgress:
    return "NCCL operation in progress";
  default:
    return "unknown result code";
  }
}

const char *ncclGetLastError(ncclComm_t comm) {
  Guard guard;
  if (comm && isLive(comm) && !comm->shared->error.empty())
    lastError = comm->shared->error;
  return lastError.c_str();
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId) {
  if (!uniqueId)
    return ncclInvalidArgument;
  return Segment::create(*uniqueId)
             ? ncclSuccess
             : refuse(ncclSystemError, "cannot make a unique id");
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks,
                                    ncclUniqueId commId, int rank,
                                    ncclConfig_t *config) {
  if (!comm || nranks < 1 || nranks > kMaxRanks || rank < 0 || rank >= nranks)
    return refuse(ncclInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                           std::to_string(nranks));
  if (config &&
      (config->magic != 0xcafebeef || config->size != sizeof(ncclConfig_t)))
    return refuse(ncclInvalidArgument, "a configuration without initializer");
  bool blocking = !config || config->blocking != 0;
  auto c = std::make_shared<Communicator>();
  {
    Guard guard;
    if (ready() != CUDA_SUCCESS)
      return refuse(ncclUnhandledCudaError, "no current context");
    // Communicators allocate.
    if (refuseInCapture("ncclCommInitRank") != CUDA_SUCCESS)
      return ncclUnhandledCudaError;
    c->device = currentDevice();
  }
  std::string why;
  c->segment.reset(Segment::open(commId, nranks, why));
  if (!c->segment)
    return refuse(ncclSystemError, why);
  c->rank = rank;
  c->ranks = nranks;
  Shared &shared = c->segment->shared();
  uint32_t none = 0;
  if (!shared.ranks.compare_exchange_strong(none, uint32_t(nranks)) &&
      none != uint32_t(nranks))
    return refuse(ncclInvalidArgument, std::to_string(nranks) +
                                           " ranks here, " +
                                           std::to_string(none) + " elsewhere");
  Member &self = shared.members[rank];
  std::strncpy(self.host, hostIdentity().c_str(), sizeof(self.host) - 1);
  std::strncpy(self.device, busId(c->device).c_str(), sizeof(self.device) - 1);
  if (self.arrived.exchange(1, std::memory_order_acq_rel))
    return refuse(ncclInvalidArgument,
                  "rank " + std::to_string(rank) + " is there twice");
  {
    Guard guard;
    *comm = new ncclComm{c};
    communicators()[*comm] = true;
  }
  if (!blocking)
    return ncclInProgress;
  if (depth) {
    arriving.push_back(c);
    return ncclSuccess;
  }
  ncclResult_t result = waitForAll(c);
  return result == ncclSuccess ? result : refuse(result, c->error);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError) {
  Guard guard;
  if (!isLive(comm) || !asyncError)
    return ncclInvalidArgument;
  comm->shared->poll();
  *asyncError = comm->shared->state;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Guard guard;
  if (!isLive(comm))
    return ncclInvalidArgument;
  comm->shared->finalized = true;
  Scheduler::get().wait({comm->shared->last});
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Guard guard;
  if (!isLive(comm))
    return ncclInvalidArgument;
  if (isInGraph(comm->shared.get())) {
    std::fprintf(stderr, "fake-cuda: ncclCommDestroy waits for ever: a graph "
                         "that holds the communicator's collectives is not "
                         "destroyed\n");
    std::abort();
  }
  Scheduler::get().wait({comm->shared->last});
  communicators().erase(comm);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Guard guard;
  if (!isLive(comm))
    return ncclInvalidArgument;
  // Calls that are under way end without a result.
  comm->shared->aborted = true;
  communicators().erase(comm);
  delete comm;
  return ncclSuccess;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ncclResult_t ncclMemAlloc(void **ptr, size_t size) {
  // As where the driver cannot share such memory.
  if (environmentNumber("TP_FAKE_NCCL_MEMORY", 1) == 0)
    return refuse(ncclUnhandledCudaError, "ncclMemAlloc is switched off");
  CUdeviceptr address = 0;
  if (cuMemAlloc(&address, size) != CUDA_SUCCESS)
    return refuse(ncclUnhandledCudaError, "ncclMemAlloc: out of memory");
  Guard guard;
  operands().insert(address);
  *ptr = reinterpret_cast<void *>(address);
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void *ptr) {
  auto address = reinterpret_cast<CUdeviceptr>(ptr);
  {
    Guard guard;
    if (!operands().erase(address))
      return refuse(ncclInvalidArgument,
                    "ncclMemFree of memory that ncclMemAlloc did not give");
  }
  return cuMemFree(address) == CUDA_SUCCESS ? ncclSuccess
                                            : ncclUnhandledCudaError;
}

//===----------------------------------------------------------------------===//
// Groups and calls
//===----------------------------------------------------------------------===//

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (depth == 0)
    return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--depth)
    return ncclSuccess;
  std::vector<CommunicatorRef> all;
  all.swap(arriving);
  for (const CommunicatorRef &c : all)
    if (ncclResult_t result = waitForAll(c); result != ncclSuccess)
      return refuse(result, c->error);
  Guard guard;
  return flush();
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return enqueue(
      comm, stream,
      {Operation::AllReduce, sendbuff, recvbuff, count, datatype, op});
}

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff,
                               size_t recvcount, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return enqueue(
      comm, stream,
      {Operation::ReduceScatter, sendbuff, recvbuff, recvcount, datatype, op});
}

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff,
                           size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  return enqueue(
      comm, stream,
      {Operation::AllGather, sendbuff, recvbuff, sendcount, datatype});
}

ncclResult_t ncclSend(const void *sendbuff, size_t count,
                      ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return enqueue(
      comm, stream,
      {Operation::Send, sendbuff, nullptr, count, datatype, ncclSum, peer});
}

ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(
      comm, stream,
      {Operation::Receive, nullptr, recvbuff, count, datatype, ncclSum, peer});
}
