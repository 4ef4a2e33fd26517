//===- Candidates.h - the best of logits, and draws from them ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common part of sampling from records and from logits. Both must have the
// same bits, so it is compiled for the lowest CPU level alone.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_CANDIDATES_H
#define TPRT_SUPPORT_CANDIDATES_H

#include "Draw.h"
#include "Simd.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tprt {

struct Candidate {
  double value; ///< a logit or a score
  int64_t token;
  bool operator<(const Candidate &other) const { // the better one
    return ranksAbove(value, token, other.value, other.token);
  }
};

/// Keeps the `most` best: a heap, the worst in front.
inline void keepBest(Candidate *heap, int64_t &size, int64_t most,
                     const Candidate &next) {
  if (size == most) {
    if (!(next < heap[0]))
      return;
    std::pop_heap(heap, heap + size--);
  }
  heap[size++] = next;
  std::push_heap(heap, heap + size);
}

/// A number of the standard Gumbel distribution from a random word: the smaller
/// the word, the larger the number, and the finer. The token with the largest
/// sum of logit, over the temperature, and such a number is drawn as often as
/// its probability says (Gumbel, 1954).
inline double gumbel(uint32_t word) {
  return -std::log(-std::log1p(-(word + 0.5) * 0x1p-32));
}

/// -inf if nothing is there, NaN if any is not a number.
inline float findLargest(const float *x, int64_t count) {
  constexpr int64_t kLanes = 16; // side by side, which a compiler vectorises
  float largest[kLanes];
  int32_t isBad[kLanes] = {}, anyBad = 0;
  std::fill_n(largest, kLanes, -std::numeric_limits<float>::infinity());
  auto take = [&](int64_t lane, float value) {
    largest[lane] = value > largest[lane] ? value : largest[lane];
    isBad[lane] |= value != value;
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      take(lane, x[i + lane]);
  for (; i < count; ++i)
    take(0, x[i]);
  for (int32_t bad : isBad)
    anyBad |= bad;
  return anyBad ? std::numeric_limits<float>::quiet_NaN()
                : *std::max_element(largest, largest + kLanes);
}

/// How one token is drawn.
struct Draw {
  float temperature; ///< 0: the largest logit wins
  uint64_t seed;
  uint32_t position;

  struct Winner {
    Candidate score{-std::numeric_limits<double>::infinity(), -1};
    float logit = -std::numeric_limits<float>::infinity();
  };
  /// The most tokens of one call of among().
  static constexpr int64_t kChunk = 256;

  bool isRandom() const { return temperature > 0; }
  double scale() const { return isRandom() ? 1 / double(temperature) : 1; }
  double score(double logit, int64_t token) const {
    return isRandom() ? logit * scale() +
                            gumbel(philox(seed, uint32_t(token), position))
                      : logit;
  }
  /// Draws randomly among `count` tokens from `first` on, whose largest logit
  /// is `largest`, and keeps the winner of all calls.
  void among(const float *logits, int64_t count, int64_t first, float largest,
             Winner &winner) const {
    if (!std::isfinite(largest))
      return;
    // A Gumbel number must exceed `least`, so its word is at most `most`: the
    // share 1 - exp(-exp(-least)) of them is less than exp(-least), and a
    // little more, as this is rounded.
    double least = winner.score.value - double(largest) * scale();
    double most = std::exp(-least) * 0x1p32 * (1 + 1e-9) + 1;
    uint32_t words[kChunk], highest = uint32_t(std::min(most, 0x1p32 - 1));
    if (most < 1.5)
      return;
    simd().randomWords(seed, uint32_t(first), position, count, words);
    for (int64_t i = 0; i < count; ++i) {
      if (words[i] > highest || std::isinf(logits[i]))
        continue;
      double score = double(logits[i]) * scale() + gumbel(words[i]);
      if (score > winner.score.value || winner.score.token < 0)
        winner = {{score, first + i}, logits[i]};
    }
  }
};

} // namespace tprt

#endif // TPRT_SUPPORT_CANDIDATES_H
