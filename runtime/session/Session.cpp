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

#include "SessionImpl.h"

#include "../collectives/net/Socket.h"
#include "../format/Json.h"
#include "../support/Cpu.h"
#include "tprt/artifact.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace tprt;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// How long ranks may take to come back after one of them failed.
constexpr double kGraceSeconds = 2;
/// Three years: clocks count nanoseconds in 64 bits.
constexpr double kLongestTimeout = 1e8;
constexpr const char *kStep = "the step, its entry and its outputs";

void Session::Close::operator()(Impl *impl) const {
  SideChannel *side = impl->processes() ? impl->backend->channel() : nullptr;
  if (!impl->left.ok()) {
    // A rank that never came back still uses all of this: leave it to it.
    if (side)
      side->finish();
    return;
  }
  if (side && !side->quiet())
    for (auto &rank : impl->ranks)
      (void)rank.release();
  delete impl;
}

std::string Session::Impl::describe(CallSite site) const {
  if (site.id < 0 || site.id >= int64_t(manifest.collectives.size()))
    return "the beginning or end of a step";
  const Collective &entry = manifest.collectives[site.id];
  return detail::join("collective ", site.id, " (", entry.row().operation,
                      ", layer ", site.layer, ", ", entry.location, ")");
}

/// Runs the job on all ranks; the first failure ends it on all.
Status Session::Impl::onRanks(const std::function<Status(int64_t)> &job) {
  TPRT_TRY(left);
  backend->reset();
  TPRT_TRY(backend->failure());
  auto body = [this, job](int64_t i) {
    int64_t rank = here[i];
    Status status;
    try {
      status = job(rank);
    } catch (const std::exception &error) {
      status = internalError(error.what());
    }
    if (status.ok() || !backend->failure().ok())
      return;
    backend->abort(status.in("rank " + std::to_string(rank)));
  };
  bool back = threads->run(
      body, [this] { return !backend->failure().ok(); }, kGraceSeconds);
  if (!back)
    left = backend->failure();
  return backend->failure();
}

/// What must be equal for ranks to call the same collectives.
static uint64_t hashSchedule(const Manifest &manifest) {
  std::string text;
  auto add = [&](const Shape &list) { text += formatShape(list); };
  for (const Mesh::Axis &axis : manifest.mesh.axes)
    text += axis.name + "=" + std::to_string(axis.size) + " ";
  add(manifest.mesh.positions);
  for (const Collective &c : manifest.collectives) {
    text += detail::join("\n", c.row().operation, " ", int(c.reduction), " ",
                         typeName(c.type), " ", c.dim, " ", c.splitDim, " ",
                         c.count);
    add(c.inputShape);
    add(c.outputShape);
    for (const AxisRef &ref : c.axes)
      add({ref.axis, ref.pre, ref.size});
    for (auto [from, to] : c.pairs)
      add({from, to});
  }
  return checksum(text);
}

Status Session::Impl::readTables(const std::string &path,
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
  TPRT_ASSIGN(manifest, Manifest::parse(texts[0]).in(where));
  return {};
}

Status Session::Impl::load(const std::string &path) {
  where = "artifact '" + path + "'";
  std::string_view texts[3];
  TPRT_TRY(readTables(path, texts));
  int64_t size = options.onlyRank ? 1 : manifest.mesh.size();
  TPRT_ASSIGN(backendRow, findBackend(options.backend, manifest.device, size));
  TPRT_TRY(checkProgram(*backendRow, manifest, size).in(where));
  TPRT_TRY(checkKernels());
  TPRT_TRY(requireFeatures(manifest.features).in(where));
  TPRT_ASSIGN(
      code,
      CodeModule::load(texts[1], int64_t(manifest.entries.size())).in(where));
  program.steps = &code.program();
  program.constants = texts[2];
  hash = checksum(file.bytes());
  scheduleHash = hashSchedule(manifest);
  return {};
}

