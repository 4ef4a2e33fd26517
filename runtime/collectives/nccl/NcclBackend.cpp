//===- NcclBackend.cpp - ranks with a device each, over NCCL --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process per rank. How they find each other, agree, watch over each other
// and report is the side channel's work, the same as for processes on the host;
// NCCL moves the data of collectives and nothing else. A run of one rank has
// none to move (Alone.cpp).
//
// A communicator per distinct list of members, made from an identifier that the
// first member draws and the side channel distributes. A call enqueues its plan
// (Transfer.h) on the communication stream. Beside it, on a stream of its own
// that nothing else waits for, the device writes where it is: right also when a
// graph is replayed without the host, and when the rank's process is frozen.
//
// Communicators block. When the run fails, the side channel's watcher aborts
// them: kernels that wait for a lost rank end, and a rank that sits in a step
// comes back. One that sits in NCCL's start does not: nothing can be aborted
// yet.
//
//===----------------------------------------------------------------------===//

#include "../BackendTable.h"
#include "../DeviceCopy.h"
#include "../DeviceWait.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

namespace {

/// How much longer than in a collective a device may do nothing that is seen.
constexpr double kComputingSeconds = 4;
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

class NcclBackend : public DeviceBackend {
public:
  NcclBackend(std::shared_ptr<SideChannel> channel, const Driver &cuda,
              const Nccl &nccl);

  SideChannel *channel() const override { return side.get(); }
  Status agree(int64_t, uint64_t value, const char *what) override {
    return side->agree(value, what);
  }

  int64_t device(int64_t devices) const override {
    return side->localRank() % devices;
  }
  Status attach(const Manifest &manifest, CUstream stream,
                int64_t devices) override;
  Expected<uint64_t> allocateOperands(int64_t bytes) override;
  Status endStep() override;
  Status await(const Query &query) override;
  Expected<std::vector<std::string>>
  exchange(const std::string &bytes) override {
    return side->exchange(bytes);
  }
  int64_t deviceBytes() const override { return stagingSize; }
  void detach() override;

protected:
  Expected<std::unique_ptr<Communicator>>
  join(const std::vector<int64_t> &members, int64_t self) override;

private:
  class Group;

  int64_t rank() const { return side->rank(); }
  Status checkCuda(CUresult result, const char *what) const;
  Status checkNccl(ncclResult_t result, const std::string &what,
                   ncclComm_t communicator) const;
  Expected<ncclComm_t> connect(const std::vector<int64_t> &members,
                               int64_t self);
  Status shareDevices(int64_t devices) const;
  Status showPosition();
  Status mark(CallSite site, bool inside);
  std::pair<ncclResult_t, const char *> call(const TransferStep &step,
                                             const Collective &entry,
                                             ncclComm_t group, void *from,
                                             void *to);
  Status enqueue(const Transfer &plan, const Collective &entry,
                 ncclComm_t communicator, const void *in, void *out);
  Status stuck() const;
  Status poll();
  bool abortAll();

  const Driver &cuda;
  const Nccl &nccl;
  const Manifest *manifest = nullptr;
  // Given back by detach alone: not from a device that hangs.
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

  // Last, so that its watcher ends before what it looks at.
  std::shared_ptr<SideChannel> side;
};

} // namespace

