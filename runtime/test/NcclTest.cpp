//===- NcclTest.cpp - collectives on devices ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process per rank, over the library that stands for CUDA and NCCL. Random
// ledger entries of every kind, dimension and type, over axes and sub-axes,
// launched one by one and as a graph, against the definition; and ranks that
// are killed, frozen or late.
//
//===----------------------------------------------------------------------===//

#include "RandomCollective.h"

#include "../collectives/BackendTable.h"
#include "../collectives/processes/Segment.h"
#include "../cuda/CudaDevice.h"
#include "../cuda/CudaRank.h"
#include "../cuda/libraries/Libraries.h"
#include "../launcher/Launcher.h"
#include "../session/Devices.h"

#include <csignal>
#include <fstream>
#include <functional>
#include <sys/wait.h>

using namespace tprt;
using namespace tprt::test;

namespace {

std::string describe(CallSite site) {
  return site.id < 0 ? "the beginning or end of a step"
                     : detail::join("entry ", site.id, " layer ", site.layer);
}

/// A rank's side of a test.
struct Rank {
  int64_t rank;
  const Driver *cuda;
  DeviceBackend *backend;
  SideChannel *channel;
  CUstream stream;
};
using Body = std::function<Status(Rank &)>;

Status await(const Rank &self) {
  return self.backend->await(
      [&] { return int(self.cuda->cuStreamQuery(self.stream)); });
}

struct Ended {
  int status; ///< as waitpid gives it
  std::string err;
};

/// How the ranks talk beside NCCL: as on one host, or TCP as on several.
enum class ChannelKind { Local, Tcp };

Expected<std::unique_ptr<SideChannel>>
rendezvous(int64_t rank, const Segment &segment, double timeout,
           ChannelKind channelKind, int port) {
  ProcessInfo place;
  place.rank = place.localRank = rank;
  place.ranks = place.localRanks = segment.ranks();
  place.file = dup(segment.fd());
  static ExitPolicy policy;
  policy.startedBy("a test");
  SideChannel::Options options{timeout, describe, 1.5, policy.get()};
  if (channelKind == ChannelKind::Local)
    return connectRanks(place, options);
  place.file = -1;
  place.localRank = 0;
  place.localRanks = 1;
  place.starter = place.source = "a test";
  place.hosts = "a test says so";
  place.job = place.token = std::to_string(getppid());
  place.addresses = {"127.0.0.1"};
  place.ports = {port};
  setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
  return connectRanks(place, options);
}

Status
become(int64_t rank, const Manifest &manifest, const Body &body,
       const std::function<Expected<std::unique_ptr<SideChannel>>()> &channel) {
  TPRT_TRY(checkCuda(manifest));
  auto side = channel();
  if (!side)
    return side.status();
  const Driver &cuda = **Driver::get();
  auto made = makeNcclBackend(std::move(*side), **Nccl::get());
  DeviceBackend &backend = *made;
  auto devices = CudaDevice::count(cuda);
  if (!devices)
    return devices.status();
  auto gpu = CudaDevice::open(cuda, int(backend.device(*devices)));
  if (!gpu)
    return gpu.status();
  CUstream stream = nullptr;
  TPRT_TRY(cuda.check(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                      "a stream"));
  TPRT_TRY(backend.attach(manifest, stream, *devices));
  Rank self{rank, &cuda, &backend, backend.channel(), stream};
  Status status = body(self);
  backend.detach();
  return status;
}

/// Runs the body in a process per rank.
std::vector<Ended>
onRanks(const Manifest &manifest, const Body &body, double timeout = 30,
        const std::function<void(const std::vector<pid_t> &)> &meanwhile = {},
        ChannelKind channelKind = ChannelKind::Local) {
  int port = 20000 + int(getpid() % 20000);
  int64_t ranks = manifest.mesh.size();
  TemporaryDirectory directory;
  Segment segment = std::move(*Segment::create(ranks, 0));
  std::vector<pid_t> processes;
  auto log = [&](int64_t rank) {
    return directory / ("err" + std::to_string(rank));
  };
  for (int64_t rank = 0; rank < ranks; ++rank) {
    pid_t child = fork();
    if (child == 0) {
      (void)!freopen(log(rank).c_str(), "w", stderr);
      for (const char *name :
           {"TPRT_CUDA_LIBRARY", "TPRT_NCCL_LIBRARY", "TPRT_CUBLASLT_LIBRARY"})
        setenv(name, TP_FAKE_CUDA, 1);
      setenv("TP_FAKE_CUDA_SEED", std::to_string(rank + 1).c_str(), 1);
      Status status = become(rank, manifest, body, [&] {
        return rendezvous(rank, segment, timeout, channelKind, port);
      });
      if (!status.ok())
        std::fprintf(stderr, "%s\n", status.message().c_str());
      std::fflush(nullptr);
      _exit(status.ok() ? testing::Test::HasFailure() : int(status.code()));
    }
    processes.push_back(child);
  }
  if (meanwhile)
    meanwhile(processes);
  std::vector<Ended> result;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Ended ended;
    waitpid(processes[rank], &ended.status, 0);
    std::ifstream file(log(rank));
    ended.err.assign(std::istreambuf_iterator<char>(file), {});
    result.push_back(ended);
  }
  return result;
}

