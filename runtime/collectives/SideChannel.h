//===- SideChannel.h - what rank processes tell each other ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are processes need more than collectives: who is where and alive,
// small byte strings exchanged at start and end, agreement, and a failure of
// one that ends all with a report. That is the same for every transport of the
// collectives, and is here. A thread of its own does the watching, so that it
// works while the rank computes or sits in a library's call. Two kinds: memory
// that processes of one host share (processes/), and TCP (net/).
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_SIDECHANNEL_H
#define TPRT_COLLECTIVES_SIDECHANNEL_H

#include "Hub.h"
#include "Place.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

namespace tprt {

/// The first failure of any rank.
struct Failure {
  Status status;
  int64_t rank; ///< the one that failed or was lost, or -1
};

class SideChannel {
public:
  struct Options {
    double timeoutSeconds = 60; ///< longest wait for another rank, at first
    Describe describe;          ///< of call sites, in messages
    /// A process that stands still is waited for, as it may be under a
    /// debugger; only one that ended is lost.
    bool allowStops = false;
  };

  virtual ~SideChannel() = default;

  int64_t rank() const { return place.rank; }
  int64_t size() const { return place.ranks; }
  /// This rank's number among those of its host, and how many these are.
  int64_t localRank() const { return place.localRank; }
  int64_t localSize() const { return place.localRanks; }
  double timeout() const { return limit; }
  /// From now on the longest wait for another rank.
  void limitWaits(double seconds) { limit = seconds; }

  /// This rank is in a call of a ledger entry, until leave(). Any thread, one
  /// at a time. With `members` (which must live until leave) the watcher sees
  /// to the time limit: a wait for them that takes longer ends the run, with
  /// the names of those that did not come. Without, the caller does.
  void enter(CallSite site, const std::vector<int64_t> *members = nullptr);
  void leave();
  /// The same for a call of all members that is no ledger entry.
  void enterAgreement(const std::vector<int64_t> &members);

  /// Gives every rank all ranks' bytes, in their order. All call it, from one
  /// thread of each; waits are limited by the timeout.
  virtual Expected<std::vector<std::string>>
  exchange(const std::string &bytes) = 0;
  /// The same for rank 0 alone; the others get nothing. For long ones.
  virtual Expected<std::vector<std::string>>
  gather(const std::string &bytes) = 0;
  /// Fails unless all ranks bring the same value, and says who differs.
  Status agree(uint64_t value, const char *what);

  /// Tells all ranks and ends this process with a report; the others end
  /// likewise. The first failure of any rank is what all report.
  [[noreturn]] void abort(const Status &status);
  /// Success; does not return if there was a failure.
  Status failure();
  /// `in collective 3 (...)` or `after ...`: where the rank was last seen.
  std::string lastSeen(int64_t rank) const;

  /// Called by the watcher every 25 ms or so: an error that it returns ends the
  /// run. For what must be polled. It may not wait. Set before the first step;
  /// an empty one takes it away, after which it runs no more.
  void everyBeat(std::function<Status()> job);
  /// Called once, after the report of a failure and before the process ends
  /// itself: for what would keep it from ending. It may not take long.
  void beforeEnd(std::function<void()> job);
  /// Whether whereIs and lastSeen know all ranks, or this one and rank 0 alone.
  virtual bool hearsAll() const { return true; }
  /// This rank's own position.
  Position &here() { return position(rank()); }
  const Position &whereIs(int64_t rank) const { return position(rank); }

protected:
  SideChannel(Place place, Options options);

  /// Starts and ends the watcher: at the end of the constructor and at the
  /// beginning of the destructor of the class that has the functions below.
  void start();
  void finish();

  /// Called by the watcher, each about every 25 ms. Shows that this process is
  /// alive:
  virtual void beat() = 0;
  /// The first rank found to be lost:
  virtual std::optional<Failure> look() = 0;
  /// Does what there is to do, or sleeps, until the next beat:
  virtual void rest() = 0;

  /// Makes a failure known to all ranks, unless there is one already. Any
  /// thread.
  virtual void fail(const Failure &failure) = 0;
  /// The run's first failure, as far as known here.
  virtual std::optional<Failure> failed() const = 0;
  /// Called by the watcher while this rank waits for others in a call that has
  /// no time limit of its own: ends the run if that has taken too long or the
  /// ranks are in different calls.
  virtual void waiting(const std::vector<int64_t> &members, double seconds);
  /// What there is to do after the report, before the process ends.
  virtual void beforeExit() {}
  /// Where a rank was last seen; of its own, where it writes.
  virtual Position &position(int64_t rank) const = 0;

  /// The call in which this rank waits.
  CallSite waitingIn() const {
    const Position &mine = position(rank());
    return mine.inside ? mine.site() : CallSite();
  }
  /// An error if a member is in another call than the rank that waits, though
  /// it has come as far. What is known of others may be half new: believe it
  /// the second time.
  Status disagreement(CallSite site, uint64_t calls,
                      const std::vector<int64_t> &members,
                      int64_t waiting) const;
  /// The error of a wait for members of which some did not come.
  Status missing(CallSite site, uint64_t calls,
                 const std::vector<int64_t> &members, int64_t waiting) const;
  /// Says what happened, once, and ends the process. Errors of the user are
  /// said by the rank that had them, a loss by all.
  [[noreturn]] void report();

  Place place;
  Options options;

private:
  void watch();
  void checkWait();

  std::atomic<double> limit;
  std::mutex reporting;
  std::mutex polling; // guards job
  std::function<Status()> job;
  std::function<void()> lastJob;
  /// Guards what waitingFor points to: it may go once leave() is through.
  std::mutex waits;
  const std::vector<int64_t> *waitingFor = nullptr;
  uint64_t seenCall = 0; // by the watcher
  std::chrono::steady_clock::time_point seenSince;
  std::string complaint; // the last disagreement
  std::atomic<bool> leaving = false;
  bool hasHandler = false; ///< of SIGTERM
  std::thread watcher;
};

/// The channel of the ranks that the environment describes, once all of them
/// have come: shared memory where all are on one host, TCP otherwise.
Expected<std::unique_ptr<SideChannel>>
connectRanks(const Place &place, const SideChannel::Options &options);

} // namespace tprt

#endif // TPRT_COLLECTIVES_SIDECHANNEL_H
