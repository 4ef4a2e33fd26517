//===- CApi.cpp - the runtime's C interface -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thin layer over Session: keeps messages and results alive for callers, and
// lets no exception out.
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "tprt/tprt.h"

using namespace tprt;

struct tprt_session {
  Session session;
  std::string error, text;
  std::vector<HostTensor> outputs;
  HostTensor state;
  int64_t outputsOf = -1;
};

static thread_local std::string openError;

/// Calls body and keeps the message of what went wrong.
template <typename Body>
static int32_t guard(std::string &error, Body body) {
  Status status;
  try {
    status = body();
  } catch (const std::exception &failure) {
    status = internalError(failure.what());
  }
  if (!status.ok())
    error = status.message();
  return int32_t(status.code());
}

static const Entry *entryAt(const tprt_session *session, int64_t entry) {
  const auto &entries = session->session.manifest().entries;
  bool valid = entry >= 0 && entry < int64_t(entries.size());
  return valid ? &entries[entry] : nullptr;
}

static Status noEntry(int64_t entry) {
  return userError("there is no entry ", entry);
}

int32_t tprt_open(const char *artifact, const tprt_options *options,
                  tprt_session **session) {
  *session = nullptr;
  return guard(openError, [&]() -> Status {
    SessionOptions chosen;
    if (options && options->backend)
      chosen.backend = options->backend;
    if (options && options->timeout_seconds > 0)
      chosen.timeoutSeconds = options->timeout_seconds;
    chosen.timeline = options && options->timeline;
    auto opened = Session::open(artifact, chosen);
    if (!opened)
      return opened.status();
    *session = new tprt_session{std::move(*opened), {}, {}, {}, {}, -1};
    return {};
  });
}

void tprt_close(tprt_session *session) { delete session; }

const char *tprt_error(const tprt_session *session) {
  return session ? session->error.c_str() : openError.c_str();
}

int64_t tprt_ranks(const tprt_session *session) {
  return session->session.manifest().mesh.size();
}

int64_t tprt_entry(tprt_session *session, const char *name) {
  int64_t found = -1;
  guard(session->error, [&]() -> Status {
    auto entry = session->session.entry(name ? name : "");
    if (!entry)
      return entry.status();
    found = *entry;
    return {};
  });
  return found;
}

/// What a caller gives or gets: all but the states.
template <typename Value>
static std::vector<const Value *> callersOf(const std::vector<Value> &values) {
  std::vector<const Value *> result;
  for (const Value &value : values)
    if (value.state < 0)
      result.push_back(&value);
  return result;
}

int64_t tprt_input_count(const tprt_session *session, int64_t entry) {
  const Entry *found = entryAt(session, entry);
  return found ? int64_t(callersOf(found->inputs).size()) : 0;
}

int32_t tprt_describe_input(tprt_session *session, int64_t entry, int64_t index,
                            tprt_tensor *tensor, int32_t *optional) {
  return guard(session->error, [&]() -> Status {
    if (!entryAt(session, entry))
      return noEntry(entry);
    auto inputs = callersOf(entryAt(session, entry)->inputs);
    if (index < 0 || index >= int64_t(inputs.size()))
      return userError("entry ", entry, " has no input ", index);
    const Input &input = *inputs[index];
    *tensor = {input.name.c_str(),
               fileTypeName(fileTypeOf(input.type)),
               int64_t(input.shape.size()),
               input.shape.data(),
               nullptr,
               elementCount(input.shape) * typeBytes(input.type)};
    if (optional)
      *optional = input.defaultValue != Input::Default::None;
    return {};
  });
}

int64_t tprt_output_count(const tprt_session *session, int64_t entry) {
  const Entry *found = entryAt(session, entry);
  return found ? int64_t(callersOf(found->outputs).size()) : 0;
}

int32_t tprt_load_weights(tprt_session *session, const char *weights) {
  return guard(session->error,
               [&] { return session->session.loadWeights(weights); });
}

int32_t tprt_set_input(tprt_session *session, int64_t entry,
                       const tprt_tensor *tensor) {
  return guard(session->error, [&]() -> Status {
    if (!entryAt(session, entry))
      return noEntry(entry);
    auto type = parseFileType(tensor->dtype);
    if (!type)
      return userError("input '", tensor->name, "': unknown element type '",
                       tensor->dtype, "'");
    TensorView view{
        *type,
        Shape(tensor->shape, tensor->shape + tensor->rank),
        {static_cast<const char *>(tensor->data), size_t(tensor->bytes)}};
    int64_t bytes = elementCount(view.shape) * fileTypeBytes(*type);
    if (bytes != tensor->bytes)
      return userError("input '", tensor->name, "': expected ", bytes,
                       " bytes, got ", tensor->bytes);
    return session->session.setInput({entry}, tensor->name, view);
  });
}

int32_t tprt_run(tprt_session *session, int64_t entry, int64_t repeat) {
  return guard(session->error, [&]() -> Status {
    if (!entryAt(session, entry))
      return noEntry(entry);
    if (repeat < 1)
      return userError("expected at least one repetition, got ", repeat);
    session->outputsOf = -1;
    TPRT_TRY(session->session.run({entry}, repeat));
    auto outputs = session->session.outputs(entry);
    if (!outputs)
      return outputs.status();
    session->outputs = std::move(*outputs);
    session->outputsOf = entry;
    return {};
  });
}

static tprt_tensor viewOf(const HostTensor &value) {
  return {value.name.c_str(),          fileTypeName(fileTypeOf(value.type)),
          int64_t(value.shape.size()), value.shape.data(),
          value.bytes.data(),          int64_t(value.bytes.size())};
}

int32_t tprt_output(tprt_session *session, int64_t entry, int64_t index,
                    tprt_tensor *tensor) {
  return guard(session->error, [&]() -> Status {
    if (session->outputsOf != entry)
      return userError("entry ", entry, " was not the last to run");
    if (index < 0 || index >= int64_t(session->outputs.size()))
      return userError("entry ", entry, " has no output ", index);
    *tensor = viewOf(session->outputs[index]);
    return {};
  });
}

int64_t tprt_state_count(const tprt_session *session) {
  return int64_t(session->session.manifest().states.size());
}

int32_t tprt_state(tprt_session *session, int64_t index, tprt_tensor *tensor) {
  return guard(session->error, [&]() -> Status {
    if (index < 0 || index >= tprt_state_count(session))
      return userError("the program has no state ", index);
    auto value = session->session.state(index);
    if (!value)
      return value.status();
    if (!*value)
      return internalError("rank 0 has the states");
    session->state = std::move(**value);
    *tensor = viewOf(session->state);
    return {};
  });
}

int32_t tprt_reset_states(tprt_session *session) {
  return guard(session->error, [&] { return session->session.resetStates(); });
}

const char *tprt_stats(tprt_session *session) {
  session->text = session->session.stats();
  return session->text.c_str();
}

const char *tprt_timeline(tprt_session *session) {
  session->text = session->session.timeline();
  return session->text.c_str();
}
