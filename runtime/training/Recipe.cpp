//===- Recipe.cpp - how a program is trained ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recipe.h"

#include "../format/Cursor.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <sstream>

using namespace tprt;
using namespace tprt::training;
using nlohmann::json;

namespace {

/// Values by the names of options; messages name these.
class Values {
public:
  explicit Values(const json &values) : values(values) {}

  bool has(const char *key) const { return values.contains(key); }
  Cursor at(const char *key) const {
    return {values[key], std::string("--") + key};
  }
  /// A number at least `low`, and above it if it is `open`.
  double number(const Cursor &cursor, double low, bool open,
                double below = INFINITY) const {
    double x = cursor.number();
    if (!(x >= low && x < below) || (open && x == low))
      cursor.fail("expected a number ", open ? "above " : "of at least ", low,
                  below < INFINITY ? detail::join(" and below ", below) : "",
                  // JSON has no word for what is no number.
                  ", got ",
                  std::isfinite(x) ? cursor.text() : std::to_string(x));
    return x;
  }

private:
  const json &values;
};

/// NAME:key=value,key=value
Recipe::Schedule parseSchedule(const Cursor &cursor, double rate) {
  std::string text = cursor.string();
  auto refuse = [&] {
    cursor.fail("expected constant, cosine or linear, with :warmup=STEPS,"
                "min=RATE behind it, got '",
                text, "'");
  };
  Recipe::Schedule schedule;
  std::string name = text.substr(0, text.find(':'));
  constexpr std::string_view kNames[] = {"constant", "cosine", "linear"};
  auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames))
    refuse();
  schedule.kind = Recipe::Schedule::Kind(found - std::begin(kNames));
  if (name.size() == text.size())
    return schedule;
  std::stringstream items(text.substr(name.size() + 1) + ",");
  for (std::string item; std::getline(items, item, ',');) {
    size_t equals = item.find('=');
    std::string key = item.substr(0, equals);
    double value = 0;
    const char *begin = item.data() + std::min(item.size(), key.size() + 1);
    const char *end = item.data() + item.size();
    auto [at, error] = std::from_chars(begin, end, value);
    if (equals == std::string::npos || error != std::errc() || at != end ||
        !(value >= 0 && value < 1e15))
      refuse();
    if (key == "warmup" && value == std::floor(value))
      schedule.warmup = int64_t(value);
    else if (key == "min" && name != "constant" && value <= rate)
      schedule.least = value;
    else if (key == "min")
      cursor.fail("expected a min of cosine or linear that is at most the "
                  "rate, got '",
                  text, "' for ", rate);
    else
      refuse();
  }
  return schedule;
}

Recipe parse(const json &all) {
  Values values(all);
  Recipe r;
  if (!values.has("lr"))
    throw SchemaError{"expected --lr RATE, the learning rate"};
  r.accumulate = values.at("accumulate").integer(1, INT32_MAX);
  r.rate = values.number(values.at("lr"), 0, true, 1e30);
  r.schedule = parseSchedule(values.at("schedule"), r.rate);
  r.weightDecay = values.number(values.at("weight-decay"), 0, false, 1e30);
  if (values.has("betas")) {
    std::vector<Cursor> betas = values.at("betas").list();
    if (betas.size() != 2)
      values.at("betas").fail("expected two numbers, got ", betas.size());
    r.beta1 = values.number(betas[0], 0, false, 1);
    r.beta2 = values.number(betas[1], 0, false, 1);
  }
  if (values.has("eps"))
    r.eps = values.number(values.at("eps"), 0, false, 1e30);
  if (values.has("momentum"))
    r.momentum = values.number(values.at("momentum"), 0, false, 1);
  r.isShuffled = values.at("order").word({"shuffle", "sequential"}) == 0;
  r.seed = uint64_t(values.at("seed").integer(0));
  return r;
}

/// The defaults, which name all that the optimizer knows.
json defaultsOf(const Training &program) {
  json usual = {{"accumulate", 1},
                {"schedule", "constant"},
                {"order", "shuffle"},
                {"seed", 1}};
  if (program.optimizer == Training::Optimizer::AdamW)
    usual.update(
        {{"betas", {0.9, 0.95}}, {"eps", 1e-8}, {"weight-decay", 0.1}});
  else
    usual["weight-decay"] = 0;
  for (const Training::Weight &weight : program.weights)
    if (weight.momentum >= 0)
      usual["momentum"] = 0.9;
  return usual;
}

} // namespace

Expected<Recipe> Recipe::make(const Training &program, const json &given,
                              const json &before, json &all) {
  all = defaultsOf(program);
  std::string known = "--lr";
  for (const auto &item : all.items())
    known += ", --" + item.key();
  for (const json *more : {&before, &given})
    for (const auto &item : more->items()) {
      if (item.key() != "lr" && !all.contains(item.key()))
        return userError("--", item.key(), ": the program's optimizer is ",
                         program.name(), ", which takes ", known);
      all[item.key()] = item.value();
    }
  try {
    return parse(all);
  } catch (const SchemaError &error) {
    return userError(error.message);
  }
}

double Recipe::rateOf(int64_t step, int64_t steps) const {
  if (step <= schedule.warmup)
    return rate * double(step) / double(schedule.warmup + 1);
  if (schedule.kind == Schedule::Kind::Constant)
    return rate;
  double part = double(step - 1 - schedule.warmup) /
                double(std::max<int64_t>(1, steps - schedule.warmup));
  double ofRate = schedule.kind == Schedule::Kind::Linear
                      ? 1 - part
                      : (1 + std::cos(std::numbers::pi * part)) / 2;
  return schedule.least + (rate - schedule.least) * ofRate;
}

std::map<std::string, float> Recipe::updateInputs(int64_t step,
                                                  int64_t steps) const {
  double lr = rateOf(step, steps), t = double(step);
  return {{"lr", float(lr)},
          {"weight_decay", float(weightDecay)},
          {"momentum", float(momentum)},
          {"decay", float(1 - lr * weightDecay)},
          {"step_size", float(lr / (1 - std::pow(beta1, t)))},
          {"one_minus_beta1", float(1 - beta1)},
          {"beta2", float(beta2)},
          {"one_minus_beta2", float(1 - beta2)},
          {"correction", float(std::sqrt(1 - std::pow(beta2, t)))},
          {"eps", float(eps)}};
}