/// The collectives of a manifest, over parts of its mesh.
Manifest randomLedger(std::vector<Mesh::Axis> axes, int64_t entries,
                      unsigned seed) {
  Manifest manifest;
  manifest.mesh.axes = std::move(axes);
  for (int64_t r = 0; r < manifest.mesh.size(); ++r)
    manifest.mesh.positions.push_back(r);
  Picker pick;
  pick.random.seed(seed);
  for (int64_t i = 0; i < entries; ++i)
    manifest.collectives.push_back(randomEntry(pick, manifest.mesh));
  return manifest;
}

/// The communicators of a rank, by ledger entry.
struct Groups {
  std::vector<std::unique_ptr<Communicator>> list;
  Status connect(Rank &self, const Manifest &manifest) {
    for (const Collective &c : manifest.collectives) {
      auto made = self.backend->communicator(
          self.rank, manifest.mesh.group(c.axes, self.rank));
      if (!made)
        return made.status();
      list.push_back(std::move(*made));
    }
    return {};
  }
};

/// Every entry on random values, enqueued and waited for at once; twice:
/// launched one by one, then as a graph. Whether the result is the
/// definition's.
Status runAll(Rank &self, const Manifest &manifest, bool graph) {
  const Driver &cuda = *self.cuda;
  Groups groups;
  TPRT_TRY(groups.connect(self, manifest));
  Picker pick; // the same values on all ranks
  struct Call {
    std::vector<std::vector<double>> values;
    CUdeviceptr in = 0, out = 0;
  };
  std::vector<Call> calls;
  int64_t ranks = manifest.mesh.size();
  auto allocate = [&](CUdeviceptr &address, int64_t bytes) {
    return cuda.check(cuda.cuMemAlloc(&address, size_t(bytes)), "memory");
  };
  for (const Collective &c : manifest.collectives) {
    Call call;
    int64_t bytes = elementCount(c.inputShape) * typeBytes(c.type);
    TPRT_TRY(allocate(call.in, bytes));
    bool inPlace = c.row().inPlace && pick(0, 1);
    call.out = call.in;
    if (!inPlace)
      TPRT_TRY(
          allocate(call.out, elementCount(c.outputShape) * typeBytes(c.type)));
    for (int64_t r = 0; r < ranks; ++r) {
      std::string data =
          randomValues(c.type, elementCount(c.inputShape), pick.random);
      call.values.push_back(read(c.type, data));
      if (r != self.rank)
        continue;
      TPRT_TRY(cuda.check(cuda.cuMemcpyHtoDAsync(call.in, data.data(),
                                                 data.size(), self.stream),
                          "copy"));
      TPRT_TRY(await(self));
    }
    calls.push_back(std::move(call));
  }
  auto enqueue = [&]() -> Status {
    for (size_t i = 0; i < calls.size(); ++i)
      TPRT_TRY(groups.list[i]->run(manifest.collectives[i],
                                   {int64_t(i), int64_t(i) % 7},
                                   reinterpret_cast<void *>(calls[i].in),
                                   reinterpret_cast<void *>(calls[i].out)));
    return self.backend->endStep();
  };
  // Connections are made before anything is captured. The operands are lost
  // where a collective works in place, so that this works on copies of nothing.
  for (size_t i = 0; graph && i < calls.size(); ++i) {
    const Collective &c = manifest.collectives[i];
    auto in = self.backend->allocateOperands(elementCount(c.inputShape) *
                                             typeBytes(c.type));
    auto out = self.backend->allocateOperands(elementCount(c.outputShape) *
                                              typeBytes(c.type));
    if (!in || !out)
      return in ? out.status() : in.status();
    TPRT_TRY(groups.list[i]->run(c, {int64_t(i), 0},
                                 reinterpret_cast<void *>(*in),
                                 reinterpret_cast<void *>(*out)));
  }
  if (graph) {
    TPRT_TRY(self.backend->endStep());
    TPRT_TRY(await(self));
    TPRT_TRY(cuda.check(
        cuda.cuStreamBeginCapture(self.stream, CU_STREAM_CAPTURE_MODE_RELAXED),
        "capture"));
    TPRT_TRY(enqueue());
    CUgraph captured = nullptr;
    CUgraphExec executable = nullptr;
    TPRT_TRY(
        cuda.check(cuda.cuStreamEndCapture(self.stream, &captured), "capture"));
    TPRT_TRY(
        cuda.check(cuda.cuGraphInstantiate(&executable, captured, 0), "graph"));
    TPRT_TRY(cuda.check(cuda.cuGraphLaunch(executable, self.stream), "graph"));
    TPRT_TRY(await(self));
    TPRT_TRY(cuda.check(cuda.cuGraphExecDestroy(executable), "graph"));
    TPRT_TRY(cuda.check(cuda.cuGraphDestroy(captured), "graph"));
  } else {
    TPRT_TRY(enqueue());
    TPRT_TRY(await(self));
  }
  int64_t last = int64_t(calls.size()) - 1;
  EXPECT_EQ(self.channel->lastSeen(self.rank),
            "after " + describe({last, last % 7}));
  for (size_t i = 0; i < calls.size(); ++i) {
    const Collective &c = manifest.collectives[i];
    std::string data(elementCount(c.outputShape) * typeBytes(c.type), '\0');
    TPRT_TRY(cuda.check(cuda.cuMemcpyDtoHAsync(data.data(), calls[i].out,
                                               data.size(), self.stream),
                        "copy"));
    TPRT_TRY(await(self));
    std::vector<double> got = read(c.type, data);
    std::vector<std::vector<double>> inputs;
    for (int64_t member : manifest.mesh.group(c.axes, self.rank))
      inputs.push_back(calls[i].values[member]);
    int64_t place =
        manifest.mesh.index(c.axes, manifest.mesh.coordinates(self.rank));
    Shape index(c.outputShape.size());
    for (size_t e = 0; e < got.size(); ++e) {
      int64_t rest = int64_t(e);
      for (size_t d = index.size(); d-- > 0;) {
        index[d] = rest % c.outputShape[d];
        rest /= c.outputShape[d];
      }
      double want = expected(c, place, index, inputs);
      if (got[e] != want)
        return internalError(
            "entry ", i, " (", c.row().operation, " of ", typeName(c.type),
            ", ", formatShape(c.inputShape), " to ", formatShape(c.outputShape),
            ", dim ", c.dim, ", split ", c.splitDim, ") at ",
            formatShape(index), ": ", got[e], ", expected ", want);
    }
  }
  return {};
}

