//===- Mpi.cpp - ranks that talk through MPI ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backend `mpi`: one process per rank, started by mpirun or srun, on any number
// of hosts. MPI moves the bytes; sums are made here, in the order of the group,
// so that they have the same bits as over threads. Everything beside the
// collectives goes over TCP, so that a lost rank is named while the others sit
// in MPI; through MPI the ranks learn where rank 0's side channel listens.
//
// MPI moves long messages only while it is called. So collectives that go on
// beside the step are made by a thread of their own (Progress.h), and all calls
// of MPI come one after the other, from there or from the rank's thread.
//
//===----------------------------------------------------------------------===//

#include "../../support/Cores.h"
#include "../BackendTable.h"
#include "../Progress.h"
#include "../net/NetRendezvous.h"
#include "../processes/Segment.h"
#include "MpiCollective.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace tprt;

namespace {

/// Found beside tp-run and libtprt.so (see their RPATH) or on the system's
/// path.
constexpr const char *kPlugin = "libtprt-mpi.so";
/// Names another.
constexpr const char *kMpiPluginVariable = "TPRT_MPI_PLUGIN";

/// Calls of the plug-in as statuses.
class Mpi {
public:
  static Expected<Mpi> open() {
    const char *named = std::getenv(kMpiPluginVariable);
    const char *name = named ? named : kPlugin;
    // OpenMPI's own plug-ins look for its symbols.
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      return userError("backend 'mpi' needs ", kPlugin,
                       ", which cannot be opened: ", dlerror(),
                       "; it is built where an MPI is installed (Debian: "
                       "libopenmpi-dev, openmpi-bin), and ",
                       kMpiPluginVariable, " may name it");
    auto query = reinterpret_cast<tprt_mpi_query_function>(
        dlsym(library, "tprt_mpi_query"));
    const tprt_mpi *table = query ? query(TPRT_MPI_VERSION) : nullptr;
    if (!table)
      return userError("backend 'mpi': '", name,
                       "' is of another version of the runtime, expected "
                       "version ",
                       TPRT_MPI_VERSION);
    return Mpi(table);
  }

  Status check(int32_t error, const char *what) const {
    if (error == 0)
      return {};
    return lostError("MPI (", table->library, ") failed to ", what, ": ",
                     table->text(error));
  }

  const tprt_mpi *table;

private:
  explicit Mpi(const tprt_mpi *table) : table(table) {}
};

/// Makes a call that may never return; false if it was left behind, to a thread
/// of its own, once `giveUp` said so.
bool callAside(std::function<void()> call,
               const std::function<bool()> &giveUp) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread thread([done, call = std::move(call)] {
    call();
    *done = true;
  });
  while (!*done && !giveUp())
    usleep(1000);
  if (*done)
    thread.join();
  else
    thread.detach();
  return *done;
}

/// Messages of the members of one communicator.
class Messages {
public:
  Messages(const Mpi &mpi, SideChannel &side, const Progress &progress,
           void *communicator, bool crowded)
      : mpi(mpi), side(&side), progress(&progress), communicator(communicator),
        crowded(crowded) {}

  Status exchange(int32_t tag, const std::vector<tprt_mpi_part> &receives,
                  const std::vector<tprt_mpi_part> &sends) {
    if (receives.empty() && sends.empty())
      return {};
    TPRT_TRY(mpi.check(mpi.table->start(communicator, tag, receives.data(),
                                        int64_t(receives.size()), sends.data(),
                                        int64_t(sends.size())),
                       "send"));
    // The watcher of the side channel says when a wait is in vain. While the
    // step computes, its cores are not for looking.
    constexpr int kSpins = 2000, kYields = 20000, kLooks = 64;
    for (int n = 0;; ++n) {
      int32_t done = 0;
      TPRT_TRY(mpi.check(mpi.table->test(&done), "receive"));
      if (done)
        return {};
      if (n % kLooks == 0)
        TPRT_TRY(side->failure());
      if (n > kYields || !progress->isAwaited())
        usleep(50);
      else if (crowded || n > kSpins)
        std::this_thread::yield();
    }
  }

private:
  Mpi mpi;
  SideChannel *side;
  const Progress *progress;
  void *communicator;
  bool crowded;
};

class MpiCommunicator : public Communicator {
public:
  MpiCommunicator(SideChannel &side, Progress &progress, Messages messages,
                  std::vector<int64_t> list, int64_t self, int32_t largestTag)
      : side(side), progress(progress), messages(std::move(messages)),
        members(std::move(list)), largestTag(largestTag),
        collective(self, int64_t(members.size()),
                   [this](const auto &receives, const auto &sends) {
                     return this->messages.exchange(tag, receives, sends);
                   }) {}

