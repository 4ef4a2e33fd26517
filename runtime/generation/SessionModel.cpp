//===- SessionModel.cpp - the steps of a session --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionModel.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

using namespace tprt;
using namespace tprt::generation;
using StepEntry = SessionModel::Entry;

constexpr std::string_view kPrefix = "step_";

Expected<Generation> generation::generationOf(const Manifest &manifest) {
  if (manifest.generation)
    return *manifest.generation;
  return userError("the program cannot generate: it has no steps; tp-compile "
                   "DIR --generate makes one that can");
}

/// The number in its name; none if it has another name.
static std::optional<int64_t> stepTokens(std::string_view name) {
  int64_t tokens = 0;
  if (!name.starts_with(kPrefix))
    return std::nullopt;
  name.remove_prefix(kPrefix.size());
  auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), tokens);
  if (error != std::errc() || end != name.data() + name.size())
    return std::nullopt;
  return tokens;
}

static Expected<std::vector<StepEntry>> entriesOf(const Manifest &manifest,
                                                  int64_t chunk) {
  std::vector<StepEntry> found;
  for (size_t i = 0; i < manifest.entries.size(); ++i) {
    const Entry &entry = manifest.entries[i];
    auto tokens = stepTokens(entry.name);
    if (!tokens)
      continue;
    StepEntry step{int64_t(i), *tokens, 0};
    for (const Input &input : entry.inputs)
      if (input.name == "context")
        step.rows = elementCount(input.shape);
    found.push_back(step);
  }
  std::sort(found.begin(), found.end(),
            [](StepEntry a, StepEntry b) { return a.tokens < b.tokens; });
  if (found.empty() || found.back().tokens != chunk)
    return userError("expected an entry 'step_", chunk,
                     "' for chunks of that many tokens; the artifact has none");
  return found;
}

/// What rank 0 tells the others: to run a step, whose inputs follow, to help
/// with the logits of the last one, or that no more come.
struct Order {
  enum Kind : int64_t { Step, Logits, End } kind;
  StepEntry step{};
};

static Status send(Session &session, const Order &order,
                   const std::string &inputs = "") {
  std::string block(reinterpret_cast<const char *>(&order), sizeof(order));
  return session.fromRoot(block + inputs).status();
}

template <typename T>
static Binding bind(const char *name, FileType type, Shape shape,
                    std::vector<T> &values) {
  int64_t bytes = elementCount(shape) * int64_t(sizeof(T));
  return {name, type, std::move(shape), reinterpret_cast<char *>(values.data()),
          bytes};
}

/// The inputs of a step, where they lie.
static std::vector<Binding> inputsOf(Batch &batch, const Generation &program,
                                     const StepEntry &step) {
  int64_t rows = step.rows;
  return {
      bind("ids", FileType::I32, {1, step.tokens}, batch.ids),
      bind("starts", FileType::I32, {rows + 1}, batch.starts),
      bind("context", FileType::I32, {rows}, batch.context),
      bind("table", FileType::I32, {rows, program.tablePages()}, batch.table),
      bind("positions", FileType::I32, {rows}, batch.positions),
      bind("seeds", FileType::I64, {rows}, batch.seeds),
      bind("temperatures", FileType::F32, {rows}, batch.temperatures),
      bind("top_k", FileType::I32, {rows}, batch.topK),
      bind("top_p", FileType::F32, {rows}, batch.topP),
      bind("min_p", FileType::F32, {rows}, batch.minP)};
}

static Status runStep(Session &session, const Generation &program,
                      const StepEntry &step, Batch &batch) {
  return session.step(
      step.index, inputsOf(batch, program, step),
      {bind("tokens", FileType::I32, {step.rows}, batch.chosen),
       bind("logprobs", FileType::F32, {step.rows}, batch.logprobs)});
}

static Status readLogits(Session &session, const Generation &program,
                         const StepEntry &step, std::vector<float> &values) {
  return session.read(
      step.index,
      {bind("logits", FileType::F32, {step.rows, program.vocabulary}, values)});
}

Expected<std::unique_ptr<StepModel>> SessionModel::make(Session &session) {
  TPRT_ASSIGN(auto program, generationOf(session.manifest()));
  TPRT_ASSIGN(auto entries, entriesOf(session.manifest(), program.chunk));
  return std::unique_ptr<StepModel>(
      new SessionModel(session, std::move(program), std::move(entries)));
}

Status SessionModel::step(Batch &batch) {
  last =
      *std::find_if(entries.begin(), entries.end(), [&](const StepEntry &step) {
        return step.tokens >= batch.tokens;
      });
  std::string inputs;
  for (const Binding &input : inputsOf(batch, program, last))
    inputs.append(input.data, size_t(input.bytes));
  TPRT_TRY(send(session, {Order::Step, last}, inputs));
  return runStep(session, program, last, batch);
}

Expected<const float *> SessionModel::logits() {
  TPRT_TRY(send(session, {Order::Logits, last}));
  TPRT_TRY(readLogits(session, program, last, values));
  return static_cast<const float *>(values.data());
}

void SessionModel::end() {
  (void)send(session, {Order::End}); // after a failure they know already
}

Status generation::follow(Session &session) {
  TPRT_ASSIGN(auto program, generationOf(session.manifest()));
  Batch batch(program);
  std::vector<float> nothing;
  while (true) {
    TPRT_ASSIGN(auto block, session.fromRoot({}));
    Order order;
    std::memcpy(&order, block.data(), sizeof(order));
    if (order.kind == Order::End)
      return {};
    if (order.kind == Order::Logits) {
      TPRT_TRY(readLogits(session, program, order.step, nothing));
      continue;
    }
    const char *from = block.data() + sizeof(order);
    for (const Binding &input : inputsOf(batch, program, order.step)) {
      std::memcpy(input.data, from, size_t(input.bytes));
      from += input.bytes;
    }
    TPRT_TRY(runStep(session, program, order.step, batch));
  }
}
