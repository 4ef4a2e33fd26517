//===- Mpi.cpp - ranks that talk through MPI ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The MPI library is opened when this backend is asked for. Through it the
// ranks learn where rank 0's side channel listens; waits in MPI are watched by
// that channel.
//
//===----------------------------------------------------------------------===//

#include "Mpi.h"

#include "../../core/Cores.h"
#include "../net/NetChannel.h"
#include "../processes/Rendezvous.h"
#include "MpiCollective.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char *kPlugin = "libtprt-mpi.so";

/// Calls of the plug-in as statuses.
class Mpi {
public:
  static Expected<Mpi> open() {
    std::vector<std::string> tries;
    if (const char *named = std::getenv(kMpiPluginVariable)) {
      tries = {named};
    } else {
      std::error_code ignored;
      auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
      auto root = program.parent_path().parent_path();
      for (const char *folder : {"lib", "lib64"})
        if (auto path = root / folder / kPlugin;
            std::filesystem::exists(path, ignored))
          tries.push_back(path.string());
      tries.push_back(kPlugin);
    }
    std::string errors;
    for (const std::string &name : tries) {
      // OpenMPI's own plug-ins look for its symbols.
      void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (!library) {
        errors += (errors.empty() ? "" : "; ") + std::string(dlerror());
        continue;
      }
      auto query = reinterpret_cast<tprt_mpi_query_function>(
          dlsym(library, "tprt_mpi_query"));
      const tprt_mpi *table = query ? query(TPRT_MPI_VERSION) : nullptr;
      if (!table)
        return userError("backend 'mpi': '", name,
                         "' is of another version "
                         "of the runtime, expected version ",
                         TPRT_MPI_VERSION);
      return Mpi(table);
    }
    return userError(
        "backend 'mpi' needs ", kPlugin, ", which cannot be opened: ", errors,
        "; it is built where an MPI is installed (Debian: libopenmpi-dev, "
        "openmpi-bin), and ",
        kMpiPluginVariable, " may name it");
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

/// Messages of the members of one communicator.
class Messages {
public:
  Messages(const Mpi &mpi, void *communicator, bool crowded)
      : mpi(mpi), communicator(communicator), crowded(crowded) {}

  Status exchange(int32_t tag, const std::vector<tprt_mpi_part> &receives,
                  const std::vector<tprt_mpi_part> &sends) {
    if (receives.empty() && sends.empty())
      return {};
    TPRT_TRY(mpi.check(mpi.table->start(communicator, tag, receives.data(),
                                        int64_t(receives.size()), sends.data(),
                                        int64_t(sends.size())),
                       "send"));
    // The watcher of the side channel ends a wait that is in vain.
    constexpr int kSpins = 2000, kYields = 20000;
    for (int n = 0;; ++n) {
      int32_t done = 0;
      TPRT_TRY(mpi.check(mpi.table->test(&done), "receive"));
      if (done)
        return {};
      if (n > kYields)
        usleep(50);
      else if (crowded || n > kSpins)
        std::this_thread::yield();
    }
  }

private:
  Mpi mpi;
  void *communicator;
  bool crowded;
};

class MpiCommunicator : public Communicator {
public:
  MpiCommunicator(SideChannel &side, Messages messages,
                  std::vector<int64_t> list, int64_t self, int32_t largestTag)
      : side(side), messages(std::move(messages)), members(std::move(list)),
        largestTag(largestTag),
        collective(self, int64_t(members.size()),
                   [this](const auto &receives, const auto &sends) {
                     return this->messages.exchange(tag, receives, sends);
                   }) {}

  Status run(const Collective &entry, CallSite site, const void *in,
             void *out) override {
    side.enter(site, &members);
    tag = tagOf(site, largestTag);
    Status status = collective.run(entry, in, out);
    if (status.ok())
      side.leave();
    return status;
  }

private:
  SideChannel &side;
  Messages messages;
  std::vector<int64_t> members;
  int32_t largestTag, tag = 0;
  MessageCollective collective;
};

class MpiHub : public Hub {
public:
  MpiHub(Mpi mpi, std::unique_ptr<SideChannel> channel, bool initialized,
         int32_t largestTag)
      : mpi(mpi), side(std::move(channel)), initialized(initialized),
        largestTag(largestTag), crowded(side->localSize() > availableCores()) {
    ranks = side->size();
    for (int64_t r = 0; r < ranks; ++r)
      everyone.push_back(r);
  }

  ~MpiHub() override {
    // The end of MPI waits for all ranks, and is watched as well.
    if (initialized)
      mpi.table->finalize();
    side.reset();
  }

  std::unique_ptr<World> world(int64_t rank) override;
  Status failure() const override { return side->failure(); }
  [[noreturn]] void abort(const Status &status) override {
    side->abort(status);
  }
  SideChannel *channel() override { return side.get(); }

  /// The members' messages; called by all of them.
  Expected<Messages> messages(const std::vector<int64_t> &members) {
    void *communicator = nullptr;
    // Alone one sends nothing.
    if (members.size() > 1)
      TPRT_TRY(mpi.check(
          mpi.table->communicator(members.data(), int64_t(members.size()),
                                  nextTag++ % largestTag, &communicator),
          "make a communicator"));
    return Messages(mpi, communicator, crowded);
  }

  Mpi mpi;
  std::unique_ptr<SideChannel> side;
  bool initialized;
  int32_t largestTag, nextTag = 1;
  bool crowded;
  std::vector<int64_t> everyone;
};

class MpiWorld : public World {
public:
  explicit MpiWorld(MpiHub &hub) : hub(hub) {}

  int64_t rank() const override { return hub.side->rank(); }
  int64_t size() const override { return hub.size(); }

  Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &members) override {
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i] == rank()) {
        // Members wait for each other.
        hub.side->enterAgreement(members);
        auto messages = hub.messages(members);
        hub.side->leave();
        if (!messages)
          return messages.status();
        return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator>(
            *hub.side, std::move(*messages), members, int64_t(i),
            hub.largestTag));
      }
    return internalError("rank ", rank(), " is not in its own group");
  }

  Status agree(uint64_t value, const char *what) override {
    hub.side->enterAgreement(hub.everyone);
    if (!all && size() > 1) {
      auto made = hub.messages(hub.everyone);
      if (!made)
        return made.status();
      all = std::move(*made);
    }
    std::vector<uint64_t> values(size_t(size()), value);
    std::vector<tprt_mpi_part> receives, sends;
    for (int64_t r = 0; r < size(); ++r)
      if (r != rank()) {
        receives.push_back({r, &values[size_t(r)], 8});
        sends.push_back({r, &value, 8});
      }
    if (all)
      TPRT_TRY(all->exchange(0, receives, sends));
    if (Status status = compareValues(values, what); !status.ok())
      hub.abort(status);
    hub.side->leave();
    return {};
  }

  Expected<Buffer> allocate(int64_t bytes) override {
    return Buffer::allocate(bytes);
  }

  void abort(const Status &status) override { hub.abort(status); }

