//===- CApi.cpp - the runtime's C interface -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thin layer over Session: keeps messages and results alive for callers, and
// lets no exception out.
//
//===----------------------------------------------------------------------===//

#include "CApi.h"

#include "../collectives/SideChannel.h"

#include <cmath>

using namespace tprt;
using namespace tprt::capi;

static thread_local std::string openError;

/// Fills a caller's structure, its size excepted.
static Status give(tprt_tensor *to, tprt_tensor value) {
  value.size = to->size;
  if (to->size < sizeof(value))
    return userError("tprt_tensor: expected a size of ", sizeof(value),
                     " bytes or more, got ", to->size,
                     "; set it to sizeof(tprt_tensor)");
  *to = value;
  return {};
}

static Expected<std::vector<Binding>>
takeTensors(const char *what, const tprt_tensor *tensors, int64_t count) {
  std::vector<Binding> bindings;
  auto *next = reinterpret_cast<const char *>(tensors);
  for (int64_t i = 0; i < count; ++i) {
    tprt_tensor t;
    TPRT_TRY(
        take(reinterpret_cast<const tprt_tensor *>(next), "tprt_tensor", t));
    next += t.size;
    auto type = parseFileType(t.dtype);
    if (!type)
      return userError(what, " '", t.name, "': unknown element type '", t.dtype,
                       "'");
    Shape shape(t.shape, t.shape + t.rank);
    int64_t bytes = elementCount(shape) * fileTypeBytes(*type);
    if (bytes != t.bytes)
      return userError(what, " '", t.name, "': expected ", bytes,
                       " bytes, got ", t.bytes);
    bindings.push_back({t.name, *type, std::move(shape),
                        static_cast<char *>(t.data), t.bytes});
  }
  return bindings;
}

/// Values that a caller gives or gets: all but the states.
template <typename Value>
static std::vector<const Value *> callersOf(const tprt_session *session,
                                            int64_t entry,
                                            std::vector<Value> Entry::*list) {
  const auto &entries = session->session->manifest().entries;
  std::vector<const Value *> result;
  if (entry >= 0 && entry < int64_t(entries.size()))
    for (const Value &value : entries[size_t(entry)].*list)
      if (value.state < 0)
        result.push_back(&value);
  return result;
}

static Status checkEntry(const tprt_session *session, int64_t entry) {
  if (entry >= 0 &&
      entry < int64_t(session->session->manifest().entries.size()))
    return {};
  return userError("there is no entry ", entry);
}

static Status describe(const Value &value, tprt_tensor *to) {
  return give(to, {0, value.name.c_str(), fileTypeName(fileTypeOf(value.type)),
                   int64_t(value.shape.size()), value.shape.data(), nullptr,
                   elementCount(value.shape) * typeBytes(value.type)});
}

template <typename Value>
static Status describe(const tprt_session *session, int64_t entry,
                       int64_t index, std::vector<Value> Entry::*list,
                       const char *what, tprt_tensor *tensor,
                       const Value **found = nullptr) {
  TPRT_TRY(checkEntry(session, entry));
  auto values = callersOf(session, entry, list);
  if (index < 0 || index >= int64_t(values.size()))
    return userError("entry ", entry, " has no ", what, " ", index);
  const Value &value = *values[size_t(index)];
  if (found)
    *found = &value;
  return describe(value, tensor);
}

/// Zero is the default, which `seconds` has.
template <typename Seconds>
static Status takeSeconds(const char *name, double given, Seconds &seconds) {
  if (!(given >= 0 && std::isfinite(given)))
    return userError("tprt_options.", name,
                     ": expected seconds, or 0 for the default, got ", given);
  if (given > 0)
    seconds = given;
  return {};
}