/// One all_reduce over all ranks.
Manifest oneSum(int64_t ranks) {
  Manifest manifest;
  manifest.mesh.axes = {{"tp", ranks}};
  for (int64_t r = 0; r < ranks; ++r)
    manifest.mesh.positions.push_back(r);
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.type = TPRT_F32;
  c.axes = {{0, 1, ranks}};
  c.inputShape = c.outputShape = {64};
  manifest.collectives = {c};
  return manifest;
}

/// Sums for ever; rank 1 does `instead` before its `count`-th.
Status sumForEver(Rank &self, const Manifest &manifest, int64_t count,
                  const std::function<void()> &instead) {
  Groups groups;
  TPRT_TRY(groups.connect(self, manifest));
  CUdeviceptr data = 0;
  TPRT_TRY(self.cuda->check(self.cuda->cuMemAlloc(&data, 256), "memory"));
  TPRT_TRY(self.cuda->check(
      self.cuda->cuMemsetD8Async(data, 0, 256, self.stream), "memory"));
  for (int64_t n = 0;; ++n) {
    if (self.rank == 1 && n == count)
      instead();
    void *buffer = reinterpret_cast<void *>(data);
    TPRT_TRY(groups.list[0]->run(manifest.collectives[0], {0, n % 50}, buffer,
                                 buffer));
    TPRT_TRY(self.backend->endStep());
    TPRT_TRY(await(self));
  }
}

} // namespace