private:
  MpiHub &hub;
  std::optional<Messages> all;
};

std::unique_ptr<World> MpiHub::world(int64_t) {
  return std::make_unique<MpiWorld>(*this);
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

/// Whether something that speaks MPI has started this process.
bool startedByMpi() {
  for (const char *variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(variable))
      return true;
  return false;
}

Status notStarted(const HubOptions &options) {
  const Place &place = *options.place;
  std::string how = detail::join("mpirun -n ", options.ranks,
                                 " tp-run MODEL --backend mpi ...");
  if (place.starter == "torchrun")
    return userError("torchrun starts no MPI; start the ranks with: ", how,
                     "; under torchrun use --backend processes (one host) or "
                     "nccl");
  if (place.starter == "Slurm")
    return userError("srun has not started MPI; expected: srun --mpi=pmix -n ",
                     options.ranks, " tp-run MODEL --backend mpi ...");
  return userError(
      "the artifact is made for ", options.ranks,
      " ranks, but this process was started alone; expected: ", how);
}

/// MPI waits without limit for ranks that do not come. So those of each host
/// meet before, which names the ones that are missing.
Status rollCall(const Place &place, double timeout) {
  if (place.starter != "mpirun")
    return {};
  Place here = place;
  here.job += ".mpi";
  if (!place.oneHost()) {
    here.rank = place.localRank;
    here.ranks = place.localRanks;
    here.source = "OMPI_COMM_WORLD_LOCAL_SIZE (mpirun)";
  }
  if (here.ranks == 1)
    return {};
  auto met = meet(here, 0, timeout);
  return met ? Status() : met.status();
}

/// Ends the process if what it is made for takes too long.
class Watchdog {
public:
  Watchdog(double seconds, std::string text)
      : thread([this, seconds, text = std::move(text)] {
          std::unique_lock lock(mutex);
          if (changed.wait_for(lock, std::chrono::duration<double>(seconds),
                               [this] { return over; }))
            return;
          std::fprintf(stderr, "tp-run: error: %s\n", text.c_str());
          _exit(int(Code::User));
        }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex);
      over = true;
      changed.notify_all();
    }
    thread.join();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread thread;
};

