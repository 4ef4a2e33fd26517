//===- ProgressTest.cpp - calls beside the step ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread that calls go on in: their order, who runs them, and what becomes
// of their errors.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../collectives/Progress.h"

#include <chrono>

using namespace tprt;
using namespace tprt::test;

/// Calls run in the order of their starts, one at a time, whichever thread runs
/// them and in whatever order they are asked for.
TEST(Progress, CallsKeepTheirOrder) {
  std::mt19937 random(kSeed);
  Progress progress;
  std::vector<int> order;
  std::atomic<int> inside = 0, together = 0;
  auto call = [&](int number) -> Status {
    together += inside++ > 0;
    order.push_back(number);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30));
    --inside;
    return number % 7 == 3 ? userError("call ", number) : Status();
  };
  std::vector<std::pair<int, uint64_t>> open;
  int count = 0;
  auto finishOne = [&] {
    size_t i = random() % open.size();
    auto [number, ticket] = open[i];
    open.erase(open.begin() + i);
    Status status = progress.finish(ticket);
    EXPECT_EQ(status.message(),
              number % 7 == 3 ? detail::join("call ", number) : "");
  };
  while (count < 2000) {
    int number = count++;
    if (random() % 4 == 0)
      EXPECT_EQ(progress.run([&] { return call(number); }).ok(),
                number % 7 != 3);
    else
      open.push_back(
          {number, progress.start([&, number] { return call(number); })});
    while (!open.empty() && random() % 3 == 0)
      finishOne();
  }
  while (!open.empty())
    finishOne();
  EXPECT_EQ(together, 0) << "seed " << kSeed;
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(order[size_t(i)], i);
}

/// A call goes on while the step is elsewhere, and knows when the step waits.
TEST(Progress, CallsGoOnBesideTheStep) {
  Progress progress;
  std::atomic<bool> done = false;
  uint64_t ticket = progress.start([&]() -> Status {
    EXPECT_FALSE(progress.isAwaited());
    done = true;
    return {};
  });
  while (!done)
    std::this_thread::yield();
  EXPECT_TRUE(progress.finish(ticket).ok());
  bool awaited = false;
  EXPECT_TRUE(progress
                  .run([&]() -> Status {
                    awaited = progress.isAwaited();
                    return {};
                  })
                  .ok());
  EXPECT_TRUE(awaited);
}

/// A call that is not finished is run all the same, and its error is forgotten.
TEST(Progress, DrainedCallsLeaveNothing) {
  std::atomic<int> runs = 0;
  Progress progress;
  auto fail = [&]() -> Status {
    ++runs;
    throw std::runtime_error("no memory");
  };
  for (int i = 0; i < 3; ++i)
    (void)progress.start(fail);
  progress.drain();
  EXPECT_EQ(runs, 3);
  Status status = progress.finish(progress.start(fail));
  EXPECT_EQ(status.message(), "no memory");
  EXPECT_EQ(status.code(), Code::Internal);
}
