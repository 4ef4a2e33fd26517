//===- ProcessesTest.cpp - ranks that are processes -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same bits as threads; ranks started by tp-run, torchrun, mpirun and Slurm
// variables; ranks that are killed, frozen or stuck, or that bring another
// artifact or other weights: the run always ends, and says who and where.
//
//===----------------------------------------------------------------------===//

#include "RankProcesses.h"

#include "../collectives/BackendTable.h"
#include "../collectives/processes/Segment.h"
#include "../session/Session.h"

#include <dlfcn.h>
#include <sys/time.h>

using namespace tprt;
using namespace tprt::test;

TEST(Processes, SameBitsAsThreads) {
  for (int64_t ranks : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(ranks);
    Fixture f(ranks);
    std::string common = f.weights() + f.input() + " --repeat 3 --stats=json" +
                         " --timeline " + (f.directory / "t.json") +
                         " --output ";
    auto threads = f.run(common + (f.directory / "a.safetensors"));
    ASSERT_EQ(threads.code, 0) << threads.err;
    auto processes = f.run(common + (f.directory / "b.safetensors") +
                           " --backend processes");
    ASSERT_EQ(processes.code, 0) << processes.err;
    EXPECT_EQ(processes.err, "");
    f.expectY(readOutput(f.directory / "b.safetensors"));
    EXPECT_EQ(readFile(f.directory / "a.safetensors"),
              readFile(f.directory / "b.safetensors"));

    json a = json::parse(threads.out), b = json::parse(processes.out);
    EXPECT_EQ(a["load"]["bytes"], b["load"]["bytes"]);
    ASSERT_EQ(b["ranks"].size(), size_t(ranks));
    for (int64_t r = 0; r < ranks; ++r)
      for (const char *key : {"loaded_bytes", "parameter_bytes", "value_bytes",
                              "arena", "comm", "stated_peak_bytes"})
        EXPECT_EQ(a["ranks"][r][key], b["ranks"][r][key]) << r << " " << key;
    int reduces = 0;
    json trace = json::parse(readFile(f.directory / "t.json"));
    for (const json &event : trace["traceEvents"])
      reduces += event["name"] == "all_reduce";
    EXPECT_EQ(reduces, 3 * ranks);
  }
}

