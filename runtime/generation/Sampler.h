//===- Sampler.h - the next token from logits -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A draw is Gumbel-max: the token with the largest sum of its logit, over the
// temperature, and a random number of its own, which is a function of the
// request's seed, the position of the new token and its id. So the same logits
// give the same token whatever else runs, on however many ranks. Of equal
// values the lowest id is taken, everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_SAMPLER_H
#define TPRT_GENERATION_SAMPLER_H

#include "../support/Candidates.h"
#include "Exclusions.h"
#include "Request.h"
#include "tprt/status.h"

namespace tprt::generation {

/// Keeps room for its work: one of them serves all requests, one at a time.
class Sampler {
public:
  explicit Sampler(int64_t vocabulary) : vocabulary(vocabulary) {}

  /// The token that comes next. An error if a logit is not a number, or if
  /// every token is excluded.
  Expected<int32_t> choose(const float *logits, const Sampling &sampling,
                           const History &history);

  /// The logarithms of the probabilities of `chosen`, then of the `most` most
  /// probable. NaN of `chosen` alone if a logit is not a number.
  LogProbabilities logProbabilities(const float *logits, int32_t chosen,
                                    int64_t most);

private:
  const float *adjust(const float *logits, const Sampling &sampling,
                      const History &history);
  void penalise(const Sampling &sampling, const History &history);
  void hasten(const Sampling &sampling, const History &history);
  void exclude(const Sampling &sampling, const History &history);
  Status explainNone(const float *given, const float *logits,
                     const History &history) const;
  void select(const float *logits, double scale, int64_t most, double least);
  int32_t drawToken(const Draw &draw, const float *logits) const;
  Candidate drawCandidate(const Draw &draw) const;
  int32_t drawNucleus(const Draw &draw, double wanted);
  int32_t drawNucleus(const Draw &draw, const float *logits, int64_t best,
                      double topP);

  int64_t vocabulary;
  std::vector<float> adjusted;
  Sampling::Ids excluded;
  std::vector<int32_t> times; ///< 1 and how often a token was generated
  std::vector<Candidate> candidates;
  std::vector<float> weights;
};

/// The position of the first of the largest; -1 if any is not a number.
int64_t argmax(const float *values, int64_t count);

} // namespace tprt::generation

#endif // TPRT_GENERATION_SAMPLER_H
