//===- SamplerTest.cpp - how tokens are chosen ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beside the definition, written down as it reads (python/tp_mlir/sampling.py
// has the same), and beside softmax.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../generation/Sampler.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace tprt;
using namespace tprt::test;
using namespace tprt::generation;

/// Step by step, on all tokens, sorted, in double.
static int32_t chooseSlowly(const std::vector<float> &logits, const Sampling &s,
                            const std::vector<int32_t> &tokens,
                            int64_t prompt) {
  std::vector<std::pair<double, int32_t>> list; // -value, id
  std::map<int32_t, int> seen, made;
  for (size_t i = 0; i < tokens.size(); ++i) {
    ++seen[tokens[i]];
    if (int64_t(i) >= prompt)
      ++made[tokens[i]];
  }
  for (int32_t id = 0; id < int32_t(logits.size()); ++id) {
    double x = logits[size_t(id)];
    if (seen.count(id))
      x = x > 0 ? x / s.repetition : x * s.repetition;
    if (made.count(id))
      x -= s.presence + s.frequency * made[id];
    for (auto [to, bias] : s.bias)
      x += to == id ? bias : 0;
    list.push_back({-x, id});
  }
  std::sort(list.begin(), list.end());
  if (s.temperature == 0)
    return list[0].second;
  for (auto &[x, id] : list)
    x /= s.temperature;
  if (s.topK > 0)
    list.resize(std::min(list.size(), size_t(s.topK)));
  double top = list[0].first, sum = 0, before = 0;
  std::erase_if(list,
                [&](auto &c) { return std::exp(top - c.first) < s.minP; });
  for (auto &c : list)
    sum += std::exp(top - c.first);
  size_t count = 0;
  for (; count < list.size() && (count == 0 || before < s.topP * sum); ++count)
    before += std::exp(top - list[count].first);
  list.resize(count);
  std::pair<double, int32_t> best{INFINITY, 0};
  for (auto [x, id] : list)
    best = std::min(best, {x - gumbel(philox(s.seed, uint32_t(id),
                                             uint32_t(tokens.size()))),
                           id});
  return best.second;
}

TEST(Sampler, Philox) {
  // From the authors' known answers: all words zero.
  EXPECT_EQ(philox(0, 0, 0), 0x6627e8d5u);
  EXPECT_NEAR(gumbel(0), 32.5 * M_LN2 + 0.5 * M_LN2, 1e-9);
  EXPECT_LT(gumbel(UINT32_MAX), -3);
  EXPECT_TRUE(std::isfinite(gumbel(UINT32_MAX)));
}

TEST(Sampler, TheFirstOfTheLargest) {
  std::mt19937 random(kSeed);
  for (int64_t count : {1, 2, 15, 16, 17, 1023, 1024, 1025, 3000}) {
    std::vector<float> x = randomFloats(random, count);
    for (int repeat = 0; repeat < 20; ++repeat) {
      size_t at = random() % size_t(count), later = random() % size_t(count);
      std::vector<float> y = x;
      y[at] = y[later] = 2;
      EXPECT_EQ(argmax(y.data(), count), int64_t(std::min(at, later)));
      y[later] = std::nanf("");
      EXPECT_EQ(argmax(y.data(), count), -1);
    }
  }
  std::vector<float> none(20, -INFINITY);
  EXPECT_EQ(argmax(none.data(), 20), 0);
  none[19] = -1e30f;
  EXPECT_EQ(argmax(none.data(), 20), 19);
}

