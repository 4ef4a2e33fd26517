//===- SideChannel.h - what rank processes tell each other ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are processes need more than collectives: who is where and alive,
// small byte strings exchanged at start and end, agreement, and a failure of
// one that is the failure of all. That is the same for every transport of the
// collectives, and is here. A thread of its own does the watching, so that it
// works while the rank computes or sits in a library's call. Two kinds: memory
// that processes of one host share (processes/), and TCP (net/).
//
// A failure ends waits, not processes: each rank's calls return it, and what
// becomes of the process is the Policy of who made the channel.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_SIDECHANNEL_H
#define TPRT_COLLECTIVES_SIDECHANNEL_H

#include "Backend.h"
#include "ProcessInfo.h"

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

/// Actions of a process on the state of its run; each may be empty. Any thread
/// calls them; they may hold nothing up and use nothing of the run.
struct Policy {
  /// Once, when the run fails: what this rank, `self`, can say of it.
  std::function<void(const Failure &, int64_t self)> failed;
  /// After that, when the others know and the device has been let go: for who
  /// ends its process.
  std::function<void(const Failure &)> end;
  /// Every 25 ms or so; an error fails the run.
  std::function<Status(int64_t self)> beat;
  /// As often: whether this process was told to end. Rank 0 learns of it
  /// (SideChannel::isToldToEnd), which ends what all do in order.
  std::function<bool()> isToldToEnd;
};

/// How long a rank may give no sign of life where nobody says otherwise: a
/// process that is stopped for a moment, a virtual machine that moves to
/// another host and a few lost TCP segments (which are sent again after 0.2,
/// 0.6, 1.4 and 3 s) are not lost ranks. One that ended is known at once.
inline constexpr double kSilenceSeconds = 8;
inline constexpr const char *kSilenceVariable = "TPRT_SILENCE_TIMEOUT";

class SideChannel {
public:
  struct Options {
    double timeoutSeconds = 60; ///< longest wait for another rank, at first
    Describe describe;          ///< of call sites, in messages
    /// A rank that gives no sign of life for so long is lost; infinity: one
    /// that stands still, perhaps under a debugger, is waited for.
    double silenceSeconds = kSilenceSeconds;
    std::shared_ptr<const Policy> policy{};
  };

  virtual ~SideChannel() = default;

  int64_t rank() const { return process.rank; }
  int64_t size() const { return process.ranks; }
  /// This rank's number among those of its host, and how many these are.
  int64_t localRank() const { return process.localRank; }
  int64_t localSize() const { return process.localRanks; }
  double timeout() const { return limit; }
  /// From now on the longest wait for another rank.
  void limitWaits(double seconds) { limit = seconds; }

  /// This rank is in a call of a ledger entry, until leave(). Any thread, one
  /// at a time. With `members` (which must live until leave) the watcher sees
  /// to the time limit: a wait for them that takes longer fails the run, with
  /// the names of those that did not come. Without, the caller does.
  void enter(CallSite site, const std::vector<int64_t> *members = nullptr);
  void leave();
  /// The same for a call of all members that is no ledger entry.
  void enterAgreement(const std::vector<int64_t> &members);

  /// Gives every rank all ranks' bytes, in their order. All call it, from one
  /// thread of each; waits are limited by the timeout.
  Expected<std::vector<std::string>> exchange(const std::string &bytes) {
    return passUnlessFailed(bytes, true);
  }
  /// The same for rank 0 alone; the others get nothing. For long ones.
  Expected<std::vector<std::string>> gather(const std::string &bytes) {
    return passUnlessFailed(bytes, rank() == 0);
  }
  /// Rank 0's bytes, on every rank; those of the others are not used. Rank 0
  /// does not wait for them.
  virtual Expected<std::string> fromRoot(const std::string &bytes) = 0;
  /// The values of all ranks, in their order.
  virtual Expected<std::vector<uint64_t>> exchangeValues(uint64_t value);
  /// Fails unless all ranks bring the same value, and says who differs.
  Status agree(uint64_t value, const char *what);

