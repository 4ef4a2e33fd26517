//===- SamplingTest.cpp - tokens from records of the vocabulary -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of any number of shards, padded as a rank's logits are, lead to the
// same token as all logits do, in f64 and sorted; draws are as often as softmax
// says.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../host/HostRank.h"
#include "../support/Candidates.h"
#include "../support/Simd.h"

#include <algorithm>
#include <cmath>

using namespace tprt;
using namespace tprt::test;

namespace {

struct Setting {
  int32_t position = 0;
  int64_t seed = 0;
  float temperature = 1;
  int32_t topK = 0;
  float topP = 1, minP = 0;
};

struct Choice {
  int32_t token;
  float logprob;
};

/// Each shard by itself, as the ranks do. Padding would win if it counted.
Choice choose(const std::vector<float> &logits, const Setting &s,
              int64_t shards) {
  int64_t count = int64_t(logits.size()), size = (count + shards - 1) / shards;
  std::vector<float> padded(logits), records(shards * TPRT_RECORD_WORDS);
  padded.resize(shards * size, 1e30f);
  for (int32_t shard = 0; shard < shards; ++shard)
    HostFunctions::sample_records(nullptr, 1, size, 1, count,
                                  padded.data() + shard * size, &shard,
                                  &s.position, &s.seed, &s.temperature,
                                  records.data() + shard * TPRT_RECORD_WORDS);
  Choice choice;
  HostFunctions::sample_pick(nullptr, 1, shards, records.data(), &s.position,
                             &s.seed, &s.temperature, &s.topK, &s.topP, &s.minP,
                             &choice.token, &choice.logprob);
  return choice;
}

/// From all logits, step by step.
Choice chooseSlowly(const std::vector<float> &logits, const Setting &s) {
  std::vector<std::pair<double, int32_t>> list; // -value, token
  double largest = *std::max_element(logits.begin(), logits.end()), all = 0;
  double scale = s.temperature > 0 ? 1 / double(s.temperature) : 1;
  for (size_t id = 0; id < logits.size(); ++id) {
    all += std::exp(logits[id] - largest);
    list.push_back({-logits[id] * scale, int32_t(id)});
  }
  std::sort(list.begin(), list.end());
  auto choice = [&](int32_t token) {
    return Choice{token,
                  float(logits[size_t(token)] - largest - std::log(all))};
  };
  if (s.temperature <= 0)
    return choice(list[0].second);
  if (s.topK > 0)
    list.resize(std::min(list.size(), size_t(s.topK)));
  double top = list[0].first, sum = 0, before = 0;
  std::erase_if(list, [&](auto &c) {
    return s.minP > 0 && -c.first < -top + std::log(double(s.minP));
  });
  for (auto &c : list)
    sum += std::exp(top - c.first);
  size_t count = 0;
  for (; count < list.size() && (count == 0 || before < s.topP * sum); ++count)
    before += std::exp(top - list[count].first);
  list.resize(count);
  std::pair<double, int32_t> best{INFINITY, 0};
  for (auto [x, id] : list)
    best = std::min(best, {x - gumbel(philox(uint64_t(s.seed), uint32_t(id),
                                             uint32_t(s.position))),
                           id});
  return choice(best.second);
}

Setting randomSampling(std::mt19937 &random) {
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  Setting s;
  s.position = int32_t(below(5000));
  s.seed = int64_t(uint64_t(random()) << 32 | random());
  s.temperature = below(4) ? 0.3f + 0.1f * float(below(12)) : 0;
  s.topK = below(2) ? int32_t(below(80)) : 0;
  s.minP = below(2) ? 0.013f * float(below(20)) : 0;
  s.topP = below(2) ? 0.0493f * float(below(20)) : 1;
  return s;
}

} // namespace

