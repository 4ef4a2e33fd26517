//===- Exclusions.cpp - which tokens must not come next -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exclusions.h"

#include <algorithm>

using namespace tprt;
using namespace tprt::generation;
using Ids = Sampling::Ids;

static bool contains(std::span<const int32_t> ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// True if the first token of the answer is due. transformers counts a forced
/// first token as part of the prompt.
static bool isFirst(const Sampling &sampling, const History &history) {
  bool isShifted = sampling.forcedFirst >= 0 && history.prompt <= 1;
  return history.generated() == (isShifted ? 1 : 0);
}

bool generation::isCompletedNext(const Ids &sequence, const History &history) {
  size_t before = sequence.size() - 1;
  return before <= history.tokens.size() &&
         std::equal(sequence.begin(), sequence.end() - 1,
                    history.tokens.end() - long(before));
}

Ids generation::forcedNext(const Sampling &sampling, const History &history) {
  Ids forced;
  if (history.isLast && !sampling.forcedLast.empty())
    forced = sampling.forcedLast;
  else if (sampling.forcedFirst >= 0 && history.length() == 1)
    forced = {sampling.forcedFirst};
  return forced;
}

/// Tokens that followed the last size - 1 tokens before.
static void excludeRepeats(int64_t size, const History &history, Ids &ids) {
  int64_t length = history.length();
  if (length < size)
    return;
  auto text = history.tokens.begin(), last = history.tokens.end() - (size - 1);
  for (int64_t at = 0; at + size <= length; ++at)
    if (std::equal(last, history.tokens.end(), text + at))
      ids.push_back(text[at + size - 1]);
}

void generation::excludeNext(const Sampling &sampling, const History &history,
                             Ids &ids) {
  ids = sampling.suppressed;
  auto add = [&](const auto &more) {
    ids.insert(ids.end(), more.begin(), more.end());
  };
  if (isFirst(sampling, history))
    add(sampling.suppressedFirst);
  if (!forcedNext(sampling, history).empty())
    return; // the other rules give way to it
  if (history.length() < sampling.minLength ||
      history.generated() < sampling.minTokens)
    add(history.ends);
  if (sampling.noRepeat > 0)
    excludeRepeats(sampling.noRepeat, history, ids);
  for (const Ids &sequence : sampling.badWords)
    // An answer may end all the same.
    if (isCompletedNext(sequence, history) &&
        !(sequence.size() == 1 && contains(history.ends, sequence[0])))
      ids.push_back(sequence.back());
}

bool generation::isOverruled(const Sampling &sampling, const History &history,
                             int32_t token, Ids &scratch) {
  if (!history.isAllowed(token))
    return true;
  Ids forced = forcedNext(sampling, history);
  if (forced.size() > 1 || (forced.size() == 1 && forced[0] != token))
    return true;
  excludeNext(sampling, history, scratch);
  return contains(scratch, token);
}
