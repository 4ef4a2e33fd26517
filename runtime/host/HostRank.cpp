//===- HostRank.cpp - a rank that computes on the host --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the rank, and the functions that compiled code calls.
//
//===----------------------------------------------------------------------===//

#include "HostRank.h"

#include "../rank/LoadProgress.h"
#include "../support/Parallel.h"
#include "../tensors/ParameterPlan.h"
#include "../tensors/Values.h"

#include <algorithm>

using namespace tprt;

//===----------------------------------------------------------------------===//
// The function table
//===----------------------------------------------------------------------===//

static HostRank &host(tprt_rank *rank) {
  return *static_cast<HostRank *>(rank);
}

int32_t HostFunctions::collective(tprt_rank *rank, int32_t id, int64_t layer,
                                  const void *in, void *out) {
  HostRank &own = host(rank);
  auto call = [&] { return own.collective(id, layer, in, out); };
  if (!own.isAsynchronous(id))
    return own.traced(Timeline::Kind::Collective, id, layer, call);
  if (own.timeline.enabled()) {
    own.timeline.end();
    own.startTimes[size_t(id)] = Timeline::Clock::now();
  }
  return own.finish(call());
}

int32_t HostFunctions::peers(tprt_rank *rank, int32_t id, int64_t layer,
                             const void *in, void *addends) {
  HostRank &own = host(rank);
  return own.traced(Timeline::Kind::Wait, id, layer, [&] {
    return own.peers(id, layer, in, static_cast<const void **>(addends));
  });
}

int32_t HostFunctions::parallel_for(tprt_rank *, tprt_body body, void *context,
                                    int64_t extent, int64_t least) {
  parallelFor(extent, least, [&](int64_t begin, int64_t end, int64_t worker) {
    body(context, begin, end, worker);
  });
  return 0;
}

int32_t HostFunctions::mark(tprt_rank *rank, int32_t id, int64_t layer) {
  host(rank).timeline.mark(id, layer);
  return 0;
}

int32_t HostFunctions::wait(tprt_rank *rank, int32_t id, int64_t layer) {
  HostRank &own = host(rank);
  if (!own.isAsynchronous(id))
    return 0;
  int32_t result = own.traced(Timeline::Kind::Wait, id, layer,
                              [&] { return own.finishCollective(id, layer); });
  if (own.timeline.enabled())
    own.timeline.add({Timeline::Kind::Collective, id, layer,
                      own.startTimes[size_t(id)], Timeline::Clock::now()});
  return result;
}

int32_t HostFunctions::launch(tprt_rank *rank, int32_t id, int64_t, void *) {
  return host(rank).finish(internalError("kernel ", id,
                                         " is launched on a device, but the "
                                         "artifact is made for the host"));
}

static constexpr tprt_api functionTable = makeTable<HostFunctions>();

//===----------------------------------------------------------------------===//
// The rank
//===----------------------------------------------------------------------===//

HostRank::HostRank(const Manifest &manifest, const Program &program,
                   Backend &backend, int64_t rank, bool timeline)
    : tprt_rank(manifest, program, backend, rank, timeline),
      startTimes(manifest.collectives.size()), entries(manifest.entries.size()),
      ran(manifest.entries.size()) {}

Status HostRank::loadWeights(const Weights &weights) {
  ParameterPlan plan(manifest);
  TPRT_ASSIGN(parameterMemory, Buffer::allocate(plan.bytes));
  // An earlier call may have found weights of some ranks alone.
  parameters.clear();
  loadedBytes = 0;
  LoadProgress progress(self, plan.bytes);
  for (const ParameterPlan::Tensor &tensor : plan.tensors) {
    progress(tensor.offset);
    TPRT_ASSIGN(auto read,
                weights.load(tensor.parameter, tensor.instance, meshCoordinates,
                             parameterMemory.data() + tensor.offset));
    loadedBytes += read;
  }
  progress(plan.bytes);
  for (int64_t offset : plan.offsets)
    parameters.push_back(parameterMemory.data() + offset);
  return {};
}

Status HostRank::resetStates(const Weights *weights) {
  for (size_t i = 0; i < manifest.states.size(); ++i)
    TPRT_TRY(
        initialise(manifest.states[i], weights, values + layout.states[i]));
  return {};
}

Status HostRank::prepare(int64_t index) {
  const Entry &entry = manifest.entries[index];
  EntryMemory &memory = entries[index];
  if (memory.ready)
    return {};
  // The buffer lies where other ranks can read it, as a collective may.
  auto grow = [&](Buffer &buffer, int64_t bytes) -> Status {
    if (bytes <= buffer.size())
      return {};
    TPRT_ASSIGN(buffer, backend.allocate(self, bytes));
    return {};
  };
  TPRT_TRY(grow(valueMemory, layout.bytes));
  TPRT_TRY(grow(arena, entry.arenaBytes));
  TPRT_TRY(grow(comm, entry.commBytes));
  TPRT_TRY(
      scratch.reserve(workers() * alignUp(entry.scratchBytes, TPRT_ALIGNMENT)));
  values = valueMemory.data();
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    memory.inputs.push_back(input(index, int64_t(i)));
  for (size_t i = 0; i < entry.outputs.size(); ++i)
    memory.outputs.push_back(output(index, int64_t(i)));
  memory.ready = true;
  return {};
}

Status HostRank::step(int64_t index) {
  const Entry &entry = manifest.entries[index];
  EntryMemory &memory = entries[index];
  tprt_step_args args;
  args.inputs = memory.inputs.data();
  args.outputs = memory.outputs.data();
  args.params = parameters.data();
  args.constants = program.constants.data();
  args.arena = arena.data();
  args.comm = comm.data();
  args.scratch = scratch.data();
  args.scratch_stride = alignUp(entry.scratchBytes, TPRT_ALIGNMENT);
  args.workers = workers();
  args.axis_index = meshCoordinates.data();
  args.layer = &layer;
  ran[size_t(index)] = true;
  timeline.beginStep();
  Status status = caught([&] { return call(index, functionTable, args); });
  timeline.endStep();
  if (!status.ok())
    abandon(status);
  return status;
}

/// Collectives that the failed step has started would wait for ranks that learn
/// of the failure here.
void HostRank::abandon(const Status &status) {
  if (std::none_of(manifest.collectives.begin(), manifest.collectives.end(),
                   [](const Collective &c) { return c.asynchronous; }))
    return;
  if (backend.failure().ok())
    backend.abort(status.in("rank " + std::to_string(self)));
  abandonCollectives();
}

tprt_rank::Memory HostRank::memory() const {
  Memory m = planned(ran);
  m.parameters = parameterMemory.size();
  m.states = valueMemory.size() ? layout.stateBytes : 0;
  // Pages are counted whole: never more than was asked for.
  m.arenaUsed = std::min(m.arenaStated, arena.touched());
  m.commUsed = std::min(m.commStated, comm.touched());
  m.scratch = scratch.size() + collectiveScratch();
  for (const auto &engine : engines)
    if (engine)
      m.scratch += engine->scratchBytes();
  return m;
}