/// Buffers that others cannot read go through ones that they can, and long
/// blobs through the sockets.
TEST(Processes, BuffersOutsideSharedMemory) {
  constexpr int64_t kRanks = 3, kCount = 5001;
  auto segment = Segment::create(kRanks, int64_t(4) << 20);
  ASSERT_TRUE(bool(segment)) << segment.status().message();
  auto asRank = [&](int64_t rank) {
    auto place = std::make_shared<ProcessInfo>();
    place->rank = rank;
    place->ranks = kRanks;
    place->file = segment->fd();
    BackendOptions options;
    options.backend = "processes";
    options.ranks = kRanks;
    options.process = place;
    options.waits = {30, [](CallSite) { return std::string("a call"); }};
    auto made = makeBackend(options);
    if (!made)
      return false;
    Backend &backend = **made;
    auto communicator = backend.communicator(rank, {0, 1, 2});
    Collective c{};
    c.type = TPRT_I64;
    bool right = true;
    for (int64_t n = 0; n < 3; ++n) {
      std::vector<int64_t> in(kCount), out(kCount), all(kRanks * kCount);
      for (int64_t i = 0; i < kCount; ++i)
        in[i] = rank * 10000 + i + n;
      c.kind = CollectiveKind::AllReduce;
      c.inputShape = c.outputShape = {kCount};
      right &= (*communicator)->run(c, {0, n}, in.data(), out.data()).ok();
      c.kind = CollectiveKind::AllGather;
      c.outputShape = {kRanks * kCount};
      right &= (*communicator)->run(c, {1, n}, in.data(), all.data()).ok();
      for (int64_t i = 0; i < kCount; ++i) {
        right &= out[i] == 30000 + 3 * (i + n);
        for (int64_t r = 0; r < kRanks; ++r)
          right &= all[r * kCount + i] == r * 10000 + i + n;
      }
    }
    auto blob = [](int64_t r) {
      return std::string(size_t(r * 300'000), char('a' + r));
    };
    auto blobs = backend.channel()->gather(blob(rank));
    right &= bool(blobs) && blobs->size() == (rank == 0 ? kRanks : 0);
    for (int64_t r = 0; rank == 0 && r < kRanks; ++r)
      right &= (*blobs)[r] == blob(r);
    blobs = backend.channel()->exchange(blob(rank));
    right &= bool(blobs);
    for (int64_t r = 0; r < kRanks; ++r)
      right &= (*blobs)[r] == blob(r);
    return right;
  };
  std::vector<pid_t> children;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    children.push_back(fork());
    if (children.back() == 0)
      _exit(asRank(rank) ? 0 : 1);
  }
  for (pid_t child : children) {
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(Processes, LostRanksAreNamed) {
  loseRanks(
      {"processes", "TPRT_RANK", [](int64_t) { return std::string(); }, true},
      20);
}

/// A rank that others wait for, or whose memory they read.
TEST(Processes, LostPeersAreNamed) {
  loseRanks({"processes", "TPRT_RANK", [](int64_t) { return std::string(); },
             true, /*peers=*/true},
            8);
}

TEST(Processes, BusyRankIsNotLostBeforeTheTimeout) {
  Fixture f(2);
  auto start = Clock::now();
  auto result =
      f.run(f.weights() + " --entry stall --timeout 3 --backend processes");
  EXPECT_GT(since(start), 3);
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("rank 0: rank 0 waited in collective 0 "
                            "(all_reduce, layer 7, m.w2): rank 1 did not "
                            "arrive within 3 s"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(result.err.find("is lost"), std::string::npos) << result.err;
}

/// A rank that loads slowly is not lost, unless it takes longer than loading
/// may.
TEST(Processes, SlowDiskIsNoLostRank) {
  // A sanitizer's library must come first itself.
  const char *preload = std::getenv("LD_PRELOAD");
  if ((preload && *preload) || dlsym(RTLD_DEFAULT, "__asan_init"))
    GTEST_SKIP() << "something else comes before the C library";
  Fixture f(2);
  auto run = [&](const std::string &slow, const std::string &arguments) {
    Running run(f,
                f.weights() + f.input() +
                    " --backend processes --timeout 1 --output " +
                    (f.directory / "y.safetensors") + arguments,
                "SLOW_RANKS=" + slow + " LD_PRELOAD=" + TPRT_SLOW_DISK,
                f.directory / "log");
    int code = run.wait(60);
    return std::pair(code, run.errors());
  };
  auto start = Clock::now();
  auto [code, errors] = run("01", "");
  EXPECT_EQ(code, 0) << errors;
  EXPECT_GT(since(start), 2.5);
  // Rank 0 says how far it is.
  EXPECT_NE(errors.find("tp-run: rank 0: weights: 0.00 of 0.00 GB, 0.00 GB/s"),
            std::string::npos)
      << errors;
  f.expectY(readOutput(f.directory / "y.safetensors"));
  std::tie(code, errors) = run("1", " --load-timeout 1.5");
  EXPECT_EQ(code, 3);
  EXPECT_NE(errors.find("rank 1 did not arrive within 1.5 s"),
            std::string::npos)
      << errors;
}

/// A disk that fails under one rank, once all have opened the weights.
TEST(Processes, WeightsThatOneRankCannotRead) {
  Fixture f(3);
  for (const char *failing : {"0", "2"}) {
    SCOPED_TRACE(failing);
    Running run(f,
                f.weights() + f.input() + " --backend processes --output " +
                    (f.directory / "y.safetensors"),
                std::string("FAILING_RANKS=") + failing +
                    " LD_PRELOAD=" + TPRT_SLOW_DISK,
                f.directory / "log");
    EXPECT_EQ(run.wait(20), 1) << run.errors();
    EXPECT_TRUE(
        inOrder(run.errors(), {"tp-run: error: ", "Input/output error"}))
        << run.errors();
    EXPECT_FALSE(std::filesystem::exists(f.directory / "y.safetensors"));
  }
}

TEST(Processes, StopsMayBeAllowed) {
  Fixture f(3);
  Running run(f,
              f.weights() + f.input() +
                  " --backend processes --repeat 1000000000 --timeout 1 "
                  "--allow-stops",
              kSoonSilent, f.directory / "log");
  std::vector<pid_t> processes = waitForSteps(run, 3);
  ASSERT_FALSE(processes.empty()) << run.errors();
  kill(processes[1], SIGSTOP);
  EXPECT_EQ(run.wait(4), -1) << run.errors();
  kill(processes[1], SIGCONT);
  EXPECT_EQ(run.wait(0.5), -1) << run.errors();
  // One that ends is lost all the same.
  expectNamedOnceKilled(run, processes, 2);
}

TEST(Processes, ErrorsOfARankEndAll) {
  Fixture f(4);
  auto result = f.run(f.weights() + " --entry fail --backend processes");
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.err,
            "tp-run: error: rank 1: gemm 99 is not in the manifest\n");
  result = f.run(f.weights() + " --entry fail-beside --backend processes");
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.err,
            "tp-run: error: rank 1: gemm 99 is not in the manifest\n");
  result = f.run(f.weights() + " --entry mismatch --backend processes");
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("ranks disagree: rank "), std::string::npos);
  result = f.run(f.weights() + " --entry differ --backend processes");
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.err.find("output 'y': rank 1 differs from rank 0"),
            std::string::npos);
  auto expect = [&](const std::string &arguments, const std::string &text) {
    auto result = f.run(arguments + " --backend processes");
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_EQ(result.err, "tp-run: error: " + text + "\n");
  };
  expect("--weights /nowhere" + f.input(),
         "weights '/nowhere': no such directory or .safetensors file (random "
         "weights: random:SEED)");
  expect(f.weights(), "missing input 'x' (f32 [5, 12]) of entry 'mlp'");
  expect(f.weights() + f.input() + " --output /nowhere/y.npy",
         "cannot write '/nowhere/y.npy': No such file or directory");
}

