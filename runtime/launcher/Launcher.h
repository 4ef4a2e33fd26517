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

namespace tprt {

/// Runs tp-run with the command line; returns the exit code: 0 done, 1 the
/// user's input or environment, 2 the command line, 3 a rank lost, 4 our bug, 5
/// a device that failed.
int launch(int argc, char **argv);

/// Runs this program with the same arguments as every rank of `segment`, and
/// waits until all have ended. Returns the exit code of the run; failures have
/// been printed. A rank that gives no sign of life for `silenceSeconds` is
/// lost. With `isInterruptible` rank 0 is told of the first SIGINT, and ends
/// the run.
int runLocalRanks(const Segment &segment, char **argv, const Describe &describe,
                  double silenceSeconds, bool isInterruptible);

/// From now on Ctrl-C does not end the process: what runs ends early, and a
/// second one ends it where ranks are threads. Of ranks that are processes only
/// rank 0 heeds it.
void heedInterrupts(bool ranksAreProcesses, int64_t rank);
bool isInterrupted();

/// The library returns failures; a process that is a rank and nothing else says
/// what happened and ends, out of any library's calls too, and knows how
/// launchers end the others.
/// One per process. Its end gives SIGTERM back to the system.
class ExitPolicy {
public:
  ExitPolicy();
  ~ExitPolicy();

  std::shared_ptr<const Policy> get() const { return policy; }
  /// ProcessInfo::starter; until then, and for tp-run, signals are left alone.
  void startedBy(const std::string &starter) { foreign = starter != "tp-run"; }

private:
  Status lookForSignal(int64_t rank);

  std::shared_ptr<Policy> policy;
  std::atomic<bool> foreign = false, hasHandler = false;
  std::optional<std::chrono::steady_clock::time_point> endBy;
};

} // namespace tprt

#endif // TPRT_LAUNCHER_LAUNCHER_H