TEST(Sampler, AsDefined) {
  for (unsigned round = 0; round < 2000; ++round) {
    unsigned seed = kSeed + round;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
    int64_t vocabulary = 1 + below(400);
    std::vector<float> logits = randomFloats(random, vocabulary, 6);
    for (float &x : logits) // ties
      x = below(2) ? std::round(x) : x;
    std::vector<int32_t> tokens;
    for (int64_t i = 1 + below(20); i > 0; --i)
      tokens.push_back(int32_t(below(vocabulary)));
    int64_t prompt = 1 + below(int64_t(tokens.size()));
    Sampling s;
    s.temperature = below(4) ? 0.3f + 0.1f * float(below(12)) : 0;
    s.topK = below(2) ? below(vocabulary + 5) : 0;
    s.minP = below(2) ? 0.013f * float(below(20)) : 0;
    s.topP = below(2) ? 0.0493f * float(below(20)) : 1;
    s.repetition = below(2) ? 1.3f : 1;
    s.presence = below(2) ? 0.7f : 0;
    s.frequency = below(2) ? 0.4f : 0;
    s.seed = uint64_t(random()) << 32 | random();
    if (below(2))
      s.bias = {{int32_t(below(vocabulary)), 3.5f}};
    Sampler sampler(vocabulary);
    for (int twice = 0; twice < 2; ++twice) {
      auto chosen = sampler.choose(logits.data(), s, tokens, prompt);
      ASSERT_TRUE(bool(chosen)) << chosen.status().message();
      ASSERT_EQ(*chosen, chooseSlowly(logits, s, tokens, prompt));
    }
  }
}

/// 100,000 draws at as many positions are as frequent as softmax says.
TEST(Sampler, FollowsSoftmax) {
  constexpr int64_t kVocabulary = 300, kDraws = 100'000;
  std::mt19937 random(kSeed);
  std::vector<float> logits = randomFloats(random, kVocabulary, 2);
  Sampling s;
  s.temperature = 0.8f;
  s.seed = 5;
  for (bool isCut : {false, true}) {
    s.topK = isCut ? 40 : 0;
    double sum = 0, least = -INFINITY;
    if (isCut) {
      std::vector<float> sorted = logits;
      std::sort(sorted.rbegin(), sorted.rend());
      least = sorted[39];
    }
    auto weight = [&](float x) { return x >= least ? std::exp(x / 0.8) : 0; };
    for (float x : logits)
      sum += weight(x);
    std::vector<int64_t> counts(kVocabulary);
    Sampler sampler(kVocabulary);
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < kDraws; ++i) {
      tokens.push_back(0);
      ++counts[size_t(*sampler.choose(logits.data(), s, tokens, 1))];
    }
    double chi = 0;
    int64_t kinds = 0;
    for (int64_t id = 0; id < kVocabulary; ++id) {
      double expected = kDraws * weight(logits[size_t(id)]) / sum;
      if (expected == 0) {
        EXPECT_EQ(counts[size_t(id)], 0);
        continue;
      }
      ++kinds;
      chi += std::pow(double(counts[size_t(id)]) - expected, 2) / expected;
    }
    // Five deviations above the mean.
    double degrees = double(kinds - 1);
    EXPECT_LT(chi, degrees + 5 * std::sqrt(2 * degrees));
    EXPECT_EQ(kinds, isCut ? 40 : kVocabulary);
  }
}

TEST(Sampler, LogProbabilities) {
  std::vector<float> logits{1, 3, 2, 3};
  Sampler sampler(4);
  double all = std::log(std::exp(1) + 2 * std::exp(3) + std::exp(2));
  auto got = sampler.logProbabilities(logits.data(), 2, 2);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].first, 2);
  EXPECT_NEAR(got[0].second, 2 - all, 1e-6);
  EXPECT_EQ(got[1].first, 1);
  EXPECT_EQ(got[2].first, 3);
  EXPECT_NEAR(got[2].second, 3 - all, 1e-6);
  EXPECT_EQ(sampler.logProbabilities(logits.data(), 2, 0).size(), 1u);
}

TEST(Sampler, LogitsThatAreNoNumbers) {
  Sampler sampler(3);
  for (float bad : {NAN, INFINITY}) {
    std::vector<float> logits{1, bad, 2};
    EXPECT_MESSAGE(sampler.choose(logits.data(), {}, {0, 1}, 1).status(),
                   "the logits of position 1 are not numbers");
  }
}
