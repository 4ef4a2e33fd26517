//===- StallTest.cpp - ranks that stand still for a while -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that is stopped for some seconds, whichever rank it is and whenever
// it happens, ends nothing; one that leaves while the ranks meet may come
// again. How long is too long can be set.
//
//===----------------------------------------------------------------------===//

#include "NetRanks.h"

#include "tprt/artifact.h"

using namespace tprt;
using namespace tprt::test;

namespace {

void pauseFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Longer than a caller waits for an answer at the rendezvous.
constexpr double kStall = 2.4;

/// Ranks of a program, as torchrun starts them.
std::vector<std::unique_ptr<Running>> startRanks(const Fixture &f, int what,
                                                 const std::string &arguments,
                                                 int64_t first, int64_t end) {
  std::vector<std::unique_ptr<Running>> ranks;
  auto places = hostEnvironments(2, what);
  for (int64_t r = first; r < end; ++r)
    ranks.push_back(std::make_unique<Running>(
        f, f.weights() + f.input() + " " + arguments, places[size_t(r)],
        f.directory / ("log" + std::to_string(r))));
  return ranks;
}

} // namespace

/// The others call, give up, and call again: rank 0 finds all their calls at
/// once.
TEST(Stalls, RankZeroBeforeTheOthersCall) {
  Ranks ranks(3);
  ranks.start(0, "20");
  while (!net::connect("127.0.0.1", ranks.port,
                       Clock::now() + std::chrono::seconds(5)))
    pauseFor(0.01);
  kill(ranks.processes[0], SIGSTOP);
  ranks.start(1, "20");
  ranks.start(2, "20");
  pauseFor(kStall);
  kill(ranks.processes[0], SIGCONT);
  for (int64_t r = 0; r < 3; ++r)
    EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
  EXPECT_NE(ranks.output(0).find("all is well"), std::string::npos);
}

/// One that has come is stopped while the others are waited for; one that has
/// come is killed, and started again.
TEST(Stalls, RanksThatHaveCome) {
  Ranks ranks(4);
  for (int64_t r : {0, 1, 2})
    ranks.start(r, "20");
  pauseFor(0.7);
  kill(ranks.processes[1], SIGSTOP);
  kill(ranks.processes[2], SIGKILL);
  EXPECT_EQ(ranks.wait(2), 128 + SIGKILL);
  pauseFor(1);
  ranks.start(2, "20");
  pauseFor(0.7);
  ranks.start(3, "20");
  pauseFor(1);
  EXPECT_EQ(ranks.wait(0, 0.1), -1) << ranks.errors(0);
  kill(ranks.processes[1], SIGCONT);
  for (int64_t r = 0; r < 4; ++r)
    EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
}

/// Calls of one rank that hang up before they are answered, or after it without
/// a word, are forgotten.
TEST(Stalls, CallsThatHangUpAreForgotten) {
  Ranks ranks(2);
  ranks.start(0, "5");
  net::Hello hello;
  hello.rank = 1;
  hello.ranks = 2;
  hello.token = checksum(ranks.identity(1).token);
  hello.host = "elsewhere";
  for (int n = 0; n < 6; ++n) {
    std::optional<net::Connection> call;
    while (!(call = net::connect("127.0.0.1", ranks.port,
                                 Clock::now() + std::chrono::seconds(5))))
      pauseFor(0.01);
    call->send(net::encode(hello));
    if (n % 2) {
      auto answer = call->wait(Clock::now() + std::chrono::seconds(10));
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->type, net::Type::Heard) << answer->body;
    }
  }
  ranks.start(1, "5");
  for (int64_t r = 0; r < 2; ++r)
    EXPECT_EQ(ranks.wait(r), 0) << ranks.errors(r);
}

/// A run over TCP survives stalls of any rank, rank 0 in the middle of the
/// star, and all but one.
TEST(Stalls, InARunOverTcp) {
  Ranks ranks(3);
  ranks.startAll("-1 30");
  ranks.waitForSteps();
  for (std::vector<int64_t> victims :
       {std::vector<int64_t>{0}, std::vector<int64_t>{1, 2}}) {
    for (int64_t victim : victims)
      kill(ranks.processes[victim], SIGSTOP);
    pauseFor(kStall);
    for (int64_t victim : victims)
      kill(ranks.processes[victim], SIGCONT);
    for (int64_t r = 0; r < 3; ++r)
      EXPECT_EQ(ranks.wait(r, 0.2), -1) << ranks.errors(r);
  }
}

