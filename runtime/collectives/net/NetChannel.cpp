//===- NetChannel.cpp - the side channel over sockets ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A star: every rank has a connection to rank 0, over TCP or, where all are on
// one host, through a Unix socket. Rank 0 knows where all are, as each tells it
// 100 times a second; it judges who is lost and which failure came first, and
// passes on what is exchanged. The others watch rank 0, so that its loss is
// noticed by each. A process that ended is seen by its connection, one that is
// frozen by its silence.
//
// Ranks of one host share memory. Their positions lie there, and the failure
// that is written there first is the run's: a rank in a barrier sees it without
// a frame.
//
// The watcher alone receives; any thread sends. A process that ends with bytes
// unread resets its connection, which may take the last frames with it: so
// those that matter (Failed, Bye) are followed by a short wait for the other
// end.
//
//===----------------------------------------------------------------------===//

#include "../../support/Cores.h"
#include "../processes/Segment.h"
#include "NetRendezvous.h"

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <map>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tprt;
using namespace tprt::net;

namespace {

constexpr auto kBeat = std::chrono::milliseconds(10);
/// So often a rank is found silent before it is lost, as the one who looks may
/// itself have stood still.
constexpr int kLooks = 50;
/// How long a wait lasts until the ranks are asked whether they disagree.
constexpr double kAskSeconds = 0.5;
/// How long rank 0 may take to answer, and a frame to get through at the end.
constexpr auto kAnswerTime = std::chrono::milliseconds(300);
/// On a crowded host a process that the system says is not stopped may only
/// have to wait for a core: at least so long.
constexpr double kStarvedSeconds = 10;

/// The state letter of /proc/PID/stat; 0 if it cannot be read.
char processState(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  size_t end = line.rfind(')');
  return end != std::string::npos && end + 2 < line.size() ? line[end + 2] : 0;
}

class NetChannel : public SideChannel {
public:
  NetChannel(RankConnections connections, const ProcessInfo &process,
             const Options &options, std::shared_ptr<const Segment> memory);
  /// Takes leave, once what was exchanged has been sent.
  ~NetChannel() override;

  bool hearsAll() const override { return memory || rank() == 0; }
  Expected<std::string> fromRoot(const std::string &bytes) override;
  /// Through the memory, where there is one.
  Expected<std::vector<uint64_t>> exchangeValues(uint64_t value) override;

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
    Connection connection;
    int process = 0; ///< its id, if it is one of this host
    bool finished = false, ended = false;
    uint64_t received = 0;
    int looks = 0;
    Clock::time_point since;
    std::string complaint; ///< what it last found its ranks to disagree on
  };
  /// An exchange, on rank 0.
  struct Round {
    std::vector<std::optional<std::string>> pieces;
    std::vector<bool> wanted;
    int64_t here = 0;
  };

  std::string whyLost(Peer &peer) const;
  Status late(uint64_t round, int64_t waiting);
  Expected<std::vector<std::string>> resultOf(uint64_t round);
  Status arrive();
  void poll(int milliseconds);
  void handle(int64_t rank, const Frame &frame);
  void addPiece(int64_t rank, Piece piece);
  void answer(int64_t rank, const Stuck &stuck);
  void decide(const Failure &failure);
  void wakeUp();
  std::vector<pollfd> pending() const;

  mutable std::mutex mutex; // guards all that follows
  std::condition_variable changed;
  /// By rank on rank 0, its own closed; rank 0's on the others.
  std::vector<Peer> peers;
  std::optional<Failure> decided; ///< the run's first failure
  uint64_t round = 0;             ///< exchanges that this rank came to
  std::map<uint64_t, Round> rounds;
  std::map<uint64_t, std::vector<std::string>> results;
  Clock::time_point nextQuestion;

  const std::shared_ptr<const Segment> memory;
  GroupState everyone{}; ///< in the memory
  const bool crowded;    ///< more ranks than cores: do not spin
  mutable std::vector<Position> positions; ///< where there is no memory
  int wake = -1; ///< an eventfd that ends the watcher's sleep
  std::thread::id watcherId;
  Clock::time_point nextBeat;
};

} // namespace

