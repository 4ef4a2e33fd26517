//===- CApi.cpp - generators in the C interface ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../session/CApi.h"

#include "Generator.h"
#include "SessionModel.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace tprt;
using namespace tprt::capi;
using namespace tprt::generation;
using nlohmann::json;

static_assert(int(kQueueFull) == TPRT_QUEUE_FULL &&
              int(kDrained) == TPRT_DRAINED);
static_assert(int(Finish::Length) == TPRT_LENGTH &&
              int(Finish::Stop) == TPRT_STOP &&
              int(Finish::Cancelled) == TPRT_CANCELLED &&
              int(Finish::Error) == TPRT_FAILED);

struct tprt_generator {
  const Generation program;
  Generator own;
  Event event; ///< the last
  std::vector<int32_t> ids;
  std::vector<float> logProbabilities;
  pid_t process = getpid();
};

static thread_local std::string error, text;

template <typename Body>
static int32_t guard(tprt_generator *generator, Body body) {
  Status status = checkProcess(generator->process, "generator");
  return keepError(error, status.ok() ? caught(body) : status);
}

/// The same with messages of this thread.
template <typename Body>
static int32_t guardHere(tprt_session *session, Body body) {
  int32_t code = guard(session, body);
  if (code != 0)
    error = session->error;
  return code;
}

/// The caller's mask of a vocabulary of whole words of 32 tokens.
static TokenMask takeMask(const tprt_request &from) {
  if (!from.mask)
    return {};
  return [mask = from.mask, context = from.mask_context](
             std::span<const int32_t> ids,
             std::span<uint32_t> allowed) -> Expected<bool> {
    int32_t code =
        mask(context, ids.data(), int64_t(ids.size()), allowed.data());
    if (code == 0 || code == 1)
      return code == 0;
    return userError("the request's token mask failed with code ", code);
  };
}

static Expected<Request> takeRequest(const Generation &program,
                                     const tprt_request *from) {
  tprt_request r;
  TPRT_TRY(take(from, "tprt_request", r,
                offsetof(tprt_request, prompt_log_probabilities)));
  json parameters = json::object();
  if (r.parameters) {
    TPRT_ASSIGN(parameters, parseJson(r.parameters, 8).in("parameters"));
  }
  uint64_t given = r.given;
  // A field of zero that is not said to be given has its default, and the
  // object wins over fields.
  auto set = [&](const char *key, auto value, uint64_t bit = 0) {
    bool counts = value != 0 || (given & bit);
    given &= ~bit;
    if (counts && parameters.is_object() && !parameters.contains(key))
      parameters[key] = value;
  };
  set("max_new_tokens", r.max_tokens);
  set("repetition_penalty", r.repetition_penalty);
  set("presence_penalty", r.presence_penalty, TPRT_GIVEN_PRESENCE_PENALTY);
  set("frequency_penalty", r.frequency_penalty, TPRT_GIVEN_FREQUENCY_PENALTY);
  set("temperature", r.temperature, TPRT_GIVEN_TEMPERATURE);
  set("top_k", r.top_k, TPRT_GIVEN_TOP_K);
  set("min_p", r.min_p, TPRT_GIVEN_MIN_P);
  set("top_p", r.top_p, TPRT_GIVEN_TOP_P);
  if (given)
    return userError("tprt_request: given: expected TPRT_GIVEN_* bits, got ",
                     r.given);
  TPRT_ASSIGN(auto request,
              makeRequest(program, {r.prompt, r.prompt + r.prompt_count},
                          parameters, "parameters"));
  for (int64_t i = 0; i < r.bias_count; ++i)
    request.sampling.bias.push_back({r.bias_ids[i], r.bias[i]});
  request.sampling.seed = r.seed;
  request.stopIds.assign(r.stop_ids, r.stop_ids + r.stop_count);
  request.ignoreStops = r.ignore_stops;
  request.logProbabilities = r.log_probabilities - 1;
  request.promptLogProbabilities = r.prompt_log_probabilities - 1;
  request.mask = takeMask(r);
  return request;
}

int32_t tprt_generate_open(tprt_session *session, int64_t queue,
                           tprt_generator **generator) {
  *generator = nullptr;
  return guardHere(session, [&]() -> Status {
    Session &own = *session->session;
    if (!own.root())
      return userError("rank ", own.rank(),
                       " cannot open a generator: rank 0 "
                       "does, and the others call tprt_follow");
    TPRT_ASSIGN(auto program, generationOf(own.manifest()));
    TPRT_ASSIGN(auto model, SessionModel::make(own));
    *generator = new tprt_generator{
        program,
        {program, std::move(model), queue > 0 ? queue : 1024},
        {},
        {},
        {}};
    return {};
  });
}

void tprt_generate_close(tprt_generator *generator) {
  if (generator && !isForked(generator->process))
    delete generator;
}

const char *tprt_generate_error() { return error.c_str(); }

int32_t tprt_generate_submit(tprt_generator *generator,
                             const tprt_request *requests, int64_t count,
                             uint64_t *numbers) {
  return guard(generator, [&]() -> Status {
    std::vector<Request> taken;
    auto *next = reinterpret_cast<const char *>(requests);
    for (int64_t i = 0; i < count; ++i) {
      auto *request = reinterpret_cast<const tprt_request *>(next);
      TPRT_ASSIGN(auto one, takeRequest(generator->program, request));
      taken.push_back(std::move(one));
      next += request->size;
    }
    TPRT_ASSIGN(auto given, generator->own.submit(std::move(taken)));
    std::copy(given.begin(), given.end(), numbers);
    return {};
  });
}

void tprt_generate_cancel(tprt_generator *generator, uint64_t request) {
  if (!isForked(generator->process))
    generator->own.cancel(request);
}

int32_t tprt_generate_next(tprt_generator *generator, double seconds,
                           tprt_event *event) {
  return guard(generator, [&]() -> Status {
    tprt_event given;
    TPRT_TRY(take(event, "tprt_event", given, offsetof(tprt_event, of_prompt)));
    TPRT_ASSIGN(auto next, generator->own.next(seconds));
    generator->event = next ? std::move(*next) : Event();
    const Event &own = generator->event;
    generator->ids.clear();
    generator->logProbabilities.clear();
    for (auto [id, logarithm] : own.logProbabilities) {
      generator->ids.push_back(id);
      generator->logProbabilities.push_back(logarithm);
    }
    tprt_event told{given.size,
                    own.request,
                    own.token,
                    int32_t(own.finish),
                    generator->ids.data(),
                    generator->logProbabilities.data(),
                    int64_t(generator->ids.size()),
                    own.error.message().c_str(),
                    own.isOfPrompt};
    // The caller's may end before fields that were added later.
    std::memcpy(event, &told, std::min<size_t>(given.size, sizeof(told)));
    return {};
  });
}

void tprt_generate_drain(tprt_generator *generator) {
  if (!isForked(generator->process))
    generator->own.drain();
}

const char *tprt_generate_stats(tprt_generator *generator) {
  // Another thread of the parent's may have held the lock.
  text = isForked(generator->process) ? "{}"
                                      : generator->own.statistics().toJson();
  return text.c_str();
}
