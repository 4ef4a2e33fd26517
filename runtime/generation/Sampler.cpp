//===- Sampler.cpp - the next token from logits ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vocabularies are long and steps are short: nothing is sorted that cannot be
// among the few that are left, and logarithms are taken of few.
//
//===----------------------------------------------------------------------===//

#include "Sampler.h"

#include <bit>
#include <utility>

using namespace tprt;
using namespace tprt::generation;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t generation::argmax(const float *values, int64_t count) {
  constexpr int64_t kBlock = 1024;
  float best = -std::numeric_limits<float>::infinity();
  int64_t at = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    float largest =
        findLargest(values + begin, std::min(kBlock, count - begin));
    if (std::isnan(largest))
      return -1;
    if (largest > best) {
      best = largest;
      at = begin;
    }
  }
  return std::find(values + at, values + count, best) - values;
}

/// Repetition, presence and frequency.
void Sampler::penalise(const Sampling &sampling, const History &history) {
  times.resize(size_t(vocabulary)); // all 0 between calls
  for (size_t i = 0; i < history.tokens.size(); ++i) {
    int32_t &count = times[size_t(history.tokens[i])];
    count = std::max(count, 1) + (int64_t(i) >= history.prompt);
  }
  for (int32_t id : history.tokens) {
    int32_t count = std::exchange(times[size_t(id)], 0);
    if (count == 0)
      continue;
    float &x = adjusted[size_t(id)];
    x = x > 0 ? x / sampling.repetition : x * sampling.repetition;
    if (count > 1)
      x -= sampling.presence + sampling.frequency * float(count - 1);
  }
}

/// The longer an answer is, the more probable its end becomes.
void Sampler::hasten(const Sampling &sampling, const History &history) {
  constexpr double kMost = 1e30; // times a logit this is still a number
  int64_t late = history.generated() - sampling.decayStart;
  if (late <= 0 || sampling.decayFactor == 1)
    return;
  double more = std::pow(double(sampling.decayFactor), double(late)) - 1;
  for (int32_t id : history.ends) {
    float &x = adjusted[size_t(id)];
    x += float(std::abs(double(x)) * std::min(more, kMost));
  }
}

void Sampler::exclude(const Sampling &sampling, const History &history) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  Sampling::Ids forced = forcedNext(sampling, history);
  if (!forced.empty()) {
    adjusted.assign(size_t(vocabulary), kNever);
    for (int32_t id : forced)
      adjusted[size_t(id)] = 0;
  }
  excludeNext(sampling, history, excluded);
  for (int32_t id : excluded)
    adjusted[size_t(id)] = kNever;
  for (int32_t id = 0; id < vocabulary && !history.allowed.empty(); ++id)
    if (!history.isAllowed(id))
      adjusted[size_t(id)] = kNever;
}

/// Applies all that the request sets; returns the logits as they are if that
/// is nothing.
const float *Sampler::adjust(const float *logits, const Sampling &sampling,
                             const History &history) {
  bool isRestricted = sampling.isRestricted() || !history.allowed.empty();
  if (!sampling.isAdjusted() && !isRestricted)
    return logits;
  adjusted.assign(logits, logits + vocabulary);
  for (const auto &[sequence, bias] : sampling.sequenceBias)
    if (isCompletedNext(sequence, history))
      adjusted[size_t(sequence.back())] += bias;
  penalise(sampling, history);
  for (auto [id, bias] : sampling.bias)
    adjusted[size_t(id)] += bias;
  hasten(sampling, history);
  if (isRestricted)
    exclude(sampling, history);
  return adjusted.data();
}

/// The `most` best (0: all) of the candidates of at least `least`.
void Sampler::select(const float *logits, double scale, int64_t most,
                     double least) {
  int64_t size = 0, limit = std::min(most, vocabulary);
  candidates.resize(size_t(limit));
  for (int32_t id = 0; id < vocabulary; ++id) {
    Candidate next{logits[id] * scale, id};
    if (next.value < least)
      continue;
    if (most > 0)
      keepBest(candidates.data(), size, limit, next);
    else
      candidates.push_back(next);
  }
  if (most > 0)
    candidates.resize(size_t(size));
}

/// The winner among the candidates, whose values are over the temperature.
Candidate Sampler::drawCandidate(const Draw &draw) const {
  Candidate best{-kInfinity, 0}, winner{};
  for (const Candidate &c : candidates) {
    uint32_t word = philox(draw.seed, uint32_t(c.token), draw.position);
    // gumbel(word) is at most -log(word * 2^-32), and so below this. Most lose
    // without a logarithm.
    constexpr double kLog2 = 0.6931471805599454;
    if (c.value + (33 - std::bit_width(word)) * kLog2 + 1e-9 < best.value)
      continue;
    if (Candidate sum{c.value + gumbel(word), c.token};
        sum < best || best.value == -kInfinity) {
      best = sum;
      winner = c;
    }
  }
  return winner;
}

