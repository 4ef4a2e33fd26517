//===- Rank.cpp - one rank of a running program ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common part of ranks on hosts and on devices.
//
//===----------------------------------------------------------------------===//

#include "Rank.h"

#include "../tensors/Values.h"

using namespace tprt;

ValueLayout::ValueLayout(const Manifest &manifest) {
  auto add = [&](const Value &value) {
    int64_t offset = bytes;
    bytes = alignUp(bytes + value.localBytes(), TPRT_STATE_ALIGNMENT);
    return offset;
  };
  for (const State &state : manifest.states)
    states.push_back(add(state));
  stateBytes = bytes;
  auto place = [&](const auto &list, std::vector<int64_t> &offsets) {
    for (const auto &value : list)
      offsets.push_back(value.state >= 0 ? states[size_t(value.state)]
                                         : add(value));
  };
  for (const Entry &entry : manifest.entries) {
    Places &places = entries.emplace_back();
    int64_t begin = bytes;
    place(entry.inputs, places.inputs);
    place(entry.outputs, places.outputs);
    places.bytes = bytes - begin;
  }
}

tprt_rank::tprt_rank(const Manifest &manifest, const Program &program,
                     Backend &backend, int64_t rank, bool timeline)
    : timeline(timeline), manifest(manifest), program(program),
      backend(backend), self(rank),
      meshCoordinates(manifest.mesh.coordinates(rank)), layout(manifest) {}

tprt_rank::~tprt_rank() = default;

void tprt_rank::disconnect() {
  perEntry.clear();
  communicators.clear();
}

int32_t tprt_rank::finish(Status status) {
  if (status.ok())
    return 0;
  if (!error)
    error = std::move(status);
  return int32_t(error->code());
}

Status tprt_rank::connect() {
  for (const Collective &entry : manifest.collectives) {
    std::vector<int64_t> members = manifest.mesh.group(entry.axes, self);
    auto &slot = communicators[members];
    if (!slot) {
      TPRT_ASSIGN(slot, backend.communicator(self, members));
    }
    perEntry.push_back(slot.get());
  }
  return {};
}

tprt_rank::Memory tprt_rank::planned(const std::vector<bool> &chosen) const {
  Memory m{};
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i])
      continue;
    const Entry &entry = manifest.entries[i];
    int64_t values = layout.entries[i].bytes;
    // Memory that is held whichever entry runs.
    m.stated = std::max(m.stated, entry.peakBytes - entry.arenaBytes -
                                      entry.commBytes - values);
    m.values += values;
    m.arenaStated = std::max(m.arenaStated, entry.arenaBytes);
    m.commStated = std::max(m.commStated, entry.commBytes);
  }
  m.stated += m.arenaStated + m.commStated + m.values;
  return m;
}

Status tprt_rank::initialise(const State &state, const Weights *weights,
                             void *local) {
  if (state.parameter < 0) {
    tprt::initialise(state, manifest.mesh, meshCoordinates, local);
    return {};
  }
  const Parameter &p = manifest.parameters[size_t(state.parameter)];
  int64_t bytes = p.localBytes();
  for (int64_t i = 0; i < p.count; ++i) {
    auto read = weights->load(state.parameter, i, meshCoordinates,
                              static_cast<char *>(local) + i * bytes);
    if (!read)
      return read.status().in("state '" + state.name + "'");
    loadedBytes += *read;
  }
  return {};
}

Status tprt_rank::collective(int32_t id, int64_t layer, const void *in,
                             void *out) {
  const auto &entries = manifest.collectives;
  if (id < 0 || id >= int64_t(entries.size()))
    return internalError("collective ", id, " is not in the ledger");
  auto call =
      entries[id].asynchronous ? &Communicator::start : &Communicator::run;
  return (perEntry[id]->*call)(entries[id], {id, layer}, in, out);
}

Status tprt_rank::peers(int32_t id, int64_t layer, const void *in,
                        const void **addends) {
  const auto &entries = manifest.collectives;
  if (id < 0 || id >= int64_t(entries.size()) || !entries[size_t(id)].peers)
    return internalError("collective ", id, " is no sum of peers' addends");
  return perEntry[size_t(id)]->peers(entries[size_t(id)], {id, layer}, in,
                                     addends);
}

int64_t tprt_rank::collectiveScratch() const {
  int64_t bytes = 0;
  for (const auto &[members, communicator] : communicators)
    bytes += communicator->scratchBytes();
  return bytes;
}

Status tprt_rank::finishCollective(int32_t id, int64_t layer) {
  if (id < 0 || id >= int64_t(manifest.collectives.size()))
    return internalError("collective ", id, " is not in the ledger");
  return perEntry[id]->finish({id, layer});
}

void tprt_rank::abandonCollectives() {
  for (auto &[members, communicator] : communicators)
    communicator->abandon();
}

Status tprt_rank::call(int64_t entry, const tprt_api &table,
                       const tprt_step_args &args) {
  error.reset();
  int32_t code = program.steps->entries[entry](&table, this, &args);
  if (code == 0)
    return {};
  return error ? *error
               : internalError("entry '", manifest.entries[entry].name,
                               "' returned ", code,
                               " without an error of the runtime");
}
