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

#include "../collectives/net/Socket.h"
#include "../format/Json.h"
#include "../support/Cpu.h"
#include "../tensors/NotFinite.h"
#include "../tensors/ParameterPlan.h"
#include "tprt/artifact.h"
#include "tprt/units.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

using namespace tprt;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// How long ranks may take to come back after one of them failed.
constexpr double kGraceSeconds = 2;
constexpr const char *kStep = "the step, its entry and its outputs";

void Session::Close::operator()(Session *session) const {
  SideChannel *side =
      session->processes() ? session->backend_->channel() : nullptr;
  if (!session->left.ok()) {
    // A rank that never came back still uses all of this: leave it to it.
    if (side)
      side->finish();
    return;
  }
  // Memory that something still writes to is left to it.
  if (session->backend_ && !session->backend_->quiet())
    for (auto &rank : session->ranks)
      (void)rank.release();
  delete session;
}

std::string Session::describe(CallSite site) const {
  if (site.id < 0 || site.id >= int64_t(manifest_.collectives.size()))
    return "the beginning or end of a step";
  const Collective &entry = manifest_.collectives[site.id];
  return detail::join("collective ", site.id, " (", entry.row().operation,
                      ", layer ", site.layer, ", ", entry.location, ")");
}

/// Runs the job on all ranks; the first failure ends it on all.
Status Session::onRanks(const std::function<Status(int64_t)> &job) {
  TPRT_TRY(left);
  backend_->reset();
  TPRT_TRY(backend_->failure());
  auto body = [this, job](int64_t i) {
    int64_t rank = here[i];
    Status status = caught([&] { return job(rank); });
    if (status.ok() || !backend_->failure().ok())
      return;
    backend_->abort(status.in("rank " + std::to_string(rank)));
  };
  bool back = threads->run(
      body, [this] { return !backend_->failure().ok(); }, kGraceSeconds);
  if (!back)
    left = backend_->failure();
  return backend_->failure();
}

Status Session::readTables(const std::string &path,
                           std::string_view (&texts)[3]) {
  // A name that is none is said before the file is read.
  if (!options.backend.empty())
    TPRT_TRY(findBackend(options.backend, Device::Cpu, 1).status());
  TPRT_ASSIGN(file, LoadedFile::open(path));
  TPRT_ASSIGN(auto sections, readArtifact(file.bytes(), path));
  std::optional<std::string_view> found[3];
  const char *names[3] = {"manifest", "code", "constants"};
  for (const SectionView &section : sections) {
    auto name = std::find(std::begin(names), std::end(names), section.name);
    if (name == std::end(names) && section.name.starts_with("kernels.")) {
      program.kernels[std::string(section.name)] = section.bytes;
      continue;
    }
    if (name == std::end(names))
      return userError(where, ": unknown section '", section.name, "'");
    found[name - names] = section.bytes;
  }
  for (int i = 0; i < 3; ++i) {
    if (!found[i])
      return userError(where, ": section '", names[i], "' is missing");
    texts[i] = *found[i];
  }
  TPRT_ASSIGN(manifest_, Manifest::parse(texts[0]).in(where));
  return {};
}

Status Session::read(const std::string &path) {
  where = "artifact '" + path + "'";
  std::string_view texts[3];
  TPRT_TRY(readTables(path, texts));
  int64_t size = options.onlyRank ? 1 : manifest_.mesh.size();
  bool isPlaced = options.process && options.process->ranks > 1 &&
                  options.backend.empty() && !options.onlyRank;
  TPRT_ASSIGN(backendRow,
              isPlaced ? findBackend(*options.process, manifest_.device)
                       : findBackend(options.backend, manifest_.device, size));
  TPRT_TRY(checkProgram(*backendRow, manifest_, size).in(where));
  TPRT_TRY(checkKernels());
  TPRT_TRY(requireFeatures(manifest_.features).in(where));
  TPRT_ASSIGN(
      code,
      CodeModule::load(texts[1], int64_t(manifest_.entries.size())).in(where));
  program.steps = &code.program();
  program.constants = texts[2];
  hash = checksum(file.bytes());
  return {};
}

