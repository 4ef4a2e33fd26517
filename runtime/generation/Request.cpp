//===- Request.cpp - what is asked of a generator -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters are those of the request, then those of the checkpoint, and what
// neither says changes nothing.
//
//===----------------------------------------------------------------------===//

#include "Request.h"

#include "../format/Cursor.h"

#include <algorithm>
#include <cmath>

using namespace tprt;
using namespace tprt::generation;
using nlohmann::json;

/// New tokens of an answer, where nobody says how many.
constexpr int64_t kDefaultTokens = 16;
/// Characters of a parameter's value in a note.
constexpr size_t kShown = 60;

/// The tokens that `limit`, which `source` says, leaves for an answer.
static Expected<int64_t> maxTokensOf(const AnswerLimit &limit, int64_t prompt,
                                     const std::string &source) {
  if (limit.newTokens)
    return *limit.newTokens;
  if (!limit.length)
    return kDefaultTokens;
  if (*limit.length > prompt)
    return *limit.length - prompt;
  return userError("the prompt has ", prompt, " tokens, and max_length ",
                   *limit.length, " of ", source,
                   " leaves none for an answer; a request that says how many "
                   "new tokens it wants does not ask it");
}

Expected<Request> generation::makeRequest(const Generation &program,
                                          std::vector<int32_t> prompt,
                                          const json &parameters,
                                          const std::string &where) {
  Request request;
  AnswerLimit limit;
  std::string source = where; // of the limit
  auto read = [&](const Cursor &cursor) {
    const char *config = "generation_config";
    bool isNone = cursor.has(config) && cursor[config].word({"none"}) == 0;
    if (!isNone) {
      request.sampling = program.config.sampling;
      limit = program.config.limit;
      if (!cursor.has("max_length"))
        source = program.config.file;
    }
    const char *guesses = "prompt_lookup_num_tokens";
    if (cursor.has(guesses))
      request.guesses = cursor[guesses].integer(0);
    readSampling(cursor, program.vocabulary, request.sampling, limit);
    return true;
  };
  TPRT_TRY(readJson(parameters, where, read).status());
  TPRT_ASSIGN(request.maxTokens,
              maxTokensOf(limit, int64_t(prompt.size()), source));
  request.prompt = std::move(prompt);
  return request;
}

std::vector<int32_t> generation::endsOf(const Generation &program,
                                        const Request &request) {
  std::vector<int32_t> ends = request.stopIds;
  for (int64_t id : program.stopIds)
    if (!request.ignoreStops && id < program.vocabulary)
      ends.push_back(int32_t(id));
  return ends;
}

std::vector<std::string> generation::notesOn(const Generation &program) {
  const GenerationConfig &config = program.config;
  std::vector<std::string> notes;
  std::string defaults;
  json parsed = json::parse(config.text);
  for (const auto &[key, value] : parsed.items()) {
    std::string text = value.dump();
    if (text.size() > kShown)
      text = text.substr(0, kShown) + "...";
    defaults += detail::join(defaults.empty() ? "" : ", ", key, " ", text);
  }
  if (!defaults.empty())
    notes.push_back(detail::join(config.file,
                                 ": defaults of requests: ", defaults,
                                 "; --generation-config none leaves them out"));
  for (const std::string &ignored : config.ignored)
    notes.push_back(detail::join(config.file, ": ignored: ", ignored));
  return notes;
}

static Status checkIds(const Generation &program, const char *what,
                       const std::vector<int32_t> &ids) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= program.vocabulary)
      return userError(what, " ", i, ": expected an id in [0, ",
                       program.vocabulary, "), got ", ids[i]);
  return {};
}

static Status checkSampling(const Generation &program, const Sampling &s) {
  auto check = [](const char *name, float value, bool isGood,
                  const char *expected) -> Status {
    if (isGood && std::isfinite(value))
      return {};
    return userError(name, ": expected ", expected, ", got ", value);
  };
  TPRT_TRY(check("temperature", s.temperature, s.temperature >= 0,
                 "a number of at least 0"));
  TPRT_TRY(
      check("top-p", s.topP, s.topP >= 0 && s.topP <= 1, "a number in [0, 1]"));
  TPRT_TRY(
      check("min-p", s.minP, s.minP >= 0 && s.minP <= 1, "a number in [0, 1]"));
  TPRT_TRY(check("repetition penalty", s.repetition, s.repetition > 0,
                 "a number above 0"));
  TPRT_TRY(check("presence penalty", s.presence, true, "a number"));
  TPRT_TRY(check("frequency penalty", s.frequency, true, "a number"));
  TPRT_TRY(check("exponential_decay_length_penalty", s.decayFactor,
                 s.decayFactor > 0, "a factor above 0"));
  if (s.topK < 0)
    return userError("top-k: expected at least 0, got ", s.topK);
  for (auto [id, bias] : s.bias) {
    TPRT_TRY(checkIds(program, "bias", {id}));
    TPRT_TRY(check("bias", bias, true, "a number"));
  }
  for (const auto &[sequence, bias] : s.sequenceBias) {
    TPRT_TRY(checkIds(program, "sequence_bias", sequence));
    TPRT_TRY(check("sequence_bias", bias, true, "a number"));
  }
  return {};
}

/// A token that is forced and never may come leaves none.
static Status checkForced(const Sampling &s) {
  auto isSuppressed = [&](int32_t id) {
    return std::find(s.suppressed.begin(), s.suppressed.end(), id) !=
           s.suppressed.end();
  };
  auto check = [&](const char *name, const Sampling::Ids &forced) -> Status {
    if (forced.empty() ||
        !std::all_of(forced.begin(), forced.end(), isSuppressed))
      return {};
    return userError(name,
                     ": expected a token that is not in suppress_tokens, "
                     "got ",
                     forced[0]);
  };
  TPRT_TRY(check("forced_eos_token_id", s.forcedLast));
  return s.forcedFirst < 0 ? Status()
                           : check("forced_bos_token_id", {s.forcedFirst});
}

Status generation::checkRequest(const Generation &program,
                                const Request &request) {
  int64_t count = int64_t(request.prompt.size());
  if (count == 0)
    return userError("expected at least one token");
  if (count >= program.longest())
    return userError("expected at most ", program.longest() - 1,
                     " tokens, as the context of ", program.longest(),
                     " must hold a new one too, got ", count,
                     "; a larger --context of tp-compile holds more");
  TPRT_TRY(checkIds(program, "position", request.prompt));
  return checkParameters(program, request);
}

Status generation::checkParameters(const Generation &program,
                                   const Request &request) {
  if (request.guesses > 0 && program.convInputs > 0)
    return userError("prompt_lookup_num_tokens (--speculate): expected 0, got ",
                     request.guesses,
                     ", as this model's convolutions keep the inputs of the "
                     "last positions alone, and a wrong guess overwrites them");
  TPRT_TRY(checkIds(program, "stop id", request.stopIds));
  bool isOfPrompt = request.promptLogProbabilities >= 0;
  if (request.maxTokens < (isOfPrompt ? 0 : 1))
    return userError("max-tokens: expected at least ", isOfPrompt ? 0 : 1,
                     ", got ", request.maxTokens);
  int64_t most =
      std::max(request.logProbabilities, request.promptLogProbabilities);
  if (most > program.vocabulary)
    return userError("logprobs: expected at most ", program.vocabulary,
                     ", got ", most);
  TPRT_TRY(checkSampling(program, request.sampling));
  return checkForced(request.sampling);
}