static Status choose(const tprt_options *options, SessionOptions &chosen) {
  tprt_options o{};
  if (options)
    TPRT_TRY(take(options, "tprt_options", o));
  if (o.backend)
    chosen.backend = o.backend;
  TPRT_TRY(
      takeSeconds("timeout_seconds", o.timeout_seconds, chosen.timeoutSeconds));
  TPRT_TRY(takeSeconds("start_timeout_seconds", o.start_timeout_seconds,
                       chosen.startSeconds));
  TPRT_TRY(takeSeconds("load_timeout_seconds", o.load_timeout_seconds,
                       chosen.loadSeconds));
  TPRT_TRY(takeSeconds("silence_timeout_seconds", o.silence_timeout_seconds,
                       chosen.silenceSeconds));
  chosen.timeline = o.timeline != 0;
  chosen.allowStops = o.allow_stops != 0;
  if (o.on_failure) {
    auto policy = std::make_shared<Policy>();
    policy->failed = [o](const Failure &failure, int64_t) {
      o.on_failure(o.context, failure.rank, int32_t(failure.status.code()),
                   failure.status.message().c_str());
    };
    chosen.policy = std::move(policy);
  }
  return {};
}

int32_t tprt_open(const char *artifact, const tprt_options *options,
                  tprt_session **session) {
  *session = nullptr;
  return guard(openError, [&]() -> Status {
    SessionOptions chosen;
    TPRT_TRY(choose(options, chosen));
    TPRT_ASSIGN(auto opened, Session::open(artifact, chosen));
    *session = new tprt_session{std::move(opened), {}, {}, {}};
    return {};
  });
}

void tprt_close(tprt_session *session) {
  if (!session || isForked(session->process))
    return;
  // Ranks that are lost hear of it otherwise.
  (void)session->session->endLead();
  delete session;
}

int32_t tprt_lead(tprt_session *session) {
  return guard(session, [&]() -> Status {
    if (!session->session->root())
      return userError("rank ", session->session->rank(),
                       " cannot lead: rank 0 does, and the others call "
                       "tprt_follow");
    session->session->lead();
    return {};
  });
}

int32_t tprt_follow(tprt_session *session) {
  return guard(session, [&]() -> Status {
    if (session->session->root())
      return userError("rank 0 follows nobody: it calls tprt_lead");
    return session->session->follow();
  });
}

int32_t tprt_launched() {
  auto found = processInfoFromEnvironment();
  return !found || *found;
}

const char *tprt_error(const tprt_session *session) {
  return session ? session->error.c_str() : openError.c_str();
}

int64_t tprt_ranks(const tprt_session *session) {
  return session->session->manifest().mesh.size();
}

int64_t tprt_rank_here(const tprt_session *session) {
  return session->session->rank();
}

int64_t tprt_entry(tprt_session *session, const char *name) {
  int64_t found = -1;
  guard(session, [&]() -> Status {
    TPRT_ASSIGN(found, session->session->entry(name ? name : ""));
    return {};
  });
  return found;
}

/// Names and shapes alone.
static Expected<NamedShapes> takeShapes(const tprt_tensor *inputs,
                                        int64_t count) {
  TPRT_ASSIGN(auto bindings, takeTensors("input", inputs, count));
  NamedShapes shapes;
  for (Binding &binding : bindings)
    shapes.emplace_back(binding.name, std::move(binding.shape));
  return shapes;
}

int64_t tprt_entry_for(tprt_session *session, const tprt_tensor *inputs,
                       int64_t input_count) {
  int64_t found = -1;
  guard(session, [&]() -> Status {
    auto shapes = takeShapes(inputs, input_count);
    auto entry = shapes ? session->session->entryFor(*shapes)
                        : Expected<int64_t>(shapes.status());
    if (!entry)
      return session->session->refuse(entry.status());
    found = *entry;
    return {};
  });
  return found;
}

int64_t tprt_input_count(const tprt_session *session, int64_t entry) {
  return int64_t(callersOf(session, entry, &Entry::inputs).size());
}

int32_t tprt_describe_input(tprt_session *session, int64_t entry, int64_t index,
                            tprt_tensor *tensor, int32_t *optional) {
  return guard(session, [&]() -> Status {
    const Input *input = nullptr;
    TPRT_TRY(describe(session, entry, index, &Entry::inputs, "input", tensor,
                      &input));
    if (optional)
      *optional = input->defaultValue != Input::Default::None;
    return {};
  });
}