std::unique_ptr<SideChannel>
net::makeChannel(RankConnections connections, const ProcessInfo &process,
                 const SideChannel::Options &options,
                 std::shared_ptr<const Segment> memory) {
  return std::make_unique<NetChannel>(std::move(connections), process, options,
                                      std::move(memory));
}

//===----------------------------------------------------------------------===//
// Coming and leaving
//===----------------------------------------------------------------------===//

NetChannel::NetChannel(RankConnections connections, const ProcessInfo &where,
                       const Options &options,
                       std::shared_ptr<const Segment> shared)
    : SideChannel(where, options), peers(connections.peers.size()),
      memory(std::move(shared)), crowded(where.ranks > availableCores()),
      positions(memory ? 0 : size_t(where.ranks)) {
  process.localRank = connections.localRank;
  process.localRanks = connections.localRanks;
  for (size_t i = 0; i < peers.size(); ++i) {
    peers[i].connection = std::move(connections.peers[i]);
    peers[i].process = peerProcess(peers[i].connection);
    peers[i].since = Clock::now();
  }
  if (rank() == 0)
    peers[0].finished = peers[0].ended = true;
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  nextBeat = Clock::now();
  start();
}

NetChannel::~NetChannel() {
  if (!failure().ok()) {
    finish();
    flush();
  } else {
    std::unique_lock lock(mutex);
    for (Peer &peer : peers)
      peer.connection.send(encode(Type::Bye));
    wakeUp();
    // Exchanged bytes go first, however many they are.
    auto sent = [&] {
      return std::ranges::all_of(peers, [](const Peer &peer) {
        return peer.ended || !peer.connection.sending();
      });
    };
    auto heard = [&] {
      return std::ranges::all_of(
          peers, [](const Peer &peer) { return peer.ended || peer.finished; });
    };
    changed.wait_for(lock, std::chrono::duration<double>(timeout()), sent);
    changed.wait_for(lock, kAnswerTime, heard);
  }
  finish();
  close(wake);
}

/// The poll entries of connections that have not ended.
std::vector<pollfd> NetChannel::pending() const {
  std::vector<pollfd> entries;
  for (const Peer &peer : peers)
    if (!peer.ended)
      entries.push_back(
          {peer.connection.fd,
           short(POLLIN | (peer.connection.sending() ? POLLOUT : 0)), 0});
  return entries;
}

