//===- Exclusions.h - which tokens must not come next -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything here is a function of the text so far and of the request, so that
// chunks, company and recomputation cannot change it. The rules are those of
// transformers' logits processors of the same names.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_EXCLUSIONS_H
#define TPRT_GENERATION_EXCLUSIONS_H

#include "../format/Sampling.h"

#include <span>

namespace tprt::generation {

/// The text where its next token is chosen.
struct History {
  std::span<const int32_t> tokens; ///< all so far
  int64_t prompt;                  ///< the number of them that were given
  bool isLast = false;             ///< the answer has room for one token more
  std::span<const int32_t> ends = {}; ///< ids that end the answer
  /// Bit i % 32 of word i / 32: token i may come. Empty: any may.
  std::span<const uint32_t> allowed = {};

  int64_t length() const { return int64_t(tokens.size()); }
  int64_t generated() const { return length() - prompt; }
  bool isAllowed(int32_t token) const {
    return allowed.empty() || (allowed[size_t(token) / 32] >> (token % 32) & 1);
  }
};

/// True if the last token of `sequence` would complete it.
bool isCompletedNext(const Sampling::Ids &sequence, const History &history);

/// The only tokens that may come; empty: there is no such rule here.
Sampling::Ids forcedNext(const Sampling &sampling, const History &history);

/// Replaces `ids` by the tokens that must not come by any rule but the one
/// above; some may be listed twice.
void excludeNext(const Sampling &sampling, const History &history,
                 Sampling::Ids &ids);

/// True if `token`, the best of all, may not be the best of those that may
/// come: it is excluded, or one of several that are forced, among which logits
/// do not count. `scratch` is overwritten.
bool isOverruled(const Sampling &sampling, const History &history,
                 int32_t token, Sampling::Ids &scratch);

} // namespace tprt::generation

#endif // TPRT_GENERATION_EXCLUSIONS_H
