//===- Socket.cpp - TCP sockets that never block --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small frames are wanted at once, so that Nagle's algorithm is off.
//
//===----------------------------------------------------------------------===//

#include "Socket.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace tprt;
using namespace tprt::net;

int net::remaining(Clock::time_point deadline) {
  auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - Clock::now());
  return int(std::clamp<int64_t>(rest.count(), 0, 1 << 30));
}

//===----------------------------------------------------------------------===//
// Connection
//===----------------------------------------------------------------------===//

void Connection::send(std::string frame) {
  if (!open())
    return;
  if (sent == out.size()) {
    out = std::move(frame);
    sent = 0;
  } else {
    out += frame;
  }
  flush();
}

void Connection::flush() {
  while (sending()) {
    ssize_t count =
        ::send(fd, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      // The end of a stream is seen by receive, after what came before it.
      if (errno != EAGAIN)
        sent = out.size();
      return;
    }
    sent += size_t(count);
  }
}

bool Connection::receive() {
  if (!broken.ok() || !open())
    return false;
  char buffer[64 << 10];
  // Not for ever: others wait too.
  for (int i = 0; i < 64; ++i) {
    size_t room = size_t(std::min<uint64_t>(sizeof(buffer), limit - total));
    ssize_t count = room == 0 ? 0 : recv(fd, buffer, room, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno == EAGAIN)
      return true;
    if (count <= 0)
      return false;
    total += uint64_t(count);
    broken = reader.feed(buffer, size_t(count));
    if (!broken.ok())
      return false;
  }
  return true;
}

std::optional<Frame> Connection::wait(Clock::time_point deadline) {
  while (true) {
    if (auto frame = next())
      return frame;
    pollfd entry{fd, short(POLLIN | (sending() ? POLLOUT : 0)), 0};
    if (poll(&entry, 1, remaining(deadline)) == 0)
      return std::nullopt;
    flush();
    if (!receive())
      return next();
  }
}

//===----------------------------------------------------------------------===//
// Making connections
//===----------------------------------------------------------------------===//

static void prepare(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// The addresses of a host, of a number alone where `flags` say so; null for
/// none.
static Addresses resolve(const std::string &host, int port, int flags = 0) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  return {list, freeaddrinfo};
}

/// Listens at one address; 0 or the error.
static int listenAt(Listener &listener, const sockaddr *address,
                    socklen_t length) {
  listener.socket = Connection(socket(
      address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.socket.open())
    return errno;
  int on = 1, off = 0, fd = listener.socket.fd;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // A socket for all of IPv6 takes IPv4's callers too.
  if (address->sa_family == AF_INET6)
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(fd, address, length) != 0 || ::listen(fd, 1024) != 0)
    return errno;
  sockaddr_in6 own{};
  length = sizeof(own);
  getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length);
  // It lies at the same place for IPv4.
  if (address->sa_family != AF_UNIX)
    listener.port = ntohs(own.sin6_port);
  return 0;
}

static bool isLoopback(const addrinfo &info) {
  char text[INET6_ADDRSTRLEN] = "";
  getnameinfo(info.ai_addr, info.ai_addrlen, text, sizeof(text), nullptr, 0,
              NI_NUMERICHOST);
  return std::string_view(text).starts_with("127.") ||
         std::string_view(text) == "::1";
}

/// Listens at the first address of the host that is one of this machine's.
static int listenOn(Listener &listener, const std::string &host, int port) {
  Addresses list = resolve(host, port, AI_NUMERICHOST);
  bool named = !list;
  if (named)
    list = resolve(host, port);
  int error = EADDRNOTAVAIL;
  for (addrinfo *info = list.get(); info; info = info->ai_next) {
    // Some systems call themselves 127.0.1.1; nobody else finds them there.
    if (named && host != "localhost" && isLoopback(*info))
      continue;
    error = listenAt(listener, info->ai_addr, info->ai_addrlen);
    // A caller tries them in the same order.
    if (error == 0 || error == EADDRINUSE)
      break;
  }
  return error;
}

