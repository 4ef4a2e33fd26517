//===- SideChannel.cpp - what rank processes tell each other --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Watching and failing. A rank may be anywhere when another is lost, in a
// barrier, in a library or in the middle of a product: every wait of the
// runtime's own looks at failure(), and what waits in a library is woken by the
// job that its backend has left here.
//
//===----------------------------------------------------------------------===//

#include "SideChannel.h"

#include <cstring>

using namespace tprt;
using Clock = std::chrono::steady_clock;

SideChannel::SideChannel(ProcessInfo where, Options how)
    : process(std::move(where)), options(std::move(how)),
      limit(options.timeoutSeconds) {}

//===----------------------------------------------------------------------===//
// Watching
//===----------------------------------------------------------------------===//

void SideChannel::start() {
  watcher = std::thread([this] { watch(); });
}

void SideChannel::finish() {
  leaving = true;
  if (watcher.joinable())
    watcher.join();
}

void SideChannel::watch() {
  pthread_setname_np(pthread_self(), "rank-watch");
  while (!leaving) {
    Status status = caught([this]() -> Status {
      beat();
      // After a failure there is only something left to send.
      if (failure().ok())
        TPRT_TRY(check());
      rest();
      return {};
    });
    if (!status.ok())
      (void)abort(status);
  }
}

Status SideChannel::check() {
  if (auto loss = look()) {
    // A rank that failed says so before it ends.
    if (!failed())
      fail(*loss);
    return failure();
  }
  {
    std::lock_guard lock(polling);
    if (job)
      TPRT_TRY(job());
  }
  if (options.policy && options.policy->isToldToEnd &&
      options.policy->isToldToEnd())
    position(rank()).toldToEnd = true;
  if (options.policy && options.policy->beat)
    TPRT_TRY(options.policy->beat(rank()));
  return checkWait();
}

/// Ends a wait in a library that has no time limit of its own.
Status SideChannel::checkWait() {
  std::lock_guard lock(waits);
  const std::vector<int64_t> *members = waitingFor;
  Position &mine = position(rank());
  uint64_t call = mine.calls;
  if (!members || call != seenCall) {
    seenCall = call;
    seenSince = Clock::now();
    return {};
  }
  std::chrono::duration<double> waited = Clock::now() - seenSince;
  return waiting(*members, waited.count());
}

void SideChannel::everyBeat(std::function<Status()> newJob) {
  std::lock_guard lock(polling);
  job = std::move(newJob);
}

void SideChannel::onFailure(std::function<bool()> newJob) {
  std::lock_guard lock(failing);
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

bool SideChannel::isToldToEnd() const {
  for (int64_t other = 0; other < size(); ++other)
    if (position(other).toldToEnd)
      return true;
  return false;
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
  std::vector<int64_t> late;
  for (int64_t member : members)
    if (member != waiting && position(member).calls < calls)
      late.push_back(member);
  if (!late.empty())
    return waitedFor(late, waiting, site);
  return lostError("rank ", waiting, " waited in ", options.describe(site),
                   ": it did not end within ", timeout(),
                   " s, though all of its ranks are in it");
}

Status SideChannel::waitedFor(const std::vector<int64_t> &late, int64_t waiting,
                              CallSite site) const {
  return lateError(waiting, options.describe(site), late, timeout(),
                   [this](int64_t rank) { return lastSeen(rank); });
}

Status SideChannel::waiting(const std::vector<int64_t> &members,
                            double seconds) {
  constexpr double kAskSeconds = 0.5;
  if (seconds < kAskSeconds && seconds < timeout())
    return {};
  const Position &mine = position(rank());
  Status status = disagreement(waitingIn(), mine.calls, members, rank());
  bool sure = !status.ok() && status.message() == complaint;
  complaint = status.message();
  if (sure)
    return status;
  if (seconds > timeout())
    return missing(waitingIn(), mine.calls, members, rank());
  return {};
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

Expected<std::vector<uint64_t>> SideChannel::exchangeValues(uint64_t value) {
  TPRT_ASSIGN(auto all,
              exchange(std::string(reinterpret_cast<char *>(&value), 8)));
  std::vector<uint64_t> values(all.size());
  for (size_t r = 0; r < values.size(); ++r)
    std::memcpy(&values[r], all[r].data(), 8);
  return values;
}

Status SideChannel::agree(uint64_t value, const char *what) {
  TPRT_ASSIGN(auto values, exchangeValues(value));
  Status status = compareValues(values, what);
  return status.ok() ? status : abort(status);
}

//===----------------------------------------------------------------------===//
// Failing
//===----------------------------------------------------------------------===//

Status SideChannel::failure() { return failed() ? report() : Status(); }

Status SideChannel::abort(const Status &status) {
  fail({status, rank()});
  return report();
}

/// Does once what a failure asks for; others wait for it.
Status SideChannel::report() {
  std::call_once(reported, [this] {
    ending = *failed();
    if (ending.status.code() == Code::Lost)
      ending.status = lostError("rank ", rank(), ": ", ending.status.message(),
                                "; rank ", rank(), " was ", lastSeen(rank()));
    const Policy policy = options.policy ? *options.policy : Policy();
    if (policy.failed)
      policy.failed(ending, rank());
    if (policy.end)
      flush();
    {
      std::lock_guard lock(failing);
      isQuiet = !lastJob || lastJob();
    }
    if (policy.end)
      policy.end(ending);
  });
  return ending.status;
}
