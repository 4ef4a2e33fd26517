//===- LocalRanks.cpp - a process per rank on this host -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks report failures themselves, and each other's: one that is frozen is
// named by those that are not. The launcher knows better than they how a
// process ended, and after a failure ends those that cannot end themselves. If
// the launcher is killed, the kernel kills its ranks.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

/// How long the ranks may take to report a failure before they are killed.
constexpr auto kReportTime = std::chrono::milliseconds(1000);

namespace {

/// The signal that asked the launcher to end, or 0.
volatile sig_atomic_t toldBy = 0;

/// While it lives, signals that end a program are noted in toldBy. One that was
/// ignored stays so (nohup).
class EndSignals {
public:
  EndSignals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], nullptr, &before[i]);
      if (before[i].sa_handler == SIG_IGN)
        continue;
      struct sigaction action{};
      action.sa_handler = [](int signal) { toldBy = signal; };
      sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~EndSignals() {
    for (size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &before[i], nullptr);
  }

  /// By a new process, whose signals are held: a signal that was sent to it
  /// before it becomes a rank ends it, and does not end in a handler that goes.
  static void becomeDefault() {
    for (int number : kSignals) {
      struct sigaction action{};
      sigaction(number, nullptr, &action);
      if (action.sa_handler != SIG_IGN)
        signal(number, SIG_DFL);
    }
  }
  /// Holds them back while it lives.
  class Held {
  public:
    Held() {
      sigset_t ours;
      sigemptyset(&ours);
      for (int number : kSignals)
        sigaddset(&ours, number);
      pthread_sigmask(SIG_BLOCK, &ours, &before);
    }
    ~Held() { release(); }
    void release() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

  private:
    sigset_t before;
  };

private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
  struct sigaction before[std::size(kSignals)];
};

/// The child's side of a start; returns only to leave.
[[noreturn]] void becomeRank(const Segment &segment, int64_t rank, char **argv,
                             pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher)
    _exit(1);
  fcntl(segment.fd(), F_SETFD, 0);
  setenv(kRankVariable, std::to_string(rank).c_str(), 1);
  setenv(kRanksVariable, std::to_string(segment.ranks()).c_str(), 1);
  setenv(kFileVariable, std::to_string(segment.fd()).c_str(), 1);
  execv("/proc/self/exe", argv);
  std::fprintf(stderr, "tp-run: error: cannot start rank %ld: %s\n", long(rank),
               std::strerror(errno));
  _exit(1);
}

/// The processes, until all have ended.
class LocalRanks {
public:
  LocalRanks(const Segment &segment, const Describe &describe,
             bool isInterruptible)
      : segment(segment), describe(describe), isInterruptible(isInterruptible),
        processes(size_t(segment.ranks()), 0) {}

  /// Starts all of them, or none.
  bool start(char **argv);
  /// Until none is left; the exit code.
  int wait();

private:
  std::string lastSeen(int64_t rank) const {
    return segment.positions()[rank].text(describe);
  }
  void killAll() const {
    for (pid_t process : processes)
      if (process > 0)
        kill(process, SIGKILL);
  }
  void endBy(int signal) const;
  void heedSignal();
  void note(int64_t rank, int status);
  void hurry();

  const Segment &segment;
  const Describe &describe;
  bool isInterruptible;
  int askedBy = 0; ///< the signal that rank 0 was told of, or 0
  Clock::time_point askedAt;
  std::vector<pid_t> processes; ///< 0: it has ended
  int64_t alive = 0;
  int code = 0;           ///< of the first that failed
  bool hasKilled = false; ///< those that could not end themselves
  std::optional<Clock::time_point> deadline; ///< of reports, after a failure
};

bool LocalRanks::start(char **argv) {
  pid_t self = getpid();
  for (int64_t rank = 0; rank < segment.ranks(); ++rank) {
    EndSignals::Held held;
    pid_t process = fork();
    if (process == 0) {
      EndSignals::becomeDefault();
      held.release();
      becomeRank(segment, rank, argv, self);
    }
    if (process < 0) {
      std::fprintf(stderr, "tp-run: error: cannot start rank %ld: %s\n",
                   long(rank), std::strerror(errno));
      killAll();
      for (int64_t other = 0; other < rank; ++other)
        waitpid(processes[other], nullptr, 0);
      return false;
    }
    processes[rank] = process;
    ++alive;
  }
  return true;
}

