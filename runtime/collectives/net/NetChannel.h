//===- NetChannel.h - the side channel over TCP -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A star: every rank has a connection to rank 0. Rank 0 knows where all are, as
// each tells it 100 times a second; it judges who is lost and which failure
// came first, and passes on what is exchanged. The others watch rank 0, so that
// its loss is noticed by each. A process that ended is seen by its connection,
// one that is frozen by its silence.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_NET_NETCHANNEL_H
#define TPRT_COLLECTIVES_NET_NETCHANNEL_H

#include "NetRendezvous.h"

#include <condition_variable>
#include <map>

namespace tprt {

class NetChannel : public SideChannel {
public:
  NetChannel(net::RankConnections connections, const ProcessInfo &process,
             const Options &options);
  /// Takes leave, once what was exchanged has been sent.
  ~NetChannel() override;

  bool hearsAll() const override { return rank() == 0; }

protected:
  Expected<std::vector<std::string>> pass(const std::string &bytes,
                                          bool wanted) override;
  void beat() override;
  std::optional<Failure> look() override;
  void rest() override;
  void fail(const Failure &failure) override;
  std::optional<Failure> failed() const override;
  Status waiting(const std::vector<int64_t> &members, double seconds) override;
  Position &position(int64_t rank) const override;
  void flush() override;

private:
  /// The other end of a connection.
  struct Peer {
    net::Connection connection;
    bool finished = false, ended = false;
    uint64_t received = 0;
    int looks = 0;
    net::Clock::time_point since;
    std::string complaint; ///< what it last found its ranks to disagree on
  };
  /// An exchange, on rank 0.
  struct Round {
    std::vector<std::optional<std::string>> pieces;
    std::vector<bool> wanted;
    int64_t here = 0;
  };

  Status late(uint64_t round, int64_t waiting);
  void poll(int milliseconds);
  void handle(int64_t rank, const net::Frame &frame);
  void addPiece(int64_t rank, net::Piece piece);
  void answer(int64_t rank, const net::Stuck &stuck);
  void decide(const Failure &failure);
  void wakeUp();
  int64_t first() const { return rank() == 0 ? 1 : 0; }
  int64_t last() const { return rank() == 0 ? size() : 1; }

  mutable std::mutex mutex; // guards all that follows
  std::condition_variable changed;
  /// By rank on rank 0; rank 0's on the others.
  std::vector<Peer> peers;
  std::optional<Failure> decided; ///< the run's first failure
  uint64_t round = 0;             ///< exchanges that this rank came to
  std::map<uint64_t, Round> rounds;
  std::map<uint64_t, std::vector<std::string>> results;
  net::Clock::time_point nextQuestion;

  mutable std::vector<Position> positions;
  int wake = -1; ///< an eventfd that ends the watcher's sleep
  std::thread::id watcherId;
  net::Clock::time_point nextBeat;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_NET_NETCHANNEL_H