/// Rank 0 tells all where it listens.
Status tellAddress(const Mpi &mpi, Place &place,
                   std::optional<net::Listener> &listener) {
  char text[4096] = {};
  Status status;
  if (place.rank == 0) {
    auto made = net::listen({}, place.oneHost() ? "127.0.0.1" : "");
    std::ostringstream words;
    if (made) {
      listener = std::move(*made);
      std::random_device random;
      words << listener->port << " " << std::hex;
      for (int i = 0; i < 4; ++i)
        words << random() << ".";
      for (const std::string &address :
           place.oneHost() ? std::vector<std::string>{"127.0.0.1"}
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
  words >> port >> place.token;
  for (std::string address; words >> address;)
    place.addresses.push_back(address);
  place.ports = {port};
  if (place.addresses.empty())
    return userError("rank 0 could not open the side channel");
  return {};
}

} // namespace

Expected<std::unique_ptr<Hub>> tprt::makeMpiHub(const HubOptions &options) {
  auto mpi = Mpi::open();
  if (!mpi)
    return mpi.status();
  bool started = startedByMpi();
  if (!started && (options.ranks != 1 || options.place->ranks != 1))
    return notStarted(options);
  Place place = *options.place;
  std::optional<net::Listener> listener;
  int32_t largestTag = 32767; // that every MPI has
  if (started) {
    double limit = options.waits.timeoutSeconds;
    TPRT_TRY(rollCall(place, limit));
    Watchdog watchdog(limit, detail::join("rank ", place.rank,
                                          ": MPI did not bring the ranks "
                                          "together in ",
                                          limit,
                                          " s; those of other hosts "
                                          "say more"));
    int64_t rank = 0, size = 1;
    TPRT_TRY(
        mpi->check(mpi->table->initialize(&rank, &size, &largestTag), "start"));
    if (size == 1 && place.ranks > 1)
      return notStarted(options);
    if (size != options.ranks)
      return userError("the artifact is made for ", options.ranks,
                       " ranks, but MPI says ", size, "; expected: mpirun -n ",
                       options.ranks, " tp-run MODEL --backend mpi ...");
    if (place.ranks != size)
      place.hosts = "MPI does not say";
    place.rank = rank;
    place.ranks = size;
    place.source = "MPI";
    place.addresses.clear();
    TPRT_TRY(tellAddress(*mpi, place, listener));
  }
  auto meeting = net::meet(place, options.waits.timeoutSeconds,
                           listener ? &*listener : nullptr);
  if (!meeting)
    return meeting.status();
  return std::unique_ptr<Hub>(std::make_unique<MpiHub>(
      *mpi,
      std::make_unique<NetChannel>(std::move(*meeting), place, options.waits),
      started, largestTag));
}