/// Says who was where, and ends.
void LocalRanks::endBy(int signal) const {
  std::string text = detail::join("tp-run: error: ended by signal ", signal,
                                  " (", strsignal(signal), ")");
  for (int64_t rank = 0; rank < segment.ranks(); ++rank)
    text += detail::join("; rank ", rank, " was ", lastSeen(rank));
  std::fprintf(stderr, "%s\n", text.c_str());
  // None is left running that sees another end, and says so.
  for (pid_t process : processes)
    if (process > 0)
      kill(process, SIGSTOP);
  usleep(5'000); // until all have stopped
  killAll();
  for (pid_t process : processes)
    if (process > 0)
      while (waitpid(process, nullptr, 0) < 0 && errno == EINTR)
        ;
  // As if nobody had looked at it.
  ::signal(signal, SIG_DFL);
  raise(signal);
}

/// A rank's process has ended.
void LocalRanks::note(int64_t rank, int status) {
  processes[rank] = 0;
  --alive;
  int ended = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (WIFEXITED(status) && ended == 0)
    return;
  // It had nothing to save yet, and ended by the signal that all were sent.
  if (WIFSIGNALED(status) &&
      (WTERMSIG(status) == toldBy || WTERMSIG(status) == askedBy))
    endBy(WTERMSIG(status));
  if (code == 0)
    code = ended;
  std::string how =
      WIFSIGNALED(status)
          ? detail::join("was killed by signal ", WTERMSIG(status), " (",
                         strsignal(WTERMSIG(status)), ")")
          : detail::join("ended with status ", ended);
  // Failures of a rank that could still speak are known by now.
  bool known = segment.failure().has_value();
  if (!known && ended != int(Code::Ok) && ended != int(Code::Lost))
    // It said why before it came to the others.
    segment.fail({Status(Code(ended), "a rank could not start"), rank});
  else if (!known)
    segment.fail({lostError("rank ", rank, " is lost: its process ", how,
                            "; it was last seen ", lastSeen(rank)),
                  rank});
  if (WIFSIGNALED(status) && !hasKilled)
    std::fprintf(stderr, "tp-run: error: rank %ld %s; it was last seen %s\n",
                 long(rank), how.c_str(), lastSeen(rank).c_str());
}

/// Once the run has failed: who is frozen cannot report, and once the others
/// have, nobody is waited for.
void LocalRanks::hurry() {
  auto failure = segment.failure();
  if (!failure)
    return;
  if (!deadline)
    deadline = Clock::now() + kReportTime;
  if (Clock::now() > *deadline) {
    hasKilled = true;
    killAll();
  } else if (alive == 1 && failure->rank >= 0 &&
             processes[failure->rank] != 0 &&
             failure->status.code() == Code::Lost)
    deadline = Clock::now();
}

/// The first signal ends the run in order, where that is possible.
void LocalRanks::heedSignal() {
  int signal = toldBy;
  if (!signal)
    return;
  bool isFirst = !askedBy && isInterruptible && signal != SIGQUIT;
  if (isFirst && processes[0] > 0) {
    askedBy = signal;
    askedAt = Clock::now();
    kill(processes[0], signal);
  } else if (!askedBy || Clock::now() - askedAt > kOneSignal) {
    endBy(signal);
  }
  toldBy = 0;
}

int LocalRanks::wait() {
  while (alive > 0) {
    heedSignal();
    for (int64_t rank = 0; rank < segment.ranks(); ++rank)
      if (int status;
          processes[rank] != 0 &&
          waitpid(processes[rank], &status, WNOHANG) == processes[rank])
        note(rank, status);
    hurry();
    if (alive > 0)
      usleep(10'000);
  }
  auto failure = segment.failure();
  return failure ? int(failure->status.code()) : code;
}

} // namespace

int tprt::runLocalRanks(const Segment &segment, char **argv,
                        const Describe &describe, bool isInterruptible) {
  // Ended ranks cannot be waited for while it is ignored.
  signal(SIGCHLD, SIG_DFL);
  EndSignals signals;
  LocalRanks ranks(segment, describe, isInterruptible);
  return ranks.start(argv) ? ranks.wait() : 1;
}
