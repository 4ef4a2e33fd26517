//===- SessionStats.cpp - what a run tells of itself ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, times and the timeline of all ranks, gathered on rank 0.
//
//===----------------------------------------------------------------------===//

#include "../format/Json.h"
#include "SessionImpl.h"

#include <algorithm>
#include <cstring>
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

namespace {
/// What a rank tells of itself.
struct RankStats {
  tprt_rank::Memory memory;
  int64_t loaded, processPeak;
};
} // namespace

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

Expected<std::string> Session::stats(const std::string &generation) const {
  auto blobs = impl->gather([](const tprt_rank &rank) {
    RankStats stats{rank.memory(), rank.loadedBytes, processPeak()};
    return std::string(reinterpret_cast<char *>(&stats), sizeof(stats));
  });
  if (!blobs)
    return blobs.status();
  if (!root())
    return std::string();
  json ranks = json::array();
  int64_t bytes = 0;
  int64_t statedPeak = 0;
  for (const Entry &entry : impl->manifest.entries)
    statedPeak = std::max(statedPeak, entry.peakBytes);
  int64_t processPeaks = processPeak();
  for (size_t r = 0; r < blobs->size(); ++r) {
    RankStats rank;
    std::memcpy(&rank, (*blobs)[r].data(), sizeof(rank));
    const tprt_rank::Memory &m = rank.memory;
    bytes += rank.loaded;
    if (r > 0 && impl->processes())
      processPeaks += rank.processPeak;
    ranks.push_back(
        {{"rank", impl->options.onlyRank.value_or(int64_t(r))},
         {"peak_bytes", m.peak()},
         {"stated_peak_bytes", statedPeak},
         {"parameter_bytes", m.parameters},
         {"arena", {{"stated", m.arenaStated}, {"used", m.arenaUsed}}},
         {"comm", {{"stated", m.commStated}, {"used", m.commUsed}}},
         {"scratch_bytes", m.scratch},
         {"value_bytes", m.values},
         {"state_bytes", m.states},
         {"loaded_bytes", rank.loaded}});
    if (impl->manifest.device != Device::Cpu)
      ranks.back()["device"] = {{"allocated_bytes", m.allocated},
                                {"workspace_bytes", m.workspace},
                                {"context_bytes", m.context},
                                {"communicator_bytes", m.communicators}};
  }
  int64_t count = 0;
  json entries = json::object();
  for (size_t i = 0; i < impl->times.size(); ++i) {
    count += impl->times[i].count;
    entries[impl->manifest.entries[i].name] = describeSteps(
        impl->times[i], impl->ranks[impl->here[0]]->deviceTimes(int64_t(i)));
  }
  json load = {{"seconds", impl->loadSeconds}, {"bytes", bytes}};
  if (impl->loadSeconds > 0)
    load["gigabytes_per_second"] = double(bytes) / 1e9 / impl->loadSeconds;
  json stats = {{"model", impl->manifest.modelName},
                {"ranks", std::move(ranks)},
                {"load", std::move(load)},
                {"steps", {{"count", count}, {"entries", std::move(entries)}}},
                {"process_peak_bytes", processPeaks}};
  if (!generation.empty())
    stats["generation"] = json::parse(generation);
  return stats.dump(2) + "\n";
}

Expected<std::string> Session::timeline() const {
  auto blobs = impl->gather(
      [](const tprt_rank &rank) { return rank.timeline.toBytes(); });
  if (!blobs)
    return blobs.status();
  if (!root())
    return std::string();
  std::vector<Timeline> ranks;
  for (const std::string &blob : *blobs)
    ranks.push_back(Timeline::fromBytes(blob));
  std::vector<const Timeline *> list;
  for (const Timeline &rank : ranks)
    list.push_back(&rank);
  return formatTrace(impl->manifest, list);
}
