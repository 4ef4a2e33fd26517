//===- NetRendezvous.cpp - how ranks meet ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller sends Hello and is answered Heard or Refuse at once, so that it can
// tell rank 0 from another program at the same port. A caller that is not
// answered hangs up and calls again; one that is says Heard too, and stays.
// Only then has its rank come: rank 0 may have stood still while one rank
// called several times, and finds all of its calls at once. Welcome follows
// once all ranks have come. Every wait ends with the time limit and says who is
// missing.
//
// So a new call of a rank replaces one that is not answered yet or has ended;
// it is refused while another process holds that rank. A rank that leaves may
// come again for a few seconds, after which it is lost.
//
// If strangers call without end, those who have been silent longest go first: a
// rank's greeting comes with its call, and it calls again.
//
//===----------------------------------------------------------------------===//

#include "NetRendezvous.h"

#include "tprt/artifact.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <poll.h>
#include <thread>
#include <utility>

using namespace tprt;
using namespace tprt::net;

namespace {

constexpr auto kHelloTime = std::chrono::seconds(2);
/// How long a rank that another job turned away looks for its own rank 0, which
/// then listens at another port and may come later.
constexpr auto kOtherJobTime = std::chrono::seconds(5);
/// How long a rank that left may take to come again.
constexpr auto kReturnTime = std::chrono::seconds(5);
constexpr const char *kTurnedAway = "rank 0 turned this process away: ";
/// Bytes that are read of a caller that has not said who it is, and of an
/// answer by one that may not be rank 0.
constexpr uint64_t kGreetingBytes = 1 << 10, kAnswerBytes = 64 << 10;

/// A rendezvous in words.
struct Words {
  std::string where;  ///< after `the rendezvous`
  std::string advice; ///< after what is missing

  template <typename... Parts>
  Status incomplete(double timeout, const Parts &...missing) const {
    return userError("the rendezvous ", where, " did not complete in ", timeout,
                     " s: ", missing..., " did not come", advice);
  }
};

std::string listText(const std::vector<std::string> &hosts,
                     const std::vector<int> &ports) {
  std::string text;
  for (const std::string &host : hosts)
    text += (text.empty() ? "" : ", ") + host;
  if (!ports.empty())
    text += ":" + std::to_string(ports[0]);
  return text;
}

/// Sends to all, waiting a little for those that are slow.
void tell(std::vector<Connection> &peers, const std::string &frame) {
  auto deadline = Clock::now() + std::chrono::milliseconds(300);
  for (Connection &peer : peers)
    peer.send(frame);
  for (Connection &peer : peers)
    while (peer.sending() && remaining(deadline) > 0) {
      pollfd entry{peer.fd, POLLOUT, 0};
      poll(&entry, 1, remaining(deadline));
      peer.flush();
    }
}

/// Rank 0.
class Host {
public:
  Host(const ProcessInfo &process, double timeout, Listener &listener,
       Words words)
      : process(process), timeout(timeout), listener(listener),
        words(std::move(words)) {
    connections.peers.resize(size_t(process.ranks));
    guests.resize(size_t(process.ranks));
    guests[0] = {hostIdentity(), true};
  }

  Expected<RankConnections> run() {
    auto deadline =
        Clock::now() + std::chrono::milliseconds(int64_t(timeout * 1000));
    while (true) {
      std::vector<pollfd> entries{{listener.socket.fd, POLLIN, 0}};
      for (Caller &caller : callers)
        entries.push_back({caller.connection.fd, POLLIN, 0});
      for (Connection &peer : connections.peers)
        if (peer.open())
          entries.push_back({peer.fd, POLLIN, 0});
      // Short, as callers that say nothing are dropped.
      poll(entries.data(), entries.size(), std::min(100, remaining(deadline)));
      takeCalls();
      for (size_t i = 0; i < callers.size();) {
        TPRT_TRY(hear(callers[i]));
        if (callers[i].connection.open())
          ++i;
        else
          callers.erase(callers.begin() + long(i));
      }
      int64_t here = 0;
      for (int64_t rank = 0; rank < process.ranks; ++rank)
        here += isHere(rank);
      if (here == process.ranks)
        break;
      TPRT_TRY(checkLeft());
      // After all that came while this process stood still.
      if (remaining(deadline) == 0)
        return giveUp(late());
    }
    welcome();
    return std::move(connections);
  }

private:
  struct Caller {
    Connection connection;
    Clock::time_point deadline;
    /// Said by one whose rank has called already and not been heard of since.
    std::optional<Hello> waiting{};
  };
  /// A rank that has called.
  struct Guest {
    std::string host;
    bool here = false; ///< it has said that it heard the answer
    Clock::time_point called{};
    std::optional<Clock::time_point> left{}; ///< when it ended after that
  };

