//===- PeersTest.cpp - sums of addends where they lie ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meetings of `peers` on the slots that the compiler assigns: sequences of
// even and odd length in random order with a slow rank, the order of the
// group, what a slot that is used too early does, and ranks that do not come.
// Programs that call it have the same results on all backends.
//
//===----------------------------------------------------------------------===//

#include "../collectives/SharedGroup.h"
#include "RunFixture.h"
#include "ThreadRanks.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

/// Runs job(rank, communicator of all ranks) on a thread per rank.
template <typename Job>
void inGroup(Backend &backend, Job job) {
  std::vector<int64_t> all(size_t(backend.size()));
  std::iota(all.begin(), all.end(), 0);
  onRanks(backend, [&](int64_t r) { job(r, **backend.communicator(r, all)); });
}

Collective sumOf(int64_t count) {
  Collective c{};
  c.kind = CollectiveKind::AllReduce;
  c.type = TPRT_I64;
  c.inputShape = c.outputShape = {count};
  c.peers = true;
  return c;
}

/// Runs sequences of 160, 161 and 162 sums in random order. The last of an odd
/// number has a slot of its own, unless `numSlots` is 2. Counts wrong addends.
int64_t runSequences(int64_t numSlots, const std::function<void()> &slow) {
  constexpr int64_t kRanks = 3, kSequences = 4;
  Collective c = sumOf(1);
  auto backend = threads(kRanks, 30);
  std::atomic<int64_t> wrong = 0;
  std::vector<std::vector<int64_t>> slots(kRanks,
                                          std::vector<int64_t>(numSlots));
  inGroup(*backend, [&](int64_t r, Communicator &group) {
    std::mt19937 order(7), delay(unsigned(r + 1));
    int64_t value = 0;
    for (int64_t n = 0; n < kSequences; ++n) {
      int64_t sites = 160 + int64_t(order() % 3);
      for (int64_t s = 0; s < sites; ++s, ++value) {
        int64_t slot = s + 1 == sites && sites % 2 ? 2 : s % 2;
        int64_t &mine = slots[r][slot % numSlots];
        std::atomic_ref(mine).store(10 * value + r);
        const void *addends[kRanks] = {};
        if (!group.peers(c, {s, n}, &mine, addends).ok()) {
          ++wrong;
          return;
        }
        if (r == 2 && (sites % 2 == 0 || s + 1 < sites) && delay() % 64 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (r == 2 && sites % 2 && s + 1 == sites)
          slow();
        for (int64_t i = 0; i < kRanks; ++i)
          wrong += std::atomic_ref(
                       *static_cast<int64_t *>(const_cast<void *>(addends[i])))
                       .load() != 10 * value + i;
      }
    }
  });
  return wrong;
}

} // namespace

TEST(Peers, SequencesOfAnyLengthInAnyOrder) {
  EXPECT_EQ(runSequences(3, [] {}), 0);
}

/// The first sum of the next sequence is written, with one slot too few, over
/// what a slow rank reads.
TEST(Peers, AMissingSlotIsSeen) {
  EXPECT_GT(
      runSequences(
          2, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }),
      0);
}

/// Nothing is copied: who writes too early is seen by those who read.
TEST(Peers, AnEarlyWriteIsSeen) {
  auto backend = threads(2, 30);
  Collective c = sumOf(1);
  std::atomic<bool> written = false;
  int64_t slot[2] = {1, 2}, seen = 0;
  inGroup(*backend, [&](int64_t r, Communicator &group) {
    const void *addends[2] = {};
    ASSERT_OK(group.peers(c, {0, 0}, &slot[r], addends));
    if (r == 0) {
      slot[0] = 5;
      written = true;
      return;
    }
    while (!written)
      std::this_thread::yield();
    seen = *static_cast<const int64_t *>(addends[0]);
  });
  EXPECT_EQ(seen, 5);
}

