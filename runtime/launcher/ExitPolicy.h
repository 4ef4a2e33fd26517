//===- ExitPolicy.h - what tp-run does when a rank is lost ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library returns failures; a process that is a rank and nothing else says
// what happened and ends, out of any library's calls too, and knows how
// launchers end the others.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_LAUNCHER_EXITPOLICY_H
#define TPRT_LAUNCHER_EXITPOLICY_H

#include "../collectives/SideChannel.h"

namespace tprt {

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

#endif // TPRT_LAUNCHER_EXITPOLICY_H
