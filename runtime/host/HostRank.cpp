//===- HostRank.cpp - a rank that computes on the host --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the rank, and the functions that compiled code calls.
//
//===----------------------------------------------------------------------===//

#include "HostRank.h"

#include "../support/Parallel.h"
#include "../tensors/ParameterPlan.h"
#include "../tensors/Values.h"

using namespace tprt;

//===----------------------------------------------------------------------===//
// The function table
//===----------------------------------------------------------------------===//

static HostRank &host(tprt_rank *rank) {
  return *static_cast<HostRank *>(rank);
}

int32_t HostFunctions::collective(tprt_rank *rank, int32_t id, int64_t layer,
                                  const void *in, void *out) {
  return host(rank).traced(Timeline::Kind::Collective, id, layer, [&] {
    return host(rank).collective(id, layer, in, out);
  });
}

int32_t HostFunctions::parallel_for(tprt_rank *, tprt_body body, void *context,
                                    int64_t extent, int64_t grain) {
  parallelFor(extent, grain, [&](int64_t begin, int64_t end, int64_t worker) {
    body(context, begin, end, worker);
  });
  return 0;
}

int32_t HostFunctions::mark(tprt_rank *rank, int32_t id, int64_t layer) {
  host(rank).timeline.mark(id, layer);
  return 0;
}

/// Collectives between host ranks are over when they return.
int32_t HostFunctions::wait(tprt_rank *, int32_t, int64_t) { return 0; }

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
                   std::unique_ptr<RankContext> context, bool timeline)
    : tprt_rank(manifest, program, std::move(context), timeline),
      entries(manifest.entries.size()) {}

Status HostRank::loadWeights(const Weights &weights) {
  ParameterPlan plan(manifest);
  TPRT_ASSIGN(parameterMemory, Buffer::allocate(plan.bytes));
  for (const ParameterPlan::Tensor &tensor : plan.tensors) {
    TPRT_ASSIGN(auto read,
                weights.load(tensor.parameter, tensor.instance, place,
                             parameterMemory.data() + tensor.offset));
    loadedBytes += read;
  }
  for (int64_t offset : plan.offsets)
    parameters.push_back(parameterMemory.data() + offset);
  return {};
}

/// Where other ranks can read them: a collective may.
Status HostRank::allocateStates() {
  int64_t total = 0;
  for (const State &state : manifest.states)
    total += alignUp(state.localBytes(), TPRT_ALIGNMENT);
  TPRT_ASSIGN(stateMemory, context->allocate(total));
  char *next = stateMemory.data();
  for (const State &state : manifest.states) {
    states.push_back(next);
    next += alignUp(state.localBytes(), TPRT_ALIGNMENT);
  }
  return {};
}

Status HostRank::resetStates(const Weights *weights) {
  for (size_t i = 0; i < states.size(); ++i)
    TPRT_TRY(initialise(manifest.states[i], weights, states[i]));
  return {};
}

Status HostRank::prepare(int64_t index) {
  const Entry &entry = manifest.entries[index];
  EntryMemory &memory = entries[index];
  if (memory.ready)
    return {};
  if (states.size() < manifest.states.size())
    TPRT_TRY(allocateStates());
  auto forEach = [&](auto visit) {
    for (const Input &input : entry.inputs)
      visit(input, memory.inputs);
    for (const Output &output : entry.outputs)
      visit(output, memory.outputs);
  };
  auto bytesOf = [](const auto &value) -> int64_t {
    if (value.state >= 0)
      return 0;
    return alignUp(elementCount(value.localShape) * typeBytes(value.type),
                   TPRT_ALIGNMENT);
  };
  int64_t total = 0;
  forEach([&](const auto &value, auto &) { total += bytesOf(value); });
  TPRT_ASSIGN(memory.values, context->allocate(total));
  char *next = memory.values.data();
  forEach([&](const auto &value, auto &addresses) {
    addresses.push_back(value.state >= 0 ? states[value.state] : next);
    next += bytesOf(value);
  });

  // Where others can read it.
  auto grow = [&](Buffer &buffer, int64_t bytes) -> Status {
    if (bytes <= buffer.size())
      return {};
    TPRT_ASSIGN(buffer, context->allocate(bytes));
    return {};
  };
  TPRT_TRY(grow(arena, entry.arenaBytes));
  TPRT_TRY(grow(comm, entry.commBytes));
  TPRT_TRY(
      scratch.reserve(workers() * alignUp(entry.scratchBytes, TPRT_ALIGNMENT)));
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
  args.axis_index = place.data();
  timeline.beginStep();
  Status status = call(index, functionTable, args);
  timeline.endStep();
  return status;
}

tprt_rank::Memory HostRank::memory() const {
  Memory m{};
  m.parameters = parameterMemory.size();
  m.states = stateMemory.size();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].ready)
      continue;
    m.values += entries[i].values.size();
    m.arenaStated = std::max(m.arenaStated, manifest.entries[i].arenaBytes);
    m.commStated = std::max(m.commStated, manifest.entries[i].commBytes);
  }
  // Pages are counted whole: never more than was asked for.
  m.arenaUsed = std::min(m.arenaStated, arena.touched());
  m.commUsed = std::min(m.commStated, comm.touched());
  m.scratch = scratch.size();
  for (const auto &engine : engines)
    if (engine)
      m.scratch += engine->scratchBytes();
  return m;
}