/// Whether the device code that the manifest promises is there, and no other.
Status Session::Impl::checkKernels() const {
  bool onDevice = manifest.device != Device::Cpu;
  std::vector<std::string> wanted;
  if (onDevice) {
    wanted.push_back("kernels.ptx");
    for (const std::string &name : manifest.architectures)
      wanted.push_back("kernels." + name);
  }
  for (const std::string &name : wanted)
    if (!program.kernels.count(name))
      return userError(where, ": section '", name, "' is missing");
  for (const auto &[name, bytes] : program.kernels)
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end())
      return userError(where, ": unknown section '", name, "'");
  if (onDevice) {
    std::string_view ptx = program.kernels.at("kernels.ptx");
    if (ptx.empty() || ptx.back() != '\0')
      return userError(where, ": section 'kernels.ptx': expected a "
                              "null-terminated text");
  }
  return {};
}

int64_t Session::Impl::sharedBytes() const {
  constexpr int64_t kPage = int64_t(2) << 20;
  int64_t total = kPage;
  if (manifest.device != Device::Cpu)
    return total;
  auto add = [&](tprt_type type, const Shape &shape) {
    total += alignUp(elementCount(shape) * typeBytes(type), TPRT_ALIGNMENT);
  };
  for (const State &state : manifest.states)
    add(state.type, state.localShape);
  for (const Entry &entry : manifest.entries) {
    for (const Input &input : entry.inputs)
      add(input.type, input.localShape);
    for (const Output &output : entry.outputs)
      add(output.type, output.localShape);
    total = alignUp(total, kPage) + alignUp(entry.arenaBytes, kPage) +
            alignUp(entry.commBytes, kPage) + 2 * kPage;
  }
  // Copies of buffers that lie elsewhere, such as parameters.
  for (const Collective &c : manifest.collectives) {
    add(c.type, c.inputShape);
    add(c.type, c.outputShape);
    total = alignUp(total, kPage) + 4 * kPage;
  }
  return total;
}

Status Session::Impl::start(std::shared_ptr<const ProcessInfo> process) {
  int64_t size = manifest.mesh.size();
  if (options.onlyRank && (*options.onlyRank < 0 || *options.onlyRank >= size))
    return userError(where, " is made for ", size, " ranks, which has no rank ",
                     *options.onlyRank);
  auto made = makeBackend(
      {backendRow->name,
       manifest.device,
       size,
       std::move(process),
       options.onlyRank,
       sharedBytes(),
       {*options.startSeconds, [this](CallSite site) { return describe(site); },
        options.allowStops, options.policy}});
  if (!made)
    return made.status();
  backend = std::move(*made);
  if (options.onlyRank)
    here = {*options.onlyRank};
  else if (processes())
    here = {backend->channel()->rank()};
  else
    for (int64_t rank = 0; rank < size; ++rank)
      here.push_back(rank);
  Status status = connect();
  if (!status.ok() && processes())
    backend->abort(status);
  return status;
}

