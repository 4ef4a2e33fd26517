//===- SessionModel.cpp - the steps of a session --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionModel.h"

#include <algorithm>
#include <charconv>
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

/// The inputs of a step, where they lie.
static std::vector<Binding> inputsOf(Batch &batch, const Generation &program,
                                     const StepEntry &step) {
  int64_t rows = step.rows;
  auto i32 = [](const char *name, Shape shape, std::vector<int32_t> &values) {
    return Binding::of(name, FileType::I32, std::move(shape), values.data());
  };
  auto f32 = [rows](const char *name, std::vector<float> &values) {
    return Binding::of(name, FileType::F32, {rows}, values.data());
  };
  return {i32("ids", {1, step.tokens}, batch.ids),
          i32("starts", {rows + 1}, batch.starts),
          i32("context", {rows}, batch.context),
          i32("table", {rows, program.tablePages()}, batch.table),
          i32("positions", {rows}, batch.positions),
          Binding::of("seeds", FileType::I64, {rows}, batch.seeds.data()),
          f32("temperatures", batch.temperatures),
          i32("top_k", {rows}, batch.topK),
          f32("top_p", batch.topP),
          f32("min_p", batch.minP)};
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
  return session.step(
      last.index, inputsOf(batch, program, last),
      {Binding::of("tokens", FileType::I32, {last.rows}, batch.chosen.data()),
       Binding::of("logprobs", FileType::F32, {last.rows},
                   batch.logprobs.data())});
}

Expected<const float *> SessionModel::logits(const std::vector<bool> &wanted) {
  // Rows that stand together are one transfer.
  for (size_t row = 0; row < wanted.size();) {
    size_t end = row;
    while (end < wanted.size() && wanted[end])
      ++end;
    if (end > row)
      TPRT_TRY(session.readRows(
          last.index,
          Binding::of("logits", FileType::F32,
                      {int64_t(end - row), program.vocabulary},
                      values.data() + int64_t(row) * program.vocabulary),
          int64_t(row)));
    row = end + 1;
  }
  return static_cast<const float *>(values.data());
}

Status generation::follow(Session &session) {
  TPRT_TRY(generationOf(session.manifest()).status());
  return session.follow();
}
