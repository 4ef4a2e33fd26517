//===- Rendezvous.cpp - how rank processes find each other ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 listens, the others call until it answers. Every wait ends with the
// time limit and says who is missing.
//
//===----------------------------------------------------------------------===//

#include "Rendezvous.h"

#include "../../core/Descriptor.h"
#include "../net/Socket.h"
#include "tprt/artifact.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

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

struct Hello {
  uint64_t magic = 0x3230564452505454; // "TTPRDV02"
  int64_t rank = 0, ranks = 0;
  uint64_t token = 0; ///< checksum of the job's
};

socklen_t addressOf(const std::string &name, sockaddr_un &address) {
  std::memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool sameUser(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == getuid();
}

/// Waits for something to read or a caller; false if nothing came in time.
bool waitFor(int fd, Clock::time_point deadline) {
  while (true) {
    pollfd entry{fd, POLLIN, 0};
    int found = poll(&entry, 1, net::remaining(deadline));
    // A signal is no answer.
    if (found >= 0 || errno != EINTR)
      return found > 0;
  }
}

/// Sends a message, with an open file or without (-1).
bool sendFile(int fd, const std::string &text, int file) {
  iovec part{const_cast<char *>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &file, sizeof(int));
  }
  return sendmsg(fd, &message, MSG_NOSIGNAL) == ssize_t(text.size());
}

std::string receiveFile(int fd, int &file) {
  char text[512];
  iovec part{text, sizeof(text)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  file = -1;
  if (count <= 0)
    return "";
  cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head && head->cmsg_type == SCM_RIGHTS)
    std::memcpy(&file, CMSG_DATA(head), sizeof(int));
  return std::string(text, size_t(count));
}

/// Rank 0: makes the memory and gives it to the others.
Expected<Segment> host(const Place &place, int64_t regionBytes,
                       Clock::time_point deadline, double timeout) {
  std::string name = nameOf(place);
  auto segment = Segment::create(place.ranks, regionBytes);
  if (!segment)
    return segment;
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  socklen_t length = addressOf(name, address);
  if (!listener.open() ||
      bind(listener, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      listen(listener, int(place.ranks)) != 0)
    return userError("rank 0 cannot open the rendezvous '", name,
                     "': ", std::strerror(errno),
                     errno == EADDRINUSE
                         ? " (another run with the same address and port?)"
                         : "");
  std::vector<Descriptor> callers(place.ranks); // by rank; rank 0's is none
  auto here = [&](int64_t rank) { return rank == 0 || callers[rank].open(); };
  auto giveUp = [&](const Status &status) {
    for (Descriptor &caller : callers)
      if (caller.open())
        sendFile(caller, status.message(), -1);
    return status;
  };
  auto left = [&](int64_t rank) {
    return lostError("rank ", rank, " is lost: it left the rendezvous '", name,
                     "'");
  };
  for (int64_t count = 1; count < place.ranks;) {
    // Of those that have come, only their end is of interest.
    std::vector<pollfd> entries{{listener, POLLIN, 0}};
    for (const Descriptor &caller : callers)
      entries.push_back({caller, 0, 0});
    int found = poll(entries.data(), entries.size(), net::remaining(deadline));
    if (found < 0 && errno == EINTR)
      continue;
    if (found <= 0) {
      std::string missing;
      for (int64_t rank = 0; rank < place.ranks; ++rank)
        if (!here(rank))
          missing +=
              (missing.empty() ? "rank " : ", rank ") + std::to_string(rank);
      return giveUp(
          userError("the rendezvous '", name, "' did not complete in ", timeout,
                    " s: ", missing, " of ", place.ranks, " (", place.source,
                    ") did not come; all ranks must run on this host"));
    }
    for (int64_t rank = 1; rank < place.ranks; ++rank)
      if (entries[1 + rank].revents)
        return giveUp(left(rank));
    Descriptor caller(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    Hello hello;
    if (!caller.open() || !sameUser(caller) ||
        !waitFor(caller, Clock::now() + std::chrono::seconds(1)) ||
        recv(caller, &hello, sizeof(hello), 0) != sizeof(hello) ||
        hello.magic != Hello().magic)
      continue;
    // A rank that is left of an earlier attempt is of another job.
    if (hello.token != checksum(place.token)) {
      sendFile(caller,
               "rank 0 turned this process away: it brings the token of "
               "another job",
               -1);
      continue;
    }
    Status refusal;
    if (hello.ranks != place.ranks)
      refusal = userError("rank ", hello.rank, " was told of ", hello.ranks,
                          " ranks, rank 0 of ", place.ranks);
    else if (hello.rank < 0 || hello.rank >= place.ranks || here(hello.rank))
      refusal = userError("rank ", hello.rank, " came to the rendezvous twice");
    if (!refusal.ok()) {
      sendFile(caller, refusal.message(), -1);
      return giveUp(refusal);
    }
    callers[hello.rank] = std::move(caller);
    ++count;
  }
  for (int64_t rank = 1; rank < place.ranks; ++rank)
    if (!sendFile(callers[rank], "come", segment->fd()))
      return giveUp(left(rank));
  return segment;
}

/// The other ranks: call rank 0.
Expected<Segment> join(const Place &place, Clock::time_point deadline,
                       double timeout) {
  std::string name = nameOf(place);
  sockaddr_un address;
  socklen_t length = addressOf(name, address);
  while (true) {
    Descriptor caller(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    Hello hello;
    hello.rank = place.rank;
    hello.ranks = place.ranks;
    hello.token = checksum(place.token);
    bool met =
        caller.open() &&
        connect(caller, reinterpret_cast<sockaddr *>(&address), length) == 0;
    if (met && sameUser(caller) &&
        send(caller, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello)) {
      // Rank 0 answers by its own deadline, which may be a little later.
      if (waitFor(caller, deadline + std::chrono::seconds(2))) {
        int file;
        std::string answer = receiveFile(caller, file);
        if (file >= 0)
          return Segment::attach(file);
        if (answer.empty())
          return lostError("rank ", place.rank,
                           ": rank 0 is lost: it left the rendezvous '", name,
                           "'");
        return userError("rank ", place.rank, ": ", answer);
      }
    }
    if (net::remaining(deadline) == 0)
      return userError("rank ", place.rank, ": the rendezvous '", name,
                       "' did not complete in ", timeout,
                       " s: ", met ? "the other ranks" : "rank 0 of ",
                       met ? "" : std::to_string(place.ranks),
                       " did not come; all ranks (", place.source,
                       ") must run on this host");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

} // namespace

Expected<Segment> tprt::meet(const Place &place, int64_t regionBytes,
                             double timeoutSeconds) {
  if (place.file >= 0)
    return Segment::attach(place.file);
  auto deadline =
      Clock::now() + std::chrono::milliseconds(int64_t(timeoutSeconds * 1000));
  return place.rank == 0 ? host(place, regionBytes, deadline, timeoutSeconds)
                         : join(place, deadline, timeoutSeconds);
}