/// What each rank of this process computes on, beside the others of its host.
Expected<std::vector<CoreShare>> Session::Impl::coreShares() {
  json mine = {net::hostIdentity(), ownCores()};
  std::vector<std::string> all(size_t(manifest.mesh.size()), mine.dump());
  if (processes()) {
    TPRT_ASSIGN(all, backend->channel()->exchange(mine.dump()));
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
  std::vector<CoreShare> shares;
  for (size_t self : selves)
    shares.push_back(shareOf(masks, self));
  return shares;
}

Status Session::Impl::connect() {
  int64_t size = manifest.mesh.size();
  TPRT_ASSIGN(auto shares, coreShares());
  threads = std::make_unique<RankThreads>(shares);
  ranks.resize(size);
  for (const Entry &entry : manifest.entries)
    inputs.emplace_back(entry.inputs.size());
  times.resize(manifest.entries.size());
  return onRanks([this](int64_t rank) -> Status {
    TPRT_ASSIGN(ranks[rank],
                makeRank(manifest, program, backend->rankContext(rank),
                         options.timeline));
    // The schedule is part of the artifact; first, as the graver difference.
    RankContext &context = *ranks[rank]->context;
    TPRT_TRY(context.agree(scheduleHash, "the artifact's collective schedule"));
    TPRT_TRY(context.agree(hash, "the artifact"));
    return ranks[rank]->connect();
  });
}

Expected<std::vector<std::string>> Session::Impl::gather(
    const std::function<std::string(const tprt_rank &)> &mine) {
  TPRT_TRY(left);
  std::vector<std::string> blobs;
  for (int64_t rank : here)
    blobs.push_back(mine(*ranks[rank]));
  return processes() ? backend->channel()->gather(blobs[0]) : blobs;
}

Expected<Session> Session::load(const std::string &artifact,
                                const SessionOptions &options) {
  Session session(new Impl);
  session.impl->options = options;
  SessionOptions &own = session.impl->options;
  own.startSeconds = std::min(
      options.startSeconds.value_or(options.timeoutSeconds), kLongestTimeout);
  own.timeoutSeconds = options.allowStops
                           ? kLongestTimeout
                           : std::min(options.timeoutSeconds, kLongestTimeout);
  own.loadSeconds =
      std::clamp(options.loadSeconds, own.timeoutSeconds, kLongestTimeout);
  TPRT_TRY(session.impl->load(artifact));
  return session;
}

Status Session::start(std::shared_ptr<const ProcessInfo> process) {
  return impl->start(std::move(process));
}

Expected<Session> Session::open(const std::string &artifact,
                                const SessionOptions &options) {
  auto session = load(artifact, options);
  if (session)
    TPRT_TRY(session->start(nullptr));
  return session;
}

const BackendRow &Session::backend() const { return *impl->backendRow; }

Plan Session::plan() const {
  return {impl->manifest.mesh.size(), impl->sharedBytes(),
          [impl = impl.get()](CallSite site) { return impl->describe(site); }};
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
  if (impl->loaded)
    return userError("the weights are loaded already");
  auto start = Clock::now();
  // Until the first step, where the ranks meet again: disks differ.
  impl->backend->limitWaits(impl->options.loadSeconds);
  auto weights = Weights::open(spec, impl->manifest);
  Expected<uint64_t> fingerprint = uint64_t(0);
  if (weights && impl->processes())
    fingerprint = weights->fingerprint();
  if (!weights || !fingerprint) {
    Status status = weights ? fingerprint.status() : weights.status();
    // The others wait.
    abort(status);
    return status;
  }
  TPRT_TRY(impl->onRanks([&](int64_t r) -> Status {
    tprt_rank &rank = *impl->ranks[r];
    if (impl->processes())
      TPRT_TRY(rank.context->agree(*fingerprint, "the weights"));
    return rank.loadWeights(*weights);
  }));
  for (const State &state : impl->manifest.states)
    if (state.parameter >= 0)
      impl->weights = *weights;
  impl->loaded = true;
  impl->loadSeconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  return {};
}

/// The position of the value of that name that callers give or get; none: those
/// there are have been added to `known`.
template <typename Named>
static std::optional<size_t> findNamed(const std::vector<Named> &values,
                                       std::string_view name,
                                       std::string &known) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].state >= 0)
      continue;
    if (values[i].name == name)
      return i;
    std::string quoted = "'" + values[i].name + "'";
    if (known.find(quoted) == std::string::npos)
      known += (known.empty() ? "" : ", ") + quoted;
  }
  return std::nullopt;
}

static Status unknown(const char *what, std::string_view name, const char *has,
                      const std::string &known) {
  return userError("unknown ", what, " '", name, "'; the program ", has, " ",
                   known.empty() ? "none" : known);
}