TEST(Processes, LauncherKilledLeavesNoRank) {
  Fixture f(3);
  Running run(
      f, f.weights() + f.input() + " --backend processes --repeat 1000000000",
      "", f.directory / "log");
  std::vector<pid_t> processes = waitForSteps(run, 3);
  ASSERT_FALSE(processes.empty()) << run.errors();
  kill(run.process, SIGKILL);
  auto start = Clock::now();
  auto left = [&] {
    return exists(processes[0]) || exists(processes[1]) || exists(processes[2]);
  };
  while (left() && since(start) < 10)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(left());
}

TEST(Processes, LauncherToldToEndLeavesNoRankAndSaysWhere) {
  Fixture f(2);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Running run(
        f, f.weights() + f.input() + " --backend processes --repeat 1000000000",
        "", f.directory / "log");
    std::vector<pid_t> processes = waitForSteps(run, 2);
    ASSERT_FALSE(processes.empty()) << run.errors();
    kill(run.process, signal);
    EXPECT_EQ(run.wait(60), 128 + signal);
    for (pid_t process : processes)
      EXPECT_FALSE(exists(process));
    std::string start = detail::join("tp-run: error: ended by signal ", signal,
                                     " (", strsignal(signal), "); rank 0 was ");
    EXPECT_EQ(run.errors().find(start), 0u) << run.errors();
    EXPECT_NE(run.errors().find("; rank 1 was "), std::string::npos)
        << run.errors();
    // Nothing else is said.
    EXPECT_EQ(run.errors().find('\n'), run.errors().size() - 1) << run.errors();
  }
  // Signals that were ignored stay ignored.
  Running run(
      f, f.weights() + f.input() + " --backend processes --repeat 1000000000",
      "", f.directory / "log", "nohup");
  ASSERT_FALSE(waitForSteps(run, 2).empty()) << run.errors();
  kill(run.process, SIGHUP);
  EXPECT_EQ(run.wait(0.5), -1) << run.errors();
}

/// The ranks' side of rendezvous(), each in a process of its own; whether all
/// met.
static bool
allMeet(const std::vector<ProcessInfo> &places, double timeout,
        const std::function<void(const ProcessInfo &)> &first = {}) {
  std::vector<pid_t> children;
  for (const ProcessInfo &place : places) {
    children.push_back(fork());
    if (children.back() != 0)
      continue;
    if (first)
      first(place);
    auto ranks = rendezvous(place, 0, timeout);
    if (!ranks)
      std::fprintf(stderr, "%s\n", ranks.status().message().c_str());
    _exit(ranks ? 0 : 1);
  }
  bool all = true;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    all &= status == 0;
  }
  return all;
}

static ProcessInfo placeOf(int64_t rank, const std::string &job,
                           const std::string &token = "") {
  ProcessInfo place;
  place.rank = rank;
  place.ranks = 2;
  place.starter = "mpirun";
  place.source = "a test";
  place.job = job + std::to_string(getpid());
  place.token = token;
  return place;
}

