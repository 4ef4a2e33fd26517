//===- SessionStats.cpp - what a run tells of itself ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, times and the timeline of all ranks, gathered on rank 0.
//
//===----------------------------------------------------------------------===//

#include "../format/Json.h"
#include "Session.h"

#include <algorithm>
#include <fstream>

using namespace tprt;
using nlohmann::json;

/// Peak resident bytes of the process, as the kernel counts them.
static int64_t processPeak() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmHWM:"))
      return std::stoll(line.substr(6)) * 1024;
  return 0;
}

/// The steps of one entry, on the host and on a device if it has one.
static json describeSteps(const StepTimes &times, const StepTimes *onDevice) {
  json steps = {{"count", times.count}, {"seconds", times.inOrder()}};
  if (times.count > 0) {
    steps["median"] = times.median();
    steps["least"] = times.least;
  }
  if (onDevice && onDevice->count > 0) {
    steps["device_seconds"] = onDevice->inOrder();
    steps["device_median"] = onDevice->median();
  }
  return steps;
}

/// The figures of one rank.
static json describeRank(const tprt_rank &rank, bool onDevice) {
  const tprt_rank::Memory m = rank.memory();
  json row = {{"peak_bytes", m.peak()},
              {"stated_peak_bytes", m.stated},
              {"parameter_bytes", m.parameters},
              {"arena", {{"stated", m.arenaStated}, {"used", m.arenaUsed}}},
              {"comm", {{"stated", m.commStated}, {"used", m.commUsed}}},
              {"scratch_bytes", m.scratch},
              {"value_bytes", m.values},
              {"state_bytes", m.states},
              {"loaded_bytes", rank.loadedBytes}};
  if (onDevice)
    row["device"] = {{"allocated_bytes", m.allocated},
                     {"workspace_bytes", m.workspace},
                     {"context_bytes", m.context},
                     {"communicator_bytes", m.communicators}};
  return row;
}

Expected<std::string> Session::stats(const std::string &generation) {
  TPRT_TRY(tell({Call::Stats}));
  TPRT_ASSIGN(auto blobs, gather([&](const tprt_rank &rank) {
                json row = describeRank(rank, manifest_.device != Device::Cpu);
                return json({row, processPeak()}).dump();
              }));
  if (!root())
    return std::string();
  json rows = json::array();
  int64_t bytes = 0, processPeaks = 0;
  for (size_t r = 0; r < blobs.size(); ++r) {
    json told = json::parse(blobs[r]);
    rows.push_back(std::move(told[0]));
    rows.back()["rank"] = options.onlyRank.value_or(int64_t(r));
    bytes += rows.back()["loaded_bytes"].get<int64_t>();
    if (r == 0 || processes())
      processPeaks += told[1].get<int64_t>();
  }
  int64_t count = 0;
  json entries = json::object();
  for (size_t i = 0; i < times.size(); ++i) {
    count += times[i].count;
    entries[manifest_.entries[i].name] =
        describeSteps(times[i], ranks[here[0]]->deviceTimes(int64_t(i)));
  }
  json load = {{"seconds", loadSeconds_}, {"bytes", bytes}};
  if (loadSeconds_ > 0)
    load["gigabytes_per_second"] = double(bytes) / 1e9 / loadSeconds_;
  json stats = {{"model", manifest_.modelName},
                {"ranks", std::move(rows)},
                {"load", std::move(load)},
                {"steps", {{"count", count}, {"entries", std::move(entries)}}},
                {"process_peak_bytes", processPeaks}};
  if (!generation.empty())
    stats["generation"] = json::parse(generation);
  return stats.dump(2) + "\n";
}

Expected<int64_t> Session::peakBytes() {
  TPRT_TRY(tell({Call::PeakBytes}));
  TPRT_ASSIGN(auto blobs, gather([](const tprt_rank &) {
                return std::to_string(processPeak());
              }));
  int64_t sum = 0;
  for (size_t r = 0; root() && r < (processes() ? blobs.size() : 1); ++r)
    sum += std::stoll(blobs[r]);
  return sum;
}

Expected<std::string> Session::timeline() {
  TPRT_TRY(tell({Call::Timeline}));
  TPRT_ASSIGN(auto blobs, gather([](const tprt_rank &rank) {
                return rank.timeline.toBytes();
              }));
  if (!root())
    return std::string();
  std::vector<Timeline> timelines;
  for (const std::string &blob : blobs)
    timelines.push_back(Timeline::fromBytes(blob));
  std::vector<const Timeline *> list;
  for (const Timeline &rank : timelines)
    list.push_back(&rank);
  return formatTrace(manifest_, list);
}
