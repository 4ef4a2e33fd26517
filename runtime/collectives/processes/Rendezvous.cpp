//===- Rendezvous.cpp - how rank processes find each other ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks meet as they do over TCP, at a Unix socket, through which the
// memory's open file is then passed.
//
//===----------------------------------------------------------------------===//

#include "Rendezvous.h"

#include "../net/NetRendezvous.h"
#include "tprt/artifact.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tprt;

namespace {

/// The rendezvous' name on this host; that of a socket is short, and still not
/// that of another job.
std::string nameOf(const ProcessInfo &process) {
  constexpr size_t kLongest = 100;
  std::string name =
      detail::join("tprt-", getuid(), "-", process.starter, "-", process.job);
  if (name.size() > kLongest) {
    char hash[20];
    std::snprintf(hash, sizeof(hash), "-%016lx", long(checksum(name)));
    name = name.substr(0, kLongest - std::strlen(hash)) + hash;
  }
  return name;
}

/// Sends an open file, with a byte that says nothing.
bool sendFile(int fd, int file) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &file, sizeof(int));
  return sendmsg(fd, &message, MSG_NOSIGNAL) == 1;
}

/// The file that came; -1 if none does in time.
int receiveFile(int fd, int milliseconds) {
  pollfd entry{fd, POLLIN, 0};
  // A signal is no answer.
  while (poll(&entry, 1, milliseconds) < 0 && errno == EINTR)
    ;
  char byte;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  int file = -1;
  if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) <= 0)
    return file;
  cmsghdr *head = CMSG_FIRSTHDR(&message);
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

Expected<Segment> attach(int file, const ProcessInfo &process) {
  auto segment = Segment::attach(file);
  if (segment && segment->ranks() != process.ranks)
    return userError("the rendezvous is of ", segment->ranks(),
                     " ranks, expected ", process.ranks);
  return segment;
}

} // namespace

Expected<Segment> tprt::rendezvous(const ProcessInfo &process,
                                   int64_t regionBytes, double timeoutSeconds) {
  if (process.file >= 0)
    return attach(process.file, process);
  std::string name = nameOf(process);
  Expected<Segment> segment = Segment();
  if (process.rank == 0)
    segment = Segment::create(process.ranks, regionBytes);
  if (!segment)
    return segment;
  TPRT_ASSIGN(auto connections,
              net::rendezvousHere(process, name, timeoutSeconds));
  auto deadline = net::Clock::now() + std::chrono::seconds(5);
  if (process.rank == 0) {
    TPRT_TRY(give(connections, *segment, deadline));
    return segment;
  }
  net::Connection &root = connections.peers[0];
  root.send(net::encode(net::Type::Heard));
  int file = receiveFile(root.fd, net::remaining(deadline));
  if (file < 0)
    return lostError("rank ", process.rank,
                     ": rank 0 is lost: it left the rendezvous '", name, "'");
  return attach(file, process);
}