/// True if the device code that the manifest promises is there, and no other.
Status Session::checkKernels() const {
  bool onDevice = manifest_.device != Device::Cpu;
  std::vector<std::string> wanted;
  if (onDevice) {
    wanted.push_back("kernels.ptx");
    for (const std::string &name : manifest_.architectures)
      wanted.push_back("kernels." + name);
    for (const std::string &image : manifest_.images)
      wanted.push_back("kernels." + image + ".ptx");
  }
  for (const std::string &name : wanted)
    if (!program.kernels.count(name))
      return userError(where, ": section '", name, "' is missing");
  for (const auto &[name, bytes] : program.kernels)
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end())
      return userError(where, ": unknown section '", name, "'");
  for (const auto &[name, bytes] : program.kernels)
    if (name.ends_with("ptx") && (bytes.empty() || bytes.back() != '\0'))
      return userError(where, ": section '", name,
                       "': expected a null-terminated text");
  return {};
}

int64_t Session::sharedBytes() const {
  constexpr int64_t kPage = int64_t(2) << 20;
  int64_t total = kPage;
  if (manifest_.device != Device::Cpu)
    return total;
  auto add = [&](tprt_type type, const Shape &shape) {
    total += alignUp(elementCount(shape) * typeBytes(type), TPRT_ALIGNMENT);
  };
  for (const State &state : manifest_.states)
    add(state.type, state.localShape);
  for (const Entry &entry : manifest_.entries) {
    for (const Input &input : entry.inputs)
      add(input.type, input.localShape);
    for (const Output &output : entry.outputs)
      add(output.type, output.localShape);
    total = alignUp(total, kPage) + alignUp(entry.arenaBytes, kPage) +
            alignUp(entry.commBytes, kPage) + 2 * kPage;
  }
  // Copies of buffers that lie elsewhere, such as parameters.
  for (const Collective &c : manifest_.collectives) {
    add(c.type, c.inputShape);
    add(c.type, c.outputShape);
    total = alignUp(total, kPage) + 4 * kPage;
  }
  return total;
}

Status Session::start(std::shared_ptr<const ProcessInfo> process) {
  int64_t size = manifest_.mesh.size();
  if (options.onlyRank && (*options.onlyRank < 0 || *options.onlyRank >= size))
    return userError(where, " is made for ", size, " ranks, which has no rank ",
                     *options.onlyRank);
  TPRT_ASSIGN(backend_,
              makeBackend({backendRow->name,
                           manifest_.device,
                           size,
                           std::move(process),
                           options.onlyRank,
                           sharedBytes(),
                           {*options.startSeconds,
                            [this](CallSite site) { return describe(site); },
                            *options.silenceSeconds, options.policy}}));
  if (options.onlyRank)
    here = {*options.onlyRank};
  else if (processes())
    here = {backend_->channel()->rank()};
  else
    for (int64_t rank = 0; rank < size; ++rank)
      here.push_back(rank);
  Status status = connect();
  if (!status.ok() && processes())
    backend_->abort(status);
  return status;
}

Status Session::checkMemory(int64_t ranks) const {
  if (manifest_.device != Device::Cpu)
    return {};
  int64_t needed = manifest_.generation ? manifest_.generationBytes() : 0;
  int64_t limit = memoryLimit() / ranks;
  if (!manifest_.generation)
    for (const Entry &entry : manifest_.entries)
      needed = std::max(needed, entry.peakBytes);
  if (needed <= limit)
    return {};
  if (!manifest_.generation)
    return userError(where, ": a rank needs ", formatBytes(double(needed)),
                     ", ", formatBytes(double(ParameterPlan(manifest_).bytes)),
                     " of it for parameters, and ", formatBytes(double(limit)),
                     " are there for each of ", ranks,
                     ranks > 1 ? " ranks" : " rank",
                     " on this host; compile it for more ranks, on more hosts");
  const Generation &program = *manifest_.generation;
  return userError(where, ": a rank needs ", formatBytes(double(needed)),
                   " with its cache of ", program.cells, " tokens, for ",
                   program.rows, " rows of at most ", program.context, ", and ",
                   formatBytes(double(limit)), " are there for each of ", ranks,
                   ranks > 1 ? " ranks" : " rank", " on this host; ",
                   manifest_.smallerCache(needed - limit));
}

