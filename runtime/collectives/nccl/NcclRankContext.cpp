//===- NcclRankContext.cpp - one rank's collectives on its device ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Communicators block. When the run fails, the side channel's watcher aborts
// them: kernels that wait for a lost rank end, and a rank that sits in a step
// comes back. One that sits in NCCL's start does not: nothing can be aborted
// yet.
//
//===----------------------------------------------------------------------===//

#include "NcclRankContext.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

namespace {

/// How long a host wait only yields before it sleeps between looks.
constexpr auto kYieldTime = std::chrono::milliseconds(20);
constexpr useconds_t kSleepMicroseconds = 50;
/// NCCL sees a broken connection before the watcher knows whose process it was:
/// its own report comes second.
constexpr double kErrorSeconds = 2;
/// How long aborting communicators may hold up the others.
constexpr auto kAbortTime = std::chrono::milliseconds(300);

/// NCCL's names for the types of programs, in their order.
constexpr ncclDataType_t kTypes[] = {ncclFloat32, ncclBfloat16, ncclFloat16,
                                     ncclInt32,   ncclInt64,    ncclInt8};
static_assert(TPRT_F32 == 0 && TPRT_BF16 == 1 && TPRT_F16 == 2 &&
              TPRT_I32 == 3 && TPRT_I64 == 4 && TPRT_I8 == 5);

ncclRedOp_t reductionOf(Reduction reduction) {
  return reduction == Reduction::Sum   ? ncclSum
         : reduction == Reduction::Max ? ncclMax
                                       : ncclMin;
}

std::string listRanks(const std::vector<int64_t> &members) {
  std::string text = members.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < members.size(); ++i)
    text += (i ? ", " : "") + std::to_string(members[i]);
  return text;
}

} // namespace

/// One rank's membership of one group.
class NcclRankContext::Group : public Communicator {
public:
  Group(NcclRankContext &context, const std::vector<int64_t> &members,
        ncclComm_t communicator)
      : context(context), members(members), communicator(communicator) {
    while (members[size_t(self)] != context.rank())
      ++self;
  }

  Status run(const Collective &entry, CallSite site, const void *in,
             void *out) override {
    auto [found, fresh] = plans.try_emplace(&entry);
    if (fresh)
      found->second = planTransfer(entry, self, int64_t(members.size()));
    // The host may wait in here too: NCCL makes connections in a first call.
    context.channel.enter(site, &members);
    TPRT_TRY(context.mark(site, true));
    TPRT_TRY(context.enqueue(found->second, entry, communicator, in, out));
    TPRT_TRY(context.mark(site, false));
    context.channel.leave();
    return {};
  }

private:
  NcclRankContext &context;
  std::vector<int64_t> members;
  ncclComm_t communicator;
  int64_t self = 0;
  std::map<const Collective *, Transfer> plans;
};

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

NcclRankContext::NcclRankContext(SideChannel &channel, const Driver &cuda,
                                 const Nccl *nccl)
    : channel(channel), cuda(cuda), nccl(nccl) {}

NcclRankContext::~NcclRankContext() {
  channel.everyBeat({});
  channel.onFailure({});
  for (auto &[members, communicator] : communicators)
    if (!aborted)
      nccl->ncclCommDestroy(communicator);
  for (auto [memory, isNccls] : operands)
    if (isNccls)
      nccl->ncclMemFree(reinterpret_cast<void *>(memory));
    else
      cuda.cuMemFree(memory);
  if (reached)
    cuda.cuEventDestroy(reached);
  if (markers)
    cuda.cuStreamDestroy(markers);
  if (registered)
    cuda.cuMemHostUnregister(registered);
  if (pinned)
    cuda.cuMemFreeHost(pinned);
}

Status NcclRankContext::checkCuda(CUresult result, const char *what) const {
  if (result == CUDA_SUCCESS)
    return {};
  return cuda.check(result, detail::join(what, ", ", channel.lastSeen(rank())));
}

Status NcclRankContext::checkNccl(ncclResult_t result, const std::string &what,
                                  ncclComm_t communicator) const {
  if (result == ncclSuccess)
    return {};
  const char *more = nccl->ncclGetLastError(communicator);
  // The network, or how the ranks were put on devices.
  bool lacking = result == ncclSystemError || result == ncclInvalidUsage;
  return {lacking ? Code::User : Code::Device,
          detail::join("NCCL: ", what,
                       " failed: ", nccl->ncclGetErrorString(result),
                       more && *more ? detail::join(" (", more, ")") : "",
                       "; NCCL_DEBUG=INFO tells more")};
}

