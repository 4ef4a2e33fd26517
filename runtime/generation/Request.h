//===- Request.h - requests of a generator, and its events ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_REQUEST_H
#define TPRT_GENERATION_REQUEST_H

#include "../format/Json.h"
#include "../format/Manifest.h"

#include <functional>
#include <span>

namespace tprt::generation {

using tprt::Sampling;

/// Tokens with the logarithm of their probability under the logits as the
/// program gives them.
using LogProbabilities = std::vector<std::pair<int32_t, float>>;

/// Says which tokens may follow the tokens of an answer so far: sets the bit of
/// each in `allowed`, bit i % 32 of word i / 32 for token i, all of which are 0
/// before. Returns false if the answer is complete: it then ends there. Depends
/// on the tokens alone; it is called for each new token, in order.
using TokenMask = std::function<Expected<bool>(
    std::span<const int32_t> generated, std::span<uint32_t> allowed)>;

struct Request {
  std::vector<int32_t> prompt;
  /// 0 only with promptLogProbabilities: then they are all of the answer.
  int64_t maxTokens = 16;
  Sampling sampling;
  std::vector<int32_t> stopIds; ///< beside the program's
  bool ignoreStops = false;     ///< of the program
  /// The number of most probable tokens that are reported beside the chosen
  /// one; -1: no log-probabilities at all.
  int64_t logProbabilities = -1;
  /// The same of the prompt's own tokens but the first, told before the answer.
  int64_t promptLogProbabilities = -1;
  TokenMask mask; ///< none: any token may come
  /// The tokens of a step that may be guesses of what follows, taken from where
  /// the text said the same before. They change no answer.
  int64_t guesses = 0;
};

/// A request for what follows `prompt`, as `parameters` say: a JSON object with
/// the keys of readSampling, "prompt_lookup_num_tokens", and
/// "generation_config": "none" where the program's defaults do not count, which
/// hold for all that is not said. An error begins with `where`, the object's
/// name.
Expected<Request> makeRequest(const Generation &program,
                              std::vector<int32_t> prompt,
                              const nlohmann::json &parameters,
                              const std::string &where);

/// An error that says which parameter of the request the program cannot do,
/// whatever the prompt is.
Status checkParameters(const Generation &program, const Request &request);
/// The same of the whole request.
Status checkRequest(const Generation &program, const Request &request);

/// Ids that end an answer.
std::vector<int32_t> endsOf(const Generation &program, const Request &request);

/// Lines that a program tells at its start: the defaults of the checkpoint's
/// generation_config.json that hold, and the keys that are ignored.
std::vector<std::string> notesOn(const Generation &program);

enum class Finish { None, Length, Stop, Cancelled, Error };

/// A new token of a request, its end, or both.
struct Event {
  uint64_t request = 0;
  int32_t token = -1; ///< -1: none
  Finish finish = Finish::None;
  /// The chosen token first, then the most probable.
  LogProbabilities logProbabilities = {};
  Status error = {};       ///< of Finish::Error
  bool isOfPrompt = false; ///< the token is one of the prompt's
};

} // namespace tprt::generation

#endif // TPRT_GENERATION_REQUEST_H
