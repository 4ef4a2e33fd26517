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
  GroupState group(const std::vector<int64_t> &members) const;

private:
  struct Header;
  struct GroupRecord;
  Header &header() const;

  Descriptor file;
  Buffer memory;
};

/// Looks after the processes of a run.
class Watcher {
public:
  /// `self` is the rank that looks, -1 for the launcher; `silenceSeconds` as
  /// SideChannel::Options has it.
  Watcher(const Segment &segment, int64_t self,
          double silenceSeconds = kSilenceSeconds);
  ~Watcher();

  struct Loss {
    int64_t rank;
    std::string what; ///< `its process ended`, ...
  };
  /// The first rank found to be lost. Call it every 25 ms or so.
  std::optional<Loss> look();

private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    bool met = false;
    int descriptor = -1; ///< that tells when the process ends, if there is one
    uint64_t beat = 0;
    int looks = 0;
    Clock::time_point since;
  };
  const Segment &segment;
  int64_t self;
  double silenceSeconds;
  std::vector<Peer> peers;
};

/// The error of a lost rank, in words.
Failure lossOf(const Watcher::Loss &loss, const std::string &lastSeen);

/// The side channel through that memory (SegmentChannel.cpp); this process
/// becomes process.rank.
std::unique_ptr<SideChannel> makeChannel(std::shared_ptr<const Segment> segment,
                                         const ProcessInfo &process,
                                         const SideChannel::Options &options);

/// The run's shared memory, once all ranks have come (Processes.cpp). tp-run
/// hands it to its ranks as an open file. Of ranks that others started, rank 0
/// makes it, `regionBytes` per rank, and passes it on through an abstract Unix
/// socket whose name comes from the job.
Expected<Segment> rendezvous(const ProcessInfo &process, int64_t regionBytes,
                             double timeoutSeconds);

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSES_SEGMENT_H
