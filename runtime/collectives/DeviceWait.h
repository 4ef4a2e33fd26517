//===- DeviceWait.h - the host waits for its device -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of the driver that waits, such as cuStreamSynchronize, has no limit:
// a kernel that never ends would stop its rank for good. So the host asks, as
// often as short steps need it, and looks at the run in between.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_DEVICEWAIT_H
#define TPRT_COLLECTIVES_DEVICEWAIT_H

#include "Backend.h"

#include <chrono>
#include <cuda.h>
#include <thread>

namespace tprt {

/// Asks until the work is done, and returns how it ended. `look(seconds)` is
/// called between two questions, with the time waited; its error ends the wait.
template <typename Look>
Expected<CUresult> pollDevice(const DeviceBackend::Query &query, Look look) {
  using Clock = std::chrono::steady_clock;
  // First the thread only yields: a step of one token may take less than a
  // sleep does.
  constexpr auto kYieldTime = std::chrono::milliseconds(20);
  constexpr auto kSleep = std::chrono::microseconds(50);
  auto start = Clock::now();
  for (;;) {
    auto result = CUresult(query());
    if (result != CUDA_ERROR_NOT_READY)
      return result;
    auto waited = Clock::now() - start;
    TPRT_TRY(look(std::chrono::duration<double>(waited).count()));
    if (waited < kYieldTime)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kSleep);
  }
}

} // namespace tprt

#endif // TPRT_COLLECTIVES_DEVICEWAIT_H
