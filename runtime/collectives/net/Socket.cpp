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
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
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
    ssize_t count = recv(fd, buffer, sizeof(buffer), 0);
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

/// Listens on one port of one family; 0 or the error.
static int listenOn(Listener &listener, int family, int port, bool loopback) {
  listener.socket =
      Connection(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.socket.open())
    return errno;
  int on = 1, off = 0, fd = listener.socket.fd;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } address{};
  socklen_t length;
  if (family == AF_INET6) {
    // One socket for IPv4 too.
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_addr = in6addr_any;
    address.v6.sin6_port = htons(uint16_t(port));
    length = sizeof(address.v6);
  } else {
    address.v4.sin_family = AF_INET;
    address.v4.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
    address.v4.sin_port = htons(uint16_t(port));
    length = sizeof(address.v4);
  }
  if (bind(fd, &address.any, length) != 0 || ::listen(fd, 1024) != 0)
    return errno;
  getsockname(fd, &address.any, &length);
  listener.port =
      ntohs(family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
  return 0;
}

Expected<Listener> net::listen(const std::vector<int> &ports, bool loopback) {
  std::vector<int> tries = ports.empty() ? std::vector<int>{0} : ports;
  int error = 0;
  for (int port : tries) {
    Listener listener;
    error =
        loopback ? EAFNOSUPPORT : listenOn(listener, AF_INET6, port, loopback);
    // Where there is no IPv6.
    if (error != 0 && error != EADDRINUSE)
      error = listenOn(listener, AF_INET, port, loopback);
    if (error == 0)
      return listener;
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

std::optional<Connection> net::connect(const std::string &host, int port,
                                       Clock::time_point deadline) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list) !=
      0)
    return std::nullopt;
  std::optional<Connection> result;
  for (addrinfo *info = list; info && !result; info = info->ai_next) {
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
    result = std::move(connection);
  }
  freeaddrinfo(list);
  return result;
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
      const void *address = nullptr;
      if (family == AF_INET)
        address = &reinterpret_cast<sockaddr_in *>(entry->ifa_addr)->sin_addr;
      // Those of one link alone mean nothing to others.
      if (auto *v6 = reinterpret_cast<sockaddr_in6 *>(entry->ifa_addr);
          family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
        address = &v6->sin6_addr;
      char text[INET6_ADDRSTRLEN];
      if (address && inet_ntop(family, address, text, sizeof(text)))
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