TEST(Sampling, AnyNumberOfShardsAsDefined) {
  int known = 0;
  for (unsigned round = 0; round < 2000; ++round) {
    std::mt19937 random(kSeed + round);
    SCOPED_TRACE("seed " + std::to_string(kSeed + round));
    int64_t vocabulary = round % 4 ? 131 : 1 + random() % 500;
    std::vector<float> logits = randomFloats(random, vocabulary, 5);
    for (float &x : logits) { // all negative, with ties
      x = (random() % 2 ? std::round(x) : x) - 100;
      if (random() % 8 == 0)
        x = -INFINITY;
    }
    logits[random() % logits.size()] = -90;
    Setting s = randomSampling(random);
    Choice one = choose(logits, s, 1);
    for (int64_t shards : {2, 3, 4, 7}) {
      Choice choice = choose(logits, s, shards);
      ASSERT_EQ(choice.token, one.token) << shards << " shards";
      ASSERT_NEAR(choice.logprob, one.logprob, 1e-5);
    }
    if (one.token < 0)
      continue;
    ++known;
    Choice wanted = chooseSlowly(logits, s);
    ASSERT_EQ(one.token, wanted.token);
    ASSERT_NEAR(one.logprob, wanted.logprob, 1e-5);
  }
  EXPECT_GT(known, 1500);
}

TEST(Sampling, WhatRecordsCannotTell) {
  std::mt19937 random(kSeed);
  std::vector<float> flat(1000, 1), logits = randomFloats(random, 1000, 5);
  EXPECT_EQ(choose(flat, {.topP = 0.9f}, 3).token, -1);
  EXPECT_EQ(choose(flat, {.topK = 65}, 3).token, -1);
  EXPECT_EQ(choose(flat, {.minP = 0.5f}, 3).token, -1);
  EXPECT_GE(choose(flat, {}, 3).token, 0);
  EXPECT_GE(choose(flat, {.topK = 64, .minP = 0.5f}, 3).token, 0);
  // Two of four are exactly half.
  EXPECT_EQ(choose({0, 0, 0, 0}, {.topP = 0.5f}, 2).token, -1);
  EXPECT_EQ(choose(logits, {.position = -1}, 3).token, -1);
  for (float bad : {NAN, INFINITY})
    for (size_t at : {0, 500, 999}) {
      std::vector<float> x = logits;
      x[at] = bad;
      for (float temperature : {0.0f, 1.0f})
        for (int64_t shards : {1, 3}) {
          Choice choice = choose(x, {.temperature = temperature}, shards);
          EXPECT_EQ(choice.token, -1);
          EXPECT_EQ(choice.logprob, 0);
        }
    }
  std::vector<float> nothing(10, -INFINITY);
  EXPECT_EQ(choose(nothing, {}, 4).token, -1);
  // More shards than tokens; one that is left.
  nothing[4] = -3;
  for (float temperature : {0.0f, 0.5f, 1e-40f, INFINITY}) {
    Choice choice = choose(nothing, {.temperature = temperature}, 12);
    EXPECT_EQ(choice.token, 4);
    EXPECT_EQ(choice.logprob, 0);
  }
}

TEST(Sampling, GreedyTakesTheLowest) {
  for (int64_t shards : {1, 2, 3, 7})
    for (int32_t first = 0; first < 20; ++first) {
      std::vector<float> logits(20, -2);
      for (int32_t id = first; id < 20; id += 3)
        logits[size_t(id)] = -1;
      EXPECT_EQ(choose(logits, {.temperature = 0}, shards).token, first);
      EXPECT_EQ(choose(logits, {.topK = 1}, shards).token, first);
    }
}

// Chi-square with 24 degrees of freedom exceeds 51.2 once in a thousand.
TEST(Sampling, DrawsAsSoftmaxSays) {
  constexpr int kTokens = 25, kDraws = 100000;
  std::vector<float> logits(kTokens);
  double sum = 0;
  for (int i = 0; i < kTokens; ++i) {
    logits[size_t(i)] = float(i % 7) * 0.5f;
    sum += std::exp(logits[size_t(i)] / 0.8);
  }
  std::vector<int> counts(kTokens);
  for (int draw = 0; draw < kDraws; ++draw)
    ++counts[size_t(
        choose(
            logits,
            {.position = draw % 1000, .seed = draw / 1000, .temperature = 0.8f},
            1)
            .token)];
  double chiSquare = 0;
  for (int i = 0; i < kTokens; ++i) {
    double expected = kDraws * std::exp(logits[size_t(i)] / 0.8) / sum;
    chiSquare += (counts[size_t(i)] - expected) *
                 (counts[size_t(i)] - expected) / expected;
  }
  EXPECT_LT(chiSquare, 51.2);
}