/// NCCL refuses two ranks on one device of one host. With a host identifier of
/// their own, ranks that share a device pass for ranks of different hosts, and
/// talk through sockets; so must those who talk to them. What the user has set
/// stays. Devices are told apart by their identifiers, as a launcher may show
/// each rank another one as its first.
Status NcclRankContext::shareDevices(int64_t devices) const {
  if (size() == 1)
    return {};
  CUdevice device = 0;
  CUuuid uuid;
  TPRT_TRY(checkCuda(cuda.cuDeviceGet(&device, int(this->device(devices))),
                     "cuDeviceGet"));
  TPRT_TRY(checkCuda(cuda.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid"));
  TPRT_ASSIGN(auto all,
              channel.exchange(std::string(uuid.bytes, sizeof(uuid.bytes))));
  std::map<std::string, int64_t> users;
  for (const std::string &one : all)
    ++users[one];
  if (int64_t(users.size()) == size())
    return {};
  char host[256] = "host";
  gethostname(host, sizeof(host) - 1);
  if (users[all[size_t(rank())]] > 1)
    setenv("NCCL_HOSTID",
           detail::join(host, "-", getpid(), "-rank-", rank()).c_str(), 0);
  setenv("NCCL_IB_DISABLE", "1", 0);
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  setenv("NCCL_MNNVL_ENABLE", "0", 0);
  if (channel.localSize() == channel.size())
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  return {};
}

/// Lets the device write this rank's position.
Status NcclRankContext::showPosition() {
  auto *here = &channel.here().device;
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  auto *first = reinterpret_cast<void *>(uint64_t(here) / page * page);
  if (cuda.cuMemHostRegister(first, page, CU_MEMHOSTREGISTER_DEVICEMAP) ==
      CUDA_SUCCESS) {
    registered = first;
    if (cuda.cuMemHostGetDevicePointer(&position, here, 0) == CUDA_SUCCESS) {
      word = here;
      return {};
    }
  }
  TPRT_TRY(checkCuda(
      cuda.cuMemHostAlloc(&pinned, sizeof(*word), CU_MEMHOSTALLOC_DEVICEMAP),
      "cuMemHostAlloc"));
  word = new (pinned) std::atomic<uint32_t>(0);
  return checkCuda(cuda.cuMemHostGetDevicePointer(&position, pinned, 0),
                   "cuMemHostGetDevicePointer");
}

Status NcclRankContext::attach(const Manifest &theManifest, CUstream theStream,
                               int64_t devices) {
  manifest = &theManifest;
  stream = theStream;
  TPRT_TRY(shareDevices(devices));
  if (int64_t(manifest->collectives.size()) > Position::kDeviceIds)
    return userError("the program has ", manifest->collectives.size(),
                     " collectives; backend 'nccl' takes ",
                     Position::kDeviceIds, " at most");
  stagingSize = stagingBytes(*manifest, rank());
  if (stagingSize) {
    TPRT_ASSIGN(staging, allocateOperands(stagingSize));
  }
  TPRT_TRY(checkCuda(cuda.cuStreamCreate(&markers, CU_STREAM_NON_BLOCKING),
                     "cuStreamCreate"));
  TPRT_TRY(checkCuda(cuda.cuEventCreate(&reached, CU_EVENT_DISABLE_TIMING),
                     "cuEventCreate"));
  TPRT_TRY(showPosition());
  channel.everyBeat([this] { return poll(); });
  channel.onFailure([this] { return abortAll(); });
  return {};
}

/// NCCL moves memory of its own kind without copies of its own: it registers
/// the operands of collectives in a captured graph, and those of cuMemAlloc
/// only where NCCL_LEGACY_CUDA_REGISTER asks for it. Older libraries have no
/// such memory, and drivers may lack it.
Expected<uint64_t> NcclRankContext::allocateOperands(int64_t bytes) {
  void *memory = nullptr;
  if (nccl && nccl->ncclMemAlloc && nccl->ncclMemFree &&
      nccl->ncclMemAlloc(&memory, size_t(bytes)) == ncclSuccess) {
    operands.push_back({reinterpret_cast<CUdeviceptr>(memory), true});
    return uint64_t(operands.back().first);
  }
  CUdeviceptr address = 0;
  TPRT_TRY(checkCuda(cuda.cuMemAlloc(&address, size_t(bytes)), "cuMemAlloc"));
  operands.push_back({address, false});
  return uint64_t(address);
}

/// All ranks call it, each for its own group, as often as the others.
Expected<ncclComm_t>
NcclRankContext::connect(const std::vector<int64_t> &members) {
  std::string mine;
  if (members[0] == rank()) {
    ncclUniqueId id;
    TPRT_TRY(checkNccl(nccl->ncclGetUniqueId(&id), "ncclGetUniqueId", nullptr));
    mine.assign(reinterpret_cast<char *>(&id), sizeof(id));
  }
  TPRT_ASSIGN(auto ids, channel.exchange(mine));
  const std::string &theirs = ids[size_t(members[0])];
  ncclUniqueId id;
  if (theirs.size() != sizeof(id))
    return internalError("rank ", members[0], " made no NCCL identifier for ",
                         listRanks(members));
  std::memcpy(&id, theirs.data(), sizeof(id));
  int64_t self =
      std::find(members.begin(), members.end(), rank()) - members.begin();
  ncclComm_t communicator = nullptr;
  channel.enter({}, &members);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclResult_t result = nccl->ncclCommInitRankConfig(
      &communicator, int(members.size()), id, int(self), &config);
  channel.leave();
  TPRT_TRY(checkNccl(result, "connecting " + listRanks(members), communicator));
  return communicator;
}

Expected<std::unique_ptr<Communicator>>
NcclRankContext::communicator(const std::vector<int64_t> &members) {
  ncclComm_t communicator = nullptr;
  auto found = communicators.find(members);
  if (found != communicators.end()) {
    communicator = found->second;
  } else if (members.size() > 1) {
    TPRT_ASSIGN(communicator, connect(members));
    std::lock_guard lock(mutex);
    communicators[members] = communicator;
  }
  return std::unique_ptr<Communicator>(
      std::make_unique<Group>(*this, members, communicator));
}

//===----------------------------------------------------------------------===//
// A call
//===----------------------------------------------------------------------===//

/// The device is at `site`: written when the communication stream gets here,
/// but nothing on that stream waits for it.
Status NcclRankContext::mark(CallSite site, bool inside) {
  if (site.layer > Position::kDeviceLayers)
    return userError("backend 'nccl' takes ", Position::kDeviceLayers + 1,
                     " layers at most");
  marked = true;
  TPRT_TRY(checkCuda(cuda.cuEventRecord(reached, stream), "cuEventRecord"));
  TPRT_TRY(checkCuda(cuda.cuStreamWaitEvent(markers, reached, 0),
                     "cuStreamWaitEvent"));
  return checkCuda(cuda.cuMemsetD32Async(
                       position, Position::onDevice(site, inside), 1, markers),
                   "cuMemsetD32Async");
}

Status NcclRankContext::endStep() {
  if (!marked) // the streams have nothing to do with each other in this step
    return {};
  marked = false;
  TPRT_TRY(checkCuda(cuda.cuEventRecord(reached, markers), "cuEventRecord"));
  return checkCuda(cuda.cuStreamWaitEvent(stream, reached, 0),
                   "cuStreamWaitEvent");
}

/// NCCL's function for a step that is one, for messages.
static const char *nameOf(TransferStep::Kind kind) {
  using Kind = TransferStep::Kind;
  switch (kind) {
  case Kind::Copy:
  case Kind::Zero:
    break;
  case Kind::Group:
    return "ncclGroupStart";
  case Kind::EndGroup:
    return "ncclGroupEnd";
  case Kind::AllReduce:
    return "ncclAllReduce";
  case Kind::AllGather:
    return "ncclAllGather";
  case Kind::ReduceScatter:
    return "ncclReduceScatter";
  case Kind::Send:
    return "ncclSend";
  case Kind::Receive:
    return "ncclRecv";
  }
  return "";
}

ncclResult_t NcclRankContext::call(const TransferStep &step,
                                   const Collective &entry, ncclComm_t group,
                                   void *from, void *to) {
  using Kind = TransferStep::Kind;
  ncclDataType_t type = kTypes[entry.type];
  ncclRedOp_t reduction = reductionOf(entry.reduction);
  size_t count = size_t(step.count);
  int peer = int(step.peer);
  switch (step.kind) {
  case Kind::Copy:
  case Kind::Zero:
    break;
  case Kind::Group:
    return nccl->ncclGroupStart();
  case Kind::EndGroup:
    return nccl->ncclGroupEnd();
  case Kind::AllReduce:
    return nccl->ncclAllReduce(from, to, count, type, reduction, group, stream);
  case Kind::AllGather:
    return nccl->ncclAllGather(from, to, count, type, group, stream);
  case Kind::ReduceScatter:
    return nccl->ncclReduceScatter(from, to, count, type, reduction, group,
                                   stream);
  case Kind::Send:
    return nccl->ncclSend(from, count, type, peer, group, stream);
  case Kind::Receive:
    return nccl->ncclRecv(to, count, type, peer, group, stream);
  }
  return ncclInternalError;
}

Status NcclRankContext::enqueue(const Transfer &plan, const Collective &entry,
                                ncclComm_t communicator, const void *in,
                                void *out) {
  using Kind = TransferStep::Kind;
  auto *staged = reinterpret_cast<const void *>(staging);
  std::lock_guard lock(calling);
  if (aborted)
    return channel.failure();
  for (const TransferStep &step : plan.steps) {
    CUdeviceptr from = step.from.address(in, out, staged);
    CUdeviceptr to = step.to.address(in, out, staged);
    if (step.kind == Kind::Copy || step.kind == Kind::Zero)
      TPRT_TRY(checkCuda(enqueueCopy(cuda, step, from, to, stream), "a copy"));
    else
      TPRT_TRY(checkNccl(call(step, entry, communicator,
                              reinterpret_cast<void *>(from),
                              reinterpret_cast<void *>(to)),
                         nameOf(step.kind), communicator));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Waiting and failing
//===----------------------------------------------------------------------===//

Status NcclRankContext::await(CUstream waited) {
  auto start = Clock::now(), changed = start;
  uint32_t seen = word ? word->load() : 0;
  for (;;) {
    CUresult result = cuda.cuStreamQuery(waited);
    if (result == CUDA_SUCCESS)
      return {};
    if (result != CUDA_ERROR_NOT_READY)
      return checkCuda(result, "the step");
    TPRT_TRY(channel.failure());
    auto now = Clock::now();
    uint32_t latest = word ? word->load() : 0;
    // A rank that computes may take its time: whoever waits for it complains.
    if (latest != seen || !(latest & 1)) {
      seen = latest;
      changed = now;
    }
    // Who hears of all ranks knows better, and speaks first.
    double limit = channel.timeout() + (channel.hearsAll() ? 0 : 2);
    if (std::chrono::duration<double>(now - changed).count() > limit)
      return stuck();
    if (now - start < kYieldTime)
      std::this_thread::yield();
    else
      usleep(kSleepMicroseconds);
  }
}

/// The collective that this rank's device is in did not end in time.
Status NcclRankContext::stuck() const {
  const Position &mine = channel.here();
  CallSite site = mine.site();
  std::string text =
      detail::join("rank ", rank(), "'s device did nothing for ",
                   channel.timeout(), " s, ", channel.lastSeen(rank()));
  if (!mine.isInside() || site.id < 0 || !channel.hearsAll())
    return lostError(text);
  std::string late;
  for (int64_t member :
       manifest->mesh.group(manifest->collectives[site.id].axes, rank())) {
    const Position &other = channel.whereIs(member);
    if (!other.isInside() || !(other.site() == site))
      late += detail::join("; rank ", member, " was last seen ",
                           channel.lastSeen(member));
  }
  return lostError(text, late.empty() ? "; all its members are in it" : late);
}

/// Called by the watcher.
Status NcclRankContext::poll() {
  Position &mine = channel.here();
  if (word && word != &mine.device)
    mine.device = word->load();
  std::lock_guard lock(mutex);
  // Ranks that have done their part may close connections before this one has
  // written its results.
  if (!mine.isInside()) {
    failingSince.reset();
    return {};
  }
  for (auto &[members, communicator] : communicators) {
    ncclResult_t failure = ncclSuccess;
    if (nccl->ncclCommGetAsyncError(communicator, &failure) != ncclSuccess ||
        failure == ncclSuccess || failure == ncclInProgress)
      continue;
    auto now = Clock::now();
    if (!failingSince)
      failingSince = now;
    if (std::chrono::duration<double>(now - *failingSince).count() <
        kErrorSeconds)
      return {};
    const char *more = nccl->ncclGetLastError(communicator);
    return lostError("NCCL reports an error among ", listRanks(members), ": ",
                     nccl->ncclGetErrorString(failure),
                     more && *more ? detail::join(" (", more, ")") : "",
                     "; rank ", rank(), " was ", channel.lastSeen(rank()));
  }
  return {};
}

/// Ends kernels that wait for a lost rank, if NCCL can; whether it could. On a
/// thread of its own, as it may take for ever.
bool NcclRankContext::abortAll() {
  auto start = Clock::now();
  while (!mutex.try_lock()) {
    if (Clock::now() - start > kAbortTime)
      return false;
    usleep(1000);
  }
  auto list = communicators;
  aborted = true;
  mutex.unlock();
  if (list.empty())
    return true;
  // What is freed must not be in use, unless the call waits for the abort.
  std::unique_lock call(calling, std::defer_lock);
  while (!call.try_lock() && Clock::now() - start < kAbortTime / 3)
    usleep(1000);
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([list, done, nccl = nccl] {
    // As a group: all are told before the first is waited for.
    nccl->ncclGroupStart();
    for (auto &[members, communicator] : list)
      nccl->ncclCommAbort(communicator);
    nccl->ncclGroupEnd();
    *done = true;
  }).detach();
  while (!*done && Clock::now() - start < kAbortTime)
    usleep(1000);
  return *done;
}
