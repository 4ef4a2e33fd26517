//===- Segment.cpp - memory that rank processes share ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout: header, positions, groups, regions. All of it is valid when zero,
// so that it needs no construction.
//
//===----------------------------------------------------------------------===//

#include "Segment.h"
#include "tprt/units.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace tprt;

namespace {
constexpr uint64_t kMagic = 0x3330454d48535054; // "TPSHME03"
constexpr int64_t kGroups = 4096, kMessage = 2048;
constexpr int64_t kHugePage = int64_t(2) << 20;
enum : uint32_t { kEmpty, kWriting, kReady };
} // namespace

struct Segment::Header {
  uint64_t magic;
  int64_t ranks, regionBytes;
  uint64_t bytes;
  alignas(64) std::atomic<uint32_t> aborted;
  alignas(64) std::atomic<uint32_t> failed; // kEmpty, kWriting, kReady
  int32_t code;
  int64_t culprit;
  char message[kMessage];
};

struct alignas(64) Segment::GroupRecord {
  std::atomic<uint32_t> claimed; // kEmpty, kWriting, kReady
  int64_t members;
  Barrier state;

  GroupSlot *slots() { return reinterpret_cast<GroupSlot *>(this + 1); }
  int64_t *list(int64_t ranks) {
    return reinterpret_cast<int64_t *>(slots() + ranks);
  }
  static int64_t size(int64_t ranks) {
    return alignUp(sizeof(GroupRecord) + ranks * (sizeof(GroupSlot) + 8), 64);
  }
};

/// The offsets of the parts.
struct Layout {
  explicit Layout(int64_t ranks, int64_t header, int64_t group) {
    positions = alignUp(header, 64);
    groups = positions + ranks * int64_t(sizeof(Position));
    regions = alignUp(groups + kGroups * group, kHugePage);
  }
  int64_t positions, groups, regions;
};

#define LAYOUT                                                                 \
  Layout(header().ranks, sizeof(Header), GroupRecord::size(header().ranks))

Segment::Header &Segment::header() const {
  return *reinterpret_cast<Header *>(base());
}

Expected<Segment> Segment::create(int64_t ranks, int64_t regionBytes) {
  Segment segment;
  segment.file =
      Descriptor(memfd_create("tprt-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.file.open())
    return userError("cannot make shared memory: ", std::strerror(errno));
  regionBytes = alignUp(regionBytes, kHugePage);
  Layout layout(ranks, sizeof(Header), GroupRecord::size(ranks));
  uint64_t bytes = uint64_t(layout.regions) + uint64_t(ranks * regionBytes);
  if (ftruncate(segment.file, off_t(bytes)) != 0)
    return userError("cannot make ", formatBytes(double(bytes)),
                     " of shared memory for ", ranks,
                     " ranks: ", std::strerror(errno),
                     " (is there a limit on the size of files?)");
  // The records' memory is taken now, so that a lack of it is an error here.
  if (int code = posix_fallocate(segment.file, 0, layout.groups))
    return userError("cannot make shared memory for ", ranks,
                     " ranks: ", std::strerror(code));
  // Nobody may cut it under the others' feet.
  fcntl(segment.file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  TPRT_ASSIGN(segment.memory, Buffer::share(segment.file, int64_t(bytes)));
  Header &header = segment.header();
  header.ranks = ranks;
  header.regionBytes = regionBytes;
  header.bytes = bytes;
  header.magic = kMagic;
  for (int64_t rank = 0; rank < ranks; ++rank)
    new (segment.positions() + rank) Position();
  return segment;
}

Expected<Segment> Segment::attach(int fd) {
  Segment segment;
  segment.file = Descriptor(fd);
  struct stat info;
  if (fstat(fd, &info) != 0 || info.st_size < int64_t(sizeof(Header)))
    return userError("the rendezvous gave something that is not the run's "
                     "shared memory");
  TPRT_ASSIGN(segment.memory, Buffer::share(fd, info.st_size));
  Header &header = segment.header();
  if (header.magic != kMagic || header.bytes != segment.size())
    return userError("the rendezvous gave the shared memory of another version "
                     "of the runtime");
  return segment;
}

int64_t Segment::ranks() const { return header().ranks; }
int64_t Segment::regionBytes() const { return header().regionBytes; }

Position *Segment::positions() const {
  return reinterpret_cast<Position *>(base() + LAYOUT.positions);
}

char *Segment::region(int64_t rank) const {
  return base() + LAYOUT.regions + rank * header().regionBytes;
}

std::atomic<uint32_t> &Segment::aborted() const { return header().aborted; }

bool Segment::fail(const Failure &failure) const {
  Header &h = header();
  uint32_t expected = kEmpty;
  if (!h.failed.compare_exchange_strong(expected, kWriting))
    return false;
  h.code = int32_t(failure.status.code());
  h.culprit = failure.rank;
  std::strncpy(h.message, failure.status.message().c_str(), kMessage - 1);
  h.failed = kReady;
  h.aborted = 1;
  return true;
}

std::optional<Failure> Segment::failure() const {
  Header &h = header();
  // The writer may be lost at any time: do not wait for it for long.
  for (int i = 0; h.failed == kWriting && i < 100; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (h.failed == kEmpty)
    return std::nullopt;
  if (h.failed == kWriting)
    return Failure{lostError("a rank was lost while it reported an error"), -1};
  return Failure{Status(Code(h.code), h.message), h.culprit};
}

GroupState Segment::group(const std::vector<int64_t> &members) const {
  int64_t ranks = header().ranks, size = GroupRecord::size(ranks);
  char *groups = base() + LAYOUT.groups;
  for (int64_t i = 0; i < kGroups; ++i) {
    auto &record = *reinterpret_cast<GroupRecord *>(groups + i * size);
    uint32_t expected = kEmpty;
    if (record.claimed.compare_exchange_strong(expected, kWriting)) {
      record.members = int64_t(members.size());
      std::copy(members.begin(), members.end(), record.list(ranks));
      record.claimed = kReady;
      return {&record.state, record.slots()};
    }
    while (record.claimed == kWriting && !aborted())
      std::this_thread::yield();
    if (record.members == int64_t(members.size()) &&
        std::equal(members.begin(), members.end(), record.list(ranks)))
      return {&record.state, record.slots()};
  }
  return {nullptr, nullptr};
}
