//===- Request.h - what is asked of a generator, and told -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_REQUEST_H
#define TPRT_GENERATION_REQUEST_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tprt::generation {

/// How a token is chosen, applied in this order. What is not set changes
/// nothing; temperature 0 takes the largest logit.
struct Sampling {
  /// Of tokens that occur: positive logits are divided by it, others
  /// multiplied.
  float repetition = 1;
  /// Of tokens that were generated: subtracted, once or for each time.
  float presence = 0, frequency = 0;
  std::vector<std::pair<int32_t, float>> bias; ///< added to the token's logit
  float temperature = 0;
  int64_t topK = 0; ///< only the k largest; 0: all
  float minP = 0;   ///< only those at least so probable beside the largest
  float topP = 1;   ///< only the fewest that are so probable together
  uint64_t seed = 0;

  /// Whether the logits are changed first.
  bool isAdjusted() const {
    return repetition != 1 || presence != 0 || frequency != 0 || !bias.empty();
  }
};

/// Tokens with the logarithm of their probability under the logits as the
/// program gives them.
using LogProbabilities = std::vector<std::pair<int32_t, float>>;

struct Request {
  std::vector<int32_t> prompt;
  int64_t maxTokens = 16;
  Sampling sampling;
  std::vector<int32_t> stopIds; ///< beside the program's
  bool ignoreStops = false;     ///< of the program
  /// How many of the most probable tokens are told beside the chosen; -1: no
  /// log-probabilities at all.
  int64_t logProbabilities = -1;
};

enum class Finish { None, Length, Stop, Cancelled, Error };

/// A new token of a request, its end, or both.
struct Event {
  uint64_t request = 0;
  int32_t token = -1; ///< -1: none
  Finish finish = Finish::None;
  /// The chosen token first, then the most probable.
  LogProbabilities logProbabilities = {};
  std::string error = {}; ///< of Finish::Error
};

} // namespace tprt::generation

#endif // TPRT_GENERATION_REQUEST_H
