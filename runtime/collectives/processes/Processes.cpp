//===- Processes.cpp - ranks that are processes of one host ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks meet as they do over TCP, but at a Unix socket, through which the
// memory's open file is passed. Groups and buffers lie in it, where the
// collectives of rank threads work as they are; everything else goes through
// the sockets. Any failure of any rank is that of all, for good.
//
//===----------------------------------------------------------------------===//

#include "../BackendTable.h"
#include "Segment.h"
#include "tprt/artifact.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tprt;

/// MADV_COLLAPSE, since Linux 6.1: huge pages also where the system gives none
/// to shared memory by itself. With small ones, sums of large buffers take up
/// to twice as long as over threads.
constexpr int kCollapse = 25;

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

namespace {

/// The rendezvous' name on this host; that of a socket is short, and still not
/// that of another job. Memory that was inherited has a number of its own.
std::string nameOf(const ProcessInfo &process) {
  constexpr size_t kLongest = 100;
  struct stat info{};
  std::string job = process.job;
  if (process.file >= 0 && fstat(process.file, &info) == 0)
    job = std::to_string(info.st_ino);
  std::string name =
      detail::join("tprt-", getuid(), "-", process.starter, "-", job);
  if (name.size() > kLongest) {
    char hash[20];
    std::snprintf(hash, sizeof(hash), "-%016lx", long(checksum(name)));
    name = name.substr(0, kLongest - std::strlen(hash)) + hash;
  }
  return name;
}

/// A message of an open file, with a byte that says nothing.
struct FileMessage {
  FileMessage() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
  }
  FileMessage(const FileMessage &) = delete;
  FileMessage &operator=(const FileMessage &) = delete;

  msghdr message{};
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

bool sendFile(int fd, int file) {
  FileMessage sent;
  cmsghdr *head = CMSG_FIRSTHDR(&sent.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &file, sizeof(int));
  return sendmsg(fd, &sent.message, MSG_NOSIGNAL) == 1;
}

/// The file that came; -1 if none does in time.
int receiveFile(int fd, int milliseconds) {
  pollfd entry{fd, POLLIN, 0};
  // A signal is no answer.
  while (poll(&entry, 1, milliseconds) < 0 && errno == EINTR)
    ;
  FileMessage received;
  int file = -1;
  if (recvmsg(fd, &received.message, MSG_CMSG_CLOEXEC) <= 0)
    return file;
  cmsghdr *head = CMSG_FIRSTHDR(&received.message);
  if (head && head->cmsg_type == SCM_RIGHTS)
    std::memcpy(&file, CMSG_DATA(head), sizeof(int));
  return file;
}

/// Rank 0 gives the memory to the others, each of which has asked for it: sent
/// behind other bytes it might be read with them, and be lost.
Status give(net::RankConnections &connections, const Segment &segment,
            net::Clock::time_point deadline) {
  for (size_t rank = 1; rank < connections.peers.size(); ++rank) {
    net::Connection &peer = connections.peers[rank];
    if (!peer.wait(deadline) || !sendFile(peer.fd, segment.fd()))
      return lostError("rank ", rank, " is lost: it left the rendezvous");
  }
  return {};
}

Expected<std::shared_ptr<const Segment>> share(Expected<Segment> segment,
                                               const ProcessInfo &process) {
  TPRT_TRY(segment.status());
  if (segment->ranks() != process.ranks)
    return userError("the rendezvous is of ", segment->ranks(),
                     " ranks, expected ", process.ranks);
  return std::make_shared<const Segment>(std::move(*segment));
}

} // namespace

