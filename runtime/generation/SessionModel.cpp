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

/// By the number in their names.
static Expected<std::vector<StepEntry>> entriesOf(const Manifest &manifest,
                                                  int64_t chunk) {
  std::vector<StepEntry> found;
  for (size_t i = 0; i < manifest.entries.size(); ++i) {
    std::string_view name = manifest.entries[i].name;
    if (!name.starts_with(kPrefix))
      continue;
    name.remove_prefix(kPrefix.size());
    int64_t tokens = 0;
    auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), tokens);
    if (error == std::errc() && end == name.data() + name.size())
      found.push_back({tokens, int64_t(i)});
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
  int64_t entry = 0, tokens = 0;
};

static Status send(Session &session, const Order &order,
                   const std::string &inputs = "") {
  std::string block(reinterpret_cast<const char *>(&order), sizeof(order));
  return session.fromRoot(block + inputs).status();
}

static bool choosesTokens(const Session &session, int64_t entry) {
  const auto &outputs = session.manifest().entries[size_t(entry)].outputs;
  return std::any_of(outputs.begin(), outputs.end(), [](const Output &output) {
    return output.name == "tokens";
  });
}

template <typename T>
static Binding bind(const char *name, FileType type, Shape shape,
                    std::vector<T> &values) {
  int64_t bytes = elementCount(shape) * int64_t(sizeof(T));
  return {name, type, std::move(shape), reinterpret_cast<char *>(values.data()),
          bytes};
}

/// The inputs of a step of so many tokens, where they lie.
static std::vector<Binding> inputsOf(Batch &batch, const Generation &program,
                                     int64_t tokens, bool choosesTokens) {
  int64_t rows = program.rows;
  std::vector<Binding> inputs{
      bind("ids", FileType::I32, {1, tokens}, batch.ids),
      bind("starts", FileType::I32, {rows + 1}, batch.starts),
      bind("context", FileType::I32, {rows}, batch.context),
      bind("table", FileType::I32, {rows, program.tablePages()}, batch.table)};
  if (choosesTokens)
    for (const Binding &input : std::initializer_list<Binding>{
             bind("positions", FileType::I32, {rows}, batch.positions),
             bind("seeds", FileType::I64, {rows}, batch.seeds),
             bind("temperatures", FileType::F32, {rows}, batch.temperatures),
             bind("top_k", FileType::I32, {rows}, batch.topK),
             bind("top_p", FileType::F32, {rows}, batch.topP),
             bind("min_p", FileType::F32, {rows}, batch.minP)})
      inputs.push_back(input);
  return inputs;
}

static Status runStep(Session &session, const Generation &program,
                      const Order &order, Batch &batch) {
  bool chooses = choosesTokens(session, order.entry);
  std::vector<Binding> outputs;
  if (chooses)
    outputs = {bind("tokens", FileType::I32, {program.rows}, batch.chosen),
               bind("logprobs", FileType::F32, {program.rows}, batch.logprobs)};
  else
    std::fill(batch.chosen.begin(), batch.chosen.end(), -1);
  return session.step(order.entry,
                      inputsOf(batch, program, order.tokens, chooses), outputs);
}

static Status readLogits(Session &session, const Generation &program,
                         int64_t entry, std::vector<float> &values) {
  return session.read(entry,
                      {bind("logits", FileType::F32,
                            {program.rows, program.vocabulary}, values)});
}

Expected<std::unique_ptr<StepModel>> SessionModel::make(Session &session) {
  TPRT_ASSIGN(auto program, generationOf(session.manifest()));
  TPRT_ASSIGN(auto entries, entriesOf(session.manifest(), program.chunk));
  return std::unique_ptr<StepModel>(
      new SessionModel(session, std::move(program), std::move(entries)));
}

Status SessionModel::step(Batch &batch) {
  auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const Entry &entry) {
        return entry.tokens >= batch.tokens;
      });
  Order order{Order::Step, entry->index, entry->tokens};
  last = entry->index;
  std::string block;
  for (const Binding &input : inputsOf(batch, program, order.tokens,
                                       choosesTokens(session, order.entry)))
    block.append(input.data, size_t(input.bytes));
  TPRT_TRY(send(session, order, block));
  return runStep(session, program, order, batch);
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
      TPRT_TRY(readLogits(session, program, order.entry, nothing));
      continue;
    }
    const char *from = block.data() + sizeof(order);
    for (const Binding &input : inputsOf(batch, program, order.tokens,
                                         choosesTokens(session, order.entry))) {
      std::memcpy(input.data, from, size_t(input.bytes));
      from += input.bytes;
    }
    TPRT_TRY(runStep(session, program, order, batch));
  }
}
