//===- Session.cpp - a program being run ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The life of a run: everything is checked and loaded, the ranks agree on what
// they run, inputs are cut for each rank, steps run, and results are compared
// where ranks must agree and put together. The first error of any rank is the
// error of the run, and names the rank.
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "../collectives/threads/Threads.h"
#include "CodeModule.h"
#include "Cpu.h"
#include "Json.h"
#include "Rank.h"
#include "RankThreads.h"
#include "Values.h"
#include "tprt/artifact.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

using namespace tprt;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// How long ranks may take to come back after one of them failed.
constexpr double kGraceSeconds = 2;

struct Session::Impl {
  SessionOptions options;
  MappedFile file;
  Manifest manifest;
  CodeModule code;
  const void *constants = nullptr;
  uint64_t hash = 0;
  std::unique_ptr<ThreadHub> hub;
  std::vector<std::unique_ptr<tprt_rank>> ranks;
  /// Inputs as set, per entry and input; empty: not set.
  std::vector<std::vector<std::optional<HostTensor>>> inputs;
  bool loaded = false, lost = false;
  double loadSeconds = 0;
  std::vector<double> stepSeconds;
  // Last, so that threads end before what they use.
  std::unique_ptr<RankThreads> threads;

  Status open(const std::string &path);
  Status onRanks(const std::function<Status(int64_t)> &job);
  std::string describe(CallSite site) const;
};

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Session::Session(Session &&) noexcept = default;
Session &Session::operator=(Session &&) noexcept = default;

Session::~Session() {
  // A rank that never came back still uses all of this: leave it to it.
  if (impl && impl->lost)
    (void)impl.release();
}

std::string Session::Impl::describe(CallSite site) const {
  if (site.id < 0)
    return "the beginning or end of a step";
  const Collective &entry = manifest.collectives[site.id];
  return detail::join("collective ", site.id, " (", kindName(entry.kind),
                      ", layer ", site.layer, ", ", entry.location, ")");
}

/// Runs the job on all ranks; the first failure ends it on all.
Status Session::Impl::onRanks(const std::function<Status(int64_t)> &job) {
  if (lost)
    return lostError("a rank was lost earlier; the session cannot go on");
  hub->reset();
  auto body = [this, job](int64_t rank) {
    Status status;
    try {
      status = job(rank);
    } catch (const std::exception &error) {
      status = internalError(error.what());
    }
    if (status.ok() || !hub->failure().ok())
      return;
    hub->world(rank)->abort(status.in("rank " + std::to_string(rank)));
  };
  bool back = threads->run(
      body, [this] { return !hub->failure().ok(); }, kGraceSeconds);
  lost |= !back;
  return hub->failure();
}

Status Session::Impl::open(const std::string &path) {
  if (options.backend != "threads") {
    for (const char *planned : {"processes", "mpi", "nccl"})
      if (options.backend == planned)
        return userError("backend '", options.backend,
                         "' is not in this build; it has: threads");
    return userError("unknown backend '", options.backend,
                     "'; this build has: threads");
  }
  auto mapped = MappedFile::open(path);
  if (!mapped)
    return mapped.status();
  file = std::move(*mapped);
  auto sections = readArtifact(file.bytes(), path);
  if (!sections)
    return sections.status();
  std::string where = "artifact '" + path + "'";
  std::optional<std::string_view> texts[3];
  const char *names[3] = {"manifest", "code", "constants"};
  for (const SectionView &section : *sections) {
    auto found = std::find(std::begin(names), std::end(names), section.name);
    if (found == std::end(names))
      return userError(where, ": unknown section '", section.name, "'");
    texts[found - names] = section.bytes;
  }
  for (int i = 0; i < 3; ++i)
    if (!texts[i])
      return userError(where, ": section '", names[i], "' is missing");
  auto parsed = Manifest::parse(*texts[0]);
  if (!parsed)
    return parsed.status().in(where);
  manifest = std::move(*parsed);
  TPRT_TRY(requireFeatures(manifest.features).in(where));
  auto loadedCode =
      CodeModule::load(*texts[1], int64_t(manifest.entries.size()));
  if (!loadedCode)
    return loadedCode.status().in(where);
  code = std::move(*loadedCode);
  constants = texts[2]->data();
  hash = checksum(file.bytes());

  int64_t size = manifest.mesh.size();
  hub = std::make_unique<ThreadHub>(
      size, options.timeoutSeconds,
      [this](CallSite site) { return describe(site); });
  int workers = std::max<int>(1, int(availableCores() / size));
  threads = std::make_unique<RankThreads>(size, workers);
  ranks.resize(size);
  for (const Entry &entry : manifest.entries)
    inputs.emplace_back(entry.inputs.size());
  return onRanks([this](int64_t rank) -> Status {
    ranks[rank] = std::make_unique<tprt_rank>(manifest, hub->world(rank),
                                              options.timeline);
    // The manifest is part of the artifact: one hash covers the schedule of
    // collectives too.
    TPRT_TRY(ranks[rank]->world->agree(hash, "the artifact"));
    return ranks[rank]->connect();
  });
}

Expected<Session> Session::open(const std::string &artifact,
                                const SessionOptions &options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  Status status = impl->open(artifact);
  Session session(std::move(impl));
  if (!status.ok())
    return status;
  return session;
}

const Manifest &Session::manifest() const { return impl->manifest; }

Expected<int64_t> Session::entry(const std::string &name) const {
  const auto &entries = impl->manifest.entries;
  std::string known;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (name.empty() || entries[i].name == name)
      return int64_t(i);
    known += (i ? ", '" : "'") + entries[i].name + "'";
  }
  return userError("no entry '", name, "'; the artifact has ", known);
}