Status Session::Impl::setInput(int64_t entry, size_t position,
                               const TensorView &value, bool copy) {
  TPRT_ASSIGN(
      InputValue checked,
      checkInput(manifest.entries[size_t(entry)].inputs[position], value));
  if (copy && checked.given)
    checked = {nullptr, std::string(value.bytes)};
  inputs[size_t(entry)][position] = std::move(checked);
  return {};
}

Status Session::setInput(const std::vector<int64_t> &entries,
                         const std::string &name, const TensorView &value) {
  std::string known;
  bool isNamed = false;
  for (int64_t entry : entries) {
    auto i = findNamed(impl->manifest.entries[entry].inputs, name, known);
    isNamed |= i.has_value();
    if (i && !impl->ownInputs.count({entry, *i}))
      TPRT_TRY(impl->setInput(entry, *i, value, /*copy=*/true));
  }
  if (isNamed)
    return {};
  for (const Entry &entry : impl->manifest.entries) {
    if (!name.starts_with(entry.name + "."))
      continue;
    int64_t index = &entry - impl->manifest.entries.data();
    std::string own = name.substr(entry.name.size() + 1);
    if (std::find(entries.begin(), entries.end(), index) == entries.end())
      return userError("input '", name, "': entry '", entry.name,
                       "' is not among those that run");
    known.clear();
    auto i = findNamed(entry.inputs, own, known);
    if (!i)
      return userError("unknown input '", name, "'; entry '", entry.name,
                       "' takes ", known.empty() ? "none" : known);
    impl->ownInputs.insert({index, *i});
    return impl->setInput(index, *i, value, /*copy=*/true);
  }
  return unknown("input", name, "takes", known);
}

Status Session::checkInputs(int64_t index) const {
  return impl->checkInputs(index);
}

Status Session::Impl::checkInputs(int64_t index) const {
  const Entry &entry = manifest.entries[index];
  for (size_t i = 0; i < inputs[index].size(); ++i)
    if (!inputs[index][i] && entry.inputs[i].state < 0 &&
        entry.inputs[i].defaultValue == Input::Default::None)
      return userError("missing input '", entry.inputs[i].name, "' (",
                       typeName(entry.inputs[i].type), " ",
                       formatShape(entry.inputs[i].shape), ")",
                       manifest.entries.size() > 1
                           ? " of entry '" + entry.name + "'"
                           : std::string());
  return {};
}

/// Once, before the first step: preparing runs on live buffers.
Status Session::Impl::prepareStates() {
  if (statesReady || manifest.states.empty())
    return {};
  TPRT_TRY(onRanks([this](int64_t r) -> Status {
    for (size_t i = 0; i < manifest.entries.size(); ++i)
      TPRT_TRY(ranks[r]->prepare(int64_t(i)));
    return ranks[r]->resetStates(weights ? &*weights : nullptr);
  }));
  statesReady = true;
  return {};
}

Status Session::Impl::upload(tprt_rank &rank, int64_t index) {
  const Entry &entry = manifest.entries[index];
  TPRT_TRY(rank.prepare(index));
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    const auto &value = inputs[index][i];
    if (entry.inputs[i].state < 0)
      distribute(entry.inputs[i], value ? &*value : nullptr, manifest.mesh,
                 rank.coordinates(), rank.input(index, int64_t(i)));
  }
  return rank.upload(index);
}

/// All outputs of an entry but its states.
static std::vector<bool> allOutputs(const Entry &entry) {
  std::vector<bool> chosen;
  for (const Output &output : entry.outputs)
    chosen.push_back(output.state < 0);
  return chosen;
}

/// Brings the `chosen` outputs of the last entry to the host.
Status Session::Impl::run(const std::vector<int64_t> &indices, int64_t repeat,
                          const std::vector<bool> &chosen) {
  for (int64_t index : indices)
    if (times[size_t(index)].count == 0) // it is prepared first
      backend->limitWaits(options.loadSeconds);
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
        TPRT_TRY(rank.context->agree(common + uint64_t(n), kStep));
        backend->limitWaits(options.timeoutSeconds);
        auto start = Clock::now();
        TPRT_TRY(rank.step(index));
        TPRT_TRY(rank.context->agree(uint64_t(n), "the step"));
        if (r == here[0])
          times[size_t(index)].add(
              std::chrono::duration<double>(Clock::now() - start).count());
      }
    // Here, while the ranks are awake.
    return rank.download(indices.back(), chosen);
  });
}

