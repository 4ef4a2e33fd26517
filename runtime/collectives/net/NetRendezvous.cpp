//===- NetRendezvous.cpp - how ranks meet ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller sends Hello and is answered Heard or Refuse at once, so that it can
// tell rank 0 from another program at the same port; Welcome comes once all
// ranks are there. Every wait ends with the time limit and says who is missing.
// Where strangers call without end, those who have been silent longest go
// first: a rank's greeting comes with its call, and it calls again.
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

using namespace tprt;
using namespace tprt::net;

namespace {

constexpr auto kHelloTime = std::chrono::seconds(2);
/// How long a rank that another job turned away looks for its own rank 0, which
/// then listens at another port and may come later.
constexpr auto kOtherJobTime = std::chrono::seconds(5);
constexpr const char *kTurnedAway = "rank 0 turned this process away: ";
/// What is read of a caller that has not said who it is, and of an answer by
/// one that may not be rank 0.
constexpr uint64_t kGreetingBytes = 1 << 10, kAnswerBytes = 64 << 10;

/// A rendezvous in words.
struct Words {
  std::string where;  ///< after `the rendezvous`
  std::string advice; ///< after what is missing
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
  Host(const Place &place, double timeout, Listener &listener, Words words)
      : place(place), timeout(timeout), listener(listener),
        words(std::move(words)) {
    meeting.peers.resize(size_t(place.ranks));
    hosts.resize(size_t(place.ranks));
    hosts[0] = hostIdentity();
  }

  Expected<Meeting> run() {
    auto deadline =
        Clock::now() + std::chrono::milliseconds(int64_t(timeout * 1000));
    int64_t missing = place.ranks - 1;
    while (missing > 0) {
      std::vector<pollfd> entries{{listener.socket.fd, POLLIN, 0}};
      for (Caller &caller : callers)
        entries.push_back({caller.connection.fd, POLLIN, 0});
      // Short, as callers that say nothing are dropped.
      poll(entries.data(), entries.size(), std::min(100, remaining(deadline)));
      if (remaining(deadline) == 0)
        return giveUp(late());
      takeCalls();
      for (size_t i = 0; i < callers.size();) {
        auto came = hear(callers[i]);
        if (!came)
          return giveUp(came.status());
        missing -= *came == Heard::Rank;
        if (*came == Heard::Nothing)
          ++i;
        else
          callers.erase(callers.begin() + long(i));
      }
      for (int64_t rank = 1; rank < place.ranks; ++rank)
        if (here(rank) && !meeting.peers[rank].receive())
          return giveUp(lostError(
              "rank ", rank, " is lost: it left the rendezvous ", words.where));
    }
    welcome();
    return std::move(meeting);
  }

private:
  struct Caller {
    Connection connection;
    Clock::time_point deadline;
  };
  enum class Heard { Nothing, Rank, Dropped };

  bool here(int64_t rank) const { return !hosts[rank].empty(); }