/// The cores that each rank of this process computes on, beside the others of
/// its host.
Expected<std::vector<CoreShare>> Session::coreShares() {
  json mine = {net::hostIdentity(), ownCores()};
  std::vector<std::string> all(size_t(manifest_.mesh.size()), mine.dump());
  if (processes()) {
    TPRT_ASSIGN(all, backend_->channel()->exchange(mine.dump()));
  }
  std::vector<CoreList> masks;
  std::vector<size_t> selves;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    auto other = parseJson(all[rank], 8);
    if (!other || !other->is_array() || (*other)[0] != mine[0])
      continue;
    if (std::count(here.begin(), here.end(), int64_t(rank)))
      selves.push_back(masks.size());
    masks.push_back((*other)[1].get<CoreList>());
  }
  TPRT_TRY(checkMemory(options.onlyRank ? 1 : int64_t(masks.size())));
  std::vector<CoreShare> shares;
  for (size_t self : selves)
    shares.push_back(shareOf(masks, self));
  return shares;
}

Status Session::connect() {
  int64_t size = manifest_.mesh.size();
  TPRT_ASSIGN(auto shares, coreShares());
  threads = std::make_unique<RankThreads>(shares);
  ranks.resize(size);
  for (const Entry &entry : manifest_.entries)
    inputs.emplace_back(entry.inputs.size());
  fits.resize(manifest_.entries.size());
  movedInputs.resize(manifest_.entries.size());
  times.resize(manifest_.entries.size());
  return onRanks([this](int64_t rank) -> Status {
    ranks[rank] =
        makeRank(manifest_, program, *backend_, rank, options.timeline);
    // The schedule is part of the artifact; first, as the graver difference.
    TPRT_TRY(backend_->agree(rank, manifest_.schedule,
                             "the artifact's collective schedule"));
    TPRT_TRY(backend_->agree(rank, hash, "the artifact"));
    return ranks[rank]->connect();
  });
}

Expected<std::vector<std::string>>
Session::gather(const std::function<std::string(const tprt_rank &)> &mine) {
  TPRT_TRY(left);
  std::vector<std::string> blobs;
  for (int64_t rank : here)
    blobs.push_back(mine(*ranks[rank]));
  return processes() ? backend_->channel()->gather(blobs[0]) : blobs;
}

/// Limits of waits that were not given follow from the environment and from the
/// other limits.
Status Session::settleLimits() {
  if (!options.startSeconds) {
    TPRT_ASSIGN(options.startSeconds,
                secondsFromEnvironment("TPRT_START_TIMEOUT"));
  }
  if (!options.silenceSeconds) {
    TPRT_ASSIGN(options.silenceSeconds,
                secondsFromEnvironment(kSilenceVariable));
  }
  options.startSeconds = std::min(
      options.startSeconds.value_or(options.timeoutSeconds), kLongestTimeout);
  options.silenceSeconds = options.silenceSeconds.value_or(kSilenceSeconds);
  if (options.allowStops) {
    options.silenceSeconds = HUGE_VAL;
    options.timeoutSeconds = HUGE_VAL;
  }
  options.timeoutSeconds = std::min(options.timeoutSeconds, kLongestTimeout);
  options.loadSeconds =
      std::clamp(options.loadSeconds, options.timeoutSeconds, kLongestTimeout);
  return {};
}

Expected<Session::Owner> Session::load(const std::string &artifact,
                                       const SessionOptions &options) {
  Owner session(new Session);
  session->options = options;
  TPRT_TRY(session->settleLimits());
  TPRT_TRY(session->read(artifact));
  return session;
}

Expected<Session::Owner> Session::open(const std::string &artifact,
                                       const SessionOptions &options) {
  auto session = load(artifact, options);
  if (session)
    TPRT_TRY((*session)->start(nullptr));
  return session;
}

Plan Session::plan() const {
  return {manifest_.mesh.size(), sharedBytes(),
          [this](CallSite site) { return describe(site); }};
}

