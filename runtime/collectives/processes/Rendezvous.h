//===- Rendezvous.h - how rank processes find each other --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp-run hands its ranks the shared memory as an open file. Of ranks that
// others started, rank 0 makes the memory and passes it on through an abstract
// Unix socket whose name comes from the job; such a socket leaves no file
// behind.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROCESSES_RENDEZVOUS_H
#define TPRT_COLLECTIVES_PROCESSES_RENDEZVOUS_H

#include "../ProcessInfo.h"
#include "Segment.h"

namespace tprt {

/// The run's shared memory, once all ranks have come.
Expected<Segment> rendezvous(const ProcessInfo &process, int64_t regionBytes,
                             double timeoutSeconds);

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSES_RENDEZVOUS_H