void NetChannel::flush() {
  if (rank() != 0 || memory)
    return;
  std::unique_lock lock(mutex, std::defer_lock);
  // The other thread may be in the middle of something, for good.
  for (int i = 0; i < 50 && !lock.try_lock(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!lock.owns_lock())
    return;
  auto deadline = Clock::now() + kAnswerTime;
  for (Peer &peer : peers)
    if (!peer.connection.sending())
      shutdown(peer.connection.fd, SHUT_WR);
  while (remaining(deadline) > 0) {
    std::vector<pollfd> entries = pending();
    if (entries.empty())
      return;
    ::poll(entries.data(), entries.size(), remaining(deadline));
    for (Peer &peer : peers) {
      peer.connection.flush();
      peer.ended = !peer.connection.receive();
      while (peer.connection.next())
        ;
    }
  }
}

//===----------------------------------------------------------------------===//
// Watching
//===----------------------------------------------------------------------===//

Position &NetChannel::position(int64_t rank) const {
  return memory ? memory->positions()[rank] : positions[rank];
}

void NetChannel::wakeUp() {
  uint64_t one = 1;
  (void)!write(wake, &one, sizeof(one));
}

void NetChannel::beat() {
  std::lock_guard lock(mutex);
  watcherId = std::this_thread::get_id();
  if (memory && !decided)
    if (auto failure = memory->failure())
      decide(*failure);
  if (Clock::now() < nextBeat)
    return;
  nextBeat = Clock::now() + kBeat;
  const Position &mine = position(rank());
  std::string frame =
      encode(Beat{mine.site(), mine.calls, mine.isInside(), mine.toldToEnd});
  for (Peer &peer : peers)
    // A peer that gets other bytes sees by them that this rank is alive.
    if (!peer.connection.sending())
      peer.connection.send(frame);
}

void NetChannel::rest() { poll(std::max(1, remaining(nextBeat))); }

/// Waits for what arrives, and handles it.
void NetChannel::poll(int milliseconds) {
  std::unique_lock lock(mutex);
  std::vector<pollfd> entries = pending();
  lock.unlock();
  entries.push_back({wake, POLLIN, 0});
  ::poll(entries.data(), entries.size(), milliseconds);
  uint64_t count;
  (void)!read(wake, &count, sizeof(count));
  lock.lock();
  for (size_t i = 0; i < peers.size(); ++i) {
    Peer &peer = peers[i];
    if (peer.ended)
      continue;
    bool sending = peer.connection.sending();
    peer.connection.flush();
    bool open = peer.connection.receive();
    while (auto frame = peer.connection.next())
      handle(int64_t(i), *frame);
    peer.ended = !open;
    if (peer.ended || (sending && !peer.connection.sending()))
      changed.notify_all();
  }
}

/// Says why a peer is lost: it ended, or was silent for too long. Empty: it is
/// alive, or may be.
std::string NetChannel::whyLost(Peer &peer) const {
  if (!peer.connection.error().ok())
    return "its connection is broken: " + peer.connection.error().message();
  if (peer.ended)
    return peer.process ? "its process ended"
                        : "its process ended, or its connection did";
  auto now = Clock::now();
  if (peer.connection.received() != peer.received) {
    peer.received = peer.connection.received();
    peer.since = now;
    peer.looks = 0;
    return "";
  }
  double silent = std::chrono::duration<double>(now - peer.since).count(),
         limit = options.silenceSeconds;
  if (++peer.looks < kLooks || silent <= limit)
    return "";
  char state = peer.process ? processState(peer.process) : 0;
  if (state == 'T' || state == 't')
    return "its process is stopped";
  if (state)
    limit = std::max(kStarvedSeconds, limit);
  if (silent <= limit)
    return "";
  return detail::join("its process gave no sign of life for ", limit, " s");
}

std::optional<Failure> NetChannel::look() {
  std::lock_guard lock(mutex);
  if (decided)
    return std::nullopt;
  for (int64_t i = 0; i < int64_t(peers.size()); ++i) {
    if (peers[i].finished)
      continue;
    if (std::string what = whyLost(peers[i]); !what.empty())
      return Failure{lostError("rank ", i, " is lost: ", what,
                               "; it was last seen ", lastSeen(i)),
                     i};
  }
  return std::nullopt;
}

/// A frame of rank i. The mutex is held.
void NetChannel::handle(int64_t i, const Frame &frame) {
  auto garbage = [&] {
    decide(
        {lostError("rank ", i, " is lost: what it sent is not understood"), i});
  };
  switch (frame.type) {
  case Type::Beat: {
    auto beat = decode<Beat>(frame.body);
    if (!beat)
      return garbage();
    if (memory)
      return;
    Position &position = positions[i];
    position.id = beat->site.id;
    position.layer = beat->site.layer;
    position.calls = beat->calls;
    position.inside = beat->inside;
    position.toldToEnd = beat->toldToEnd;
    return;
  }
  case Type::Piece: {
    auto piece = decode<Piece>(frame.body);
    if (!piece || rank() != 0)
      return garbage();
    return addPiece(i, std::move(*piece));
  }
  case Type::All: {
    auto all = decode<All>(frame.body, size());
    if (!all || rank() == 0)
      return garbage();
    results[all->round] = std::move(all->pieces);
    changed.notify_all();
    return;
  }
  case Type::Failed: {
    auto failure = decodeFailure(frame.body, size());
    if (!failure)
      return garbage();
    return decide(*failure);
  }
  case Type::Stuck: {
    auto stuck = decode<Stuck>(frame.body, size());
    if (!stuck || rank() != 0)
      return garbage();
    return answer(i, *stuck);
  }
  case Type::Bye:
    if (!frame.body.empty())
      return garbage();
    peers[i].finished = true;
    // So that it need not wait for this rank to end.
    if (rank() == 0)
      peers[i].connection.send(encode(Type::Bye));
    changed.notify_all();
    return;
  case Type::Hello:
  case Type::Heard:
  case Type::Refuse:
  case Type::Welcome:
    return garbage();
  }
}

//===----------------------------------------------------------------------===//
// Exchange
//===----------------------------------------------------------------------===//

/// On rank 0, with the mutex held.
void NetChannel::addPiece(int64_t from, Piece piece) {
  Round &r = rounds[piece.round];
  r.pieces.resize(size_t(size()));
  r.wanted.resize(size_t(size()));
  if (!r.pieces[from])
    ++r.here;
  r.pieces[from] = std::move(piece.bytes);
  r.wanted[from] = piece.wanted;
  if (r.here < size())
    return;
  All all{piece.round, {}};
  for (auto &bytes : r.pieces)
    all.pieces.push_back(std::move(*bytes));
  std::string frame;
  for (int64_t i = 1; i < size(); ++i)
    if (r.wanted[i]) {
      if (frame.empty())
        frame = encode(all);
      peers[i].connection.send(frame);
    }
  rounds.erase(piece.round);
  results[all.round] = std::move(all.pieces);
  changed.notify_all();
}

/// On rank 0, with the mutex held: who has not come to an exchange.
Status NetChannel::late(uint64_t number, int64_t waiting) {
  std::vector<int64_t> missing;
  const Round &r = rounds[number];
  for (int64_t i = 0; i < size(); ++i)
    if (r.pieces.empty() || !r.pieces[i])
      missing.push_back(i);
  return waitedFor(missing, waiting);
}

Expected<std::vector<std::string>> NetChannel::pass(const std::string &bytes,
                                                    bool wanted) {
  uint64_t mine;
  {
    std::lock_guard lock(mutex);
    mine = round++;
    Piece piece{mine, wanted, bytes};
    if (rank() == 0)
      addPiece(0, std::move(piece));
    else
      peers[0].connection.send(encode(piece));
    wakeUp();
  }
  return wanted || rank() == 0 ? resultOf(mine) : std::vector<std::string>();
}

Expected<std::string> NetChannel::fromRoot(const std::string &bytes) {
  TPRT_TRY(failure());
  uint64_t mine;
  {
    std::lock_guard lock(mutex);
    mine = round++;
    All all{mine, std::vector<std::string>(size_t(size()))};
    all.pieces[0] = bytes;
    std::string frame = encode(all);
    for (Peer &peer : peers)
      if (rank() == 0)
        peer.connection.send(frame);
    wakeUp();
  }
  if (rank() == 0)
    return bytes;
  TPRT_ASSIGN(auto result, resultOf(mine));
  return std::move(result.front());
}

/// Waits for the end of an exchange.
Expected<std::vector<std::string>> NetChannel::resultOf(uint64_t mine) {
  std::unique_lock lock(mutex);
  auto done = [&] { return decided || results.count(mine); };
  auto limit = std::chrono::duration<double>(timeout());
  if (!changed.wait_for(lock, limit, done)) {
    if (rank() == 0) {
      Status status = late(mine, 0);
      lock.unlock();
      return abort(status);
    }
    Stuck stuck{true, true, {}, {}};
    stuck.where.calls = mine;
    peers[0].connection.send(encode(stuck));
    wakeUp();
    if (!changed.wait_for(lock, std::chrono::seconds(2), done)) {
      lock.unlock();
      return abort(lostError("rank ", rank(), " waited in ",
                             options.describe(CallSite()),
                             ": it did not end within ", timeout(), " s"));
    }
  }
  if (decided) {
    lock.unlock();
    return failure();
  }
  auto result = std::move(results[mine]);
  results.erase(mine);
  return result;
}

/// All ranks have come to the same exchange of values.
Status NetChannel::arrive() {
  std::vector<int64_t> late;
  auto result = everyone.meet(rank(), size(),
                              {.oneProcess = false,
                               .crowded = crowded,
                               .timeout = timeout(),
                               .aborted = memory->aborted()},
                              late);
  if (result == Barrier::Result::Passed)
    return {};
  TPRT_TRY(failure());
  return abort(waitedFor(late, rank()));
}

Expected<std::vector<uint64_t>> NetChannel::exchangeValues(uint64_t value) {
  TPRT_TRY(failure());
  if (!memory)
    return SideChannel::exchangeValues(value);
  if (!everyone.barrier) {
    std::vector<int64_t> all;
    for (int64_t r = 0; r < size(); ++r)
      all.push_back(r);
    everyone = memory->group(all);
    TPRT_TRY(failure()); // who made the group may be lost in the middle of it
  }
  everyone.slots[rank()].value = value;
  TPRT_TRY(arrive());
  std::vector<uint64_t> values;
  for (int64_t r = 0; r < size(); ++r)
    values.push_back(everyone.slots[r].value);
  TPRT_TRY(arrive());
  return values;
}

//===----------------------------------------------------------------------===//
// Waits in a transport's calls
//===----------------------------------------------------------------------===//

Status NetChannel::waiting(const std::vector<int64_t> &members,
                           double seconds) {
  if (hearsAll())
    return SideChannel::waiting(members, seconds);
  if (seconds > timeout() + 2)
    return lostError("rank ", rank(), " waited for longer than ", timeout(),
                     " s");
  if (seconds < kAskSeconds && seconds < timeout())
    return {};
  std::lock_guard lock(mutex);
  // A few times a second is enough.
  if (Clock::now() < nextQuestion)
    return {};
  nextQuestion = Clock::now() + std::chrono::milliseconds(100);
  const Position &mine = positions[rank()];
  peers[0].connection.send(encode(Stuck{
      false, seconds > timeout(), {waitingIn(), mine.calls, true}, members}));
  return {};
}

/// On rank 0, with the mutex held.
void NetChannel::answer(int64_t from, const Stuck &stuck) {
  if (stuck.exchange)
    return decide({late(stuck.where.calls, from), from});
  const Beat &where = stuck.where;
  Status status = disagreement(where.site, where.calls, stuck.members, from);
  // Twice the same, as what is known of the others may be half new.
  Peer &peer = peers[from];
  bool sure = !status.ok() && status.message() == peer.complaint;
  peer.complaint = status.message();
  if (sure)
    return decide({status, from});
  if (stuck.timedOut)
    decide({missing(where.site, where.calls, stuck.members, from), from});
}

//===----------------------------------------------------------------------===//
// Failing
//===----------------------------------------------------------------------===//

std::optional<Failure> NetChannel::failed() const {
  if (memory)
    return memory->failure();
  std::lock_guard lock(mutex);
  return decided;
}

/// Keeps the first failure; rank 0 passes it on. The mutex is held.
void NetChannel::decide(const Failure &failure) {
  if (decided)
    return;
  decided = failure;
  if (memory) {
    memory->fail(failure);
    decided = memory->failure();
  }
  if (rank() == 0)
    for (Peer &peer : peers)
      peer.connection.send(encode(*decided));
  changed.notify_all();
}

void NetChannel::fail(const Failure &failure) {
  std::unique_lock lock(mutex);
  if (decided)
    return;
  if (rank() == 0 || memory)
    return decide(failure);
  peers[0].connection.send(encode(failure));
  // Rank 0 says what came first, unless it is the one that is lost.
  if (!(failure.rank == 0 && failure.status.code() == Code::Lost)) {
    auto deadline = Clock::now() + kAnswerTime;
    while (!decided && !peers[0].ended && remaining(deadline) > 0) {
      if (std::this_thread::get_id() == watcherId) {
        lock.unlock();
        poll(std::max(1, remaining(deadline)));
        lock.lock();
      } else {
        changed.wait_until(lock, deadline);
      }
    }
  }
  decide(failure);
}