  Status run(const Collective &entry, CallSite site, const void *in,
             void *out) override {
    return progress.run([&] { return call(entry, site, in, out); });
  }
  Status start(const Collective &entry, CallSite site, const void *in,
               void *out) override {
    uint64_t ticket = progress.start(
        [=, this, &entry] { return call(entry, site, in, out); });
    started.push_back({site, ticket});
    return {};
  }
  Status finish(CallSite site) override {
    auto found = std::find_if(started.begin(), started.end(),
                              [&](auto &one) { return one.first == site; });
    if (found == started.end())
      return {};
    uint64_t ticket = found->second;
    started.erase(found);
    return progress.finish(ticket);
  }
  void abandon() override {
    progress.drain();
    started.clear();
  }

private:
  Status call(const Collective &entry, CallSite site, const void *in,
              void *out) {
    side.enter(site, &members);
    tag = tagOf(site, largestTag);
    Status status = collective.run(entry, in, out);
    if (status.ok())
      side.leave();
    return status;
  }

  SideChannel &side;
  Progress &progress;
  Messages messages;
  /// The calls that were started and not finished, with their tickets.
  std::vector<std::pair<CallSite, uint64_t>> started;
  std::vector<int64_t> members;
  int32_t largestTag, tag = 0;
  MessageCollective collective;
};

class MpiBackend : public Backend {
public:
  MpiBackend(Mpi mpi, std::unique_ptr<SideChannel> channel, bool initialized,
             int32_t largestTag)
      : mpi(mpi), side(std::move(channel)), initialized(initialized),
        largestTag(largestTag), crowded(side->localSize() > availableCores()) {
    ranks = side->size();
    for (int64_t r = 0; r < ranks; ++r)
      allRanks.push_back(r);
    // Messages that were under way stay so.
    side->onFailure([] { return false; });
  }

  ~MpiBackend() override {
    // The end of MPI waits for all ranks, and for ever for one that is lost. A
    // rank that is through with it closes its connection, which looks like a
    // loss to those that are about to return.
    constexpr std::chrono::seconds kReturning(5);
    auto deadline = net::Clock::now() +
                    std::chrono::milliseconds(int64_t(side->timeout() * 1000));
    bool isLost = false;
    auto isOver = [&] {
      if (!side->failure().ok() && !isLost) {
        isLost = true;
        deadline = std::min(deadline, net::Clock::now() + kReturning);
      }
      return !net::remaining(deadline);
    };
    if (initialized && side->failure().ok())
      callAside([table = mpi.table] { table->finalize(); }, isOver);
  }

  SideChannel *channel() const override { return side.get(); }

  Status agree(int64_t rank, uint64_t value, const char *what) override {
    side->enterAgreement(allRanks);
    if (!all) {
      TPRT_ASSIGN(all, messages(allRanks));
    }
    std::vector<uint64_t> values(allRanks.size(), value);
    std::vector<tprt_mpi_part> receives, sends;
    for (int64_t r = 0; r < ranks; ++r)
      if (r != rank) {
        receives.push_back({r, &values[size_t(r)], 8});
        sends.push_back({r, &value, 8});
      }
    TPRT_TRY(progress.run([&] { return all->exchange(0, receives, sends); }));
    if (Status status = compareValues(values, what); !status.ok())
      return side->abort(status);
    side->leave();
    return {};
  }

protected:
  Expected<std::unique_ptr<Communicator>>
  join(const std::vector<int64_t> &members, int64_t self) override {
    // Members wait for each other.
    side->enterAgreement(members);
    auto made = messages(members);
    side->leave();
    if (!made)
      return made.status();
    return std::make_unique<MpiCommunicator>(*side, progress, std::move(*made),
                                             members, self, largestTag);
  }

private:
  /// The members' messages; called by all of them.
  Expected<Messages> messages(const std::vector<int64_t> &members) {
    void *communicator = nullptr;
    // Alone one sends nothing.
    if (members.size() > 1)
      TPRT_TRY(mpi.check(
          mpi.table->communicator(members.data(), int64_t(members.size()),
                                  nextTag++ % largestTag, &communicator),
          "make a communicator"));
    return Messages(mpi, *side, progress, communicator, crowded);
  }

  Mpi mpi;
  std::unique_ptr<SideChannel> side;
  bool initialized;
  int32_t largestTag, nextTag = 1;
  bool crowded;
  std::vector<int64_t> allRanks;
  std::optional<Messages> all; ///< of all ranks, once they agree on something
  Progress progress;           ///< ends before what its calls use
};

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

/// True if something that speaks MPI has started this process.
bool startedByMpi() {
  for (const char *variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(variable))
      return true;
  return false;
}

