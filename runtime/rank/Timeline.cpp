//===- Timeline.cpp - what each rank did, and when ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records events and writes the Chrome trace format.
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"

#include "../format/Json.h"

#include <algorithm>
#include <cstring>

using namespace tprt;
using nlohmann::json;

void Timeline::begin(Kind kind, int64_t id, int64_t layer) {
  if (!on)
    return;
  end();
  current = {kind, int32_t(id), layer, Clock::now(), {}};
  open = true;
}

void Timeline::end() {
  if (!on || !open)
    return;
  current.stop = Clock::now();
  add(current);
  open = false;
}

void Timeline::endStep() {
  if (!on)
    return;
  end();
  add({Kind::Step, 0, 0, stepStart, Clock::now()});
}

void Timeline::add(const Event &event) {
  if (events.size() == kMost)
    events.erase(events.begin(), events.begin() + kMost / 2);
  events.push_back(event);
}

void StepTimes::add(double seconds) {
  if (count < kKept)
    last.push_back(seconds);
  else
    last[size_t(count % kKept)] = seconds;
  least = std::min(least, seconds);
  ++count;
}

std::vector<double> StepTimes::inOrder() const {
  std::vector<double> list = last;
  if (count > kKept)
    std::rotate(list.begin(), list.begin() + count % kKept, list.end());
  return list;
}

double StepTimes::quantile(double q) const {
  std::vector<double> list = last;
  auto at = list.begin() +
            std::min(long(double(list.size()) * q), long(list.size()) - 1);
  std::nth_element(list.begin(), at, list.end());
  return *at;
}

std::string Timeline::toBytes() const {
  return {reinterpret_cast<const char *>(events.data()),
          events.size() * sizeof(Event)};
}

Timeline Timeline::fromBytes(const std::string &bytes) {
  static_assert(std::is_trivially_copyable_v<Event>);
  Timeline timeline(false);
  timeline.events.resize(bytes.size() / sizeof(Event));
  std::memcpy(static_cast<void *>(timeline.events.data()), bytes.data(),
              timeline.events.size() * sizeof(Event));
  return timeline;
}

static json describe(const Manifest &manifest, const Timeline::Event &event) {
  using Kind = Timeline::Kind;
  constexpr const char *kCategories[] = {
      "kernel",  "gemm",       "attention", "paged attention",
      "experts", "collective", "step"};
  std::string category = kCategories[int(event.kind)];
  std::string name = category + " " + std::to_string(event.id);
  json args = {{"layer", event.layer}};
  if (event.kind == Kind::Kernel && event.id < int64_t(manifest.kernels.size()))
    name = manifest.kernels[event.id].name;
  if (event.kind == Kind::Gemm) {
    args["n"] = manifest.gemms[event.id].n;
    args["k"] = manifest.gemms[event.id].k;
  }
  if (event.kind == Kind::Collective) {
    const Collective &entry = manifest.collectives[event.id];
    name = entry.row().operation;
    args["ledger"] = event.id;
    args["bytes"] = entry.bytes;
    args["cause"] = entry.cause;
    args["location"] = entry.location;
  }
  if (event.kind == Kind::Step) {
    name = category;
    args = json::object();
  }
  return {{"name", name}, {"cat", category}, {"args", args}};
}

std::string tprt::formatTrace(const Manifest &manifest,
                              const std::vector<const Timeline *> &ranks) {
  auto origin = Timeline::Clock::time_point::max();
  for (const Timeline *rank : ranks)
    for (const Timeline::Event &event : rank->all())
      origin = std::min(origin, event.start);
  auto micros = [](Timeline::Clock::duration d) {
    return std::chrono::duration<double, std::micro>(d).count();
  };
  json events = json::array();
  auto row = [&](size_t thread, const std::string &name) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", thread},
                      {"args", {{"name", name}}}});
  };
  // On a device collectives run beside the rest: a row of their own.
  bool device = manifest.device != Device::Cpu;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string name = "rank " + std::to_string(rank);
    row(rank, name);
    if (device)
      row(ranks.size() + rank, name + " communication");
    for (const Timeline::Event &event : ranks[rank]->all()) {
      json item = describe(manifest, event);
      item["ph"] = "X";
      item["pid"] = 0;
      bool apart = device && event.kind == Timeline::Kind::Collective;
      item["tid"] = apart ? ranks.size() + rank : rank;
      item["ts"] = micros(event.start - origin);
      item["dur"] = micros(event.stop - event.start);
      events.push_back(std::move(item));
    }
  }
  json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  // Strings of the manifest are valid UTF-8: its parser saw to that.
  return trace.dump() + "\n";
}