Expected<int64_t> Session::entry(const std::string &name) const {
  const auto &entries = manifest_.entries;
  std::string known;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (name.empty() || entries[i].name == name)
      return int64_t(i);
    known += (i ? ", '" : "'") + entries[i].name + "'";
  }
  return userError("no entry '", name, "'; the artifact has ", known);
}

std::string Session::stateTensor(const State &state) {
  std::string name = state.name;
  for (std::string_view place : {"{i}", "{e}"})
    for (size_t at; (at = name.find(place)) != std::string::npos;)
      name.replace(at, place.size(), "*");
  return name.find(':') == std::string::npos ? "weight:" + name : name;
}

/// States that are in the file get a template of it, behind all others.
Expected<Weights> Session::openWeights(const std::string &spec,
                                       const std::string &path) {
  if (path.empty())
    return Weights::open(spec, manifest_);
  TPRT_ASSIGN(auto file, InputFile::open(path));
  TPRT_ASSIGN(auto tensors, readSafetensorsHeader(file, path));
  for (size_t i = 0; i < manifest_.states.size(); ++i) {
    State &state = manifest_.states[i];
    if (!tensors.count(stateTensor(state)))
      continue;
    Parameter p;
    p.names = {stateTensor(state)};
    p.count = 1, p.first = 0, p.base = manifest_.parameterSlots();
    p.sourceShape = p.sliceSizes = p.shape = state.shape;
    p.sliceOffsets.assign(p.shape.size(), 0);
    p.sliceSteps.assign(p.shape.size(), 1);
    for (size_t d = 0; d < p.shape.size(); ++d)
      p.permutation.push_back(int64_t(d));
    p.localShape = state.localShape, p.sharding = state.sharding;
    p.partial = state.partial, p.type = state.type;
    p.state = int64_t(i), p.init = Parameter::Init::Zeros;
    state.parameter = int64_t(manifest_.parameters.size());
    manifest_.parameters.push_back(std::move(p));
  }
  return Weights::open(spec, manifest_, path);
}

Status Session::loadWeights(const std::string &spec,
                            const std::string &states) {
  if (loaded)
    return userError("the weights are loaded already");
  // Templates that openWeights adds are of these files alone: others may be
  // given next.
  auto parameters = manifest_.parameters;
  auto before = manifest_.states;
  Status status = readWeights(spec, states);
  if (!status.ok()) {
    manifest_.parameters = std::move(parameters);
    manifest_.states = std::move(before);
  }
  return status;
}

Status Session::readWeights(const std::string &spec,
                            const std::string &states) {
  auto start = Clock::now();
  // Until the first step, where the ranks meet again: disks differ.
  backend_->limitWaits(options.loadSeconds);
  auto opened = openWeights(spec, states);
  Expected<uint64_t> fingerprint = uint64_t(0);
  if (opened && processes())
    fingerprint = opened->fingerprint();
  if (!opened || !fingerprint) {
    Status status = opened ? fingerprint.status() : opened.status();
    // The others wait.
    abort(status);
    return status;
  }
  if (root() && !opened->note().empty())
    std::fprintf(stderr, "tp-run: %s\n", opened->note().c_str());
  TPRT_TRY(onRanks([&](int64_t r) -> Status {
    tprt_rank &rank = *ranks[r];
    if (processes())
      TPRT_TRY(backend_->agree(r, *fingerprint, "the weights"));
    TPRT_TRY(options.onlyRank ? opened->compareShare(0, 1)
                              : opened->compareShare(r, manifest_.mesh.size()));
    return rank.loadWeights(*opened);
  }));
  for (const State &state : manifest_.states)
    if (state.parameter >= 0)
      weights = *opened;
  loaded = true;
  weightsSpec = spec, statesFile = states;
  loadSeconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  return {};
}

const std::string &Session::notFiniteWeights() {
  if (weightsNotFinite)
    return *weightsNotFinite;
  weightsNotFinite = "";
  // Kept weights are those that were read, whatever the folder holds by now.
  std::optional<Weights> read = weights;
  if (!read && loaded)
    if (auto again = Weights::open(weightsSpec, manifest_, statesFile))
      read = std::move(*again);
  if (read)
    if (auto text = describeNotFinite(read->parameterTensors()))
      weightsNotFinite = std::move(*text);
  return *weightsNotFinite;
}