// Names of jobs are long where those of hosts are.
TEST(Processes, JobsWithLongNamesDoNotMeet) {
  std::string name(300, 'x');
  // All four have to be there before any of them is done.
  EXPECT_TRUE(allMeet({placeOf(0, name + "a"), placeOf(0, name + "b"),
                       placeOf(1, name + "b"), placeOf(1, name + "a")},
                      30, [](const ProcessInfo &place) {
                        usleep(useconds_t(place.rank * 300'000));
                      }));
}

TEST(Processes, SignalsDoNotEndTheRendezvous) {
  EXPECT_TRUE(allMeet({placeOf(0, "signals"), placeOf(1, "signals")}, 30,
                      [](const ProcessInfo &place) {
                        // The other one is waited for, while signals come.
                        if (place.rank == 1)
                          usleep(300'000);
                        struct sigaction action{};
                        action.sa_handler = [](int) {};
                        sigaction(SIGALRM, &action, nullptr);
                        itimerval often{{0, 2000}, {0, 2000}};
                        setitimer(ITIMER_REAL, &often, nullptr);
                      }));
}

// Rank 0 of a run is there already.
TEST(Processes, RendezvousThatIsTaken) {
  ProcessInfo place = placeOf(0, "taken");
  pid_t child = fork();
  if (child == 0) {
    auto segment = rendezvous(place, 0, 30);
    _exit(segment ? 0 : 1);
  }
  usleep(500'000);
  auto second = rendezvous(place, 0, 30);
  EXPECT_MESSAGE(second.status(),
                 detail::join("rank 0 cannot open the rendezvous 'tprt-",
                              getuid(), "-mpirun-", place.job,
                              "': Address already in use (another run with the "
                              "same address and port?)"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// A rank that comes and is lost before all have come is missed, unless it comes
// again.
TEST(Processes, RankLostAtTheRendezvousIsNamed) {
  std::vector<ProcessInfo> places;
  for (int64_t rank = 0; rank < 4; ++rank) {
    places.push_back(placeOf(rank, "lost"));
    places.back().ranks = 4; // rank 3 does not come
  }
  std::vector<pid_t> children;
  for (int64_t rank = 0; rank < 3; ++rank) {
    children.push_back(fork());
    if (children.back() != 0)
      continue;
    auto segment = rendezvous(places[rank], 0, 3600);
    std::string wanted =
        detail::join(rank == 0 ? "" : "rank 1: ",
                     "rank 2 is lost: it left the rendezvous 'tprt-", getuid(),
                     "-mpirun-", places[0].job, "'");
    bool right = !segment && segment.status().message() == wanted;
    if (!right && !segment)
      std::fprintf(stderr, "%s\n", segment.status().message().c_str());
    _exit(right ? 0 : 1);
  }
  usleep(300'000); // rank 2 has come
  kill(children[2], SIGKILL);
  for (int64_t rank = 0; rank < 3; ++rank) {
    int status = -1;
    waitpid(children[rank], &status, 0);
    EXPECT_EQ(status, rank < 2 ? 0 : SIGKILL) << rank;
  }
}

TEST(Processes, StaleRanksAreTurnedAway) {
  ProcessInfo stale = placeOf(1, "stale", "attempt 0");
  ProcessInfo fresh[] = {placeOf(0, "stale", "attempt 1"),
                         placeOf(1, "stale", "attempt 1")};
  pid_t child = fork();
  if (child == 0) {
    auto segment = rendezvous(stale, 0, 30);
    bool right = !segment && segment.status().message() ==
                                 "rank 1: rank 0 turned this process away: it "
                                 "brings the token of another job (a rank that "
                                 "is left of an earlier run, or the same "
                                 "address and port?)";
    _exit(right ? 0 : 1);
  }
  EXPECT_TRUE(allMeet({fresh[0], fresh[1]}, 30, [&](const ProcessInfo &place) {
    // The stale one comes first.
    while (place.rank == 1 && exists(child))
      usleep(1000);
  }));
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

/// A process that only waits for its turn is not given up; once stopped, it is.
TEST(Processes, SilentRanksOfCrowdedHosts) {
  auto segment = Segment::create(2, 0);
  ASSERT_TRUE(bool(segment));
  ProcessInfo place;
  place.ranks = 2;
  place.file = segment->fd();
  pid_t silent = fork();
  if (silent == 0) {
    place.rank = 1;
    auto ranks = rendezvous(place, 0, 30);
    while (ranks)
      pause(); // it never makes its channel
    _exit(1);
  }
  auto ranks = rendezvous(place, 0, 30);
  ASSERT_TRUE(bool(ranks)) << ranks.status().message();
  constexpr double kSilence = 0.3;
  auto channel = net::makeChannel(
      std::move(ranks->connections), place,
      {30, [](CallSite) { return std::string("a call"); }, kSilence},
      ranks->memory);
  auto start = Clock::now();
  auto waitFor = [&](double seconds) {
    while (channel->failure().ok() && since(start) < seconds)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  // Longer than the silence of a process of which nothing is known.
  waitFor(1.2);
  EXPECT_MESSAGE(channel->failure(), "");
  kill(silent, SIGSTOP);
  waitFor(60);
  EXPECT_NE(channel->failure().message().find(
                "rank 1 is lost: its process is stopped; it was last seen"),
            std::string::npos)
      << channel->failure().message();
  kill(silent, SIGKILL);
  waitpid(silent, nullptr, 0);
}

// Descriptors that were closed and signals that were ignored by whoever started
// tp-run.
TEST(Processes, OddSurroundings) {
  Fixture f(2);
  auto run = [&](const std::string &before, const std::string &arguments,
                 const std::string &after) {
    std::string command = before + " exec " + TPRT_RUN + " " +
                          (f.directory / "p.tpa") + " " + f.weights() +
                          arguments + " --backend processes " + after;
    int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  std::string output =
      f.input() + " --output " + (f.directory / "y.safetensors");
  for (const char *closed : {"<&-", ">&-", "<&- >&- 2>&-"}) {
    std::filesystem::remove(f.directory / "y.safetensors");
    EXPECT_EQ(run("", output, closed), 0) << closed;
    f.expectY(readOutput(f.directory / "y.safetensors"));
    EXPECT_EQ(run("", " --entry fail", std::string(closed) + " 2>&-"), 4)
        << closed;
  }
  EXPECT_EQ(run("trap '' CHLD;", output, ""), 0);
  // So long that clocks cannot count it.
  EXPECT_EQ(run("", output + " --timeout 1e300", ""), 0);
}

TEST(Processes, StartedByOthers) {
  Fixture f(2);
  std::string port = std::to_string(getpid());
  auto torch = [&](const char *rank) {
    return std::string("RANK=") + rank + " WORLD_SIZE=2 LOCAL_RANK=" + rank +
           " LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port;
  };
  auto mpi = [&](const char *rank) {
    return std::string("OMPI_COMM_WORLD_RANK=") + rank +
           " OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 "
           "PMIX_NAMESPACE=test" +
           port;
  };
  auto slurm = [&](const char *rank) {
    return std::string("SLURM_PROCID=") + rank +
           " SLURM_NTASKS=2 SLURM_STEP_NUM_NODES=1 SLURM_STEP_ID=0 "
           "SLURM_JOB_ID=" +
           port;
  };
  for (auto &environments :
       {std::vector<std::string>{torch("0"), torch("1")},
        std::vector<std::string>{mpi("1"), mpi("0")},
        std::vector<std::string>{slurm("0"), slurm("1")}}) {
    std::filesystem::remove(f.directory / "y.npy");
    std::vector<int> codes;
    std::vector<std::string> errors;
    runAll(environments, f,
           f.weights() + f.input() + " --backend processes --output " +
               (f.directory / "y.npy"),
           codes, errors);
    EXPECT_EQ(codes, (std::vector<int>{0, 0})) << errors[0] << errors[1];
    auto file = TensorFile::open(f.directory / "y.npy");
    ASSERT_TRUE(bool(file)) << file.status().message();
    f.expectY(toFloats(TPRT_F32, std::string(file->tensors().at("").bytes)));
  }
}

TEST(Processes, LostRanksAreNamedUnderOtherLaunchers) {
  Fixture f(3);
  std::string common =
      " WORLD_SIZE=3 MASTER_ADDR=h MASTER_PORT=" + std::to_string(getpid());
  for (int signal : {SIGKILL, SIGSTOP}) {
    std::vector<std::unique_ptr<Running>> ranks;
    for (int r = 0; r < 3; ++r)
      ranks.push_back(std::make_unique<Running>(
          f,
          f.weights() + f.input() + " --backend processes --repeat 1000000000",
          "RANK=" + std::to_string(r) + common + kSoonSilent,
          f.directory / ("log" + std::to_string(r))));
    auto start = Clock::now();
    for (auto &rank : ranks)
      while (!stepping(rank->process) && since(start) < 60)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(ranks[1]->process, signal);
    for (int r : {0, 2}) {
      EXPECT_EQ(ranks[r]->wait(10), 3);
      EXPECT_NE(
          ranks[r]->errors().find("rank " + std::to_string(r) +
                                  ": rank 1 is lost: its process " +
                                  (signal == SIGKILL ? "ended" : "is stopped")),
          std::string::npos)
          << ranks[r]->errors();
    }
    if (signal == SIGSTOP) {
      kill(ranks[1]->process, SIGCONT);
      EXPECT_EQ(ranks[1]->wait(10), 3);
    }
  }
}

TEST(Processes, StoppedAltogetherGoesOn) {
  // As Ctrl-Z and fg: nobody is lost.
  Fixture f(3);
  Running run(
      f, f.weights() + f.input() + " --backend processes --repeat 1000000000",
      kSoonSilent, f.directory / "log");
  std::vector<pid_t> processes = waitForSteps(run, 3);
  ASSERT_FALSE(processes.empty()) << run.errors();
  processes.push_back(run.process);
  for (pid_t process : processes)
    kill(process, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  for (pid_t process : processes)
    kill(process, SIGCONT);
  EXPECT_EQ(run.wait(2.5), -1) << run.errors();
}

TEST(Processes, RendezvousThatNeverCompletes) {
  Fixture f(3);
  std::string common =
      " WORLD_SIZE=3 MASTER_ADDR=h MASTER_PORT=" + std::to_string(getpid());
  std::vector<int> codes;
  std::vector<std::string> errors;
  runAll({"RANK=0" + common, "RANK=2" + common}, f,
         f.weights() + f.input() + " --backend processes --timeout 1.5", codes,
         errors);
  EXPECT_EQ(codes, (std::vector<int>{1, 1}));
  for (const std::string &text : errors)
    EXPECT_TRUE(inOrder(text, {"the rendezvous '",
                               "' did not complete in 1.5 s: rank 1 of 3 ("
                               "WORLD_SIZE (torchrun)) did not come; all ranks "
                               "must run on this host"}))
        << text;
  codes.clear(), errors.clear();
  runAll({"RANK=1" + common}, f,
         f.weights() + f.input() + " --backend processes --timeout 0.5", codes,
         errors);
  EXPECT_EQ(codes, (std::vector<int>{1}));
  EXPECT_TRUE(inOrder(errors[0],
                      {"rank 1: the rendezvous '",
                       "' did not complete in 0.5 s: rank 0 of 3 (WORLD_SIZE "
                       "(torchrun)) did not come; all ranks must run on this "
                       "host"}))
      << errors[0];
}

TEST(Processes, RendezvousOfAnotherSize) {
  Fixture two(2), three(3);
  std::string common =
      " MASTER_ADDR=h MASTER_PORT=" + std::to_string(getpid()) + " RANK=";
  std::string rest = two.input() + " --backend processes";
  Running a(two, two.weights() + rest, "WORLD_SIZE=2" + common + "0",
            two.directory / "a");
  Running b(three, two.weights() + rest, "WORLD_SIZE=3" + common + "1",
            two.directory / "b");
  EXPECT_EQ(b.wait(60), 1);
  EXPECT_EQ(b.errors(), "tp-run: error: rank 1: rank 1 was told of 3 ranks, "
                        "rank 0 of 2\n");
  a.wait(60);
}

TEST(Processes, DifferentArtifactOrWeightsAreNamed) {
  Fixture f(3), other(3), values(3);
  values.checkpoint[0].bytes[0] ^= 1;
  values.writeCheckpoint();
  json schedule = mlpManifest(3);
  schedule["collectives"][0]["count"] = 2;
  Fixture calls(3, schedule);
  json name = mlpManifest(3);
  name["producer"] = "another compiler";
  Fixture artifact(3, name);
  auto run = [&](const Fixture &odd, const std::string &weights) {
    std::string common =
        " WORLD_SIZE=3 MASTER_ADDR=h MASTER_PORT=" + std::to_string(getpid());
    std::string rest = f.input() + " --backend processes";
    Running a(f, f.weights() + rest, "RANK=0" + common, f.directory / "a");
    Running b(odd, weights + rest, "RANK=1" + common, f.directory / "b");
    Running c(f, f.weights() + rest, "RANK=2" + common, f.directory / "c");
    for (Running *rank : {&a, &b, &c})
      EXPECT_EQ(rank->wait(60), 3);
    EXPECT_EQ(a.errors().find("tp-run: error: rank 0: the ranks do not"), 0u)
        << a.errors();
    return a.errors();
  };
  EXPECT_NE(run(artifact, f.weights())
                .find("do not agree on the artifact: rank 1 differs from the "
                      "other 2"),
            std::string::npos);
  EXPECT_NE(run(calls, f.weights())
                .find("do not agree on the artifact's collective schedule: "
                      "rank 1 differs"),
            std::string::npos);
  EXPECT_NE(run(f, values.weights())
                .find("do not agree on the weights: rank 1 differs"),
            std::string::npos);
  EXPECT_NE(run(f, "--weights random:7").find("agree on the weights: rank 1"),
            std::string::npos);
}

TEST(Processes, EnvironmentsThatAreRefused) {
  auto refusal = [](std::map<std::string, std::string> variables) {
    auto place =
        processInfoFromEnvironment([&](const char *name) -> const char * {
          auto found = variables.find(name);
          return found == variables.end() ? nullptr : found->second.c_str();
        });
    return place ? *place ? "rank " + std::to_string((*place)->rank) : "none"
                 : place.status().message();
  };
  EXPECT_EQ(refusal({}), "none");
  EXPECT_EQ(refusal({{"RANK", "1"}}), "none");
  EXPECT_EQ(refusal({{"RANK", "1"}, {"WORLD_SIZE", "2"}}), "rank 1");
  // A batch script is no rank.
  EXPECT_EQ(refusal({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}), "none");
  EXPECT_EQ(refusal({{"RANK", "x"}, {"WORLD_SIZE", "2"}}),
            "environment variable RANK: expected a natural number, got 'x'");
  EXPECT_EQ(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "environment variable RANK: expected a rank below WORLD_SIZE = 2, "
            "got 2");
  Fixture f(2);
  std::vector<int> codes;
  std::vector<std::string> errors;
  runAll({"RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1"}, f,
         f.weights() + " --backend processes", codes, errors);
  EXPECT_EQ(codes, (std::vector<int>{1}));
  EXPECT_EQ(errors[0],
            "tp-run: error: backend 'processes' needs all ranks on one host: "
            "WORLD_SIZE is 2, LOCAL_WORLD_SIZE is 1; put them on one host\n");
  codes.clear(), errors.clear();
  runAll({"RANK=0 WORLD_SIZE=3"}, f, f.weights() + " --backend processes",
         codes, errors);
  EXPECT_EQ(codes[0], 1);
  EXPECT_NE(errors[0].find("is made for 2 ranks, but WORLD_SIZE (torchrun) "
                           "says 3"),
            std::string::npos)
      << errors[0];
}

TEST(Processes, SharedMemoryThatCannotBeMade) {
  Fixture f(2);
  std::string command = std::string("ulimit -f 100; trap '' XFSZ; ") +
                        TPRT_RUN + " " + (f.directory / "p.tpa") + " " +
                        f.weights() + f.input() + " --backend processes 2>" +
                        (f.directory / "err");
  int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::string errors = readFile(f.directory / "err");
  EXPECT_TRUE(
      inOrder(errors, {"cannot make ",
                       " of shared memory for 2 ranks: File too large (is "
                       "there a limit on the size of files?)"}))
      << errors;
}

TEST(Processes, FullDevShmDoesNotMatter) {
  // In a mount namespace of its own, where that is allowed.
  std::string shell = "unshare -Urm sh -c 'mount -t tmpfs -o size=4096 none "
                      "/dev/shm && head -c 4096 /dev/zero >/dev/shm/full";
  if (std::system((shell + "' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no mount namespaces here";
  Fixture f(2);
  std::string command = shell + " && " + TPRT_RUN + " " +
                        (f.directory / "p.tpa") + " " + f.weights() +
                        f.input() + " --backend processes'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}