  /// Some of those that call; what they bring is heard before more come in.
  void takeCalls() {
    size_t ranks = size_t(place.ranks);
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

  Expected<Heard> hear(Caller &caller) {
    bool open = caller.connection.receive();
    auto frame = caller.connection.next();
    if (!frame)
      return open && remaining(caller.deadline) > 0 ? Heard::Nothing
                                                    : Heard::Dropped;
    auto hello = frame->type == Type::Hello ? decode<Hello>(frame->body)
                                            : std::optional<Hello>();
    if (!hello)
      return Heard::Dropped;
    if (hello->version != Hello().version) {
      refuse(caller, detail::join("it speaks version ", hello->version,
                                  " of the runtime's protocol, rank 0 version ",
                                  Hello().version));
      return Heard::Dropped;
    }
    if (hello->token != checksum(place.token)) {
      refuse(caller, "it brings the token of another job (a rank that is left "
                     "of an earlier run, or the same address and port?)");
      return Heard::Dropped;
    }
    int64_t rank = hello->rank;
    Status status;
    if (hello->ranks != place.ranks)
      status = userError("rank ", rank, " was told of ", hello->ranks,
                         " ranks, rank 0 of ", place.ranks);
    else if (rank <= 0 || rank >= place.ranks || here(rank))
      status = userError("rank ", rank, " came to the rendezvous twice");
    if (!status.ok()) {
      std::string frame = encode(Type::Refuse, status.message());
      caller.connection.send(frame);
      return status;
    }
    hosts[rank] = hello->host.empty() ? "?" : hello->host;
    caller.connection.send(encode(Type::Heard));
    caller.connection.limit = UINT64_MAX;
    meeting.peers[rank] = std::move(caller.connection);
    return Heard::Rank;
  }

  void refuse(Caller &caller, const std::string &why) {
    caller.connection.send(encode(Type::Refuse, kTurnedAway + why));
  }

  Status late() const {
    std::string missing;
    for (int64_t rank = 0; rank < place.ranks; ++rank)
      if (!here(rank))
        missing +=
            (missing.empty() ? "rank " : ", rank ") + std::to_string(rank);
    return userError("the rendezvous ", words.where, " did not complete in ",
                     timeout, " s: ", missing, " of ", place.ranks, " (",
                     place.source, ") did not come", words.advice);
  }

  Status giveUp(const Status &status) {
    tell(meeting.peers, encode(Type::Refuse, status.message()));
    return status;
  }

  void welcome() {
    std::map<std::string, int64_t> counts;
    std::vector<int64_t> locals;
    for (const std::string &host : hosts)
      locals.push_back(counts[host]++);
    for (int64_t rank = 0; rank < place.ranks; ++rank)
      meeting.peers[rank].send(
          encode(Welcome{locals[rank], counts[hosts[rank]]}));
    meeting.localRank = locals[0];
    meeting.localRanks = counts[hosts[0]];
  }

  const Place &place;
  double timeout;
  Listener &listener;
  Words words;
  std::vector<Caller> callers;    ///< strangers, the oldest first
  std::vector<std::string> hosts; ///< of each rank, empty until it comes
  Meeting meeting;
};

/// Calls one address.
using Call = std::function<std::optional<Connection>(Clock::time_point)>;

/// What calling one address came to: a connection to rank 0, a refusal, or
/// nothing, so that one tries again. `turnedAway` is why it was not this job's
/// rank 0 that answered.
Expected<std::optional<Connection>> greet(const Place &place, const Call &call,
                                          Clock::time_point deadline,
                                          std::string &turnedAway) {
  auto connection = call(deadline);
  if (!connection)
    return std::optional<Connection>();
  connection->limit = kAnswerBytes;
  Hello hello;
  hello.rank = place.rank;
  hello.ranks = place.ranks;
  hello.token = checksum(place.token);
  hello.host = hostIdentity();
  connection->send(encode(hello));
  auto answer = connection->wait(Clock::now() + kHelloTime);
  if (answer && answer->type == Type::Refuse) {
    if (!answer->body.starts_with(kTurnedAway))
      return userError("rank ", place.rank, ": ", answer->body);
    turnedAway = answer->body;
    return std::optional<Connection>();
  }
  if (!answer || answer->type != Type::Heard)
    return std::optional<Connection>();
  return std::optional<Connection>(std::move(*connection));
}

/// Waits for the others, once rank 0 has heard this one.
Expected<Meeting> enter(const Place &place, Connection root,
                        Clock::time_point deadline, double timeout,
                        const Words &words) {
  // Rank 0 answers by its own deadline, which may be a little later.
  auto answer = root.wait(deadline + std::chrono::seconds(2));
  if (!answer && remaining(deadline) > 0)
    return lostError("rank ", place.rank,
                     ": rank 0 is lost: it left the rendezvous ", words.where);
  if (!answer)
    return userError("rank ", place.rank, ": the rendezvous ", words.where,
                     " did not complete in ", timeout,
                     " s: the other ranks did not come", words.advice);
  if (answer->type == Type::Refuse)
    return userError("rank ", place.rank, ": ", answer->body);
  auto welcome = answer->type == Type::Welcome ? decode<Welcome>(answer->body)
                                               : std::optional<Welcome>();
  if (!welcome)
    return userError("rank ", place.rank,
                     ": the rendezvous gave an answer that is none");
  root.limit = UINT64_MAX;
  Meeting meeting;
  meeting.peers.push_back(std::move(root));
  meeting.localRank = welcome->localRank;
  meeting.localRanks = welcome->localRanks;
  return meeting;
}

/// The other ranks.
Expected<Meeting> join(const Place &place, double timeout,
                       const std::vector<Call> &calls, const Words &words) {
  auto deadline =
      Clock::now() + std::chrono::milliseconds(int64_t(timeout * 1000));
  std::string turnedAway;
  auto searchUntil = deadline;
  while (true) {
    for (const Call &call : calls) {
      bool first = turnedAway.empty();
      TPRT_ASSIGN(auto root, greet(place, call, searchUntil, turnedAway));
      if (root)
        return enter(place, std::move(*root), deadline, timeout, words);
      // With one address there is no other rank 0.
      if (first && !turnedAway.empty())
        searchUntil = std::min(
            deadline, Clock::now() + (calls.size() > 1 ? kOtherJobTime
                                                       : Clock::duration()));
    }
    if (remaining(searchUntil) == 0 && !turnedAway.empty())
      return userError("rank ", place.rank, ": ", turnedAway);
    if (remaining(searchUntil) == 0)
      return userError("rank ", place.rank, ": the rendezvous ", words.where,
                       " did not complete in ", timeout, " s: rank 0 of ",
                       place.ranks, " (", place.source, ") did not come",
                       words.advice);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Meeting alone() {
  Meeting meeting;
  meeting.peers.resize(1);
  return meeting;
}

} // namespace

Expected<Meeting> net::meet(const Place &place, double timeoutSeconds,
                            Listener *listener) {
  if (place.ranks == 1)
    return alone();
  if (place.rank != 0) {
    std::vector<Call> calls;
    for (const std::string &host : place.addresses)
      for (int port : place.ports)
        calls.push_back([&host, port](Clock::time_point deadline) {
          return connect(host, port, deadline);
        });
    return join(place, timeoutSeconds, calls,
                {"at " + listText(place.addresses, place.ports), ""});
  }
  std::optional<Listener> own;
  if (!listener) {
    TPRT_ASSIGN(auto made, listen(place.ports, place.addresses.at(0)));
    listener = &own.emplace(std::move(made));
  }
  return Host(place, timeoutSeconds, *listener,
              {detail::join("at port ", listener->port), ""})
      .run();
}

Expected<Meeting> net::meetHere(const Place &place, const std::string &name,
                                double timeoutSeconds) {
  if (place.ranks == 1)
    return alone();
  Words words{"'" + name + "'", "; all ranks must run on this host"};
  if (place.rank != 0)
    return join(place, timeoutSeconds,
                {[&name](Clock::time_point) { return connectHere(name); }},
                words);
  TPRT_ASSIGN(auto listener, listenHere(name));
  return Host(place, timeoutSeconds, listener, words).run();
}
