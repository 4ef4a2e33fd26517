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

/// True if `sequence` is complete once `id` follows the text.
static bool completes(const std::vector<int32_t> &sequence,
                      std::vector<int32_t> text, int32_t id) {
  text.push_back(id);
  return sequence.size() <= text.size() &&
         std::equal(sequence.rbegin(), sequence.rend(), text.rbegin());
}

/// True if the rules of the request leave `id`, which follows the text.
static bool mayCome(const Sampling &s, const History &h, int32_t id) {
  std::vector<int32_t> text(h.tokens.begin(), h.tokens.end());
  auto has = [&](const auto &ids) {
    return std::count(ids.begin(), ids.end(), id) > 0;
  };
  int64_t made = h.length() - h.prompt;
  bool isShifted = s.forcedFirst >= 0 && h.prompt == 1;
  if (has(s.suppressed) || (made == isShifted && has(s.suppressedFirst)))
    return false;
  if (h.isLast && !s.forcedLast.empty())
    return has(s.forcedLast);
  if (s.forcedFirst >= 0 && h.length() == 1)
    return id == s.forcedFirst;
  if (has(h.ends) && (h.length() < s.minLength || made < s.minTokens))
    return false;
  for (const auto &sequence : s.badWords)
    if (completes(sequence, text, id) && !(sequence.size() == 1 && has(h.ends)))
      return false;
  text.push_back(id);
  auto size = s.noRepeat;
  for (int64_t at = 0; size > 0 && at + size < int64_t(text.size()); ++at)
    if (std::equal(text.end() - size, text.end(), text.begin() + at))
      return false;
  return true;
}

/// Step by step, on all tokens, sorted, in double; -1: none is left.
static int32_t chooseSlowly(const std::vector<float> &logits, const Sampling &s,
                            const History &h) {
  std::vector<int32_t> tokens(h.tokens.begin(), h.tokens.end());
  int64_t prompt = h.prompt;
  std::vector<std::pair<double, int32_t>> list; // -value, id
  std::map<int32_t, int> seen, made;
  for (size_t i = 0; i < tokens.size(); ++i) {
    ++seen[tokens[i]];
    if (int64_t(i) >= prompt)
      ++made[tokens[i]];
  }
  for (int32_t id = 0; id < int32_t(logits.size()); ++id) {
    if (!mayCome(s, h, id))
      continue;
    double x = logits[size_t(id)];
    for (const auto &[sequence, bias] : s.sequenceBias)
      x += sequence.back() == id && completes(sequence, tokens, id) ? bias : 0;
    if (seen.count(id))
      x = x > 0 ? x / s.repetition : x * s.repetition;
    if (made.count(id))
      x -= s.presence + s.frequency * made[id];
    for (auto [to, bias] : s.bias)
      x += to == id ? bias : 0;
    int64_t late = h.length() - prompt - s.decayStart;
    if (late > 0 && std::count(h.ends.begin(), h.ends.end(), id))
      x += std::abs(x) * (std::pow(double(s.decayFactor), late) - 1);
    bool isForced = (h.isLast && !s.forcedLast.empty()) ||
                    (s.forcedFirst >= 0 && h.length() == 1);
    list.push_back({isForced ? 0 : -x, id});
  }
  if (list.empty())
    return -1;
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

static Sampling randomSampling(std::mt19937 &random, int64_t vocabulary) {
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
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
  return s;
}

/// Rules that exclude tokens, and those of whole sequences.
static void addRules(std::mt19937 &random, int64_t vocabulary, Sampling &s) {
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  auto ids = [&](int64_t most) {
    Sampling::Ids ids;
    for (int64_t i = 1 + below(most); i > 0; --i)
      ids.push_back(int32_t(below(vocabulary)));
    return ids;
  };
  auto sometimes = [&] { return below(3) == 0; };
  if (sometimes())
    s.sequenceBias = {{ids(1), 1.5f}, {ids(2), -2}, {ids(3), 4}};
  if (sometimes())
    s.badWords = {ids(1), ids(2), ids(2), ids(3)};
  if (sometimes()) {
    s.decayStart = below(4);
    // No multiple of a whole logit is near to another one.
    s.decayFactor = below(2) ? 1.371f : 0.829f;
  }
  s.noRepeat = sometimes() ? 1 + below(3) : 0;
  s.minTokens = sometimes() ? below(6) : 0;
  s.minLength = sometimes() ? below(12) : 0;
  s.suppressed = sometimes() ? ids(5) : Sampling::Ids();
  s.suppressedFirst = sometimes() ? ids(5) : Sampling::Ids();
  s.forcedFirst = sometimes() ? int32_t(below(vocabulary)) : -1;
  s.forcedLast = sometimes() ? ids(2) : Sampling::Ids();
}

TEST(Sampler, AsDefined) {
  for (unsigned round = 0; round < 4000; ++round) {
    unsigned seed = kSeed + round;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
    bool hasRules = round % 2;
    // Few tokens, so that sequences occur.
    int64_t vocabulary = 1 + below(hasRules && below(2) ? 6 : 400);
    std::vector<float> logits = randomFloats(random, vocabulary, 6);
    for (float &x : logits) // ties
      x = below(2) ? std::round(x) : x;
    std::vector<int32_t> tokens, ends;
    for (int64_t i = 1 + below(20); i > 0; --i)
      tokens.push_back(int32_t(below(vocabulary)));
    int64_t prompt = 1 + below(int64_t(tokens.size()));
    for (int64_t i = below(3); i > 0; --i)
      ends.push_back(int32_t(below(vocabulary)));
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    Sampling s = randomSampling(random, vocabulary);
    if (hasRules)
      addRules(random, vocabulary, s);
    History history{tokens, prompt, below(3) == 0, ends};
    Sampler sampler(vocabulary);
    int32_t expected = chooseSlowly(logits, s, history);
    for (int twice = 0; twice < 2; ++twice) {
      auto chosen = sampler.choose(logits.data(), s, history);
      if (expected < 0) {
        EXPECT_MESSAGE(
            chosen.status(),
            detail::join("no token can follow position ", tokens.size() - 1,
                         ": suppress_tokens, no_repeat_ngram_size and the like "
                         "exclude the whole vocabulary"));
        continue;
      }
      ASSERT_TRUE(bool(chosen)) << chosen.status().message();
      ASSERT_EQ(*chosen, expected);
    }
    // The scheduler asks this of a token that the program has chosen.
    Sampling::Ids scratch;
    bool hasChoice = forcedNext(s, history).size() > 1;
    for (int32_t id = 0; id < int32_t(std::min<int64_t>(vocabulary, 6)); ++id)
      ASSERT_EQ(isOverruled(s, history, id, scratch),
                hasChoice || !mayCome(s, history, id));
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
      ++counts[size_t(*sampler.choose(logits.data(), s, {tokens, 1}))];
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
    std::vector<int32_t> tokens{0, 1};
    EXPECT_MESSAGE(sampler.choose(logits.data(), {}, {tokens, 1}).status(),
                   "the logits of position 1 are not numbers");
  }
}
