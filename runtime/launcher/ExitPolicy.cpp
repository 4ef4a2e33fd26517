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
#include <ctime>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

static std::atomic<bool> toldToEnd = false, interrupted = false;
/// Says if a second signal ends this process, and when the first came.
static std::atomic<bool> heeds = false, secondEnds = false;
static std::atomic<int64_t> interruptedAt = 0;
constexpr auto kLastWords = std::chrono::milliseconds(700);
/// mpirun loses what is left of its patience when another rank ends: so those
/// that have said what happened stay until the others have too.
constexpr auto kStay = std::chrono::milliseconds(500);

/// Errors of the user are said by the rank that had them, a loss by all. By a
/// plain call, as other threads may hold what stdio needs.
static void say(const Failure &failure, int64_t self) {
  if (failure.status.code() != Code::Lost && failure.rank != self)
    return;
  if (failure.status.message().empty())
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
  policy->isToldToEnd = isInterrupted;
}

ExitPolicy::~ExitPolicy() {
  if (!hasHandler || heeds)
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

static int64_t milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

bool tprt::isSameSignal(int64_t first) {
  return milliseconds() - first < kOneSignal.count();
}

/// In a signal handler.
static void interrupt(int number) {
  if (!interrupted) {
    interruptedAt = milliseconds();
    interrupted = true;
  } else if (secondEnds && !isSameSignal(interruptedAt)) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

void tprt::passOverInterrupts() {
  struct sigaction action{};
  sigaction(SIGINT, nullptr, &action);
  if (action.sa_handler == SIG_IGN)
    return;
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

void tprt::heedInterrupts(bool isLaunched) {
  heeds = true;
  secondEnds = !isLaunched;
  for (int number : kEndSignals) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN)
      continue;
    action = {};
    action.sa_handler = interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}