  /// Some of those that call; what they bring is heard before more come in.
  void takeCalls() {
    size_t ranks = size_t(process.ranks);
    for (size_t n = 0; n < ranks; ++n) {
      auto connection = accept(listener);
      if (!connection) {
        // Without descriptors the call stays there, and would be asked for
        // again at once.
        if (errno != EAGAIN)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return;
      }
      if (listener.port == 0 && !ofThisUser(*connection))
        continue;
      if (callers.size() == 2 * ranks)
        callers.erase(callers.begin());
      connection->limit = kGreetingBytes;
      callers.push_back({std::move(*connection), Clock::now() + kHelloTime});
    }
  }

  /// Reads what a stranger says. Afterwards its connection is closed, or
  /// moved to its rank, or it is heard again. An error ends the meeting.
  Status hear(Caller &caller) {
    bool open = caller.connection.receive();
    if (caller.waiting) {
      if (open)
        return admit(caller, Hello(*caller.waiting));
      caller.connection.close();
      return {};
    }
    auto frame = caller.connection.next();
    if (!frame) {
      if (!open || remaining(caller.deadline) == 0)
        caller.connection.close();
      return {};
    }
    uint32_t version = 0;
    bool isHello =
        frame->type == Type::Hello && BodyReader(frame->body)(version);
    if (isHello && version != Hello().version)
      return refuse(caller, detail::join("it speaks version ", version,
                                         " of the runtime's protocol, rank 0 "
                                         "version ",
                                         Hello().version));
    auto hello = isHello ? decode<Hello>(frame->body) : std::optional<Hello>();
    if (!hello) {
      caller.connection.close();
      return {};
    }
    if (hello->token != checksum(process.token))
      return refuse(caller,
                    "it brings the token of another job (a rank that is left "
                    "of an earlier run, or the same address and port?)");
    return admit(caller, *hello);
  }

  /// One that brings the job's token is believed. Of two that say they are one
  /// rank, the second waits until it is known whether the first is still there.
  Status admit(Caller &caller, const Hello &hello) {
    int64_t rank = hello.rank;
    Status status;
    if (hello.ranks != process.ranks)
      status = userError("rank ", rank, " was told of ", hello.ranks,
                         " ranks, rank 0 of ", process.ranks);
    else if (rank <= 0 || rank >= process.ranks || isHere(rank))
      status = userError("rank ", rank, " came to the rendezvous twice");
    if (!status.ok()) {
      caller.connection.send(encode(Type::Refuse, status.message()));
      return giveUp(status);
    }
    Guest &guest = guests[size_t(rank)];
    if (connections.peers[size_t(rank)].open() &&
        Clock::now() - guest.called < kHelloTime) {
      caller.waiting = hello;
      return {};
    }
    guest = {hello.host.empty() ? "?" : hello.host, false, Clock::now()};
    caller.connection.send(encode(Type::Heard));
    caller.connection.limit = 2 * kGreetingBytes;
    connections.peers[size_t(rank)] = std::move(caller.connection);
    return {};
  }

  /// Reads what a rank says; whether it is there. Rank 0 always is.
  bool isHere(int64_t rank) {
    Guest &guest = guests[size_t(rank)];
    Connection &peer = connections.peers[size_t(rank)];
    if (!peer.open())
      return guest.here;
    bool open = peer.receive();
    if (!guest.here)
      if (auto frame = peer.next()) {
        guest.here = frame->type == Type::Heard;
        open &= guest.here;
        peer.limit = UINT64_MAX;
      }
    if (!open) {
      peer.close();
      if (std::exchange(guest.here, false))
        guest.left = Clock::now();
    }
    return guest.here;
  }

  /// Fails if a rank has left for good.
  Status checkLeft() {
    for (size_t rank = 1; rank < guests.size(); ++rank)
      if (auto left = guests[rank].left;
          left && Clock::now() - *left > kReturnTime)
        return giveUp(lostError(
            "rank ", rank, " is lost: it left the rendezvous ", words.where));
    return {};
  }

  Status refuse(Caller &caller, const std::string &why) {
    caller.connection.send(encode(Type::Refuse, kTurnedAway + why));
    caller.connection.close();
    return {};
  }

  Status late() const {
    std::string missing;
    for (int64_t rank = 1; rank < process.ranks; ++rank)
      if (!guests[size_t(rank)].here)
        missing +=
            (missing.empty() ? "rank " : ", rank ") + std::to_string(rank);
    return words.incomplete(timeout, missing, " of ", process.ranks, " (",
                            process.source, ")");
  }

  Status giveUp(const Status &status) {
    tell(connections.peers, encode(Type::Refuse, status.message()));
    return status;
  }

  void welcome() {
    std::map<std::string, int64_t> counts;
    std::vector<int64_t> locals;
    for (const Guest &guest : guests)
      locals.push_back(counts[guest.host]++);
    for (size_t rank = 0; rank < guests.size(); ++rank)
      connections.peers[rank].send(
          encode(Welcome{locals[rank], counts[guests[rank].host]}));
    connections.localRank = locals[0];
    connections.localRanks = counts[guests[0].host];
  }