Status Session::run(const std::vector<int64_t> &indices, int64_t repeat) {
  if (!impl->loaded)
    return userError("no weights are loaded");
  if (indices.empty())
    return {};
  for (int64_t index : indices)
    TPRT_TRY(checkInputs(index));
  int64_t last = indices.back();
  Status status = impl->run(indices, repeat,
                            allOutputs(impl->manifest.entries[size_t(last)]));
  impl->downloaded = status.ok() ? last : -1;
  return status;
}

/// The position of the output that a binding names, if it can hold it.
static Expected<size_t> outputFor(const Entry &entry, const Binding &binding) {
  std::string known;
  auto place = findNamed(entry.outputs, binding.name, known);
  if (!place)
    return unknown("output", binding.name, "gives", known);
  const Output &output = entry.outputs[*place];
  FileType own = fileTypeOf(output.type);
  bool alsoF32 = isFloat(output.type) && own != FileType::F32;
  if (binding.type != own && !(alsoF32 && binding.type == FileType::F32))
    return userError("output '", output.name, "': expected elements of type ",
                     fileTypeName(own), alsoF32 ? " or F32" : "", ", got ",
                     fileTypeName(binding.type));
  if (binding.shape != output.shape)
    return userError("output '", output.name, "': expected shape ",
                     formatShape(output.shape), ", got ",
                     formatShape(binding.shape));
  return *place;
}

Status Session::Impl::bind(int64_t index, const std::vector<Binding> &inputs,
                           const std::vector<Binding> &outputs,
                           std::vector<size_t> &places) {
  if (!loaded)
    return userError("no weights are loaded");
  const Entry &entry = manifest.entries[size_t(index)];
  std::string known;
  for (const Binding &input : inputs) {
    auto place = findNamed(entry.inputs, input.name, known);
    if (!place)
      return unknown("input", input.name, "takes", known);
    TensorView view{input.type, input.shape, {input.data, size_t(input.bytes)}};
    TPRT_TRY(setInput(index, *place, view, /*copy=*/false));
  }
  for (const Binding &output : outputs) {
    TPRT_ASSIGN(auto place, outputFor(entry, output));
    TPRT_TRY(expectAllRanks());
    places.push_back(place);
  }
  return checkInputs(index);
}

Status Session::step(int64_t index, const std::vector<Binding> &inputs,
                     const std::vector<Binding> &outputs) {
  const Entry &entry = impl->manifest.entries[size_t(index)];
  auto &values = impl->inputs[size_t(index)];
  values.assign(values.size(), std::nullopt);
  impl->downloaded = -1;
  std::vector<size_t> places;
  if (Status status = impl->bind(index, inputs, outputs, places); !status.ok())
    return refuse(status);
  std::vector<bool> chosen(entry.outputs.size());
  for (size_t place : places)
    chosen[place] = true;
  TPRT_TRY(impl->run({index}, 1, chosen));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output &output = entry.outputs[places[i]];
    bool own = outputs[i].type == fileTypeOf(output.type);
    auto done = impl->assembleAll(
        output,
        [&](int64_t rank) {
          return impl->ranks[rank]->output(index, int64_t(places[i]));
        },
        own ? output.type : TPRT_F32, outputs[i].data);
    if (!done)
      return done.status();
  }
  return {};
}

Status Session::refuse(const Status &status) {
  if (impl->loaded && impl->processes())
    (void)impl->onRanks([impl = impl.get()](int64_t r) {
      return impl->ranks[r]->context->agree(0, kStep);
    });
  return status;
}

