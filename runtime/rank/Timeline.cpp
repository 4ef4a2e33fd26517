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

/// The last word of a place that a name of parameters has: q_proj of
/// model.layers.{i}.self_attn.q_proj, layers.{i} of model.layers.{i}; a line of
/// a file as it is.
static std::string shortName(const std::string &location) {
  size_t end =
      location.ends_with(".{i}") ? location.size() - 4 : std::string::npos;
  size_t dot = location.rfind('.', end == std::string::npos ? end : end - 1);
  bool isFile = location.find(':') != std::string::npos;
  return isFile || dot == std::string::npos ? location
                                            : location.substr(dot + 1);
}

/// "q_proj,k_proj", or the number of what has no place.
static std::string nameOf(const Locations &locations, int64_t id) {
  constexpr size_t kMostNames = 3;
  std::string name;
  for (size_t i = 0; i < std::min(locations.size(), kMostNames); ++i)
    name += (i ? "," : "") + shortName(locations[i]);
  if (locations.size() > kMostNames)
    name += ",...";
  return locations.empty() ? std::to_string(id) : name;
}

/// The name of an event, and in `args` what a viewer shows of it.
static std::string describeCall(const Manifest &manifest,
                                const Timeline::Event &event, json &args) {
  using Kind = Timeline::Kind;
  auto call = [&](const std::string &what, const auto &entry) {
    if (!entry.locations.empty())
      args["locations"] = entry.locations;
    return what + " " + nameOf(entry.locations, event.id);
  };
  size_t id = size_t(event.id);
  switch (event.kind) {
  case Kind::Kernel: {
    if (id >= manifest.kernels.size())
      return detail::join("kernel ", event.id);
    const Kernel &kernel = manifest.kernels[id];
    std::string name = call(kernel.name, kernel);
    return kernel.locations.empty() ? kernel.name : name;
  }
  case Kind::Gemm: {
    const Gemm &gemm = manifest.gemms[id];
    args.update({{"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}});
    return call("gemm", gemm) + detail::join(" ", gemm.n, "x", gemm.k);
  }
  case Kind::Attention:
    return call("attention", manifest.attentions[id]);
  case Kind::PagedAttention:
    return call("paged attention", manifest.pagedAttentions[id]);
  case Kind::Experts:
    return call("experts", manifest.experts[id]);
  case Kind::Wait:
  case Kind::Collective: {
    const Collective &entry = manifest.collectives[id];
    args.update({{"ledger", event.id},
                 {"bytes", entry.bytes},
                 {"cause", entry.cause},
                 {"location", entry.location}});
    return (event.kind == Kind::Wait ? "wait for " : "") +
           std::string(entry.row().operation);
  }
  case Kind::Step:
    args = json::object();
    return "step";
  }
  return "";
}

static json describe(const Manifest &manifest, const Timeline::Event &event) {
  constexpr const char *kCategories[] = {
      "kernel",  "gemm",       "attention", "paged attention",
      "experts", "collective", "wait",      "step"};
  json args = {{"layer", event.layer}};
  std::string name = describeCall(manifest, event, args);
  return {{"name", std::move(name)},
          {"cat", kCategories[int(event.kind)]},
          {"args", std::move(args)}};
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
  auto row = [&](size_t thread, const std::string &name,
                 const char *what = "thread_name") {
    events.push_back({{"name", what},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", thread},
                      {"args", {{"name", name}}}});
  };
  row(0,
      (manifest.modelName.empty() ? "program" : manifest.modelName) +
          detail::join(" on ", ranks.size(), " ranks"),
      "process_name");
  // Collectives that run beside the rest have a row of their own: all of a
  // device's, and those that the program starts.
  bool device = manifest.device != Device::Cpu;
  bool anyApart =
      device ||
      std::any_of(manifest.collectives.begin(), manifest.collectives.end(),
                  [](const Collective &c) { return c.asynchronous; });
  auto isApart = [&](const Timeline::Event &event) {
    return event.kind == Timeline::Kind::Collective &&
           (device || manifest.collectives[size_t(event.id)].asynchronous);
  };
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::string name = "rank " + std::to_string(rank);
    row(rank, name);
    if (anyApart)
      row(ranks.size() + rank, name + " communication");
    for (const Timeline::Event &event : ranks[rank]->all()) {
      json item = describe(manifest, event);
      item["ph"] = "X";
      item["pid"] = 0;
      item["tid"] = isApart(event) ? ranks.size() + rank : rank;
      item["ts"] = micros(event.start - origin);
      item["dur"] = micros(event.stop - event.start);
      events.push_back(std::move(item));
    }
  }
  json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  // Strings of the manifest are valid UTF-8: its parser saw to that.
  return trace.dump() + "\n";
}
