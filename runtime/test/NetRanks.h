//===- NetRanks.h - ranks with nothing but a side channel -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes of NetRank.cpp, as torchrun would start them with one per host.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_NETRANKS_H
#define TPRT_TEST_NETRANKS_H

#include "RankProcesses.h"

#include "../collectives/net/NetRendezvous.h"

namespace tprt::test {

/// A port that was free a moment ago.
inline int freePort() {
  auto listener = net::listen({}, "127.0.0.1");
  return listener ? listener->port : 0;
}

/// Ranks with nothing but a side channel, as if one per host.
class Ranks {
public:
  explicit Ranks(int64_t ranks) : ranks(ranks), port(freePort()) {}
  ~Ranks() {
    for (auto &[rank, process] : processes)
      if (process > 0) {
        kill(process, SIGKILL);
        waitpid(process, nullptr, 0);
      }
  }

  void start(int64_t rank, const std::string &arguments,
             const std::string &more = "", int64_t key = -1) {
    key = key < 0 ? rank : key;
    std::string command = detail::join(
        "exec env RANK=", rank, " WORLD_SIZE=", ranks,
        " LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=", port,
        " TPRT_JOB_TOKEN=secret ", more, " ", TPRT_NET_RANK, " ", arguments,
        " >", path(key), ".out 2>", path(key));
    pid_t process = fork();
    if (process == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    processes[key] = process;
  }
  void startAll(const std::string &arguments, const std::string &more = "") {
    for (int64_t r = 0; r < ranks; ++r)
      start(r, arguments, more);
  }
  int wait(int64_t key, double seconds = 30) {
    auto start = Clock::now();
    int status;
    while (since(start) < seconds) {
      if (waitpid(processes[key], &status, WNOHANG) == processes[key]) {
        processes[key] = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return -1;
  }
  void waitForSteps() {
    auto start = Clock::now();
    for (auto &[rank, process] : processes)
      while (!stepping(process) && since(start) < 30)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  /// The identity that a rank of the job brings to the rendezvous.
  ProcessInfo identity(int64_t rank) const {
    std::map<std::string, std::string> variables{
        {"RANK", std::to_string(rank)},
        {"WORLD_SIZE", std::to_string(ranks)},
        {"LOCAL_WORLD_SIZE", "1"},
        {"MASTER_ADDR", "127.0.0.1"},
        {"MASTER_PORT", std::to_string(port)},
        {"TPRT_JOB_TOKEN", "secret"}};
    auto found =
        processInfoFromEnvironment([&](const char *name) -> const char * {
          auto at = variables.find(name);
          return at == variables.end() ? nullptr : at->second.c_str();
        });
    return **found;
  }
  std::string path(int64_t key) {
    return directory / ("log" + std::to_string(key));
  }
  std::string errors(int64_t key) { return readFile(path(key)); }
  std::string output(int64_t key) { return readFile(path(key) + ".out"); }

  int64_t ranks;
  int port;
  TemporaryDirectory directory;
  std::map<int64_t, pid_t> processes;
};

} // namespace tprt::test

#endif // TPRT_TEST_NETRANKS_H
