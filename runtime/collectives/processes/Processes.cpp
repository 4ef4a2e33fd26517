//===- Processes.cpp - ranks that are processes of one host ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watching and reporting. A rank may be anywhere when another is lost, in a
// barrier or in the middle of a product, so the watching thread ends the
// process itself; shared memory goes with the last process.
//
//===----------------------------------------------------------------------===//

#include "Processes.h"

#include "../../core/Cpu.h"

#include <cstring>
#include <fstream>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tprt;

namespace {

constexpr auto kBeat = std::chrono::milliseconds(25);
/// A heart that stands still this long is frozen: known to be stopped, and not
/// known. Looks count too, as the one who looks may itself have been frozen.
constexpr double kStoppedSeconds = 0.8, kSilentSeconds = 1.5;
constexpr int kLooks = 20;

/// The state letter of /proc/PID/stat; 0 if there is no such process.
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

Watcher::Watcher(const Segment &segment, int64_t self)
    : segment(segment), self(self), peers(segment.ranks()) {}

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
    if (peer.descriptor < 0) {
      peer.descriptor = int(syscall(SYS_pidfd_open, process, 0));
      peer.since = now;
      ended = peer.descriptor < 0 && errno == ESRCH;
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
    if (peer.looks < kLooks || silent < kStoppedSeconds)
      continue;
    char state = processState(process);
    if (state == 'T' || state == 't')
      return Loss{rank, "its process is stopped"};
    if (silent > kSilentSeconds)
      return Loss{rank, detail::join("its process gave no sign of life for ",
                                     kSilentSeconds, " s")};
  }
  return std::nullopt;
}

Failure tprt::lossOf(const Watcher::Loss &loss, const std::string &lastSeen) {
  return {lostError("rank ", loss.rank, " is lost: ", loss.what,
                    "; it was last seen ", lastSeen),
          loss.rank};
}

void ProcessHub::watch() {
  Watcher watcher(segment, self);
  while (!leaving) {
    segment.record(self).heartbeat.fetch_add(1);
    if (segment.aborted())
      report();
    if (auto loss = watcher.look()) {
      // A rank that failed reports before it ends.
      if (!segment.failure())
        segment.fail(lossOf(*loss, lastSeen(loss->rank)));
      report();
    }
    std::this_thread::sleep_for(kBeat);
  }
}

//===----------------------------------------------------------------------===//
// Failing
//===----------------------------------------------------------------------===//

Status ProcessHub::failure() const {
  if (!segment.aborted())
    return {};
  report();
}

void ProcessHub::abort(const Status &status) {
  segment.fail({status, self});
  report();
}

/// Says what happened, once, and ends the process. Errors of the user are said
/// by the rank that had them, a loss by all.
void ProcessHub::report() const {
  reporting.lock(); // for good
  Failure failure = *segment.failure();
  std::string text;
  if (failure.status.code() == Code::Lost)
    text = detail::join("tp-run: error: rank ", self, ": ",
                        failure.status.message(), "; rank ", self, " was ",
                        lastSeen(self), "\n");
  else if (failure.rank == self)
    text = "tp-run: error: " + failure.status.message() + "\n";
  for (size_t done = 0; done < text.size();) {
    ssize_t count = write(2, text.data() + done, text.size() - done);
    if (count <= 0)
      break;
    done += size_t(count);
  }
  _exit(int(failure.status.code()));
}

//===----------------------------------------------------------------------===//
// The hub
//===----------------------------------------------------------------------===//

ProcessHub::ProcessHub(Segment shared, int64_t rank, double timeoutSeconds,
                       std::function<std::string(CallSite)> describeSite)
    : segment(std::move(shared)), self(rank) {
  ranks = segment.ranks();
  timeout = timeoutSeconds;
  describe = std::move(describeSite);
  crowded = ranks > availableCores();
  oneProcess = false;
  base = segment.base();
  extent = segment.size();
  positions = segment.positions();
  aborted = &segment.aborted();
  segment.record(self).process = getpid();
  watcher = std::thread([this] { watch(); });
}

ProcessHub::~ProcessHub() {
  if (segment.aborted())
    report();
  segment.record(self).finished = 1;
  leaving = true;
  watcher.join();
}

Expected<SharedGroup *> ProcessHub::group(const std::vector<int64_t> &members) {
  std::lock_guard lock(mutex);
  auto &slot = groups[members];
  if (!slot) {
    auto [state, slots] = segment.group(members);
    if (!state)
      return userError("the program has more groups of ranks than backend "
                       "'processes' has room for");
    slot = std::make_unique<SharedGroup>(*this, members, *state, slots);
  }
  return slot.get();
}

Expected<Buffer> ProcessHub::allocate(int64_t rank, int64_t bytes) {
  constexpr int64_t kHugePage = int64_t(2) << 20;
  if (bytes == 0)
    return Buffer();
  int64_t page = bytes >= 2 * kHugePage ? kHugePage : 4096;
  int64_t begin = alignUp(used, page), size = alignUp(bytes, page);
  if (begin + size > segment.regionBytes())
    return internalError("rank ", rank, " needs more shared memory than the ",
                         segment.regionBytes(), " bytes planned");
  used = begin + size;
  char *data = segment.region(rank) + begin;
  if (page == kHugePage)
    madvise(data, size, MADV_HUGEPAGE);
  return Buffer::borrow(data, size);
}

Expected<std::vector<std::string>>
ProcessHub::gather(const std::string &bytes) {
  std::vector<int64_t> all(ranks);
  for (int64_t i = 0; i < ranks; ++i)
    all[i] = i;
  auto everyone = group(all);
  if (!everyone)
    return everyone.status();
  std::vector<std::string> result(self == 0 ? ranks : 0);
  // A piece: whether more follow, its size, its bytes.
  constexpr uint64_t kPiece = Segment::kMailBytes - 16;
  uint64_t done = 0;
  for (bool more = true; more;) {
    uint64_t head[2] = {bytes.size() - done > kPiece,
                        std::min(kPiece, bytes.size() - done)};
    std::memcpy(segment.mail(self), head, 16);
    std::memcpy(segment.mail(self) + 16, bytes.data() + done, head[1]);
    done += head[1];
    TPRT_TRY((*everyone)->barrier(self));
    more = false;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      std::memcpy(head, segment.mail(rank), 16);
      more |= head[0] != 0;
      if (self == 0)
        result[rank].append(segment.mail(rank) + 16, head[1]);
    }
    TPRT_TRY((*everyone)->barrier(self));
  }
  return result;
}
