//===- Sampling.h - how the next token is chosen ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameters of a request, and the defaults of a program, which are those
// of the checkpoint's generation_config.json. Both are JSON objects with that
// file's keys (docs/Generation.md), read by one function.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_FORMAT_SAMPLING_H
#define TPRT_FORMAT_SAMPLING_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tprt {

class Cursor;

/// How a token is chosen. What is not set changes nothing; temperature 0 takes
/// the largest logit. Lengths count tokens.
struct Sampling {
  using Ids = std::vector<int32_t>;

  /// Added to the logit of a sequence's last token where the others have just
  /// come.
  std::vector<std::pair<Ids, float>> sequenceBias;
  /// Positive logits of tokens that occur are divided by it, others
  /// multiplied.
  float repetition = 1;
  /// Subtracted from logits of generated tokens, once or for each time.
  float presence = 0, frequency = 0;
  std::vector<std::pair<int32_t, float>> bias; ///< added to the token's logit
  /// From the token behind `decayStart` generated ones on, |logit| *
  /// (decayFactor^n - 1) is added to the logits that end the answer, with n = 1
  /// for the first.
  int64_t decayStart = 0;
  float decayFactor = 1;

  // Tokens that are excluded.
  int64_t noRepeat = 0; ///< no so many in a row occur twice; 0: any may
  /// Sequences that are never completed; an id that ends answers is none.
  std::vector<Ids> badWords;
  /// No token ends the answer before the text, or the answer, is so long.
  int64_t minLength = 0, minTokens = 0;
  Ids suppressed;      ///< never
  Ids suppressedFirst; ///< not as the answer's first token
  // All but these are excluded.
  int32_t forcedFirst = -1; ///< behind a text of one token; -1: none
  Ids forcedLast;           ///< where the answer must end

  float temperature = 0;
  int64_t topK = 0; ///< only the k largest; 0: all
  float minP = 0;   ///< only those at least so probable beside the largest
  float topP = 1;   ///< only the fewest that are so probable together
  uint64_t seed = 0;

  /// True if the values of logits are changed first.
  bool isAdjusted() const {
    return repetition != 1 || presence != 0 || frequency != 0 ||
           decayFactor != 1 || !bias.empty() || !sequenceBias.empty();
  }
  /// True if tokens may be excluded.
  bool isRestricted() const {
    return noRepeat > 0 || minLength > 0 || minTokens > 0 || forcedFirst >= 0 ||
           !badWords.empty() || !suppressed.empty() ||
           !suppressedFirst.empty() || !forcedLast.empty();
  }
  /// True if a draw is among fewer tokens than there are.
  bool isCut() const {
    return temperature != 0 && (topK > 0 || minP > 0 || topP < 1);
  }
};

/// How many tokens an answer may have, by a default or a request: `newTokens`,
/// or, where that is not set, `length` less the prompt's.
struct AnswerLimit {
  std::optional<int64_t> newTokens, length;
};

/// Sets what `object` says. Throws SchemaError if it has a key of another name
/// or type, an id that is not in [0, vocabulary), or a length below 0; the
/// ranges of other numbers are left to checkRequest.
void readSampling(const Cursor &object, int64_t vocabulary, Sampling &sampling,
                  AnswerLimit &limit);

/// A program's part of its checkpoint's generation_config.json.
struct GenerationConfig {
  std::string file;        ///< its name, for messages
  std::string text = "{}"; ///< the defaults, as JSON
  Sampling sampling;
  AnswerLimit limit;
  /// Keys that do not count, each with the reason.
  std::vector<std::string> ignored;
};

} // namespace tprt

#endif // TPRT_FORMAT_SAMPLING_H