  const ProcessInfo &process;
  double timeout;
  Listener &listener;
  Words words;
  std::vector<Caller> callers; ///< strangers, the oldest first
  std::vector<Guest> guests;   ///< by rank
  RankConnections connections;
};

/// Calls one address.
using Call = std::function<std::optional<Connection>(Clock::time_point)>;

/// Calls one address: gives a connection to rank 0, a refusal, or nothing, so
/// that one tries again. `turnedAway` is why it was not this job's rank 0 that
/// answered.
Expected<std::optional<Connection>> greet(const ProcessInfo &process,
                                          const Call &call,
                                          Clock::time_point deadline,
                                          std::string &turnedAway) {
  auto connection = call(deadline);
  if (!connection)
    return std::optional<Connection>();
  connection->limit = kAnswerBytes;
  Hello hello;
  hello.rank = process.rank;
  hello.ranks = process.ranks;
  hello.token = checksum(process.token);
  hello.host = hostIdentity();
  connection->send(encode(hello));
  auto answer = connection->wait(Clock::now() + kHelloTime);
  if (answer && answer->type == Type::Refuse) {
    if (!answer->body.starts_with(kTurnedAway))
      return userError("rank ", process.rank, ": ", answer->body);
    turnedAway = answer->body;
    return std::optional<Connection>();
  }
  if (!answer || answer->type != Type::Heard)
    return std::optional<Connection>();
  connection->send(encode(Type::Heard));
  return std::optional<Connection>(std::move(*connection));
}

/// Waits for the others, once rank 0 has heard this one.
Expected<RankConnections> enter(const ProcessInfo &process, Connection root,
                                Clock::time_point deadline, double timeout,
                                const Words &words) {
  std::string self = detail::join("rank ", process.rank);
  // Rank 0 answers by its own deadline, which may be a little later.
  auto answer = root.wait(deadline + std::chrono::seconds(2));
  if (!answer && remaining(deadline) > 0)
    return lostError(self, ": rank 0 is lost: it left the rendezvous ",
                     words.where);
  if (!answer)
    return words.incomplete(timeout, "the other ranks").in(self);
  if (answer->type == Type::Refuse)
    return userError(self, ": ", answer->body);
  auto welcome = answer->type == Type::Welcome ? decode<Welcome>(answer->body)
                                               : std::optional<Welcome>();
  if (!welcome)
    return userError(self, ": the rendezvous gave an answer that is none");
  root.limit = UINT64_MAX;
  RankConnections connections;
  connections.peers.push_back(std::move(root));
  connections.localRank = welcome->localRank;
  connections.localRanks = welcome->localRanks;
  return connections;
}

/// The other ranks.
Expected<RankConnections> join(const ProcessInfo &process, double timeout,
                               const std::vector<Call> &calls,
                               const Words &words) {
  auto deadline =
      Clock::now() + std::chrono::milliseconds(int64_t(timeout * 1000));
  std::string self = detail::join("rank ", process.rank), turnedAway;
  auto searchUntil = deadline;
  while (true) {
    for (const Call &call : calls) {
      bool first = turnedAway.empty();
      TPRT_ASSIGN(auto root, greet(process, call, searchUntil, turnedAway));
      if (root)
        return enter(process, std::move(*root), deadline, timeout, words);
      // There is no other rank 0 if there is one address.
      if (first && !turnedAway.empty())
        searchUntil = std::min(
            deadline, Clock::now() + (calls.size() > 1 ? kOtherJobTime
                                                       : Clock::duration()));
    }
    if (remaining(searchUntil) == 0 && !turnedAway.empty())
      return userError(self, ": ", turnedAway);
    if (remaining(searchUntil) == 0)
      return words
          .incomplete(timeout, "rank 0 of ", process.ranks, " (",
                      process.source, ")")
          .in(self);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

RankConnections alone() {
  RankConnections connections;
  connections.peers.resize(1);
  return connections;
}

} // namespace

Expected<RankConnections> net::rendezvous(const ProcessInfo &process,
                                          double timeoutSeconds,
                                          Listener *listener) {
  if (process.ranks == 1)
    return alone();
  if (process.rank != 0) {
    std::vector<Call> calls;
    for (const std::string &host : process.addresses)
      for (int port : process.ports)
        calls.push_back([&host, port](Clock::time_point deadline) {
          return connect(host, port, deadline);
        });
    return join(process, timeoutSeconds, calls,
                {"at " + listText(process.addresses, process.ports), ""});
  }
  std::optional<Listener> own;
  if (!listener) {
    TPRT_ASSIGN(auto made, listen(process.ports, process.addresses.at(0)));
    listener = &own.emplace(std::move(made));
  }
  return Host(process, timeoutSeconds, *listener,
              {detail::join("at port ", listener->port), ""})
      .run();
}

Expected<RankConnections> net::rendezvousHere(const ProcessInfo &process,
                                              const std::string &name,
                                              double timeoutSeconds) {
  if (process.ranks == 1)
    return alone();
  Words words{"'" + name + "'", "; all ranks must run on this host"};
  if (process.rank != 0)
    return join(process, timeoutSeconds,
                {[&name](Clock::time_point) { return connectHere(name); }},
                words);
  TPRT_ASSIGN(auto listener, listenHere(name));
  return Host(process, timeoutSeconds, listener, words).run();
}