TEST(Nccl, RandomLedgers) {
  struct Case {
    std::vector<Mesh::Axis> axes;
    int64_t entries;
  };
  std::vector<Case> cases = {{{{"tp", 1}}, 12},
                             {{{"tp", 2}}, 30},
                             {{{"tp", 3}}, 30},
                             {{{"tp", 4}}, 30},
                             {{{"dp", 2}, {"tp", 2}}, 30}};
  for (unsigned seed : {1u, 2u})
    for (const Case &one : cases)
      for (bool graph : {false, true}) {
        // The cases are memory of NCCL's own, and none.
        setenv("TP_FAKE_NCCL_MEMORY", seed == 1 ? "1" : "0", 1);
        Manifest manifest = randomLedger(one.axes, one.entries, kSeed + seed);
        auto ends = onRanks(manifest, [&](Rank &self) {
          return runAll(self, manifest, graph);
        });
        for (size_t r = 0; r < ends.size(); ++r)
          EXPECT_EQ(ends[r].status, 0)
              << "seed " << seed << ", " << ends.size() << " ranks, graph "
              << graph << ", rank " << r << ": " << ends[r].err;
      }
  unsetenv("TP_FAKE_NCCL_MEMORY");
}

// Everything that the ranks took is given back.
TEST(Nccl, GivesBackWhatItTook) {
  Manifest manifest = oneSum(2);
  // Staging memory, as the sizes do not divide.
  manifest.collectives[0].kind = CollectiveKind::ReduceScatter;
  manifest.collectives[0].inputShape = {2, 5};
  manifest.collectives[0].outputShape = {2, 3};
  manifest.collectives[0].dim = 1;
  for (const char *memory : {"1", "0"})
    for (const char *registered : {"1", "0"}) {
      setenv("TP_FAKE_NCCL_MEMORY", memory, 1);
      setenv("TP_FAKE_CUDA_REGISTER", registered, 1);
      auto ends = onRanks(manifest, [&](Rank &self) -> Status {
        const Driver &cuda = *self.cuda;
        // The test's own: it stays.
        std::shared_ptr<SideChannel> channel(std::shared_ptr<void>(),
                                             self.channel);
        auto free = [&] {
          size_t free = 0, total = 0;
          cuda.cuMemGetInfo(&free, &total);
          return free;
        };
        size_t before = free();
        {
          auto made = makeNcclBackend(channel, **Nccl::get());
          DeviceBackend &backend = *made;
          TPRT_TRY(backend.attach(manifest, self.stream, 1));
          EXPECT_GT(backend.deviceBytes(), 0);
          auto data = backend.allocateOperands(4096);
          EXPECT_TRUE(bool(data));
          EXPECT_LT(free(), before);
          backend.detach();
        }
        EXPECT_EQ(free(), before);
        // A library without memory of its own.
        Nccl older = **Nccl::get();
        older.ncclMemAlloc = nullptr;
        older.ncclMemFree = nullptr;
        {
          auto made = makeNcclBackend(channel, older);
          DeviceBackend &backend = *made;
          EXPECT_TRUE(bool(backend.allocateOperands(4096)));
          EXPECT_LT(free(), before);
          backend.detach();
        }
        EXPECT_EQ(free(), before);
        return {};
      });
      for (const Ended &end : ends)
        EXPECT_EQ(end.status, 0) << end.err;
    }
  unsetenv("TP_FAKE_NCCL_MEMORY");
  unsetenv("TP_FAKE_CUDA_REGISTER");
}