Expected<Listener> net::listen(const std::vector<int> &ports,
                               const std::string &host) {
  std::vector<int> tries = ports.empty() ? std::vector<int>{0} : ports;
  std::vector<std::string> hosts{"::", "0.0.0.0"};
  if (!host.empty())
    hosts.insert(hosts.begin(), host);
  int error = 0;
  for (int port : tries)
    for (const std::string &name : hosts) {
      Listener listener;
      error = listenOn(listener, name, port);
      if (error == 0)
        return listener;
      if (error == EADDRINUSE)
        break;
    }
  std::string list;
  for (int port : tries)
    list += (list.empty() ? "" : ", ") + std::to_string(port);
  return userError("rank 0 cannot listen on TCP port ", list, ": ",
                   std::strerror(error));
}

std::optional<Connection> net::accept(const Listener &listener) {
  Connection connection(accept4(listener.socket.fd, nullptr, nullptr,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.open())
    return std::nullopt;
  prepare(connection.fd);
  return connection;
}

static socklen_t addressOf(const std::string &name, sockaddr_un &address) {
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

Expected<Listener> net::listenHere(const std::string &name) {
  sockaddr_un address{};
  socklen_t length = addressOf(name, address);
  Listener listener;
  int error =
      listenAt(listener, reinterpret_cast<sockaddr *>(&address), length);
  if (error == 0)
    return listener;
  return userError(
      "rank 0 cannot open the rendezvous '", name, "': ", std::strerror(error),
      error == EADDRINUSE ? " (another run with the same address and port?)"
                          : "");
}

std::optional<Connection> net::connectHere(const std::string &name) {
  sockaddr_un address{};
  socklen_t length = addressOf(name, address);
  Connection connection(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection.open() ||
      ::connect(connection.fd, reinterpret_cast<sockaddr *>(&address),
                length) != 0 ||
      !ofThisUser(connection))
    return std::nullopt;
  return connection;
}

static std::optional<ucred> peerOf(const Connection &connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(connection.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return std::nullopt;
  return peer;
}

bool net::ofThisUser(const Connection &connection) {
  auto peer = peerOf(connection);
  return peer && peer->uid == getuid();
}

int net::peerProcess(const Connection &connection) {
  auto peer = peerOf(connection);
  return peer ? peer->pid : 0; // over TCP there is none
}

std::optional<Connection> net::connect(const std::string &host, int port,
                                       Clock::time_point deadline) {
  Addresses list = resolve(host, port);
  for (addrinfo *info = list.get(); info; info = info->ai_next) {
    Connection connection(
        socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!connection.open())
      continue;
    int error = ::connect(connection.fd, info->ai_addr, info->ai_addrlen) == 0
                    ? 0
                    : errno;
    if (error == EINPROGRESS) {
      // A host that does not answer must not take all the time.
      pollfd entry{connection.fd, POLLOUT, 0};
      socklen_t size = sizeof(error);
      if (poll(&entry, 1, std::min(1000, remaining(deadline))) <= 0 ||
          getsockopt(connection.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        continue;
    }
    if (error != 0)
      continue;
    prepare(connection.fd);
    return connection;
  }
  return std::nullopt;
}

std::vector<std::string> net::ownAddresses() {
  std::vector<std::string> result, last;
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) == 0)
    for (ifaddrs *entry = list; entry; entry = entry->ifa_next) {
      if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) ||
          (entry->ifa_flags & IFF_LOOPBACK))
        continue;
      int family = entry->ifa_addr->sa_family;
      auto *v6 = reinterpret_cast<sockaddr_in6 *>(entry->ifa_addr);
      // Addresses of one link alone mean nothing to others.
      bool useful =
          family == AF_INET ||
          (family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr));
      char text[INET6_ADDRSTRLEN];
      if (useful && getnameinfo(entry->ifa_addr, sizeof(*v6), text,
                                sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0)
        (family == AF_INET ? result : last).push_back(text);
    }
  freeifaddrs(list);
  result.insert(result.end(), last.begin(), last.end());
  result.push_back("127.0.0.1");
  return result;
}

std::string net::hostIdentity() {
  // Containers and namespaces of one machine may have names of their own.
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return std::string(name) + " " + boot;
}