Status notStarted(const ProcessInfo &process, int64_t ranks) {
  std::string how =
      detail::join("mpirun -n ", ranks, " tp-run MODEL --backend mpi ...");
  if (process.starter == "torchrun")
    return userError("torchrun starts no MPI; start the ranks with: ", how,
                     "; under torchrun use --backend processes");
  if (process.starter == "Slurm")
    return userError("srun has not started MPI; expected: srun --mpi=pmix -n ",
                     ranks, " tp-run MODEL --backend mpi ...");
  return userError(
      "the artifact is made for ", ranks,
      " ranks, but this process was started alone; expected: ", how);
}

/// MPI waits without limit for ranks that do not come. So those of each host
/// meet before, which names the ones that are missing.
Status rollCall(const ProcessInfo &process, double timeout) {
  if (process.starter != "mpirun")
    return {};
  ProcessInfo here = process;
  here.job += ".mpi";
  if (!process.oneHost()) {
    here.rank = process.localRank;
    here.ranks = process.localRanks;
    here.source = "OMPI_COMM_WORLD_LOCAL_SIZE (mpirun)";
  }
  if (here.ranks == 1)
    return {};
  auto met = rendezvous(here, 0, timeout);
  return met ? Status() : met.status();
}

/// Rank 0 tells all where it listens.
Status tellAddress(const Mpi &mpi, ProcessInfo &process,
                   std::optional<net::Listener> &listener) {
  char text[4096] = {};
  Status status;
  if (process.rank == 0) {
    auto made = net::listen({}, process.oneHost() ? "127.0.0.1" : "");
    std::ostringstream words;
    if (made) {
      listener = std::move(*made);
      std::random_device random;
      words << listener->port << " " << std::hex;
      for (int i = 0; i < 4; ++i)
        words << random() << ".";
      for (const std::string &address :
           process.oneHost() ? std::vector<std::string>{"127.0.0.1"}
                             : net::ownAddresses())
        words << " " << address;
    } else {
      status = made.status();
    }
    words.str().copy(text, sizeof(text) - 1);
  }
  TPRT_TRY(mpi.check(mpi.table->broadcast(text, sizeof(text)), "broadcast"));
  TPRT_TRY(status);
  std::istringstream words{std::string(text)};
  int port = 0;
  words >> port >> process.token;
  for (std::string address; words >> address;)
    process.addresses.push_back(address);
  process.ports = {port};
  if (process.addresses.empty())
    return userError("rank 0 could not open the side channel");
  return {};
}

/// The start of MPI, which may take for ever.
struct Start {
  Mpi mpi;
  ProcessInfo process;
  int64_t ranks;              ///< of the artifact
  int32_t largestTag = 32767; // that every MPI has
  std::optional<net::Listener> listener;
  Status status;

  Status run() {
    int64_t rank = 0, size = 1;
    TPRT_TRY(
        mpi.check(mpi.table->initialize(&rank, &size, &largestTag), "start"));
    if (size == 1 && process.ranks > 1)
      return notStarted(process, ranks);
    if (size != ranks)
      return userError("the artifact is made for ", ranks,
                       " ranks, but MPI says ", size, "; expected: mpirun -n ",
                       ranks, " tp-run MODEL --backend mpi ...");
    if (process.ranks != size)
      process.hosts = "MPI does not say";
    process.rank = rank;
    process.ranks = size;
    process.source = "MPI";
    process.addresses.clear();
    return tellAddress(mpi, process, listener);
  }
};

} // namespace

namespace tprt {
Expected<std::unique_ptr<Backend>> connectMpi(const BackendOptions &options) {
  TPRT_ASSIGN(auto mpi, Mpi::open());
  bool started = startedByMpi();
  if (!started && (options.ranks != 1 || options.process->ranks != 1))
    return notStarted(*options.process, options.ranks);
  auto start = std::make_shared<Start>(mpi, *options.process, options.ranks);
  double limit = options.waits.timeoutSeconds;
  if (started) {
    TPRT_TRY(rollCall(start->process, limit));
    int64_t rank = start->process.rank;
    auto deadline =
        net::Clock::now() + std::chrono::milliseconds(int64_t(limit * 1000));
    if (!callAside(
            [start] { start->status = caught([&] { return start->run(); }); },
            [&] { return !net::remaining(deadline); }))
      return userError("rank ", rank, ": MPI did not bring the ranks together ",
                       "in ", limit, " s; those of other hosts say more");
    TPRT_TRY(start->status);
  }
  TPRT_ASSIGN(auto connections,
              net::rendezvous(start->process, limit,
                              start->listener ? &*start->listener : nullptr));
  return std::make_unique<MpiBackend>(
      mpi,
      net::makeChannel(std::move(connections), start->process, options.waits),
      started, start->largestTag);
}
} // namespace tprt
