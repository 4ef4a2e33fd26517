//===- Segment.h - memory that rank processes share -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One anonymous memory file (memfd) per run: it has no name, so nothing is left
// behind however the run ends, and the size of /dev/shm does not matter. It
// holds the ranks' positions, the run's first failure, the groups' barriers,
// and a region per rank for the buffers of collectives. Pages exist once they
// are touched.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROCESSES_SEGMENT_H
#define TPRT_COLLECTIVES_PROCESSES_SEGMENT_H

#include "../SharedGroup.h"
#include "../net/NetRendezvous.h"

namespace tprt {

class Segment {
public:
  /// Makes one; `regionBytes` per rank.
  static Expected<Segment> create(int64_t ranks, int64_t regionBytes);
  /// Maps one that another process made and closes `fd` if that fails.
  static Expected<Segment> attach(int fd);

  int fd() const { return file; }
  int64_t ranks() const;
  char *base() const { return memory.data(); }
  uint64_t size() const { return uint64_t(memory.size()); }

  Position *positions() const;
  char *region(int64_t rank) const;
  int64_t regionBytes() const;

  std::atomic<uint32_t> &aborted() const;
  /// Keeps the first; later ones are dropped. True if this was the first.
  bool fail(const Failure &failure) const;
  std::optional<Failure> failure() const;

  /// The barrier and slots of these ranks: found, or made by the first who
  /// asks. Null if there is no room.
  GroupState group(const std::vector<int64_t> &members) const;

private:
  struct Header;
  struct GroupRecord;
  Header &header() const;

  Descriptor file;
  Buffer memory;
};

/// The ranks of one host, once all of them have come. net::makeChannel makes
/// their side channel of it.
struct HostRanks {
  std::shared_ptr<const Segment> memory;
  net::RankConnections connections;
};

/// Meets the others at an abstract Unix socket whose name comes from the job
/// (Processes.cpp). tp-run hands the memory to its ranks as an open file. Of
/// ranks that others started, rank 0 makes it, `regionBytes` per rank, and
/// passes it on through the socket.
Expected<HostRanks> rendezvous(const ProcessInfo &process, int64_t regionBytes,
                               double timeoutSeconds);

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSES_SEGMENT_H
