//===- Parallel.h - one thread pool per rank --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated code, attention and oneDNN share one pool per rank: libgomp's,
// which keeps a team for each thread that starts parallel regions. oneDNN is
// built on it, so regions are started through libgomp's stable entry points
// whichever compiler built the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_PARALLEL_H
#define TPRT_SUPPORT_PARALLEL_H

#include <cstdint>
#include <functional>

namespace tprt {

/// Sets the size of the calling thread's team, oneDNN's included.
void setWorkers(int workers);
int workers();

/// Calls body(begin, end, worker) on contiguous ranges that cover [0, extent),
/// one per worker, none shorter than `least` except if extent is. Not nested.
/// The team is the same for every call, workers without a range included:
/// libgomp ends the threads that a smaller team leaves over, and starts them
/// anew for the next.
void parallelFor(int64_t extent, int64_t least,
                 const std::function<void(int64_t, int64_t, int64_t)> &body);

/// Calls body(item, worker) for each item, handed out one by one: for work of
/// uneven size.
void parallelItems(int64_t items,
                   const std::function<void(int64_t, int64_t)> &body);

/// As parallelItems, for items that lie in memory one after the other: a worker
/// goes through a part of its own, which memory serves faster than turns, and
/// then takes what others have left.
void parallelParts(int64_t items,
                   const std::function<void(int64_t, int64_t)> &body);

} // namespace tprt

#endif // TPRT_SUPPORT_PARALLEL_H
