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

/// What rank 0 tells the others before a step: this, then the inputs' numbers.
struct Head {
  int64_t entry = -1; ///< -1: no more
  int64_t isSampled = 0;
};

/// Runs the entry of so many tokens; `inputs` has ids, starts, context and
/// table one after the other.
static Status runStep(Session &session, const Generation &program,
                      const Head &head, int64_t tokens, int32_t *inputs,
                      float *logits) {
  std::vector<Binding> given, wanted;
  auto give = [&](const char *name, Shape shape) {
    int64_t count = elementCount(shape);
    given.push_back({name, FileType::I32, std::move(shape),
                     reinterpret_cast<char *>(inputs), count * 4});
    inputs += count;
  };
  give("ids", {1, tokens});
  give("starts", {program.rows + 1});
  give("context", {program.rows});
  give("table", {program.rows, program.tablePages()});
  if (head.isSampled)
    wanted.push_back({"logits",
                      FileType::F32,
                      {program.rows, program.vocabulary},
                      reinterpret_cast<char *>(logits),
                      program.rows * program.vocabulary * 4});
  return session.step(head.entry, given, wanted);
}

Expected<std::unique_ptr<StepModel>> SessionModel::make(Session &session) {
  TPRT_ASSIGN(auto program, generationOf(session.manifest()));
  TPRT_ASSIGN(auto entries, entriesOf(session.manifest(), program.chunk));
  return std::unique_ptr<StepModel>(
      new SessionModel(session, std::move(program), std::move(entries)));
}

Expected<const float *> SessionModel::step(const Batch &batch) {
  auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const Entry &entry) {
        return entry.tokens >= batch.tokens;
      });
  Head head{entry->index, batch.sampled};
  block.assign(reinterpret_cast<const char *>(&head), sizeof(head));
  auto add = [&](const std::vector<int32_t> &list, size_t count) {
    block.append(reinterpret_cast<const char *>(list.data()), count * 4);
  };
  add(batch.ids, size_t(entry->tokens));
  add(batch.starts, batch.starts.size());
  add(batch.context, batch.context.size());
  add(batch.table, batch.table.size());
  TPRT_TRY(session.fromRoot(block).status());
  auto *inputs = reinterpret_cast<int32_t *>(block.data() + sizeof(head));
  TPRT_TRY(
      runStep(session, program, head, entry->tokens, inputs, logits.data()));
  return static_cast<const float *>(logits.data());
}

void SessionModel::end() {
  Head head;
  // After a failure they know already.
  (void)session.fromRoot({reinterpret_cast<const char *>(&head), sizeof(head)});
}

Status generation::follow(Session &session) {
  TPRT_ASSIGN(auto program, generationOf(session.manifest()));
  while (true) {
    TPRT_ASSIGN(auto block, session.fromRoot({}));
    Head head;
    std::memcpy(&head, block.data(), sizeof(head));
    if (head.entry < 0)
      return {};
    int64_t tokens = int64_t(block.size() - sizeof(head)) / 4 -
                     (2 * program.rows + 1) -
                     program.rows * program.tablePages();
    auto *inputs = reinterpret_cast<int32_t *>(block.data() + sizeof(head));
    TPRT_TRY(runStep(session, program, head, tokens, inputs, nullptr));
  }
}