Expected<HostRanks> tprt::rendezvous(const ProcessInfo &process,
                                     int64_t regionBytes,
                                     double timeoutSeconds) {
  std::string name = nameOf(process);
  bool isInherited = process.file >= 0;
  HostRanks ranks;
  if (isInherited) {
    TPRT_ASSIGN(ranks.memory, share(Segment::attach(process.file), process));
  } else if (process.rank == 0) {
    TPRT_ASSIGN(ranks.memory,
                share(Segment::create(process.ranks, regionBytes), process));
  }
  TPRT_ASSIGN(ranks.connections,
              net::rendezvousHere(process, name, timeoutSeconds));
  // The starter knows better, where hosts have several names.
  ranks.connections.localRank = process.localRank;
  ranks.connections.localRanks = process.localRanks;
  if (isInherited)
    return ranks;
  // A process that ended is seen by its connection; one that stands still may
  // take as long as it might have to come.
  auto deadline = net::Clock::now() +
                  std::chrono::milliseconds(int64_t(timeoutSeconds * 1000));
  if (process.rank == 0) {
    TPRT_TRY(give(ranks.connections, *ranks.memory, deadline));
    return ranks;
  }
  net::Connection &root = ranks.connections.peers[0];
  root.send(net::encode(net::Type::Heard));
  int file = receiveFile(root.fd, net::remaining(deadline));
  if (file < 0)
    return lostError("rank ", process.rank,
                     ": rank 0 is lost: it left the rendezvous '", name, "'");
  TPRT_ASSIGN(ranks.memory, share(Segment::attach(file), process));
  return ranks;
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

namespace {

class ProcessBackend : public SharedBackend {
public:
  /// This process becomes process.rank.
  ProcessBackend(HostRanks ranks, const ProcessInfo &process,
                 const SideChannel::Options &options);

  SideChannel *channel() const override { return side.get(); }
  Status agree(int64_t, uint64_t value, const char *what) override {
    return side->agree(value, what);
  }
  Expected<Buffer> allocate(int64_t rank, int64_t bytes) override;
  /// Without a copy, if `data` is memory that allocate gave.
  Expected<Gathered> gather(const void *data, int64_t bytes) override;

protected:
  Expected<GroupState> group(const std::vector<int64_t> &members) override;

private:
  const Segment &segment;
  std::unique_ptr<SideChannel> side; ///< keeps the segment
  int64_t used = 0;                  ///< of this rank's region
};

} // namespace

ProcessBackend::ProcessBackend(HostRanks ranks, const ProcessInfo &process,
                               const SideChannel::Options &options)
    : SharedBackend(process.ranks, options.timeoutSeconds, options.describe),
      segment(*ranks.memory),
      side(net::makeChannel(std::move(ranks.connections), process, options,
                            ranks.memory)) {
  oneProcess = false;
  base = segment.base();
  extent = segment.size();
  positions = segment.positions();
  aborted = &segment.aborted();
}

Expected<GroupState>
ProcessBackend::group(const std::vector<int64_t> &members) {
  GroupState state = segment.group(members);
  TPRT_TRY(failure()); // who made the group may be lost in the middle of it
  if (!state.barrier)
    return userError("the program has more groups of ranks than backend "
                     "'processes' has room for");
  return state;
}

Expected<Buffer> ProcessBackend::allocate(int64_t rank, int64_t bytes) {
  constexpr int64_t kHugePage = int64_t(2) << 20;
  if (bytes == 0)
    return Buffer();
  int64_t page = bytes >= 2 * kHugePage ? kHugePage : 4096;
  int64_t begin = alignUp(used, page), size = alignUp(bytes, page);
  if (begin + size > segment.regionBytes())
    return internalError("rank ", rank, " needs more shared memory than the ",
                         segment.regionBytes(), " bytes planned");
  used = begin + size;
  char *data = segment.region(rank) + begin;
  if (page == kHugePage) {
    madvise(data, size, MADV_HUGEPAGE);
    madvise(data, size, kCollapse);
  }
  return Buffer::borrow(data, size);
}

Expected<Backend::Gathered> ProcessBackend::gather(const void *data,
                                                   int64_t bytes) {
  // Buffers of this memory stay readable after their process has ended.
  TPRT_ASSIGN(auto offsets, side->exchangeValues(uint64_t(
                                static_cast<const char *>(data) - base)));
  Gathered result;
  for (uint64_t offset : offsets)
    result.data.push_back(base + offset);
  return result;
}

namespace tprt {
Expected<std::unique_ptr<Backend>>
connectProcesses(const BackendOptions &options) {
  const ProcessInfo &process = *options.process;
  if (!process.oneHost())
    return userError("backend 'processes' needs all ranks on one host: ",
                     process.hosts, "; put them on one host");
  TPRT_ASSIGN(auto here, rendezvous(process, options.sharedBytes,
                                    options.waits.timeoutSeconds));
  return std::make_unique<ProcessBackend>(std::move(here), process,
                                          options.waits);
}
} // namespace tprt
