//===- Statistics.cpp - what a generator tells of itself ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"

#include <nlohmann/json.hpp>

using namespace tprt;
using namespace tprt::generation;
using nlohmann::json;

static json describe(const StepTimes &times) {
  if (times.count == 0)
    return nullptr;
  return {{"p50", times.quantile(0.5)}, {"p99", times.quantile(0.99)}};
}

std::string Statistics::toJson() const {
  json all = {
      {"context", context},
      {"vocabulary", vocabulary},
      {"stop_ids", stopIds},
      {"may_guess", mayGuess},
      {"defaults", json::parse(defaults)},
      {"notes", notes},
      {"requests",
       {{"finished", finished},
        {"cancelled", cancelled},
        {"running", running},
        {"waiting", waiting},
        {"recomputed", recomputed}}},
      {"tokens",
       {{"prompt", promptTokens},
        {"generated", generatedTokens},
        {"computed", computedTokens},
        {"computed_again", computedAgain},
        {"prompt_computed", promptComputed},
        {"guessed", guessed},
        {"guessed_right", guessedRight},
        {"prefix_hits", prefixHits}}},
      {"tokens_per_second",
       seconds > 0 ? double(generatedTokens) / seconds : 0},
      {"seconds_to_first_token", describe(firstToken)},
      {"seconds_between_tokens", describe(betweenTokens)},
      {"steps",
       {{"count", steps}, {"seconds", seconds}, {"host_seconds", hostSeconds}}},
      {"decode",
       {{"steps", decodeSteps},
        {"seconds", decodeSeconds},
        {"tokens", decodeTokens},
        {"tokens_per_second", decodeRate()}}},
      {"cache",
       {{"pages", pages},
        {"page_tokens", pageSize},
        {"used", pagesUsed},
        {"most_used", pagesUsedMost},
        {"kept", pagesKept}}}};
  return all.dump();
}