  /// Fails the run, for all ranks. Returns the run's first failure, whoever's
  /// it was: that of all calls from then on.
  Status abort(const Status &status);
  /// Success, or the run's first failure: of a loss, with where this rank was.
  Status failure();
  /// `in collective 3 (...)` or `after ...`: where the rank was last seen.
  std::string lastSeen(int64_t rank) const;

  /// Called by the watcher every 25 ms or so: an error that it returns fails
  /// the run. For what must be polled. It may not wait. Set before the first
  /// step; an empty one takes it away, after which it runs no more.
  void everyBeat(std::function<Status()> job);
  /// Called once, when the run has failed: wakes what waits elsewhere, in a
  /// short time, and says whether nothing writes to the rank's memory any more.
  void onFailure(std::function<bool()> job);
  /// The result of that job; true without one.
  bool quiet() const { return isQuiet; }
  /// Ends the watching, for good.
  void finish();
  /// True if the process of some rank was told to end; rank 0 hears of all.
  bool isToldToEnd() const;
  /// True if whereIs and lastSeen know all ranks, or this one and rank 0 alone.
  virtual bool hearsAll() const { return true; }
  /// This rank's own position.
  Position &here() { return position(rank()); }
  const Position &whereIs(int64_t rank) const { return position(rank); }

protected:
  SideChannel(ProcessInfo process, Options options);

  /// Starts the watcher, which finish() ends: at the end of the constructor and
  /// at the beginning of the destructor of the class with the functions below.
  void start();

  /// Called by the watcher, each about every 25 ms. Shows that this process is
  /// alive:
  virtual void beat() = 0;
  /// The first rank found to be lost:
  virtual std::optional<Failure> look() = 0;
  /// Does what there is to do, or sleeps, until the next beat:
  virtual void rest() = 0;

  /// An exchange; the result is wanted by this rank or not.
  virtual Expected<std::vector<std::string>> pass(const std::string &bytes,
                                                  bool wanted) = 0;
  /// Makes a failure known to all ranks, unless there is one already. Any
  /// thread.
  virtual void fail(const Failure &failure) = 0;
  /// The run's first failure, as far as known here.
  virtual std::optional<Failure> failed() const = 0;
  /// Called by the watcher while this rank waits for others in a call that has
  /// no time limit of its own: an error if that has taken too long or the ranks
  /// are in different calls.
  virtual Status waiting(const std::vector<int64_t> &members, double seconds);
  /// Sees to it that the others know of a failure before the process ends.
  virtual void flush() {}
  /// The position at which a rank was last seen; for this rank, the one it
  /// writes.
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
  /// The same where those that did not come are known.
  Status waitedFor(const std::vector<int64_t> &late, int64_t waiting,
                   CallSite site = {}) const;
  ProcessInfo process;
  Options options;

private:
  /// A known failure fails the exchange even if it could end: a rank may have
  /// left its part behind before it was lost.
  Expected<std::vector<std::string>> passUnlessFailed(const std::string &bytes,
                                                      bool wanted) {
    TPRT_TRY(failure());
    return pass(bytes, wanted);
  }
  void watch();
  Status check();
  Status checkWait();
  Status report();

  std::atomic<double> limit;
  std::once_flag reported;
  Failure ending{{}, -1}; ///< as this rank tells it
  std::mutex polling;     // guards job
  std::function<Status()> job;
  std::mutex failing; // guards lastJob
  std::function<bool()> lastJob;
  std::atomic<bool> isQuiet = true;
  /// Guards what waitingFor points to: it may go once leave() is through.
  std::mutex waits;
  const std::vector<int64_t> *waitingFor = nullptr;
  uint64_t seenCall = 0; // by the watcher
  std::chrono::steady_clock::time_point seenSince;
  std::string complaint; // the last disagreement
  std::atomic<bool> leaving = false;
  std::thread watcher;
};

/// The channel of the ranks that the environment describes, once all of them
/// have come: shared memory where all are on one host, TCP otherwise.
Expected<std::unique_ptr<SideChannel>>
connectRanks(const ProcessInfo &process, const SideChannel::Options &options);

} // namespace tprt

#endif // TPRT_COLLECTIVES_SIDECHANNEL_H