Status Session::Impl::expectAllRanks() const {
  if (options.onlyRank)
    return userError("there are no results: only rank ", *options.onlyRank,
                     " ran, without collectives");
  return {};
}

/// Puts together what each rank has at the address that `local` gives for it,
/// as `assemble` does; false, and nothing, on ranks that get no results.
Expected<bool>
Session::Impl::assembleAll(const Value &value,
                           const std::function<const void *(int64_t)> &local,
                           tprt_type type, char *to) {
  Backend::Gathered shards;
  if (processes()) {
    TPRT_ASSIGN(shards, backend->gather(local(here[0]), value.localBytes()));
  } else {
    for (int64_t rank : here)
      shards.data.push_back(local(rank));
  }
  if (root())
    TPRT_TRY(assemble(value, manifest.mesh, shards.data, type, to));
  return root();
}

/// Room for a value, floats as f32.
static HostTensor tensorFor(const Value &value) {
  tprt_type type = isFloat(value.type) ? TPRT_F32 : value.type;
  return {value.name, type, value.shape,
          std::string(size_t(elementCount(value.shape) * typeBytes(type)), 0)};
}

Expected<std::vector<HostTensor>> Session::outputs(int64_t index) {
  const Entry &entry = impl->manifest.entries[index];
  TPRT_TRY(impl->expectAllRanks());
  std::vector<HostTensor> result;
  if (impl->downloaded != index)
    TPRT_TRY(impl->onRanks([=, impl = impl.get()](int64_t rank) -> Status {
      TPRT_TRY(impl->ranks[rank]->prepare(index));
      return impl->ranks[rank]->download(
          index, allOutputs(impl->manifest.entries[size_t(index)]));
    }));
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    if (entry.outputs[i].state >= 0)
      continue;
    HostTensor tensor = tensorFor(entry.outputs[i]);
    auto made = impl->assembleAll(
        entry.outputs[i],
        [&](int64_t rank) {
          return impl->ranks[rank]->output(index, int64_t(i));
        },
        tensor.type, tensor.bytes.data());
    if (!made)
      return made.status();
    if (*made)
      result.push_back(std::move(tensor));
  }
  return result;
}

Status Session::resetStates() {
  if (!impl->loaded)
    return userError("no weights are loaded");
  impl->statesReady = false;
  return impl->prepareStates();
}

Expected<std::optional<HostTensor>> Session::state(int64_t index) {
  TPRT_TRY(impl->expectAllRanks());
  if (!impl->loaded)
    return userError("no weights are loaded");
  TPRT_TRY(impl->prepareStates());
  // All addresses first: from a device they are had by a copy. Shared, as a
  // rank that stalls may still write to them later.
  auto at = std::make_shared<std::vector<const void *>>(impl->ranks.size());
  TPRT_TRY(impl->onRanks([=, impl = impl.get()](int64_t rank) -> Status {
    TPRT_ASSIGN(auto local, impl->ranks[rank]->state(index));
    (*at)[rank] = local;
    return {};
  }));
  const State &state = impl->manifest.states[index];
  HostTensor tensor = tensorFor(state);
  auto made = impl->assembleAll(
      state, [&](int64_t rank) { return (*at)[rank]; }, tensor.type,
      tensor.bytes.data());
  if (!made)
    return made.status();
  return *made ? std::optional(std::move(tensor)) : std::nullopt;
}

Expected<std::string> Session::fromRoot(const std::string &bytes) {
  if (!impl->processes())
    return bytes;
  impl->backend->limitWaits(kLongestTimeout);
  auto all = impl->backend->channel()->exchange(root() ? bytes : "");
  impl->backend->limitWaits(impl->options.timeoutSeconds);
  if (!all)
    return all.status();
  return std::move(all->front());
}

bool Session::root() const { return impl->options.onlyRank || impl->root(); }

int64_t Session::rank() const { return impl->here[0]; }

void Session::abort(const Status &status) {
  if (impl->processes())
    impl->backend->abort(status);
}