/// A call of the driver, with its name for the message.
#define TPRT_CUDA(function, ...)                                               \
  checkCuda(cuda.function(__VA_ARGS__), #function)

/// One rank's membership of one group.
class NcclBackend::Group : public Communicator {
public:
  Group(NcclBackend &backend, const std::vector<int64_t> &members, int64_t self,
        ncclComm_t communicator)
      : backend(backend), members(members), self(self),
        communicator(communicator) {}

  Status run(const Collective &entry, CallSite site, const void *in,
             void *out) override {
    auto [found, fresh] = plans.try_emplace(&entry);
    if (fresh)
      found->second = planTransfer(entry, self, int64_t(members.size()));
    // The host may wait in here too: NCCL makes connections in a first call.
    backend.side->enter(site, &members);
    TPRT_TRY(backend.mark(site, true));
    TPRT_TRY(backend.enqueue(found->second, entry, communicator, in, out));
    TPRT_TRY(backend.mark(site, false));
    backend.side->leave();
    return {};
  }

private:
  NcclBackend &backend;
  std::vector<int64_t> members;
  int64_t self;
  ncclComm_t communicator;
  std::map<const Collective *, Transfer> plans;
};

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

NcclBackend::NcclBackend(std::shared_ptr<SideChannel> channel,
                         const Driver &cuda, const Nccl &nccl)
    : cuda(cuda), nccl(nccl), side(std::move(channel)) {
  ranks = side->size();
}

std::unique_ptr<DeviceBackend>
tprt::makeNcclBackend(std::shared_ptr<SideChannel> channel, const Nccl &nccl) {
  // The driver has been opened: the device's check has.
  return std::make_unique<NcclBackend>(std::move(channel), **Driver::get(),
                                       nccl);
}

namespace tprt {
Status checkNccl() { return Nccl::get().status(); }

Expected<std::unique_ptr<Backend>> connectNccl(const BackendOptions &options) {
  TPRT_ASSIGN(auto channel, connectRanks(*options.process, options.waits));
  // checkNccl has opened it.
  return makeNcclBackend(std::move(channel), **Nccl::get());
}
} // namespace tprt

void NcclBackend::detach() {
  side->everyBeat({});
  side->onFailure({});
  for (auto &[members, communicator] : communicators)
    if (!aborted)
      nccl.ncclCommDestroy(communicator);
  communicators.clear();
  for (auto [memory, isNccls] : operands)
    if (isNccls)
      nccl.ncclMemFree(reinterpret_cast<void *>(memory));
    else
      cuda.cuMemFree(memory);
  operands.clear();
  if (reached)
    cuda.cuEventDestroy(std::exchange(reached, nullptr));
  if (markers)
    cuda.cuStreamDestroy(std::exchange(markers, nullptr));
  if (registered)
    cuda.cuMemHostUnregister(std::exchange(registered, nullptr));
  if (pinned)
    cuda.cuMemFreeHost(std::exchange(pinned, nullptr));
}

Status NcclBackend::checkCuda(CUresult result, const char *what) const {
  if (result == CUDA_SUCCESS)
    return {};
  return cuda.check(result, detail::join(what, ", ", side->lastSeen(rank())));
}

Status NcclBackend::checkNccl(ncclResult_t result, const std::string &what,
                              ncclComm_t communicator) const {
  if (result == ncclSuccess)
    return {};
  const char *more = nccl.ncclGetLastError(communicator);
  // The network, or how the ranks were put on devices.
  bool lacking = result == ncclSystemError || result == ncclInvalidUsage;
  return {lacking ? Code::User : Code::Device,
          detail::join("NCCL: ", what,
                       " failed: ", nccl.ncclGetErrorString(result),
                       more && *more ? detail::join(" (", more, ")") : "",
                       "; NCCL_DEBUG=INFO tells more")};
}

/// NCCL refuses two ranks on one device of one host. With a host identifier of
/// their own, ranks that share a device pass for ranks of different hosts, and
/// talk through sockets; so must those who talk to them. What the user has set
/// stays. Devices are told apart by their identifiers, as a launcher may show
/// each rank another one as its first.
Status NcclBackend::shareDevices(int64_t devices) const {
  CUdevice device = 0;
  CUuuid uuid;
  TPRT_TRY(checkCuda(cuda.cuDeviceGet(&device, int(this->device(devices))),
                     "cuDeviceGet"));
  TPRT_TRY(TPRT_CUDA(cuDeviceGetUuid, &uuid, device));
  TPRT_ASSIGN(auto all,
              side->exchange(std::string(uuid.bytes, sizeof(uuid.bytes))));
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
  if (side->localSize() == size())
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  return {};
}

/// Lets the device write this rank's position.
Status NcclBackend::showPosition() {
  auto *here = &side->here().device;
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
  TPRT_TRY(TPRT_CUDA(cuMemHostAlloc, &pinned, sizeof(*word),
                     CU_MEMHOSTALLOC_DEVICEMAP));
  word = new (pinned) std::atomic<uint32_t>(0);
  return TPRT_CUDA(cuMemHostGetDevicePointer, &position, pinned, 0);
}

Status NcclBackend::attach(const Manifest &theManifest, CUstream theStream,
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
  TPRT_TRY(TPRT_CUDA(cuStreamCreate, &markers, CU_STREAM_NON_BLOCKING));
  TPRT_TRY(TPRT_CUDA(cuEventCreate, &reached, CU_EVENT_DISABLE_TIMING));
  TPRT_TRY(showPosition());
  side->everyBeat([this] { return poll(); });
  side->onFailure([this] { return abortAll(); });
  return {};
}

/// NCCL moves memory of its own kind without copies of its own: it registers
/// the operands of collectives in a captured graph, and those of cuMemAlloc
/// only where NCCL_LEGACY_CUDA_REGISTER asks for it. Older libraries have no
/// such memory, and drivers may lack it.
Expected<uint64_t> NcclBackend::allocateOperands(int64_t bytes) {
  void *memory = nullptr;
  if (nccl.ncclMemAlloc && nccl.ncclMemFree &&
      nccl.ncclMemAlloc(&memory, size_t(bytes)) == ncclSuccess) {
    operands.push_back({reinterpret_cast<CUdeviceptr>(memory), true});
    return uint64_t(operands.back().first);
  }
  CUdeviceptr address = 0;
  TPRT_TRY(TPRT_CUDA(cuMemAlloc, &address, size_t(bytes)));
  operands.push_back({address, false});
  return uint64_t(address);
}

/// All ranks call it, each for its own group, as often as the others.
Expected<ncclComm_t> NcclBackend::connect(const std::vector<int64_t> &members,
                                          int64_t self) {
  std::string mine;
  if (members[0] == rank()) {
    ncclUniqueId id;
    TPRT_TRY(checkNccl(nccl.ncclGetUniqueId(&id), "ncclGetUniqueId", nullptr));
    mine.assign(reinterpret_cast<char *>(&id), sizeof(id));
  }
  TPRT_ASSIGN(auto ids, side->exchange(mine));
  const std::string &theirs = ids[size_t(members[0])];
  ncclUniqueId id;
  if (theirs.size() != sizeof(id))
    return internalError("rank ", members[0], " made no NCCL identifier for ",
                         listRanks(members));
  std::memcpy(&id, theirs.data(), sizeof(id));
  ncclComm_t communicator = nullptr;
  side->enter({}, &members);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclResult_t result = nccl.ncclCommInitRankConfig(
      &communicator, int(members.size()), id, int(self), &config);
  side->leave();
  TPRT_TRY(checkNccl(result, "connecting " + listRanks(members), communicator));
  return communicator;
}

Expected<std::unique_ptr<Communicator>>
NcclBackend::join(const std::vector<int64_t> &members, int64_t self) {
  ncclComm_t communicator = nullptr;
  auto found = communicators.find(members);
  if (found != communicators.end()) {
    communicator = found->second;
  } else if (members.size() > 1) {
    TPRT_ASSIGN(communicator, connect(members, self));
    std::lock_guard lock(mutex);
    communicators[members] = communicator;
  }
  return std::make_unique<Group>(*this, members, self, communicator);
}

//===----------------------------------------------------------------------===//
// A call
//===----------------------------------------------------------------------===//

/// The device is at `site`: written when the communication stream gets here,
/// but nothing on that stream waits for it.
Status NcclBackend::mark(CallSite site, bool inside) {
  if (site.layer > Position::kDeviceLayers)
    return userError("backend 'nccl' takes ", Position::kDeviceLayers + 1,
                     " layers at most");
  marked = true;
  TPRT_TRY(TPRT_CUDA(cuEventRecord, reached, stream));
  TPRT_TRY(TPRT_CUDA(cuStreamWaitEvent, markers, reached, 0));
  return TPRT_CUDA(cuMemsetD32Async, position, Position::onDevice(site, inside),
                   1, markers);
}

Status NcclBackend::endStep() {
  if (!marked) // the streams have nothing to do with each other in this step
    return {};
  marked = false;
  TPRT_TRY(TPRT_CUDA(cuEventRecord, reached, markers));
  return TPRT_CUDA(cuStreamWaitEvent, stream, reached, 0);
}

/// A step that is one of NCCL's functions, and that function's name.
std::pair<ncclResult_t, const char *>
NcclBackend::call(const TransferStep &step, const Collective &entry,
                  ncclComm_t group, void *from, void *to) {
  using Kind = TransferStep::Kind;
  ncclDataType_t type = kTypes[entry.type];
  ncclRedOp_t reduction = reductionOf(entry.reduction);
  size_t count = size_t(step.count);
  int peer = int(step.peer);
#define TPRT_CALL(function, ...)                                               \
  {                                                                            \
    nccl.function(__VA_ARGS__), #function                                      \
  }
  switch (step.kind) {
  case Kind::Copy:
  case Kind::Zero:
    break;
  case Kind::Group:
    return TPRT_CALL(ncclGroupStart);
  case Kind::EndGroup:
    return TPRT_CALL(ncclGroupEnd);
  case Kind::AllReduce:
    return TPRT_CALL(ncclAllReduce, from, to, count, type, reduction, group,
                     stream);
  case Kind::AllGather:
    return TPRT_CALL(ncclAllGather, from, to, count, type, group, stream);
  case Kind::ReduceScatter:
    return TPRT_CALL(ncclReduceScatter, from, to, count, type, reduction, group,
                     stream);
  case Kind::Send:
    return TPRT_CALL(ncclSend, from, count, type, peer, group, stream);
  case Kind::Receive:
    return TPRT_CALL(ncclRecv, to, count, type, peer, group, stream);
  }
#undef TPRT_CALL
  return {ncclInternalError, "a copy"};
}

Status NcclBackend::enqueue(const Transfer &plan, const Collective &entry,
                            ncclComm_t communicator, const void *in,
                            void *out) {
  using Kind = TransferStep::Kind;
  auto *staged = reinterpret_cast<const void *>(staging);
  std::lock_guard lock(calling);
  if (aborted)
    return side->failure();
  for (const TransferStep &step : plan.steps) {
    CUdeviceptr from = step.from.address(in, out, staged);
    CUdeviceptr to = step.to.address(in, out, staged);
    if (step.kind == Kind::Copy || step.kind == Kind::Zero) {
      TPRT_TRY(checkCuda(enqueueCopy(cuda, step, from, to, stream), "a copy"));
      continue;
    }
    auto [result, name] =
        call(step, entry, communicator, reinterpret_cast<void *>(from),
             reinterpret_cast<void *>(to));
    TPRT_TRY(checkNccl(result, name, communicator));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Waiting and failing
//===----------------------------------------------------------------------===//

Status NcclBackend::await(const Query &query) {
  double changed = 0; // when something was last seen to happen, in seconds
  uint32_t seen = word ? word->load() : 0;
  auto look = [&](double now) -> Status {
    TPRT_TRY(side->failure());
    uint32_t latest = word ? word->load() : 0;
    if (latest != seen) {
      seen = latest;
      changed = now;
    }
    // A rank that hears of all others knows better, and speaks first; before a
    // rank that only computes, those that wait for it do.
    bool computes = !(latest & 1);
    double limit = side->timeout() + (side->hearsAll() ? 0 : 2) +
                   (computes ? kComputingSeconds : 0);
    return now - changed > limit ? stuck() : Status();
  };
  TPRT_ASSIGN(auto result, pollDevice(query, look));
  return checkCuda(result, "the step");
}

/// The collective that this rank's device is in did not end in time.
Status NcclBackend::stuck() const {
  const Position &mine = side->here();
  CallSite site = mine.site();
  std::string text =
      detail::join("rank ", rank(), "'s device did nothing for ",
                   side->timeout(), " s, ", side->lastSeen(rank()));
  if (!mine.isInside() || site.id < 0 || !side->hearsAll())
    return lostError(text);
  std::string late;
  for (int64_t member :
       manifest->mesh.group(manifest->collectives[site.id].axes, rank())) {
    const Position &other = side->whereIs(member);
    if (!other.isInside() || !(other.site() == site))
      late += detail::join("; rank ", member, " was last seen ",
                           side->lastSeen(member));
  }
  return lostError(text, late.empty() ? "; all its members are in it" : late);
}

/// Called by the watcher.
Status NcclBackend::poll() {
  Position &mine = side->here();
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
    if (nccl.ncclCommGetAsyncError(communicator, &failure) != ncclSuccess ||
        failure == ncclSuccess || failure == ncclInProgress)
      continue;
    auto now = Clock::now();
    if (!failingSince)
      failingSince = now;
    if (std::chrono::duration<double>(now - *failingSince).count() <
        kErrorSeconds)
      return {};
    const char *more = nccl.ncclGetLastError(communicator);
    return lostError("NCCL reports an error among ", listRanks(members), ": ",
                     nccl.ncclGetErrorString(failure),
                     more && *more ? detail::join(" (", more, ")") : "",
                     "; rank ", rank(), " was ", side->lastSeen(rank()));
  }
  return {};
}

/// Ends kernels that wait for a lost rank, if NCCL can; whether it could. On a
/// thread of its own, as it may take for ever.
bool NcclBackend::abortAll() {
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
  // Freed memory must not be in use, unless the call waits for the abort.
  std::unique_lock call(calling, std::defer_lock);
  while (!call.try_lock() && Clock::now() - start < kAbortTime / 3)
    usleep(1000);
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread([list, done, &nccl = nccl] {
    // As a group: all are told before the first is waited for.
    nccl.ncclGroupStart();
    for (auto &[members, communicator] : list)
      nccl.ncclCommAbort(communicator);
    nccl.ncclGroupEnd();
    *done = true;
  }).detach();
  while (!*done && Clock::now() - start < kAbortTime)
    usleep(1000);
  return *done;
}
