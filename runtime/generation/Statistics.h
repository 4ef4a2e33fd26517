//===- Statistics.h - what a generator tells of itself ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_STATISTICS_H
#define TPRT_GENERATION_STATISTICS_H

#include "../rank/Timeline.h"

#include <mutex>
#include <string>

namespace tprt::generation {

/// Bounded, however long it runs.
struct Statistics {
  int64_t context = 0, vocabulary = 0; ///< of the program
  std::vector<int64_t> stopIds;        ///< likewise
  bool mayGuess = true;                ///< likewise: requests may have guesses
  /// The program's defaults, a JSON object, and notesOn() them.
  std::string defaults = "{}";
  std::vector<std::string> notes;
  int64_t finished = 0, cancelled = 0, running = 0, waiting = 0;
  int64_t promptTokens = 0, generatedTokens = 0;
  /// In steps, and of these a second time, because pages were taken away.
  int64_t computedTokens = 0, computedAgain = 0;
  /// Tokens of prompts, each once: those in `prefixHits` are not among them.
  int64_t promptComputed = 0;
  int64_t steps = 0;
  /// In steps, and of that outside of the program: scheduling and sampling.
  double seconds = 0, hostSeconds = 0;
  /// Steps among these that computed nothing but the last token of texts, and
  /// the tokens that they gave; the others computed parts of prompts.
  int64_t decodeSteps = 0, decodeTokens = 0;
  double decodeSeconds = 0;
  StepTimes firstToken, betweenTokens;
  int64_t pages = 0, pageSize = 0, pagesUsed = 0, pagesUsedMost = 0,
          pagesKept = 0;
  int64_t guessed = 0, guessedRight = 0; ///< tokens (Request::guesses)
  int64_t prefixHits = 0; ///< tokens that were found in kept pages
  int64_t recomputed = 0; ///< requests that lost their pages for a while

  /// A mean over decode steps, of all texts together; 0 before the first.
  double decodeRate() const {
    return decodeSeconds > 0 ? double(decodeTokens) / decodeSeconds : 0;
  }
  /// One JSON object.
  std::string toJson() const;
};

/// Statistics of one thread that others read.
class SharedStatistics {
public:
  /// Changes them.
  template <typename Change>
  void update(Change change) {
    std::lock_guard lock(mutex);
    change(own);
  }
  Statistics get() const {
    std::lock_guard lock(mutex);
    return own;
  }

private:
  mutable std::mutex mutex;
  Statistics own;
};

} // namespace tprt::generation

#endif // TPRT_GENERATION_STATISTICS_H
