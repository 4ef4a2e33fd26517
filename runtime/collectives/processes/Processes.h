//===- Processes.h - ranks that are processes of one host -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process per rank, buffers in shared memory, where the collectives of rank
// threads work as they are. Any failure of any rank is that of all, for good.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROCESSES_PROCESSES_H
#define TPRT_COLLECTIVES_PROCESSES_PROCESSES_H

#include "SegmentChannel.h"

#include <map>

namespace tprt {

class ProcessBackend : public SharedBackend {
public:
  /// This process becomes process.rank.
  ProcessBackend(Segment segment, const ProcessInfo &process,
                 const SideChannel::Options &options);

  SideChannel *channel() const override { return &side; }
  Expected<SharedGroup *> group(const std::vector<int64_t> &members) override;
  Expected<Buffer> allocate(int64_t rank, int64_t bytes) override;
  /// Without a copy, if `data` is memory that allocate gave.
  Expected<Gathered> gather(const void *data, int64_t bytes) override;

private:
  mutable SegmentChannel side;
  const Segment &segment;
  std::map<std::vector<int64_t>, std::unique_ptr<SharedGroup>> groups;
  int64_t used = 0; ///< of this rank's region
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSES_PROCESSES_H
