//===- RankProcesses.h - runs whose ranks are processes ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts tp-run in the background, directly or under a launcher, finds the
// processes of its ranks, and loses some of them: the same for every transport.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_RANKPROCESSES_H
#define TPRT_TEST_RANKPROCESSES_H

#include "RunFixture.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <thread>

namespace tprt::test {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// tp-run in the background, with more environment variables, and with a
/// launcher's command in front of it.
class Running {
public:
  Running(const Fixture &f, const std::string &arguments,
          const std::string &environment, const std::string &log,
          const std::string &launcher = "",
          const std::string &program = TPRT_RUN)
      : log(log) {
    static int count = 0;
    for (int64_t r = 0; r < kMostRanks; ++r)
      std::filesystem::remove(log + "." + std::to_string(r));
    mark = std::to_string(getpid()) + "-" + std::to_string(count++);
    process = fork();
    if (process < 0)
      std::abort();
    if (process == 0) {
      // mpirun may send its last signals to the whole group that it is in.
      setsid();
      std::string command = "exec env TPRT_TEST_MARK=" + mark +
                            " TPRT_TEST_LOG=" + log + " " + environment + " " +
                            launcher + " " + program + " " +
                            (f.directory / "p.tpa") + " " + arguments + " >" +
                            log + ".out 2>" + log;
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
  }
  ~Running() {
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
  }
  /// The exit code, -1 after `seconds` without one.
  int wait(double seconds) {
    auto start = Clock::now();
    int status;
    while (since(start) < seconds) {
      if (waitpid(process, &status, WNOHANG) == process) {
        process = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return -1;
  }
  /// The text of standard error, and of the ranks' own logs.
  std::string errors() const {
    std::string text = readFile(log);
    for (int64_t r = 0; r < kMostRanks; ++r)
      text += readFile(log + "." + std::to_string(r));
    return text;
  }
  static constexpr int64_t kMostRanks = 8;

  pid_t process;
  std::string log;
  std::string mark; ///< in the environment of all of its processes
};

/// A setting in the environment of ranks, so that a test need not wait long for
/// one that stands still to be lost.
inline const std::string kSoonSilent = " TPRT_SILENCE_TIMEOUT=1.5";

/// A file of /proc; empty if the process ends meanwhile.
inline std::string readOfProcess(const std::string &path) {
  std::ostringstream text;
  // Keeps errors of reading to itself.
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// True if the process is a rank that runs steps.
inline bool stepping(pid_t process) {
  bool found = false;
  std::error_code ignored;
  for (auto &task : std::filesystem::directory_iterator(
           "/proc/" + std::to_string(process) + "/task", ignored))
    found |= readOfProcess(task.path() / "comm") == "rank-step\n";
  return found;
}

/// The ranks' processes of a run, by rank; empty until all of them run steps.
/// `variable` holds the rank in their environment.
inline std::vector<pid_t> steppingRanks(const Running &run, int64_t ranks,
                                        const std::string &variable) {
  std::vector<pid_t> result(ranks, 0);
  int64_t found = 0;
  std::error_code ignored;
  for (auto &entry : std::filesystem::directory_iterator("/proc", ignored)) {
    pid_t process = std::atoi(entry.path().filename().c_str());
    if (process <= 0)
      continue;
    std::string environment = readOfProcess(entry.path() / "environ");
    if (environment.find("TPRT_TEST_MARK=" + run.mark + '\0') ==
        std::string::npos)
      continue;
    size_t at = ('\0' + environment).find('\0' + variable + "=");
    if (at == std::string::npos || !stepping(process))
      continue;
    int64_t rank = std::stoi(environment.substr(at + variable.size() + 1));
    if (rank < ranks)
      result[rank] = process;
    ++found;
  }
  // Never a 0 among them: to a signal that is our own process group.
  bool whole = found == ranks &&
               std::find(result.begin(), result.end(), 0) == result.end();
  return whole ? result : std::vector<pid_t>();
}

/// Waits for all ranks to run steps.
inline std::vector<pid_t>
waitForSteps(const Running &run, int64_t ranks,
             const std::string &variable = "TPRT_RANK") {
  auto start = Clock::now();
  std::vector<pid_t> processes;
  while (processes.empty() && since(start) < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    processes = steppingRanks(run, ranks, variable);
  }
  return processes;
}

inline bool exists(pid_t process) {
  std::string text =
      readOfProcess("/proc/" + std::to_string(process) + "/stat");
  size_t end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z';
}

/// Runs a process per environment, each a rank.
inline void runAll(const std::vector<std::string> &environments,
                   const Fixture &f, const std::string &arguments,
                   std::vector<int> &codes, std::vector<std::string> &errors) {
  std::vector<std::unique_ptr<Running>> ranks;
  for (size_t i = 0; i < environments.size(); ++i)
    ranks.push_back(
        std::make_unique<Running>(f, arguments, environments[i],
                                  f.directory / ("log" + std::to_string(i))));
  for (auto &rank : ranks) {
    codes.push_back(rank->wait(60));
    errors.push_back(rank->errors());
  }
}

/// True if each survivor has said who is lost, in which ledger entry, and where
/// it was itself.
inline bool allNamed(const std::string &errors, int64_t ranks, int64_t victim) {
  std::string lost = detail::join("rank ", victim, " is lost: its process ");
  for (int64_t r = 0; r < ranks; ++r) {
    if (r == victim)
      continue;
    size_t at = errors.find(detail::join("tp-run: error: rank ", r, ": "));
    if (at == std::string::npos || errors.find('\n', at) == std::string::npos)
      return false;
    std::string line = errors.substr(at, errors.find('\n', at) - at);
    for (const std::string &text : {lost, std::string("it was last seen "),
                                    detail::join("; rank ", r, " was ")})
      if (line.find(text) == std::string::npos)
        return false;
    // Both ranks may have been between two steps.
    if (line.find("collective 0 (all_reduce, layer 0, m.w2)") ==
            std::string::npos &&
        line.find("the beginning or end of a step") == std::string::npos)
      return false;
  }
  return true;
}

/// Kills a rank of a run, which ends with a message of each survivor.
inline void expectNamedOnceKilled(Running &run,
                                  const std::vector<pid_t> &processes,
                                  int64_t victim) {
  kill(processes[size_t(victim)], SIGKILL);
  EXPECT_EQ(run.wait(20), 3);
  EXPECT_TRUE(allNamed(run.errors(), int64_t(processes.size()), victim))
      << run.errors();
}

/// Environments of ranks that nobody started; `what` tells worlds apart.
inline std::vector<std::string> hostEnvironments(int64_t ranks, int what) {
  std::vector<std::string> result;
  for (int64_t r = 0; r < ranks; ++r)
    result.push_back(detail::join("RANK=", r, " WORLD_SIZE=", ranks,
                                  " MASTER_ADDR=127.0.0.1 MASTER_PORT=",
                                  20000 + (getpid() + what * 97) % 20000));
  return result;
}

/// host.c, a process per environment, from its first step on.
struct Hosts {
  Hosts(const Fixture &f, const std::vector<std::string> &environments,
        const std::string &arguments) {
    for (size_t r = 0; r < environments.size(); ++r) {
      std::string log = f.directory / ("host" + std::to_string(r));
      // An earlier run's output is not waited for.
      std::filesystem::remove(log + ".out");
      list.push_back(
          std::make_unique<Running>(f, (f.directory / "") + " " + arguments,
                                    environments[r], log, "", TPRT_HOST));
    }
    auto start = Clock::now();
    for (auto &host : list)
      while (text(*host).find("steps\n") == std::string::npos &&
             since(start) < 60 && host->wait(0.01) == -1)
        ;
  }
  static std::string text(const Running &host) {
    return readFile(host.log + ".out");
  }
  std::vector<std::unique_ptr<Running>> list;
};

/// How ranks are started in loseRanks.
struct Transport {
  std::string backend, variable;
  std::function<std::string(int64_t ranks)> launcher;
  bool exitsWith3;    ///< tp-run's own code comes through
  bool peers = false; ///< the program reads the addends of all ranks
};

/// Random kills and freezes of ranks while steps run; the environment variables
/// TPRT_KILLS and TPRT_SEED say how many and which.
inline void loseRanks(const Transport &transport, int rounds) {
  if (const char *text = std::getenv("TPRT_KILLS"))
    rounds = std::atoi(text);
  const char *seedText = std::getenv("TPRT_SEED");
  unsigned seed = seedText ? std::atoi(seedText) : kSeed;
  std::mt19937 random(seed);
  std::map<int64_t, std::unique_ptr<Fixture>> fixtures;
  double slowest[2] = {0, 0}, sum[2] = {0, 0};
  int count[2] = {0, 0}, late = 0;
  for (int n = 0; n < rounds; ++n) {
    int64_t ranks = 2 + random() % 7;
    int64_t victim = random() % ranks;
    bool freeze = random() % 2;
    SCOPED_TRACE(detail::join("seed ", seed, " round ", n, ": rank ", victim,
                              " of ", ranks, freeze ? " frozen" : " killed"));
    auto &f = fixtures[ranks];
    if (!f)
      f = std::make_unique<Fixture>(
          ranks, transport.peers ? peersManifest(ranks) : mlpManifest(ranks));
    Running run(*f,
                f->weights() + f->input() + " --backend " + transport.backend +
                    " --repeat 1000000000",
                kSoonSilent, f->directory / "log", transport.launcher(ranks));
    std::vector<pid_t> processes = waitForSteps(run, ranks, transport.variable);
    ASSERT_FALSE(processes.empty()) << run.errors();
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 100));
    auto start = Clock::now();
    ASSERT_EQ(kill(processes[victim], freeze ? SIGSTOP : SIGKILL), 0);
    // Until every survivor has named it.
    int code = -1;
    bool named = false;
    while (!named && code == -1 && since(start) < 20) {
      code = run.wait(0.005);
      named = allNamed(run.errors(), ranks, victim);
    }
    double seconds = since(start);
    ASSERT_TRUE(named) << run.errors();
    if (std::getenv("TPRT_VERBOSE"))
      std::printf("round %d: rank %ld of %ld %s: %.3f s\n", n, long(victim),
                  long(ranks), freeze ? "frozen" : "killed", seconds);
    if (code == -1)
      code = run.wait(20);
    ASSERT_NE(code, -1) << "the launcher does not end\n" << run.errors();
    ASSERT_NE(code, 0) << run.errors();
    if (transport.exitsWith3)
      ASSERT_EQ(code, 3) << run.errors();
    slowest[freeze] = std::max(slowest[freeze], seconds);
    sum[freeze] += seconds;
    ++count[freeze];
    late += seconds > 2;
    // mpirun may end a little before its ranks.
    auto ended = Clock::now();
    auto left = [&] {
      return std::any_of(processes.begin(), processes.end(), exists);
    };
    while (!transport.exitsWith3 && left() && since(ended) < 10)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (size_t r = 0; r < processes.size(); ++r)
      EXPECT_FALSE(exists(processes[r])) << "rank " << r << " is left";
    EXPECT_LT(seconds, 6) << run.errors();
  }
  std::printf("%s, seed %u: %d kills, named by all after %.2f s on average, "
              "%.2f at most; %d freezes, %.2f and %.2f s; %d above 2 s\n",
              transport.backend.c_str(), seed, count[0],
              sum[0] / std::max(1, count[0]), slowest[0], count[1],
              sum[1] / std::max(1, count[1]), slowest[1], late);
}

} // namespace tprt::test

#endif // TPRT_TEST_RANKPROCESSES_H