Status Session::loadWeights(const std::string &spec) {
  auto start = Clock::now();
  auto weights = Weights::open(spec, impl->manifest);
  if (!weights)
    return weights.status();
  if (impl->loaded)
    return userError("the weights are loaded already");
  TPRT_TRY(impl->onRanks(
      [&](int64_t rank) { return impl->ranks[rank]->loadWeights(*weights); }));
  impl->loaded = true;
  impl->loadSeconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  return {};
}

Status Session::setInput(int64_t entry, const std::string &name,
                         const TensorView &value) {
  const auto &inputs = impl->manifest.entries[entry].inputs;
  std::string known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name != name) {
      known += (known.empty() ? "'" : ", '") + inputs[i].name + "'";
      continue;
    }
    auto tensor = checkInput(inputs[i], value);
    if (!tensor)
      return tensor.status();
    impl->inputs[entry][i] = std::move(*tensor);
    return {};
  }
  return userError("unknown input '", name, "'; the program takes ",
                   known.empty() ? "none" : known);
}

Status Session::checkInputs(int64_t index) const {
  const Entry &entry = impl->manifest.entries[index];
  const auto &inputs = impl->inputs[index];
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i] && entry.inputs[i].defaultValue == Input::Default::None)
      return userError("missing input '", entry.inputs[i].name, "' (",
                       typeName(entry.inputs[i].type), " ",
                       formatShape(entry.inputs[i].shape), ")");
  return {};
}

Status Session::run(int64_t index, int64_t repeat) {
  const Entry &entry = impl->manifest.entries[index];
  if (!impl->loaded)
    return userError("no weights are loaded");
  TPRT_TRY(checkInputs(index));
  auto &inputs = impl->inputs[index];
  // Shared, as a rank that stalls may still write to it later.
  auto seconds = std::make_shared<std::vector<double>>(repeat);
  tprt_step function = impl->code.program().entries[index];
  Status status = impl->onRanks(
      [=, &inputs, &entry, impl = impl.get()](int64_t r) -> Status {
        tprt_rank &rank = *impl->ranks[r];
        TPRT_TRY(rank.prepare(index));
        for (size_t i = 0; i < inputs.size(); ++i)
          distribute(entry.inputs[i], inputs[i] ? &*inputs[i] : nullptr,
                     impl->manifest.mesh, rank.coordinates(),
                     rank.input(index, int64_t(i)));
        for (int64_t n = 0; n < repeat; ++n) {
          TPRT_TRY(rank.world->agree(uint64_t(n), "the step"));
          auto start = Clock::now();
          TPRT_TRY(rank.step(index, function, impl->constants));
          TPRT_TRY(rank.world->agree(uint64_t(n), "the step"));
          if (r == 0)
            (*seconds)[n] =
                std::chrono::duration<double>(Clock::now() - start).count();
        }
        return {};
      });
  if (status.ok())
    impl->stepSeconds.insert(impl->stepSeconds.end(), seconds->begin(),
                             seconds->end());
  return status;
}

Expected<std::vector<HostTensor>> Session::outputs(int64_t index) {
  const Entry &entry = impl->manifest.entries[index];
  std::vector<HostTensor> result;
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    std::vector<const void *> shards;
    for (const auto &rank : impl->ranks) {
      TPRT_TRY(rank->prepare(index));
      shards.push_back(rank->output(index, int64_t(i)));
    }
    auto tensor = assemble(entry.outputs[i], impl->manifest.mesh, shards);
    if (!tensor)
      return tensor.status();
    result.push_back(std::move(*tensor));
  }
  return result;
}

/// Peak resident bytes of the process, as the kernel counts them.
static int64_t processPeak() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmHWM:"))
      return std::stoll(line.substr(6)) * 1024;
  return 0;
}

std::string Session::stats() const {
  json ranks = json::array();
  int64_t bytes = 0;
  int64_t statedPeak = 0;
  for (const Entry &entry : impl->manifest.entries)
    statedPeak = std::max(statedPeak, entry.peakBytes);
  for (size_t r = 0; r < impl->ranks.size(); ++r) {
    tprt_rank::Memory m = impl->ranks[r]->memory();
    bytes += impl->ranks[r]->loadedBytes;
    ranks.push_back(
        {{"rank", r},
         {"peak_bytes", m.peak()},
         {"stated_peak_bytes", statedPeak},
         {"parameter_bytes", m.parameters},
         {"arena", {{"stated", m.arenaStated}, {"used", m.arenaUsed}}},
         {"comm", {{"stated", m.commStated}, {"used", m.commUsed}}},
         {"scratch_bytes", m.scratch},
         {"value_bytes", m.values},
         {"loaded_bytes", impl->ranks[r]->loadedBytes}});
  }
  std::vector<double> sorted = impl->stepSeconds;
  std::sort(sorted.begin(), sorted.end());
  json steps = {{"count", sorted.size()}, {"seconds", impl->stepSeconds}};
  if (!sorted.empty()) {
    steps["median"] = sorted[sorted.size() / 2];
    steps["least"] = sorted.front();
  }
  json stats = {{"model", impl->manifest.modelName},
                {"ranks", std::move(ranks)},
                {"load", {{"seconds", impl->loadSeconds}, {"bytes", bytes}}},
                {"steps", std::move(steps)},
                {"process_peak_bytes", processPeak()}};
  return stats.dump(2) + "\n";
}

std::string Session::timeline() const {
  std::vector<const Timeline *> list;
  for (const auto &rank : impl->ranks)
    list.push_back(&rank->timeline);
  return formatTrace(impl->manifest, list);
}