/// The same at a program's start, by shared memory: rank 0 is stopped before
/// rank 1 calls, then rank 1 as soon as it has started.
TEST(Stalls, AtTheStartOfAProgram) {
  Fixture f(2);
  std::string output =
      " --backend processes --output " + (f.directory / "y.npy");
  for (int victim : {0, 1}) {
    auto first = startRanks(f, 30 + victim, output, 0, 1);
    pauseFor(0.7);
    if (victim == 0)
      kill(first[0]->process, SIGSTOP);
    auto second = startRanks(f, 30 + victim, output, 1, 2);
    if (victim == 1) {
      pauseFor(0.03);
      kill(second[0]->process, SIGSTOP);
    }
    pauseFor(victim ? 1 : kStall);
    kill(victim ? second[0]->process : first[0]->process, SIGCONT);
    EXPECT_EQ(first[0]->wait(60), 0) << first[0]->errors();
    EXPECT_EQ(second[0]->wait(60), 0) << second[0]->errors();
    auto file = TensorFile::open(f.directory / "y.npy");
    ASSERT_TRUE(bool(file)) << file.status().message();
    f.expectY(toFloats(TPRT_F32, std::string(file->tensors().at("").bytes)));
  }
}

/// Ranks that tp-run has started, and tp-run itself, in a run.
TEST(Stalls, InARunOfProcesses) {
  Fixture f(3);
  Running run(
      f, f.weights() + f.input() + " --backend processes --repeat 1000000000",
      "", f.directory / "log");
  std::vector<pid_t> processes = waitForSteps(run, 3);
  ASSERT_FALSE(processes.empty()) << run.errors();
  for (auto stopped : {std::vector<pid_t>{processes[0]},
                       std::vector<pid_t>{processes[2], run.process}}) {
    for (pid_t process : stopped)
      kill(process, SIGSTOP);
    pauseFor(kStall);
    for (pid_t process : stopped)
      kill(process, SIGCONT);
    EXPECT_EQ(run.wait(0.3), -1) << run.errors();
  }
  // One that ends is known at once all the same.
  expectNamedOnceKilled(run, processes, 1);
}

/// The option wins over the variable; values that are no limit are refused.
TEST(Stalls, TheLimitCanBeSet) {
  Fixture f(2);
  std::string arguments = f.weights() + f.input() + " --backend processes";
  Running run(f, arguments + " --repeat 1000000000 --silence-timeout 0.6",
              "TPRT_SILENCE_TIMEOUT=1000", f.directory / "log");
  std::vector<pid_t> processes = waitForSteps(run, 2);
  ASSERT_FALSE(processes.empty()) << run.errors();
  kill(processes[1], SIGSTOP);
  EXPECT_EQ(run.wait(20), 3);
  EXPECT_NE(run.errors().find("rank 1 is lost: its process is stopped"),
            std::string::npos)
      << run.errors();

  auto refused = [&](const std::string &more, const std::string &environment) {
    Running run(f, arguments + more, environment, f.directory / "log");
    int code = run.wait(20);
    return std::to_string(code) + " " + run.errors();
  };
  EXPECT_EQ(refused("", "TPRT_SILENCE_TIMEOUT=soon"),
            "1 tp-run: error: environment variable TPRT_SILENCE_TIMEOUT: "
            "expected seconds above 0, got 'soon'\n");
  EXPECT_EQ(refused("", "TPRT_START_TIMEOUT=-1"),
            "1 tp-run: error: environment variable TPRT_START_TIMEOUT: "
            "expected seconds above 0, got '-1'\n");
  EXPECT_NE(refused("", hostEnvironments(2, 40)[0] + " TPRT_START_TIMEOUT=0.3")
                .find(" did not complete in 0.3 s: rank 1 of 2 "),
            std::string::npos);
  EXPECT_EQ(refused(" --silence-timeout 0", "")
                .find("2 tp-run: error: --silence-timeout: expected a number "
                      "above 0, got '0'"),
            0u);
}
