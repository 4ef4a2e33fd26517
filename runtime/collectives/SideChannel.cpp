//===- SideChannel.cpp - what rank processes tell each other --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watching and reporting. A rank may be anywhere when another is lost, in a
// barrier, in a library or in the middle of a product, so the watching thread
// ends the process itself.
//
//===----------------------------------------------------------------------===//

#include "SideChannel.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

SideChannel::SideChannel(Place where, Options how)
    : place(std::move(where)), options(std::move(how)),
      limit(options.timeoutSeconds) {}

//===----------------------------------------------------------------------===//
// Watching
//===----------------------------------------------------------------------===//

/// Launchers end the other ranks when one is lost (mpirun within two seconds):
/// the signal must leave time to say why.
static std::atomic<bool> toldToEnd = false;
constexpr auto kLastWords = std::chrono::milliseconds(700);
/// mpirun loses what is left of its patience when another rank ends: so those
/// that have said what happened stay until the others have too.
constexpr auto kStay = std::chrono::milliseconds(500);

void SideChannel::start() {
  struct sigaction action{};
  if (place.starter != "tp-run" && sigaction(SIGTERM, nullptr, &action) == 0 &&
      action.sa_handler == SIG_DFL) {
    action.sa_handler = [](int) { toldToEnd = true; };
    action.sa_flags = SA_RESTART;
    hasHandler = sigaction(SIGTERM, &action, nullptr) == 0;
  }
  watcher = std::thread([this] { watch(); });
}

void SideChannel::finish() {
  leaving = true;
  if (watcher.joinable())
    watcher.join();
  if (!hasHandler)
    return;
  // Nobody looks for the signal any more.
  signal(SIGTERM, SIG_DFL);
  if (toldToEnd)
    raise(SIGTERM);
}

void SideChannel::watch() {
  pthread_setname_np(pthread_self(), "rank-watch");
  std::optional<Clock::time_point> endBy;
  while (!leaving) {
    beat();
    if (failed())
      report();
    if (auto loss = look()) {
      // A rank that failed reports before it ends.
      if (!failed())
        fail(*loss);
      report();
    }
    {
      std::lock_guard lock(polling);
      Status status = job ? job() : Status();
      if (!status.ok())
        abort(status);
    }
    checkWait();
    if (toldToEnd) {
      if (!endBy)
        endBy = Clock::now() + kLastWords;
      else if (Clock::now() > *endBy)
        abort(lostError("rank ", rank(), " was told to end (SIGTERM)"));
    }
    rest();
  }
}

/// Ends a wait in a library that has no time limit of its own.
void SideChannel::checkWait() {
  std::lock_guard lock(waits);
  const std::vector<int64_t> *members = waitingFor;
  Position &mine = position(rank());
  uint64_t call = mine.calls;
  if (!members || call != seenCall) {
    seenCall = call;
    seenSince = Clock::now();
    return;
  }
  std::chrono::duration<double> waited = Clock::now() - seenSince;
  waiting(*members, waited.count());
}

void SideChannel::everyBeat(std::function<Status()> newJob) {
  std::lock_guard lock(polling);
  job = std::move(newJob);
}

void SideChannel::beforeEnd(std::function<void()> newJob) {
  std::lock_guard lock(reporting);
  lastJob = std::move(newJob);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

void SideChannel::enter(CallSite site, const std::vector<int64_t> *members) {
  position(rank()).enter(site);
  std::lock_guard lock(waits);
  waitingFor = members;
}

void SideChannel::enterAgreement(const std::vector<int64_t> &members) {
  position(rank()).agree();
  std::lock_guard lock(waits);
  waitingFor = &members;
}

void SideChannel::leave() {
  {
    std::lock_guard lock(waits);
    waitingFor = nullptr;
  }
  position(rank()).leave();
}

std::string SideChannel::lastSeen(int64_t rank) const {
  return position(rank).text(options.describe);
}

Status SideChannel::disagreement(CallSite site, uint64_t calls,
                                 const std::vector<int64_t> &members,
                                 int64_t waiting) const {
  std::string text;
  for (int64_t member : members) {
    const Position &other = position(member);
    if (member != waiting && other.calls == calls && other.inside &&
        !(other.site() == site))
      text += detail::join(", rank ", member, " in ",
                           options.describe(other.site()));
  }
  if (text.empty())
    return {};
  return lostError("ranks disagree: rank ", waiting, " is in ",
                   options.describe(site), text);
}

Status SideChannel::missing(CallSite site, uint64_t calls,
                            const std::vector<int64_t> &members,
                            int64_t waiting) const {
  std::string late;
  for (int64_t member : members)
    if (member != waiting && position(member).calls < calls)
      late += detail::join(late.empty() ? "rank " : "; rank ", member,
                           " did not arrive within ", timeout(),
                           " s, last seen ", lastSeen(member));
  if (late.empty())
    late = detail::join("it did not end within ", timeout(),
                        " s, though all of its ranks are in it");
  return lostError("rank ", waiting, " waited in ", options.describe(site),
                   ": ", late);
}

void SideChannel::waiting(const std::vector<int64_t> &members, double seconds) {
  constexpr double kAskSeconds = 0.5;
  if (seconds < kAskSeconds && seconds < timeout())
    return;
  const Position &mine = position(rank());
  Status status = disagreement(waitingIn(), mine.calls, members, rank());
  bool sure = !status.ok() && status.message() == complaint;
  complaint = status.message();
  if (sure)
    abort(status);
  if (seconds > timeout())
    abort(missing(waitingIn(), mine.calls, members, rank()));
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

Status SideChannel::agree(uint64_t value, const char *what) {
  auto all = exchange(std::string(reinterpret_cast<char *>(&value), 8));
  if (!all)
    return all.status();
  std::vector<uint64_t> values(all->size());
  for (size_t r = 0; r < values.size(); ++r)
    std::memcpy(&values[r], (*all)[r].data(), 8);
  Status status = compareValues(values, what);
  if (!status.ok())
    abort(status);
  return status;
}

//===----------------------------------------------------------------------===//
// Failing
//===----------------------------------------------------------------------===//

Status SideChannel::failure() {
  if (!failed())
    return {};
  report();
}

void SideChannel::abort(const Status &status) {
  fail({status, rank()});
  report();
}

void SideChannel::report() {
  reporting.lock(); // for good
  Failure failure = *failed();
  std::string text;
  if (failure.status.code() == Code::Lost)
    text = detail::join("tp-run: error: rank ", rank(), ": ",
                        failure.status.message(), "; rank ", rank(), " was ",
                        lastSeen(rank()), "\n");
  else if (failure.rank == rank())
    text = "tp-run: error: " + failure.status.message() + "\n";
  for (size_t done = 0; done < text.size();) {
    ssize_t count = write(2, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += size_t(count);
  }
  beforeExit();
  if (lastJob)
    lastJob();
  if (failure.status.code() == Code::Lost && place.starter != "tp-run")
    std::this_thread::sleep_for(kStay);
  _exit(int(failure.status.code()));
}