TEST(Nccl, KilledRankIsNamed) {
  Manifest manifest = oneSum(3);
  // The device writes positions where the others read them, or, where it
  // cannot, to where the watcher reads them.
  for (const char *registered : {"1", "0"}) {
    setenv("TP_FAKE_CUDA_REGISTER", registered, 1);
    auto ends = onRanks(manifest, [&](Rank &self) {
      return sumForEver(self, manifest, 20, [] {
        usleep(500'000); // the others are in the sum by then
        raise(SIGKILL);
      });
    });
    unsetenv("TP_FAKE_CUDA_REGISTER");
    EXPECT_TRUE(WIFSIGNALED(ends[1].status));
    for (int64_t r : {0, 2}) {
      EXPECT_TRUE(WIFEXITED(ends[r].status));
      EXPECT_EQ(WEXITSTATUS(ends[r].status), 3);
      EXPECT_EQ(
          ends[r].err,
          detail::join("tp-run: error: rank ", r,
                       ": rank 1 is lost: its process ended; it was last seen "
                       "after entry 0 layer 19; rank ",
                       r, " was in entry 0 layer 20\n"));
    }
  }
}

TEST(Nccl, KilledRankIsNamedOverTcp) {
  Manifest manifest = oneSum(3);
  auto ends = onRanks(
      manifest,
      [&](Rank &self) {
        return sumForEver(self, manifest, 20, [] {
          usleep(500'000); // the others are in the sum, and have heard of this
          raise(SIGKILL);
        });
      },
      30, {}, ChannelKind::Tcp);
  EXPECT_TRUE(WIFSIGNALED(ends[1].status));
  for (int64_t r : {0, 2}) {
    EXPECT_EQ(WEXITSTATUS(ends[r].status), 3);
    EXPECT_NE(ends[r].err.find("rank 1 is lost: "), std::string::npos)
        << ends[r].err;
    EXPECT_NE(
        ends[r].err.find(detail::join("it was last seen after entry 0 layer "
                                      "19; rank ",
                                      r, " was in entry 0 layer 20\n")),
        std::string::npos)
        << ends[r].err;
  }
}

TEST(Nccl, FrozenRankIsNamed) {
  Manifest manifest = oneSum(2);
  auto ends = onRanks(
      manifest,
      [&](Rank &self) {
        return sumForEver(self, manifest, 20, [] { raise(SIGSTOP); });
      },
      30,
      [](const std::vector<pid_t> &processes) {
        siginfo_t info;
        waitid(P_PID, id_t(processes[0]), &info, WEXITED | WNOWAIT);
        kill(processes[1], SIGKILL);
      });
  EXPECT_EQ(WEXITSTATUS(ends[0].status), 3);
  EXPECT_EQ(ends[0].err,
            "tp-run: error: rank 0: rank 1 is lost: its process is stopped; it "
            "was last seen after entry 0 layer 19; rank 0 was in entry 0 layer "
            "20\n");
}

TEST(Nccl, LateRankIsNamed) {
  Manifest manifest = oneSum(2);
  auto ends = onRanks(
      manifest,
      [&](Rank &self) -> Status {
        Status status = sumForEver(self, manifest, 5, [] { sleep(3600); });
        return self.channel->abort(status);
      },
      1);
  EXPECT_EQ(WEXITSTATUS(ends[0].status), 3);
  EXPECT_EQ(WEXITSTATUS(ends[1].status), 3);
  EXPECT_EQ(ends[0].err,
            "tp-run: error: rank 0: rank 0's device did nothing for 1 s, in "
            "entry 0 layer 5; rank 1 was last seen after entry 0 layer 4; rank "
            "0 was in entry 0 layer 5\n");
}

// In its first collective the host itself waits.
TEST(Nccl, RankThatNeverConnectsIsNamed) {
  Manifest manifest = oneSum(2);
  auto ends = onRanks(
      manifest,
      [&](Rank &self) -> Status {
        return sumForEver(self, manifest, 0, [] { sleep(3600); });
      },
      1);
  for (const Ended &end : ends)
    EXPECT_EQ(WEXITSTATUS(end.status), 3);
  EXPECT_EQ(ends[0].err,
            "tp-run: error: rank 0: rank 0 waited in entry 0 layer 0: rank 1 "
            "did not arrive within 1 s, last seen after the beginning or end "
            "of a step; rank 0 was in entry 0 layer 0\n");
}

// The time limit is for waits: a device that computes may take longer.
TEST(Nccl, RankThatComputesIsNotLate) {
  Manifest manifest = oneSum(2);
  auto ends = onRanks(
      manifest,
      [&](Rank &self) -> Status {
        const Nccl &nccl = **Nccl::get();
        ncclUniqueId id;
        if (self.rank == 0)
          nccl.ncclGetUniqueId(&id);
        auto ids = self.backend->exchange(
            self.rank ? "" : std::string(id.internal, sizeof(id)));
        if (!ids)
          return ids.status();
        std::memcpy(&id, (*ids)[0].data(), sizeof(id));
        ncclComm_t comm = nullptr;
        EXPECT_EQ(
            nccl.ncclCommInitRankConfig(&comm, 2, id, int(self.rank), nullptr),
            ncclSuccess);
        // Work that nobody calls a collective, and that takes 3 s on rank 0.
        CUdeviceptr data = 0;
        TPRT_TRY(self.cuda->check(self.cuda->cuMemAlloc(&data, 4), "memory"));
        for (int n = 0; n < 2; ++n) {
          if (n == 1 && self.rank == 1)
            sleep(3);
          auto *buffer = reinterpret_cast<void *>(data);
          EXPECT_EQ(nccl.ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum,
                                       comm, self.stream),
                    ncclSuccess);
          TPRT_TRY(await(self));
        }
        return {};
      },
      1);
  for (const Ended &end : ends)
    EXPECT_EQ(end.status, 0) << end.err;
}

TEST(Nccl, MissingLibrariesAreNamed) {
  struct Case {
    const char *variable, *text;
  };
  for (auto [variable, text] :
       {Case{"TPRT_CUDA_LIBRARY", "cannot open the CUDA driver: /nowhere.so: "},
        Case{"TPRT_CUBLASLT_LIBRARY", "cannot open cuBLASLt: /nowhere.so: "},
        Case{"TPRT_NCCL_LIBRARY",
             "backend 'nccl': cannot open NCCL: /nowhere.so: "}}) {
    pid_t child = fork();
    if (child == 0) {
      for (const char *name :
           {"TPRT_CUDA_LIBRARY", "TPRT_NCCL_LIBRARY", "TPRT_CUBLASLT_LIBRARY"})
        setenv(name, TP_FAKE_CUDA, 1);
      setenv(variable, "/nowhere.so", 1);
      Manifest manifest;
      manifest.device = Device::Cuda;
      manifest.gemms.resize(1);
      auto backend = findBackend("nccl", Device::Cuda, 2);
      std::string message = checkProgram(**backend, manifest, 2).message();
      bool good =
          message.starts_with(text) &&
          message.ends_with(std::string("(") + variable + " names this file)");
      if (!good)
        std::fprintf(stderr, "%s\n", message.c_str());
      _exit(!good);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << variable;
  }
}
