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
std::string nameOf(const Place &place) {
  constexpr size_t kLongest = 100;
  std::string name =
      detail::join("tprt-", getuid(), "-", place.starter, "-", place.job);
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
Status give(net::Meeting &meeting, const Segment &segment,
            net::Clock::time_point deadline) {
  for (size_t rank = 1; rank < meeting.peers.size(); ++rank) {
    net::Connection &peer = meeting.peers[rank];
    if (!peer.wait(deadline) || !sendFile(peer.fd, segment.fd()))
      return lostError("rank ", rank, " is lost: it left the rendezvous");
  }
  return {};
}

Expected<Segment> attach(int file, const Place &place) {
  auto segment = Segment::attach(file);
  if (segment && segment->ranks() != place.ranks)
    return userError("the rendezvous is of ", segment->ranks(),
                     " ranks, expected ", place.ranks);
  return segment;
}

} // namespace

Expected<Segment> tprt::meet(const Place &place, int64_t regionBytes,
                             double timeoutSeconds) {
  if (place.file >= 0)
    return attach(place.file, place);
  std::string name = nameOf(place);
  Expected<Segment> segment = Segment();
  if (place.rank == 0)
    segment = Segment::create(place.ranks, regionBytes);
  if (!segment)
    return segment;
  TPRT_ASSIGN(auto meeting, net::meetHere(place, name, timeoutSeconds));
  auto deadline = net::Clock::now() + std::chrono::seconds(5);
  if (place.rank == 0) {
    TPRT_TRY(give(meeting, *segment, deadline));
    return segment;
  }
  net::Connection &root = meeting.peers[0];
  root.send(net::encode(net::Type::Heard));
  int file = receiveFile(root.fd, net::remaining(deadline));
  if (file < 0)
    return lostError("rank ", place.rank,
                     ": rank 0 is lost: it left the rendezvous '", name, "'");
  return attach(file, place);
}
