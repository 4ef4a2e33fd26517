//===- Steps.cpp - what all ranks do together in training -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include <algorithm>
#include <cstring>

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
  if (steps.shape.empty())
    return userError("entry 'gradient': expected an input 'input_ids' of "
                     "batch and length; the program is trained by its inputs, "
                     "in C or Python");
  for (const Input &input : entries[size_t(steps.updateEntry)].inputs)
    if (input.state < 0)
      steps.updateNames.push_back(input.name);
  return steps;
}

Status Steps::send(const Order &order, std::string_view bytes) {
  std::string block(reinterpret_cast<const char *>(&order), sizeof(order));
  return session.fromRoot(block.append(bytes)).status();
}

/// Runs the entry on ids and targets, one behind the other.
Status Steps::runGradient(Order &order, char *bytes) {
  int64_t size = elementCount(shape) * int64_t(sizeof(int32_t));
  std::vector<Binding> inputs{
      {"input_ids", FileType::I32, shape, bytes, size},
      {"targets", FileType::I32, shape, bytes + size, size}};
  auto bind = [&](std::string_view name, int64_t &value) {
    inputs.push_back({name,
                      FileType::I64,
                      {},
                      reinterpret_cast<char *>(&value),
                      sizeof(value)});
  };
  if (drops) {
    bind("seed", order.seed);
    bind("microstep", order.microstep);
  }
  return session.step(gradientEntry, inputs, {});
}

Expected<Steps::Result> Steps::runUpdate(float *values) {
  auto bind = [](std::string_view name, float &value) {
    return Binding{name,
                   FileType::F32,
                   {},
                   reinterpret_cast<char *>(&value),
                   sizeof(float)};
  };
  std::vector<Binding> inputs;
  for (size_t i = 0; i < updateNames.size(); ++i)
    inputs.push_back(bind(updateNames[i], values[i]));
  Result result{};
  TPRT_TRY(session.step(updateEntry, inputs,
                        {bind("loss_sum", result.lossSum),
                         bind("tokens", result.tokens),
                         bind("grad_norm", result.gradNorm)}));
  return result;
}

Status Steps::gradient(std::vector<int32_t> &tokens,
                       std::vector<int32_t> &targets, int64_t seed,
                       int64_t microstep) {
  Order order{.kind = Order::Gradient, .seed = seed, .microstep = microstep};
  std::string bytes(reinterpret_cast<char *>(tokens.data()), tokens.size() * 4);
  bytes.append(reinterpret_cast<char *>(targets.data()), targets.size() * 4);
  TPRT_TRY(send(order, bytes));
  return runGradient(order, bytes.data());
}

Expected<Steps::Result>
Steps::update(const std::map<std::string, float> &inputs) {
  std::vector<float> values;
  for (const std::string &name : updateNames) {
    auto found = inputs.find(name);
    if (found == inputs.end())
      return userError("entry 'update' has an input '", name,
                       "' that tp-run does not know: expected a program of "
                       "its own version");
    values.push_back(found->second);
  }
  TPRT_TRY(send({Order::Update}, {reinterpret_cast<char *>(values.data()),
                                  values.size() * sizeof(float)}));
  return runUpdate(values.data());
}

Expected<HostTensor> Steps::state(int64_t index, int64_t first, int64_t rows) {
  TPRT_TRY(send({Order::State, index, first, rows}));
  TPRT_ASSIGN(auto value, session.state(index, first, rows));
  return std::move(*value);
}

Expected<int64_t> Steps::peakBytes() {
  TPRT_TRY(send({Order::Peak}));
  return session.peakBytes();
}

Status Steps::end() { return send({Order::End}); }

Status Steps::follow() {
  while (true) {
    TPRT_ASSIGN(auto block, session.fromRoot({}));
    Order order;
    std::memcpy(&order, block.data(), sizeof(order));
    std::string bytes = block.substr(sizeof(order)); // aligned
    switch (order.kind) {
    case Order::Gradient:
      TPRT_TRY(runGradient(order, bytes.data()));
      break;
    case Order::Update:
      TPRT_TRY(runUpdate(reinterpret_cast<float *>(bytes.data())).status());
      break;
    case Order::State:
      TPRT_TRY(session.state(order.index, order.first, order.rows).status());
      break;
    case Order::Peak:
      TPRT_TRY(session.peakBytes().status());
      break;
    case Order::End:
      return {};
    }
  }
}