int64_t tprt_output_count(const tprt_session *session, int64_t entry) {
  return int64_t(callersOf(session, entry, &Entry::outputs).size());
}

int32_t tprt_describe_output(tprt_session *session, int64_t entry,
                             int64_t index, tprt_tensor *tensor) {
  return guard(session, [&] {
    return describe(session, entry, index, &Entry::outputs, "output", tensor);
  });
}

int32_t tprt_describe_result(tprt_session *session, int64_t entry,
                             const tprt_tensor *inputs, int64_t input_count,
                             int64_t index, tprt_tensor *tensor) {
  return guard(session, [&]() -> Status {
    const Output *output = nullptr;
    TPRT_TRY(describe(session, entry, index, &Entry::outputs, "output", tensor,
                      &output));
    auto shapes = takeShapes(inputs, input_count);
    const Entry &own = session->session->manifest().entries[size_t(entry)];
    auto fit = shapes ? fitSequences(own, *shapes)
                      : Expected<SequenceFit>(shapes.status());
    if (!fit)
      return session->session->refuse(fit.status());
    session->shape = shapeFor(*output, *fit);
    tensor->shape = session->shape.data();
    tensor->bytes = elementCount(session->shape) * typeBytes(output->type);
    return {};
  });
}

int32_t tprt_load_weights(tprt_session *session, const char *weights) {
  return guard(session, [&] { return session->session->loadWeights(weights); });
}

int32_t tprt_run(tprt_session *session, int64_t entry,
                 const tprt_tensor *inputs, int64_t input_count,
                 const tprt_tensor *outputs, int64_t output_count) {
  return guard(session, [&]() -> Status {
    Session &own = *session->session;
    if (Status status = checkEntry(session, entry); !status.ok())
      return own.refuse(status);
    auto in = takeTensors("input", inputs, input_count);
    auto out = takeTensors("output", outputs, output_count);
    if (!in || !out)
      return own.refuse(in ? out.status() : in.status());
    return own.step(entry, *in, *out);
  });
}

void tprt_abort(tprt_session *session, const char *message) {
  if (!isForked(session->process))
    session->session->abort(userError(message));
}

int64_t tprt_state_count(const tprt_session *session) {
  return int64_t(session->session->manifest().states.size());
}

int32_t tprt_describe_state(tprt_session *session, int64_t index,
                            tprt_tensor *tensor) {
  return guard(session, [&]() -> Status {
    const auto &states = session->session->manifest().states;
    if (index < 0 || index >= int64_t(states.size()))
      return userError("the program has no state ", index);
    return describe(states[size_t(index)], tensor);
  });
}

int32_t tprt_read_states(tprt_session *session, const tprt_tensor *states,
                         int64_t count) {
  return guard(session, [&]() -> Status {
    TPRT_ASSIGN(auto bindings, takeTensors("state", states, count));
    return session->session->readStates(bindings);
  });
}

int32_t tprt_reset_states(tprt_session *session) {
  return guard(session, [&] { return session->session->resetStates(); });
}

/// Keeps the text for the caller; null after an error.
template <typename Make>
static const char *keep(tprt_session *session, Make make) {
  int32_t code = guard(session, [&]() -> Status {
    Expected<std::string> text = make();
    if (text)
      session->text = std::move(*text);
    return text.status();
  });
  return code == 0 ? session->text.c_str() : nullptr;
}

const char *tprt_stats(tprt_session *session) {
  return keep(session, [&] { return session->session->stats(); });
}

const char *tprt_not_finite_weights(tprt_session *session) {
  return keep(session, [&]() -> Expected<std::string> {
    return session->session->notFiniteWeights();
  });
}

const char *tprt_timeline(tprt_session *session) {
  return keep(session, [&] { return session->session->timeline(); });
}