TEST(Peers, AddendsAreInTheGroupsOrderWhoeverIsFirst) {
  constexpr int64_t kRanks = 4;
  auto backend = threads(kRanks, 30);
  Collective c = sumOf(1);
  std::vector<int64_t> group = {2, 0, 3, 1};
  int64_t slots[2][kRanks];
  std::atomic<int> wrong = 0;
  inGroup(*backend, [&](int64_t r, Communicator &) {
    auto own = backend->communicator(r, group);
    for (int64_t n = 0; n < 64; ++n) {
      if ((n + r) % kRanks == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      slots[n % 2][r] = n;
      const void *addends[kRanks] = {};
      wrong += !(*own)->peers(c, {0, n}, &slots[n % 2][r], addends).ok();
      for (int64_t i = 0; i < kRanks; ++i)
        wrong += addends[i] != &slots[n % 2][group[size_t(i)]];
    }
  });
  EXPECT_EQ(wrong, 0);
}

/// Adds up what three ranks have, by their positions.
using Add = float (*)(int64_t rank, const float *values);

/// Counts the ranks whose sums, which `add` makes, have other bits than the
/// library's all-reduce.
static int64_t countWrongSums(tprt_type type, Add add) {
  constexpr int64_t kRanks = 3, kCount = 64;
  auto backend = threads(kRanks, 30);
  Collective c = sumOf(kCount);
  c.type = type;
  std::atomic<int64_t> wrong = 0;
  inGroup(*backend, [&](int64_t r, Communicator &group) {
    std::mt19937 random(unsigned(r + 1));
    std::string mine = toBytes(type, randomFloats(random, kCount));
    std::string wanted = mine;
    ASSERT_OK(group.run(c, {0, 0}, mine.data(), wanted.data()));
    const void *addends[kRanks] = {};
    ASSERT_OK(group.peers(c, {1, 0}, mine.data(), addends));
    std::vector<float> values[kRanks], sum(kCount);
    for (int64_t i = 0; i < kRanks; ++i)
      values[i] =
          toFloats(type, std::string(static_cast<const char *>(addends[i]),
                                     mine.size()));
    for (int64_t e = 0; e < kCount; ++e) {
      const float of[kRanks] = {values[0][e], values[1][e], values[2][e]};
      sum[e] = add(r, of);
    }
    wrong += toBytes(type, sum) != wanted;
    ASSERT_OK(group.peers(c, {1, 0}, nullptr, nullptr));
  });
  return wrong;
}

TEST(Peers, OneOrderHasTheBitsOfTheCollective) {
  auto inOrder = [](int64_t, const float *v) { return v[0] + v[1] + v[2]; };
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16})
    EXPECT_EQ(countWrongSums(type, inOrder), 0);
}

TEST(Peers, ARankThatAddsItsOwnFirstIsSeen) {
  auto ownFirst = [](int64_t r, const float *v) {
    return v[r] + v[r == 0 ? 1 : 0] + v[r == 2 ? 1 : 2];
  };
  // Two numbers have one sum.
  EXPECT_EQ(countWrongSums(TPRT_F32, ownFirst), 1);
}

TEST(Peers, SumsInTheOrderOfArrivalAreSeen) {
  auto lastFirst = [](int64_t, const float *v) { return v[2] + v[0] + v[1]; };
  EXPECT_EQ(countWrongSums(TPRT_F32, lastFirst), 3);
}

TEST(Peers, SumsThatAreRoundedTwiceAreSeen) {
  auto narrow = [](int64_t, const float *v) {
    return toFloats(TPRT_BF16, toBytes(TPRT_BF16, {v[0] + v[1]}))[0] + v[2];
  };
  EXPECT_EQ(countWrongSums(TPRT_BF16, narrow), 3);
}

/// Two members meet; the generation is `first` before, and set to `reset`, if
/// that is not negative, before one of them looks.
static Barrier::Result meet(uint32_t first, int64_t reset) {
  Barrier barrier{};
  barrier.generation = first;
  std::atomic<uint32_t> aborted = 0;
  uint32_t ticket = barrier.arrive(2, true);
  barrier.arrive(2, true);
  if (reset >= 0)
    barrier.generation = uint32_t(reset);
  return barrier.pass(ticket, {.oneProcess = true,
                               .crowded = true,
                               .timeout = 0.01,
                               .aborted = aborted});
}

TEST(Peers, GenerationsCountAcrossStepsAndWrapAround) {
  EXPECT_EQ(meet(0, -1), Barrier::Result::Passed);
  EXPECT_EQ(meet(UINT32_MAX, -1), Barrier::Result::Passed);
}

TEST(Peers, AGenerationThatIsResetBetweenStepsIsSeen) {
  EXPECT_EQ(meet(0, 0), Barrier::Result::TimedOut);
}

