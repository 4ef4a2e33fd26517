//===- Segment.h - memory that rank processes share -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One anonymous memory file (memfd) per run: it has no name, so nothing is left
// behind however the run ends, and the size of /dev/shm does not matter. It
// holds what the ranks tell each other (who is alive, where, what failed), the
// groups' barriers, and a region per rank for the buffers of collectives. Pages
// exist once they are touched.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROCESSES_SEGMENT_H
#define TPRT_COLLECTIVES_PROCESSES_SEGMENT_H

#include "../SharedGroup.h"
#include "../SideChannel.h"

namespace tprt {

/// A rank's process, as the others see it.
struct alignas(64) RankRecord {
  std::atomic<int32_t> process;    ///< its id; 0: has not come yet
  std::atomic<uint32_t> finished;  ///< it needs nobody and nobody needs it
  std::atomic<uint64_t> heartbeat; ///< counts up while the process runs
  std::atomic<uint64_t> exchanges; ///< exchanges that it has come to
};

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

  RankRecord &record(int64_t rank) const;
  Position *positions() const;
  char *region(int64_t rank) const;
  int64_t regionBytes() const;
  /// A piece of memory through which blobs go; kMailboxBytes.
  char *mailbox(int64_t rank) const;
  static constexpr int64_t kMailboxBytes = 256 << 10;

  std::atomic<uint32_t> &aborted() const;
  /// Keeps the first; later ones are dropped. True if this was the first.
  bool fail(const Failure &failure) const;
  std::optional<Failure> failure() const;

  /// The barrier of all ranks' exchanges.
  Barrier &barrier() const;
  /// The barrier and slots of these ranks: found, or made by the first who
  /// asks. Null if there is no room.
  std::pair<Barrier *, GroupSlot *>
  group(const std::vector<int64_t> &members) const;

private:
  struct Header;
  struct GroupRecord;
  Header &header() const;

  Descriptor file;
  Buffer memory;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSES_SEGMENT_H
