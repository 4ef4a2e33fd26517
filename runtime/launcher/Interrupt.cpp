//===- Interrupt.cpp - the first Ctrl-C -----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"

#include <atomic>
#include <csignal>

static std::atomic<bool> interrupted = false;

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