TEST(Peers, AMeetingFreesTheOnlySlot) {
  auto backend = threads(3, 30);
  Collective c = sumOf(1);
  int64_t slots[3];
  std::atomic<int> wrong = 0;
  inGroup(*backend, [&](int64_t r, Communicator &group) {
    for (int64_t n = 0; n < 100; ++n) {
      slots[r] = 10 * n + r;
      const void *addends[3] = {};
      if (!group.peers(c, {0, n}, &slots[r], addends).ok()) {
        ++wrong;
        return;
      }
      for (int64_t i = 0; i < 3; ++i)
        wrong += *static_cast<const int64_t *>(addends[i]) != 10 * n + i;
      wrong += !group.peers(c, {0, n}, nullptr, nullptr).ok();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Peers, MissingRankIsNamed) {
  auto backend = threads(2, 0.2);
  Collective c = sumOf(1);
  std::vector<Status> statuses(2);
  int64_t slots[2][2] = {};
  inGroup(*backend, [&](int64_t r, Communicator &group) {
    const void *addends[2] = {};
    statuses[r] = group.peers(c, {4, 6}, &slots[0][r], addends);
    if (r == 0)
      statuses[r] = group.peers(c, {5, 7}, &slots[1][r], addends);
  });
  EXPECT_EQ(statuses[0].code(), Code::Lost);
  EXPECT_EQ(statuses[0].message(),
            "rank 0 waited in call 5 layer 7: rank 1 did not arrive within 0.2 "
            "s, last seen after call 4 layer 6");
}

TEST(Peers, ARankThatFailsEndsTheWaitOfTheOthers) {
  auto backend = threads(3, 1000);
  Collective c = sumOf(1);
  std::vector<Status> statuses(3);
  int64_t slots[3] = {};
  inGroup(*backend, [&](int64_t r, Communicator &group) {
    const void *addends[3] = {};
    if (r == 1)
      backend->abort(lostError("rank 1 is lost"));
    else
      statuses[r] = group.peers(c, {0, 0}, &slots[r], addends);
  });
  for (int64_t r : {0, 2})
    EXPECT_EQ(statuses[r].message(), "rank 1 is lost");
}

TEST(Peers, DisagreementIsFound) {
  auto backend = threads(2, 30);
  Collective c = sumOf(1);
  std::vector<Status> statuses(2);
  int64_t slots[2] = {};
  inGroup(*backend, [&](int64_t r, Communicator &group) {
    const void *addends[2] = {};
    statuses[r] = group.peers(c, {r, 0}, &slots[r], addends);
  });
  EXPECT_EQ(statuses[0].code(), Code::Lost);
  EXPECT_NE(backend->failure().message().find("ranks disagree"),
            std::string::npos);
}

/// A group whose members cannot read each other's memory.
struct Apart final : Communicator {
  std::string sum;
  int64_t calls = 0;
  Status run(const Collective &, CallSite, const void *, void *out) override {
    ++calls;
    std::memcpy(out, sum.data(), sum.size());
    return {};
  }
};

/// The other addends leave every sum as it is, -0 too, and a later call of
/// another entry leaves all of them as they are.
TEST(Peers, WithoutSharedMemoryTheSumComesWithNeutralAddends) {
  constexpr int64_t kRanks = 3;
  const std::vector<float> values = {0, -0.0f, 1.5f, -INFINITY};
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16}) {
    Apart group;
    Collective c = sumOf(int64_t(values.size()));
    c.type = type;
    c.axes = {{.size = kRanks}};
    group.sum = toBytes(type, values);
    EXPECT_EQ(group.scratchBytes(), 0);
    const void *addends[kRanks], *others[kRanks];
    ASSERT_OK(group.peers(c, {0, 0}, values.data(), addends));
    std::string sum = std::exchange(group.sum, toBytes(type, {9, 9, 9, 9}));
    ASSERT_OK(group.peers(c, {1, 0}, values.data(), others));
    std::vector<float> total;
    for (int64_t i = 0; i < kRanks; ++i) {
      std::string bytes(static_cast<const char *>(addends[i]), sum.size());
      std::vector<float> next = toFloats(type, bytes);
      for (size_t e = 0; e < next.size() && i > 0; ++e)
        next[e] = total[e] + next[e];
      total = next;
    }
    EXPECT_EQ(toBytes(type, total), sum);
    // There is nobody to wait for.
    ASSERT_OK(group.peers(c, {1, 0}, nullptr, nullptr));
    EXPECT_EQ(group.calls, 2);
    // Both entries have a result and other addends, each on a place of its own.
    EXPECT_GE(group.scratchBytes(), 4 * TPRT_ALIGNMENT);
  }
}

TEST(Peers, WithoutSharedMemoryIntegersStayWhole) {
  Apart group;
  Collective c = sumOf(2);
  c.axes = {{.size = 2}};
  const int64_t values[] = {-7, int64_t(1) << 62};
  group.sum.assign(reinterpret_cast<const char *>(values), sizeof(values));
  const void *addends[2] = {};
  ASSERT_OK(group.peers(c, {0, 0}, values, addends));
  for (int64_t i : {0, 1}) {
    EXPECT_EQ(static_cast<const int64_t *>(addends[0])[i], values[i]);
    EXPECT_EQ(static_cast<const int64_t *>(addends[1])[i], 0);
  }
}

TEST(Peers, ProgramsHaveTheBitsOfTheCollective) {
  for (int64_t ranks : {1, 2, 3}) {
    SCOPED_TRACE(ranks);
    Fixture call(ranks), peers(ranks, peersManifest(ranks));
    std::string arguments = call.weights() + call.input() + " --repeat 10 ";
    auto run = [&](const Fixture &f, const std::string &backend) {
      std::string path = f.directory / (backend + ".safetensors");
      auto result =
          f.run(arguments + "--backend " + backend + " --output " + path);
      EXPECT_EQ(result.code, 0) << result.err;
      f.expectY(readOutput(path));
      return readFile(path);
    };
    std::string wanted = run(call, "threads");
    EXPECT_EQ(run(peers, "threads"), wanted);
    EXPECT_EQ(run(peers, "processes"), wanted);
  }
}

TEST(Peers, NothingIsAwaited) {
  json m = peersManifest(2);
  m["collectives"][0]["asynchronous"] = true;
  EXPECT_EQ(Manifest::parse(m.dump()).status().message(),
            "manifest.collectives[0]: 'peers' and 'asynchronous' exclude each "
            "other");
}