/// Once, before the first step: preparing runs on live buffers.
Status Session::prepareStates() {
  if (statesReady || manifest_.states.empty())
    return {};
  TPRT_TRY(onRanks([this](int64_t r) -> Status {
    for (size_t i = 0; i < manifest_.entries.size(); ++i)
      TPRT_TRY(ranks[r]->prepare(int64_t(i)));
    return ranks[r]->resetStates(weights ? &*weights : nullptr);
  }));
  statesReady = true;
  return {};
}

Status Session::upload(tprt_rank &rank, int64_t index) {
  const Entry &entry = manifest_.entries[index];
  TPRT_TRY(rank.prepare(index));
  const InputValues &moved = movedInputs[index];
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    const auto &value = moved.empty() ? inputs[index][i] : moved[i];
    if (entry.inputs[i].state < 0)
      distribute(entry.inputs[i], value ? &*value : nullptr, manifest_.mesh,
                 rank.coordinates(), rank.input(index, int64_t(i)));
  }
  return rank.upload(index);
}

/// Brings the `chosen` outputs of the last entry to the host.
Status Session::run(const std::vector<int64_t> &indices, int64_t repeat,
                    const std::vector<bool> &chosen) {
  for (int64_t index : indices)
    if (times[size_t(index)].count == 0) // it is prepared first
      backend_->limitWaits(options.loadSeconds);
  for (int64_t index : indices) {
    const Entry &entry = manifest_.entries[size_t(index)];
    const SequenceFit &fit = fits[size_t(index)];
    movedInputs[size_t(index)] =
        fit.isPlain(entry) ? InputValues()
                           : moveIn(entry, fit, inputs[size_t(index)]);
  }
  TPRT_TRY(prepareStates());
  // Ranks in different entries, or that give rank 0 different outputs, would
  // wait for each other in vain.
  std::string what(chosen.begin(), chosen.end());
  for (int64_t index : indices)
    what += detail::join(" ", index);
  uint64_t common = checksum(what);
  return onRanks([=, this](int64_t r) -> Status {
    tprt_rank &rank = *ranks[r];
    for (int64_t index : indices)
      TPRT_TRY(upload(rank, index));
    // For top and the like.
    pthread_setname_np(pthread_self(), "rank-step");
    for (int64_t n = 0; n < repeat; ++n)
      for (int64_t index : indices) {
        TPRT_TRY(backend_->agree(r, common + uint64_t(n), kStep));
        backend_->limitWaits(options.timeoutSeconds);
        auto start = Clock::now();
        TPRT_TRY(rank.step(index));
        TPRT_TRY(backend_->agree(r, uint64_t(n), "the step"));
        if (r == here[0])
          times[size_t(index)].add(
              std::chrono::duration<double>(Clock::now() - start).count());
      }
    // Here, while the ranks are awake.
    return rank.download(indices.back(), chosen);
  });
}

Status Session::run(const std::vector<int64_t> &indices, int64_t repeat) {
  if (!loaded)
    return userError("no weights are loaded");
  if (indices.empty())
    return {};
  for (int64_t index : indices)
    TPRT_TRY(checkInputs(index));
  const Entry &last = manifest_.entries[size_t(indices.back())];
  return run(indices, repeat, std::vector<bool>(last.outputs.size()));
}

Status Session::failure() const {
  return processes() ? backend_->failure() : Status();
}

Status Session::refuse(const Status &status) {
  return isLeading ? status : refuseTogether(status);
}

Status Session::refuseTogether(const Status &status) {
  if (loaded && processes())
    (void)onRanks([this](int64_t r) { return backend_->agree(r, 0, kStep); });
  return status;
}

Status Session::expectAllRanks() const {
  if (options.onlyRank)
    return userError("there are no results: only rank ", *options.onlyRank,
                     " ran, without collectives");
  return {};
}

Status Session::resetStates() {
  TPRT_TRY(tell({Call::ResetStates}));
  if (!loaded)
    return userError("no weights are loaded");
  statesReady = false;
  return prepareStates();
}

void Session::abort(const Status &status) {
  if (processes())
    backend_->abort(status);
}
