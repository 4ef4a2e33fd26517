//===- ExitPolicy.cpp - what tp-run does of losses and signals ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launchers end the other ranks when one is lost (mpirun within two seconds):
// the signal must leave time to say why.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include <cerrno>
#include <csignal>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

static std::atomic<bool> toldToEnd = false, interrupted = false;
constexpr auto kLastWords = std::chrono::milliseconds(700);
/// mpirun loses what is left of its patience when another rank ends: so those
/// that have said what happened stay until the others have too.
constexpr auto kStay = std::chrono::milliseconds(500);

/// Errors of the user are said by the rank that had them, a loss by all. By a
/// plain call, as other threads may hold what stdio needs.
static void say(const Failure &failure, int64_t self) {
  if (failure.status.code() != Code::Lost && failure.rank != self)
    return;
  std::string text = "tp-run: error: " + failure.status.message() + "\n";
  for (size_t done = 0; done < text.size();) {
    ssize_t count = write(2, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return;
    done += size_t(count);
  }
}

ExitPolicy::ExitPolicy() : policy(std::make_shared<Policy>()) {
  policy->failed = say;
  policy->end = [this](const Failure &failure) {
    if (failure.status.code() == Code::Lost && foreign)
      std::this_thread::sleep_for(kStay);
    _exit(int(failure.status.code()));
  };
  policy->beat = [this](int64_t rank) { return lookForSignal(rank); };
}

ExitPolicy::~ExitPolicy() {
  if (!hasHandler)
    return;
  // Nobody looks for the signal any more.
  signal(SIGTERM, SIG_DFL);
  if (toldToEnd)
    raise(SIGTERM);
}

/// From the first beat on, so that a rank that nobody met ends at once.
Status ExitPolicy::lookForSignal(int64_t rank) {
  struct sigaction action{};
  if (foreign && !hasHandler && sigaction(SIGTERM, nullptr, &action) == 0 &&
      action.sa_handler == SIG_DFL) {
    action.sa_handler = [](int) { toldToEnd = true; };
    action.sa_flags = SA_RESTART;
    hasHandler = sigaction(SIGTERM, &action, nullptr) == 0;
  }
  if (!toldToEnd)
    return {};
  if (!endBy)
    endBy = Clock::now() + kLastWords;
  if (Clock::now() < *endBy)
    return {};
  return lostError("rank ", rank, " was told to end (SIGTERM)");
}

bool tprt::isInterrupted() { return interrupted; }

void tprt::heedInterrupts(bool ranksAreProcesses, int64_t rank) {
  struct sigaction action{};
  sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == SIG_IGN)
    return;
  action = {};
  if (rank != 0)
    action.sa_handler = SIG_IGN;
  else
    action.sa_handler = [](int) { interrupted = true; };
  // A terminal and tp-run may both send it to a rank.
  if (!ranksAreProcesses)
    action.sa_flags = int(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}
