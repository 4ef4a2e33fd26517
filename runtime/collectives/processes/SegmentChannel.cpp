//===- SegmentChannel.cpp - the side channel within one host --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Through memory that the rank processes of one host share. A process that
// ended is seen by its pidfd, one that is frozen by its heartbeat, and neither
// is taken for one that is busy. The memory goes with the last process, so that
// nothing is tidied up.
//
//===----------------------------------------------------------------------===//

#include "../../support/Cores.h"
#include "Segment.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tprt;

namespace {

constexpr auto kBeat = std::chrono::milliseconds(25);
/// So often a rank is found silent before it is lost, as the one who looks may
/// itself have stood still.
constexpr int kLooks = 20;
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

} // namespace

//===----------------------------------------------------------------------===//
// Watching
//===----------------------------------------------------------------------===//

Watcher::Watcher(const Segment &segment, int64_t self, double silenceSeconds)
    : segment(segment), self(self), silenceSeconds(silenceSeconds),
      peers(segment.ranks()) {}

Watcher::~Watcher() {
  for (Peer &peer : peers)
    if (peer.descriptor >= 0)
      close(peer.descriptor);
}

std::optional<Watcher::Loss> Watcher::look() {
  auto now = Clock::now();
  for (int64_t rank = 0; rank < int64_t(peers.size()); ++rank) {
    const RankRecord &record = segment.record(rank);
    Peer &peer = peers[rank];
    int process = record.process;
    if (rank == self || process == 0 || record.finished)
      continue;
    bool ended = false;
    if (!peer.met) {
      peer.met = true;
      peer.since = now;
      peer.beat = record.heartbeat;
      peer.descriptor = int(syscall(SYS_pidfd_open, process, 0));
      ended = peer.descriptor < 0 && errno == ESRCH;
    } else if (peer.descriptor < 0) {
      // Where there are no such descriptors, or no more of them.
      ended = kill(process, 0) != 0 && errno == ESRCH;
    }
    if (peer.descriptor >= 0) {
      pollfd entry{peer.descriptor, POLLIN, 0};
      ended = poll(&entry, 1, 0) > 0;
    }
    // It finishes before it ends: look in the other order.
    if (ended && !record.finished)
      return Loss{rank, "its process ended"};
    if (ended)
      continue;
    uint64_t beat = record.heartbeat;
    if (beat != peer.beat) {
      peer.beat = beat;
      peer.since = now;
      peer.looks = 0;
      continue;
    }
    ++peer.looks;
    double silent = std::chrono::duration<double>(now - peer.since).count();
    if (peer.looks < kLooks || silent < silenceSeconds)
      continue;
    char state = processState(process);
    if (state == 'T' || state == 't')
      return Loss{rank, "its process is stopped"};
    double limit =
        state ? std::max(kStarvedSeconds, silenceSeconds) : silenceSeconds;
    if (silent > limit)
      return Loss{rank, detail::join("its process gave no sign of life for ",
                                     limit, " s")};
  }
  return std::nullopt;
}

Failure tprt::lossOf(const Watcher::Loss &loss, const std::string &lastSeen) {
  return {lostError("rank ", loss.rank, " is lost: ", loss.what,
                    "; it was last seen ", lastSeen),
          loss.rank};
}

//===----------------------------------------------------------------------===//
// The channel
//===----------------------------------------------------------------------===//

namespace {

class SegmentChannel : public SideChannel {
public:
  SegmentChannel(std::shared_ptr<const Segment> segment,
                 const ProcessInfo &process, const Options &options);
  /// Takes leave of the others: what happens to them no longer matters.
  ~SegmentChannel() override;

protected:
  Expected<std::vector<std::string>> pass(const std::string &bytes,
                                          bool wanted) override;
  void beat() override;
  std::optional<Failure> look() override;
  void rest() override;
  void fail(const Failure &failure) override;
  std::optional<Failure> failed() const override;
  Position &position(int64_t rank) const override;

private:
  Status barrier();

  std::shared_ptr<const Segment> memory;
  const Segment &segment;
  Watcher peers;
  bool crowded;
};

} // namespace

std::unique_ptr<SideChannel>
tprt::makeChannel(std::shared_ptr<const Segment> segment,
                  const ProcessInfo &process,
                  const SideChannel::Options &options) {
  return std::make_unique<SegmentChannel>(std::move(segment), process, options);
}

void SegmentChannel::beat() { segment.record(rank()).heartbeat.fetch_add(1); }

std::optional<Failure> SegmentChannel::look() {
  auto loss = peers.look();
  if (!loss)
    return std::nullopt;
  return lossOf(*loss, lastSeen(loss->rank));
}

void SegmentChannel::rest() { std::this_thread::sleep_for(kBeat); }

void SegmentChannel::fail(const Failure &failure) { segment.fail(failure); }

std::optional<Failure> SegmentChannel::failed() const {
  return segment.failure();
}

Position &SegmentChannel::position(int64_t rank) const {
  return segment.positions()[rank];
}

SegmentChannel::SegmentChannel(std::shared_ptr<const Segment> shared,
                               const ProcessInfo &process,
                               const Options &options)
    : SideChannel(process, options), memory(std::move(shared)),
      segment(*memory), peers(segment, process.rank, options.silenceSeconds),
      crowded(process.ranks > availableCores()) {
  segment.record(rank()).process = getpid();
  start();
}

SegmentChannel::~SegmentChannel() {
  (void)failure();
  segment.record(rank()).finished = 1;
  finish();
}

/// All ranks have come to the same exchange.
Status SegmentChannel::barrier() {
  uint64_t mine = ++segment.record(rank()).exchanges;
  auto result =
      segment.barrier().arrive(size(), {.oneProcess = false,
                                        .crowded = crowded,
                                        .timeout = timeout(),
                                        .aborted = segment.aborted()});
  if (result == Barrier::Result::Passed)
    return {};
  TPRT_TRY(failure());
  std::vector<int64_t> late;
  for (int64_t other = 0; other < size(); ++other)
    if (segment.record(other).exchanges < mine)
      late.push_back(other);
  return abort(waitedFor(late, rank()));
}

Expected<std::vector<std::string>>
SegmentChannel::pass(const std::string &bytes, bool read) {
  std::vector<std::string> result(read ? size() : 0);
  // A piece: whether more follow, its size, its bytes.
  constexpr uint64_t kPiece = Segment::kMailboxBytes - 16;
  uint64_t done = 0;
  for (bool more = true; more;) {
    uint64_t head[2] = {bytes.size() - done > kPiece,
                        std::min(kPiece, bytes.size() - done)};
    std::memcpy(segment.mailbox(rank()), head, 16);
    std::memcpy(segment.mailbox(rank()) + 16, bytes.data() + done, head[1]);
    done += head[1];
    TPRT_TRY(barrier());
    more = false;
    for (int64_t other = 0; other < size(); ++other) {
      std::memcpy(head, segment.mailbox(other), 16);
      more |= head[0] != 0;
      if (read)
        result[other].append(segment.mailbox(other) + 16, head[1]);
    }
    TPRT_TRY(barrier());
  }
  return result;
}