/// The winner among all tokens.
int32_t Sampler::drawToken(const Draw &draw, const float *logits) const {
  Draw::Winner winner;
  for (int64_t begin = 0; begin < vocabulary; begin += Draw::kChunk) {
    int64_t count = std::min(Draw::kChunk, vocabulary - begin);
    draw.among(logits + begin, count, begin, findLargest(logits + begin, count),
               winner);
  }
  return int32_t(winner.score.token);
}

/// Draws from the nucleus of the candidates: the fewest of the best whose
/// `weights` add up to `wanted`. A token belongs to it if all better ones
/// together have less. No candidate is sorted: a winner that belongs to the
/// nucleus has won there too, and if it does not belong, neither does any that
/// is worse, so that the better ones are left to draw among.
int32_t Sampler::drawNucleus(const Draw &draw, double wanted) {
  while (true) {
    Candidate winner = drawCandidate(draw);
    double better = 0;
    size_t left = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!(candidates[i] < winner))
        continue;
      better += double(weights[i]);
      candidates[left] = candidates[i];
      weights[left++] = weights[i];
    }
    if (left == 0 || better < wanted)
      return int32_t(winner.token);
    candidates.resize(left);
  }
}

/// As above, among all tokens, the best of which is `best`. A flat nucleus has
/// nearly the whole vocabulary, and the first winner belongs to it nearly
/// always.
int32_t Sampler::drawNucleus(const Draw &draw, const float *logits,
                             int64_t best, double topP) {
  weights.resize(size_t(vocabulary));
  double wanted =
      topP * simd().exponentials(logits, float(draw.scale()), logits[best],
                                 vocabulary, weights.data());
  int32_t winner = drawToken(draw, logits);
  auto isBetter = [&, value = logits[winner]](int32_t id) {
    return logits[id] > value || (logits[id] == value && id < winner);
  };
  double better = 0;
  for (int32_t id = 0; id < vocabulary; ++id)
    better += isBetter(id) ? double(weights[size_t(id)]) : 0;
  if (winner == best || better < wanted)
    return winner;
  candidates.clear();
  for (int32_t id = 0; id < vocabulary; ++id) {
    if (!isBetter(id))
      continue;
    weights[candidates.size()] = weights[size_t(id)];
    candidates.push_back({logits[id] * draw.scale(), id});
  }
  return drawNucleus(draw, wanted);
}

/// Why no token can be chosen from what was made of the `given` logits.
Status Sampler::explainNone(const float *given, const float *logits,
                            const History &history) const {
  int64_t best = argmax(given, vocabulary);
  if (logits != given && best >= 0 && best < vocabulary &&
      std::isfinite(given[best]))
    return userError("no token can follow position ", history.length() - 1,
                     ": suppress_tokens, no_repeat_ngram_size and the like "
                     "exclude the whole vocabulary",
                     history.allowed.empty()
                         ? ""
                         : ", or all of it that the answer's grammar allows");
  return internalError("the logits of position ", history.length() - 1,
                       " are not numbers");
}

Expected<int32_t> Sampler::choose(const float *given, const Sampling &sampling,
                                  const History &history) {
  const float *logits = adjust(given, sampling, history);
  int64_t best = argmax(logits, vocabulary);
  if (best < 0 || best == vocabulary || std::isinf(logits[best]))
    return explainNone(given, logits, history);
  if (sampling.temperature == 0)
    return int32_t(best);
  Draw draw{sampling.temperature, sampling.seed, uint32_t(history.length())};
  if (!sampling.isCut())
    return drawToken(draw, logits);
  if (sampling.topK == 0 && sampling.minP == 0)
    return drawNucleus(draw, logits, best, double(sampling.topP));
  double largest = logits[best] * draw.scale();
  // It does not depend on how many are left.
  double least = sampling.minP > 0 ? largest + std::log(double(sampling.minP))
                                   : -kInfinity;
  select(logits, draw.scale(), sampling.topK, least);
  if (sampling.topP == 1)
    return int32_t(drawCandidate(draw).token);
  weights.resize(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i)
    weights[i] = float(candidates[i].value - largest);
  double sum = simd().exponentials(weights.data(), 1, 0,
                                   int64_t(weights.size()), weights.data());
  return drawNucleus(draw, double(sampling.topP) * sum);
}

LogProbabilities Sampler::logProbabilities(const float *logits, int32_t chosen,
                                           int64_t most) {
  int64_t best = argmax(logits, vocabulary);
  if (best < 0)
    return {{chosen, std::numeric_limits<float>::quiet_NaN()}};
  float largest = logits[best];
  weights.resize(size_t(vocabulary));
  double sum =
      simd().exponentials(logits, 1, largest, vocabulary, weights.data());
  double all = largest + std::log(sum);
  LogProbabilities result{{chosen, float(logits[chosen] - all)}};
  if (most == 0)
    return result;
  select(logits, 1, most, -kInfinity);
  std::sort(candidates.begin(), candidates.end());
  for (const Candidate &c : candidates)
    result.push_back({int32_t(c.token), float(c.value - all)});
  return result;
}
