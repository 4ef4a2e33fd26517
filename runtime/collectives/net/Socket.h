//===- Socket.h - TCP sockets that never block ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A connection that sends and receives frames as far as it can without
// waiting, and what is needed to make one.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_NET_SOCKET_H
#define TPRT_COLLECTIVES_NET_SOCKET_H

#include "../../support/Memory.h"
#include "Wire.h"

#include <utility>

namespace tprt::net {

using Clock = std::chrono::steady_clock;

/// Milliseconds until the deadline, at least 0.
int remaining(Clock::time_point deadline);

class Connection {
public:
  explicit Connection(int fd = -1) : fd(fd) {}

  void close() { fd.reset(); }
  bool open() const { return fd.open(); }
  /// Adds to what is to be sent, and sends what goes without waiting.
  void send(std::string frame);
  void flush();
  bool sending() const { return open() && sent < out.size(); }
  /// Takes what has arrived; false at the end of the stream or on an error,
  /// after which frames that came whole can still be had.
  bool receive();
  std::optional<Frame> next() { return reader.next(); }
  /// Waits for one frame; null at the end of the stream or of the time.
  std::optional<Frame> wait(Clock::time_point deadline);
  /// The fault of the stream, if it has one.
  const Status &error() const { return broken; }
  /// Bytes received so far.
  uint64_t received() const { return total; }

  Descriptor fd;
  /// Bytes that are taken in all; who sends more is cut off.
  uint64_t limit = UINT64_MAX;

private:
  std::string out;
  size_t sent = 0;
  uint64_t total = 0;
  FrameReader reader;
  Status broken;
};

struct Listener {
  Connection socket;
  int port = 0; ///< 0: a Unix socket
};
/// Listens on the first of the ports that is free, or on any for none, at the
/// address that `host` is here: on all interfaces where that is empty, or a
/// name by which only others know this host.
Expected<Listener> listen(const std::vector<int> &ports,
                          const std::string &host);
/// Listens at an abstract Unix socket, which leaves no file behind.
Expected<Listener> listenHere(const std::string &name);

/// Null where nobody has called.
std::optional<Connection> accept(const Listener &listener);
/// Calls an abstract Unix socket; null if nobody is there.
std::optional<Connection> connectHere(const std::string &name);
/// True if the other end of a Unix socket is a process of this user.
bool ofThisUser(const Connection &connection);
/// The id of the process at the other end of a Unix socket; 0 if unknown.
int peerProcess(const Connection &connection);
/// Connects, waiting at most until the deadline; null if nobody is there.
std::optional<Connection> connect(const std::string &host, int port,
                                  Clock::time_point deadline);

/// The addresses of this host's interfaces that are up, loopback last.
std::vector<std::string> ownAddresses();
/// Names this host among all: ranks with the same can share memory and devices.
std::string hostIdentity();

} // namespace tprt::net

#endif // TPRT_COLLECTIVES_NET_SOCKET_H
