//===- Launcher.h - what tp-run does ----------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole of tp-run as a function, and its parts: as a launcher, a process
// per rank on this host; as a rank, what it does when any of them fails.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_LAUNCHER_LAUNCHER_H
#define TPRT_LAUNCHER_LAUNCHER_H

#include "../collectives/processes/Segment.h"

#include <csignal>

namespace tprt {

/// Runs tp-run with the command line; returns the exit code: 0 done, 1 the
/// user's input or environment, 2 the command line, 3 a rank lost, 4 our bug, 5
/// a device that failed.
int launch(int argc, char **argv);

/// Runs this program with the same arguments as every rank of `segment`, and
/// waits until all have ended. Returns the exit code of the run; failures have
/// been printed. With `isInterruptible` rank 0 is told of the first of
/// kEndSignals, and ends the run; a second one ends all ranks at once.
int runLocalRanks(const Segment &segment, char **argv, const Describe &describe,
                  bool isInterruptible);

/// Signals after which a long run saves and ends in order: Ctrl-C; what Slurm,
/// Kubernetes, systemd and torchrun send; a terminal that is closed; and what
/// jobs of Slurm are often warned by, and mpirun passes on.
inline constexpr int kEndSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
/// A process group, its launcher and its parent may all pass one signal on:
/// what comes within this time of the first is the same.
inline constexpr auto kOneSignal = std::chrono::milliseconds(1000);
/// True if a signal that comes now is that of `first`, in milliseconds of
/// CLOCK_MONOTONIC. May be called by a signal handler.
bool isSameSignal(int64_t first);

/// Handles kEndSignals, unless they are ignored (nohup): the first one ends the
/// run in order, a second one the process at once, unless tp-run launched it as
/// a rank and ends it itself.
void heedInterrupts(bool isLaunched);
bool isInterrupted();
/// Ctrl-C does nothing to a rank whose launcher or rank 0 sees to it.
void passOverInterrupts();

/// Ends a process that is a rank and nothing else when a rank fails: it says
/// what happened, and interrupts calls of any library. There is one per
/// process. Its destructor gives SIGTERM back to the system, unless
/// heedInterrupts has taken it.
class ExitPolicy {
public:
  ExitPolicy();
  ~ExitPolicy();

  std::shared_ptr<const Policy> get() const { return policy; }
  /// `starter` is ProcessInfo's. Signals are left alone before this call, and
  /// for tp-run.
  void startedBy(const std::string &starter) { foreign = starter != "tp-run"; }

private:
  Status lookForSignal(int64_t rank);

  std::shared_ptr<Policy> policy;
  std::atomic<bool> foreign = false, hasHandler = false;
  std::optional<std::chrono::steady_clock::time_point> endBy;
};

} // namespace tprt

#endif // TPRT_LAUNCHER_LAUNCHER_H
