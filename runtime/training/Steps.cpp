//===- Steps.cpp - the calls that a training loop makes -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include <algorithm>

using namespace tprt;
using namespace tprt::training;

Expected<Training> training::trainingOf(const Manifest &manifest) {
  if (manifest.training)
    return *manifest.training;
  return userError("the program cannot train: it has no step that updates its "
                   "weights; tp-compile DIR --train adamw makes one that can");
}

Expected<Steps> Steps::make(Session &session) {
  Steps steps(session);
  TPRT_TRY(trainingOf(session.manifest()).status());
  TPRT_ASSIGN(steps.gradientEntry, session.entry("gradient"));
  TPRT_ASSIGN(steps.updateEntry, session.entry("update"));
  const auto &entries = session.manifest().entries;
  steps.ids = INT32_MAX;
  for (const Input &input : entries[size_t(steps.gradientEntry)].inputs)
    if (input.name == "input_ids" && input.shape.size() == 2) {
      steps.shape = input.shape;
      if (input.range)
        steps.ids = std::min(steps.ids, input.range->second);
    } else if (input.name == "microstep") {
      steps.drops = true;
    }
  for (const Input &input : entries[size_t(steps.updateEntry)].inputs)
    if (input.state < 0)
      steps.updateNames.push_back(input.name);
  return steps;
}

Status Steps::expectTokens() const {
  if (shape.empty())
    return userError("entry 'gradient': expected an input 'input_ids' of "
                     "batch and length; the program is trained by its inputs, "
                     "in C or Python");
  return {};
}

Status Steps::gradient(std::vector<int32_t> &tokens,
                       std::vector<int32_t> &targets, int64_t seed,
                       int64_t microstep) {
  std::vector<Binding> inputs{
      Binding::of("input_ids", FileType::I32, shape, tokens.data()),
      Binding::of("targets", FileType::I32, shape, targets.data())};
  if (drops) {
    inputs.push_back(Binding::of("seed", FileType::I64, {}, &seed));
    inputs.push_back(Binding::of("microstep", FileType::I64, {}, &microstep));
  }
  return session.step(gradientEntry, inputs, {});
}

Expected<Steps::Result> Steps::evaluate(std::vector<int32_t> &tokens,
                                        std::vector<int32_t> &targets) {
  TPRT_ASSIGN(int64_t entry, session.entry("main"));
  Result result{};
  TPRT_TRY(session.step(
      entry,
      {Binding::of("input_ids", FileType::I32, shape, tokens.data()),
       Binding::of("targets", FileType::I32, shape, targets.data())},
      {Binding::of("loss_sum", FileType::F32, {}, &result.lossSum),
       Binding::of("tokens", FileType::F32, {}, &result.tokens)}));
  return result;
}

Expected<Steps::Result> Steps::update(std::map<std::string, float> inputs) {
  std::vector<Binding> bound;
  for (const std::string &name : updateNames) {
    auto found = inputs.find(name);
    if (found == inputs.end())
      return userError("entry 'update' has an input '", name,
                       "' that tp-run does not know: expected a program of "
                       "its own version");
    bound.push_back(Binding::of(name, FileType::F32, {}, &found->second));
  }
  Result result{};
  TPRT_TRY(session.step(
      updateEntry, bound,
      {Binding::of("loss_sum", FileType::F32, {}, &result.lossSum),
       Binding::of("tokens", FileType::F32, {}, &result.tokens),
       Binding::of("grad_norm", FileType::F32, {}, &result.gradNorm)}));
  return result;
}

Expected<HostTensor> Steps::state(int64_t index, int64_t first, int64_t rows) {
  TPRT_ASSIGN(auto value, session.state(index, first, rows));
  return std::move(*value);
}
