//===- Segment.h - memory that the ranks of a communicator share *- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The unique id names an abstract socket on which its maker hands out one
// anonymous file; nothing is left behind when the processes end. In the file:
// who has arrived, per rank two slots for collectives, and per pair of ranks
// one slot for messages. Slots are large and sparse.
//
//   a rank writes collective s into its slot s % 2, once every rank is done
//   with s - 2, then sets published = s; when every rank has published s it
//   reads all of them and sets done = s.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_SEGMENT_H
#define TPRT_TEST_FAKECUDA_SEGMENT_H

#include "Api.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace fake {

constexpr int kMaxRanks = 64;
constexpr size_t kSlotBytes = size_t(256) << 20;

/// The signature of a collective, to compare between ranks.
struct Signature {
  int32_t kind, type, reduction, root;
  uint64_t count;
};

struct Member {
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> connecting; ///< it has come to its first collective
  char host[64];                    ///< what tells hosts apart
  char device[16];
  std::atomic<uint64_t> published, done;
  Signature signature[2];
};

struct Mailbox {
  std::atomic<uint64_t> posted, consumed; ///< counts of messages
  uint64_t bytes;
};

struct Shared {
  std::atomic<uint32_t> ranks; ///< as the first to arrive said
  Member members[kMaxRanks];
  Mailbox mail[kMaxRanks][kMaxRanks]; ///< [from][to]
};

/// A mapping of the file.
class Segment {
public:
  Segment(const Segment &) = delete;
  ~Segment();

  Shared &shared() const { return *reinterpret_cast<Shared *>(base_); }
  char *slot(int rank, uint64_t sequence) const;
  char *mail(int from, int to) const;

  /// Makes an id and serves its file from a thread of this process.
  static bool create(ncclUniqueId &id);
  /// Asks the maker of the id for the file; on failure says why.
  static Segment *open(const ncclUniqueId &id, int ranks, std::string &why);

private:
  Segment(char *base, size_t bytes, int ranks)
      : base_(base), bytes_(bytes), ranks_(ranks) {}
  char *base_;
  size_t bytes_;
  int ranks_;
};

} // namespace fake

#endif // TPRT_TEST_FAKECUDA_SEGMENT_H
