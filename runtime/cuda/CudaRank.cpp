//===- CudaRank.cpp - a rank that computes on a CUDA device ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CudaRank.h.
//
//===----------------------------------------------------------------------===//

#include "CudaRank.h"

#include "../rank/FunctionTable.h"
#include "../rank/LoadProgress.h"
#include "../tensors/Values.h"
#include "tprt/units.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tprt;

/// Places in the block are aligned as cuMemAlloc aligns.
constexpr int64_t kBlockAlignment = 256;

static CUdeviceptr addressOf(const void *p) {
  return reinterpret_cast<CUdeviceptr>(p);
}

/// A call of the function table, in words.
static std::string describeCall(const Manifest &manifest,
                                const Timeline::Event &call) {
  using Kind = Timeline::Kind;
  std::string layer = detail::join(" (layer ", call.layer, ")");
  if (call.kind == Kind::Gemm)
    return detail::join("gemm ", call.id) + layer;
  if (call.kind == Kind::Collective)
    return detail::join("collective ", call.id) + layer;
  if (call.kind == Kind::Kernel && call.id >= 0 &&
      call.id < int64_t(manifest.kernels.size()))
    return "kernel '" + manifest.kernels[call.id].name + "'" + layer;
  return "none";
}

/// True if steps are replayed as graphs; TPRT_CUDA_GRAPHS=0 enqueues them.
static bool useGraphs() {
  const char *value = std::getenv("TPRT_CUDA_GRAPHS");
  return !value || std::strcmp(value, "0") != 0;
}

CudaRank::CudaRank(const Manifest &manifest, const Program &program,
                   Backend &backend, int64_t rank, bool timeline)
    : tprt_rank(manifest, program, backend, rank, timeline),
      parameterPlan(manifest), entries(manifest.entries.size()) {}

CudaRank::~CudaRank() {
  // The owner's thread may be another, and the backend has device memory too.
  gpu.makeCurrent();
  // NCCL's communicators wait for the graphs that captured their collectives.
  entries.clear();
  disconnect();
  if (device)
    device->detach();
}

Status tprt::checkCuda(const Manifest &manifest) {
  TPRT_ASSIGN(auto cuda, Driver::get());
  TPRT_TRY(CudaDevice::count(*cuda).status());
  return manifest.gemms.empty() ? Status() : CublasLt::get().status();
}

//===----------------------------------------------------------------------===//
// Beginning
//===----------------------------------------------------------------------===//

Status CudaRank::connect() {
  device = dynamic_cast<DeviceBackend *>(&backend);
  if (!device)
    return internalError("the backend's ranks have no devices");
  TPRT_ASSIGN(cuda, Driver::get());
  TPRT_ASSIGN(auto devices, CudaDevice::count(*cuda));
  TPRT_ASSIGN(gpu, CudaDevice::open(*cuda, int(device->device(devices))));
  TPRT_ASSIGN(auto before, gpu.memory());
  contextBytes = before.total - before.free;
  TPRT_TRY(GemmPlans::check(manifest.gemms));
  TPRT_TRY(kernels.load(*cuda, gpu, manifest, program));

  for (Stream *stream : {&compute, &communication}) {
    TPRT_ASSIGN(*stream, makeStream(*cuda));
  }
  finished.resize(manifest.collectives.size());
  std::vector<Event *> events{&reached, &joined};
  for (Event &event : finished)
    events.push_back(&event);
  for (Event *event : events) {
    TPRT_ASSIGN(*event, makeEvent(*cuda));
  }
  for (Event *event : {&begun, &ended}) {
    TPRT_ASSIGN(*event, makeEvent(*cuda, /*timed=*/true));
  }
  if (timeline.enabled())
    trace = std::make_unique<DeviceTimeline>(*cuda, timeline);

  TPRT_ASSIGN(auto unconnected, gpu.memory());
  TPRT_TRY(device->attach(manifest, communication.get(), devices));
  TPRT_TRY(tprt_rank::connect());
  TPRT_ASSIGN(auto connected, gpu.memory());
  communicatorBytes = std::max<int64_t>(0, unconnected.free - connected.free -
                                               device->deviceBytes());
  return {};
}

/// Lays out and allocates everything that the entries need.
Status CudaRank::allocate() {
  places = {}, shared = {};
  int64_t arena = 0, comm = 0;
  for (const Entry &entry : manifest.entries) {
    arena = std::max(arena, entry.arenaBytes);
    comm = std::max(comm, entry.commBytes);
    scratchBytes = std::max(scratchBytes, entry.scratchBytes);
  }
  auto add = [&](auto &place, int64_t &offset, int64_t bytes) {
    offset = place.total;
    place.total = alignUp(place.total + bytes, kBlockAlignment);
  };
  add(places, places.parameters, parameterPlan.bytes);
  add(places, places.constants, int64_t(program.constants.size()));
  add(places, places.arena, arena);
  add(places, places.scratch, scratchBytes);
  add(places, places.workspace, GemmPlans::workspaceBytes(manifest.gemms));
  // A collective may read an input and write a result of the entry.
  add(shared, shared.comm, comm);
  add(shared, shared.values, layout.bytes);

  // An earlier call had memory for a part alone.
  block = DeviceBytes();
  TPRT_ASSIGN(auto memory, gpu.memory());
  int64_t total = places.total + (operands ? 0 : shared.total);
  if (memory.free < total)
    return userError(
        gpu.describe(), ": the program needs ", formatBytes(double(total)),
        " on the device, ", formatBytes(double(memory.free)), " of ",
        formatBytes(double(memory.total)), " are free; ",
        manifest.generation ? manifest.smallerCache(total - memory.free)
                            : "use more ranks, or a smaller batch or sequence");
  std::string what = detail::join(
      "cannot allocate ", formatBytes(double(total)), " on ", gpu.describe());
  if (places.total) {
    CUdeviceptr address = 0;
    TPRT_TRY(
        cuda->check(cuda->cuMemAlloc(&address, size_t(places.total)), what));
    block = DeviceBytes(*cuda, address);
  }
  if (shared.total && !operands) {
    TPRT_ASSIGN(operands, device->allocateOperands(shared.total).in(what));
  }
  // States pass through one by one. The layout has them before all else, this
  // memory the largest of them.
  int64_t largest = 0;
  for (const State &state : manifest.states)
    largest = std::max(
        largest, alignUp(state.localBytes(), int64_t(TPRT_STATE_ALIGNMENT)));
  TPRT_ASSIGN(staging, allocatePinned(*cuda, largest + layout.bytes -
                                                 layout.stateBytes));
  stagedState = static_cast<char *>(staging.get());
  values = reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(stagedState) +
                                    uintptr_t(largest - layout.stateBytes));
  auto onDevice = [&](const std::vector<int64_t> &offsets) {
    std::vector<void *> addresses;
    for (int64_t offset : offsets)
      addresses.push_back(
          reinterpret_cast<void *>(operands + shared.values + offset));
    return addresses;
  };
  for (size_t e = 0; e < entries.size(); ++e) {
    entries[e].inputs = onDevice(layout.entries[e].inputs);
    entries[e].outputs = onDevice(layout.entries[e].outputs);
  }
  return {};
}

Status CudaRank::loadWeights(const Weights &weights) {
  // The results of an earlier call stay, also if that found no weights.
  if (!staging)
    TPRT_TRY(allocate());
  parameters.clear();
  AwaitEvent awaitEvent = [this](CUevent event) {
    return device->await([=, this] { return int(cuda->cuEventQuery(event)); });
  };
  if (!manifest.gemms.empty()) {
    TPRT_ASSIGN(auto lt, CublasLt::get());
    TPRT_TRY(gemms.open(*cuda, *lt, manifest.gemms, compute.get(),
                        block.get() + places.workspace, gpu.cacheBytes,
                        awaitEvent));
  }
  if (!program.constants.empty())
    TPRT_TRY(toDevice(block.get() + places.constants, program.constants.data(),
                      int64_t(program.constants.size()), "the constants"));
  TPRT_ASSIGN(loadedBytes,
              loadParameters(*cuda, manifest, parameterPlan, weights,
                             meshCoordinates, block.get() + places.parameters,
                             compute.get(), awaitEvent,
                             LoadProgress(self, parameterPlan.bytes)));
  for (int64_t offset : parameterPlan.offsets)
    parameters.push_back(reinterpret_cast<const void *>(
        block.get() + places.parameters + offset));
  return {};
}

//===----------------------------------------------------------------------===//
// The function table
//===----------------------------------------------------------------------===//

struct CudaFunctions : Refused<CudaFunctions> {
  static int32_t refuse(tprt_rank *rank, const char *name) {
    return self(rank).finish(
        internalError("'", name,
                      "' of the host in an artifact that is made "
                      "for a device"));
  }

  static CudaRank &self(tprt_rank *rank) {
    return *static_cast<CudaRank *>(rank);
  }

  /// The call's event in the timeline, if there is one.
  template <typename Work>
  static int32_t traced(tprt_rank *rank, Timeline::Kind kind, int64_t id,
                        int64_t layer, CUstream stream, Work work) {
    CudaRank &own = self(rank);
    own.last = {kind, int32_t(id), layer, {}, {}};
    if (!own.trace)
      return own.finish(work());
    Status status = own.trace->begin(kind, id, layer, stream);
    if (status.ok())
      status = work();
    if (status.ok())
      status = own.trace->end(stream);
    return own.finish(std::move(status));
  }

  static int32_t gemm(tprt_rank *rank, int32_t id, int64_t rows, const void *x,
                      int64_t xStride, const void *w, const void *bias,
                      const void *residual, void *y, int64_t yStride) {
    tprt_gemm_call call{id, rows, x, xStride, w, bias, residual, y, yStride};
    return gemms(rank, 1, &call);
  }

  static int32_t gemms(tprt_rank *rank, int64_t count, const void *calls) {
    CudaRank &own = self(rank);
    std::span list = callsOf(count, calls);
    return traced(rank, Timeline::Kind::Gemm, list.front().id, own.layer,
                  own.compute.get(), [&] { return own.gemms.run(list); });
  }

  static int32_t collective(tprt_rank *rank, int32_t id, int64_t layer,
                            const void *in, void *out) {
    return self(rank).finish(self(rank).startCollective(id, layer, in, out));
  }

  static int32_t mark(tprt_rank *, int32_t, int64_t) { return 0; }

  static int32_t wait(tprt_rank *rank, int32_t id, int64_t) {
    return self(rank).finish(self(rank).waitFor(id));
  }

  static int32_t launch(tprt_rank *rank, int32_t id, int64_t layer,
                        void *arguments) {
    CudaRank &own = self(rank);
    return traced(
        rank, Timeline::Kind::Kernel, id, layer, own.compute.get(),
        [&] { return own.kernels.launch(id, arguments, own.compute.get()); });
  }

  static int32_t note(tprt_rank *rank, int32_t id, int64_t rows, const void *x,
                      int64_t xStride, const void *w, const void *bias,
                      const void *residual, void *y, int64_t yStride) {
    tprt_gemm_call call{id, rows, x, xStride, w, bias, residual, y, yStride};
    return noteAll(rank, 1, &call);
  }

  static int32_t noteAll(tprt_rank *rank, int64_t count, const void *calls) {
    std::span list = callsOf(count, calls);
    auto &noted = self(rank).noted;
    noted.insert(noted.end(), list.begin(), list.end());
    return 0;
  }

private:
  static std::span<const tprt_gemm_call> callsOf(int64_t count,
                                                 const void *calls) {
    return {static_cast<const tprt_gemm_call *>(calls), size_t(count)};
  }
};

/// Notes the GEMMs that a step will call, and does nothing.
struct NotingFunctions : LeftOut {
  static constexpr auto gemm = CudaFunctions::note;
  static constexpr auto gemms = CudaFunctions::noteAll;
};

/// Calls the collectives of a step, and does nothing else.
struct ConnectingFunctions : LeftOut {
  static constexpr auto collective = CudaFunctions::collective;
  static constexpr auto wait = CudaFunctions::wait;
};

static constexpr tprt_api computing = makeTable<CudaFunctions>();
static constexpr tprt_api noting = makeTable<NotingFunctions>();
static constexpr tprt_api connecting = makeTable<ConnectingFunctions>();

Status CudaRank::startCollective(int32_t id, int64_t layer, const void *in,
                                 void *out) {
  CUstream stream = communication.get();
  const char *what = "cannot order a collective";
  last = {Timeline::Kind::Collective, id, layer, {}, {}};
  // The stream's work so far computes its operand.
  TPRT_TRY(order(compute.get(), reached, stream, what));
  if (trace)
    TPRT_TRY(trace->begin(Timeline::Kind::Collective, id, layer, stream));
  TPRT_TRY(collective(id, layer, in, out));
  if (trace)
    TPRT_TRY(trace->end(stream));
  return cuda->check(cuda->cuEventRecord(finished[id].get(), stream), what);
}

Status CudaRank::waitFor(int32_t id) {
  if (id < 0 || id >= int64_t(finished.size()))
    return internalError("collective ", id, " is not in the ledger");
  return cuda->check(
      cuda->cuStreamWaitEvent(compute.get(), finished[id].get(), 0),
      "cannot wait for a collective");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

tprt_step_args CudaRank::arguments(int64_t entry) {
  auto at = [&](int64_t offset) {
    return reinterpret_cast<void *>(block.get() + offset);
  };
  tprt_step_args args;
  args.inputs = entries[entry].inputs.data();
  args.outputs = entries[entry].outputs.data();
  args.params = parameters.data();
  args.constants = at(places.constants);
  args.arena = at(places.arena);
  args.comm = reinterpret_cast<void *>(operands + shared.comm);
  args.scratch = at(places.scratch);
  args.scratch_stride = scratchBytes;
  args.workers = 1;
  args.axis_index = meshCoordinates.data();
  args.layer = &layer;
  return args;
}

Status CudaRank::toDevice(CUdeviceptr to, const void *from, int64_t bytes,
                          const std::string &what) const {
  return cuda->check(
      cuda->cuMemcpyHtoDAsync(to, from, size_t(bytes), compute.get()),
      "cannot load " + what + " to the device");
}

Status CudaRank::fromDevice(void *to, CUdeviceptr from, int64_t bytes,
                            const std::string &what) const {
  return cuda->check(
      cuda->cuMemcpyDtoHAsync(to, from, size_t(bytes), compute.get()),
      "cannot load " + what + " from the device");
}

Status CudaRank::order(CUstream before, const Event &event, CUstream after,
                       const char *what) const {
  TPRT_TRY(cuda->check(cuda->cuEventRecord(event.get(), before), what));
  return cuda->check(cuda->cuStreamWaitEvent(after, event.get(), 0), what);
}

/// The communication stream follows the computation stream from here on, also
/// into a capture.
Status CudaRank::forkStreams() {
  if (manifest.collectives.empty())
    return {};
  return order(compute.get(), reached, communication.get(),
               "cannot begin a step");
}

/// All work of the step becomes work of the computation stream.
Status CudaRank::joinStreams() {
  if (manifest.collectives.empty())
    return {};
  TPRT_TRY(device->endStep());
  return order(communication.get(), joined, compute.get(), "cannot end a step");
}

Status CudaRank::enqueueStep(int64_t entry, const tprt_api &table) {
  TPRT_TRY(forkStreams());
  TPRT_TRY(call(entry, table, arguments(entry)));
  return joinStreams();
}

/// Calls each collective of the entry once, on whatever lies in its buffers.
/// NCCL makes connections, allocates and loads its kernels in first calls, and
/// the hosts wait for each other: not while streams are captured, where an
/// error would be that of the whole capture, nor in the first step's time.
Status CudaRank::connectAll(int64_t entry) {
  if (device->size() == 1 || manifest.collectives.empty())
    return {};
  TPRT_ASSIGN(auto before, gpu.memory());
  TPRT_TRY(enqueueStep(entry, connecting));
  TPRT_TRY(await("cannot connect the ranks for entry '" +
                 manifest.entries[entry].name + "'"));
  TPRT_ASSIGN(auto after, gpu.memory());
  communicatorBytes += std::max<int64_t>(0, before.free - after.free);
  return {};
}

Status CudaRank::capture(int64_t entry) {
  std::string what =
      "cannot capture entry '" + manifest.entries[entry].name + "' as a graph";
  // Relaxed: NCCL registers the operands of captured collectives, and may have
  // to connect for another algorithm then.
  TPRT_TRY(cuda->check(
      cuda->cuStreamBeginCapture(compute.get(), CU_STREAM_CAPTURE_MODE_RELAXED),
      what));
  Status status = enqueueStep(entry, computing);
  CUgraph made = nullptr;
  CUresult ended = cuda->cuStreamEndCapture(compute.get(), &made);
  Graph graph(*cuda, made);
  TPRT_TRY(status.in(what));
  TPRT_TRY(cuda->check(ended, what));
  CUgraphExec executable = nullptr;
  TPRT_TRY(cuda->check(cuda->cuGraphInstantiate(&executable, made, 0), what));
  entries[entry].graph = GraphExec(*cuda, executable);
  TPRT_TRY(cuda->check(cuda->cuGraphUpload(executable, compute.get()), what));
  return await(what);
}

Status CudaRank::prepare(int64_t entry) {
  EntryState &state = entries[entry];
  if (state.ready)
    return {};
  noted.clear();
  TPRT_TRY(call(entry, noting, arguments(entry)));
  TPRT_TRY(gemms.plan(noted, [this](const std::string &mine) {
    return device->exchange(mine);
  }));
  TPRT_TRY(connectAll(entry));
  if (useGraphs() && !trace)
    TPRT_TRY(capture(entry));
  state.ready = true;
  return {};
}

Status CudaRank::await(const std::string &what) {
  auto query = [this] { return int(cuda->cuStreamQuery(compute.get())); };
  return device->await(query).in(what);
}

/// A failure on the device is found later: says what is known of its place.
Status CudaRank::explain(const Status &status, bool graph) const {
  if (status.ok() || status.code() != Code::Device)
    return status;
  if (graph)
    return deviceError(status.message(), "; the step ran as a graph: with "
                                         "TPRT_CUDA_GRAPHS=0 it runs call by "
                                         "call");
  return deviceError(
      status.message(), "; the last call that was started is ",
      describeCall(manifest, last),
      ", and an earlier one may be at fault: with "
      "CUDA_LAUNCH_BLOCKING=1 each call waits for the one before");
}

Status CudaRank::upload(int64_t entry) {
  for (size_t i = 0; i < entries[entry].inputs.size(); ++i) {
    const Input &input = manifest.entries[entry].inputs[i];
    if (input.state >= 0)
      continue;
    TPRT_TRY(toDevice(addressOf(entries[entry].inputs[i]),
                      this->input(entry, int64_t(i)), input.localBytes(),
                      "input '" + input.name + "'"));
  }
  return await("cannot load the inputs to the device");
}

Status CudaRank::resetStates(const Weights *weights) {
  for (size_t i = 0; i < layout.states.size(); ++i) {
    const State &state = manifest.states[i];
    CUdeviceptr address = operands + shared.values + layout.states[i];
    std::string what = "state '" + state.name + "'";
    if (state.localBytes() == 0)
      continue;
    if (state.parameter < 0 && state.initial == Input::Default::Zeros) {
      TPRT_TRY(cuda->check(cuda->cuMemsetD8Async(address, 0,
                                                 size_t(state.localBytes()),
                                                 compute.get()),
                           "cannot set " + what + " to zero"));
      continue;
    }
    TPRT_TRY(initialise(state, weights, stagedState));
    TPRT_TRY(toDevice(address, stagedState, state.localBytes(), what));
    // The next one takes its place.
    TPRT_TRY(await("cannot load " + what + " to the device"));
  }
  return await("cannot load the states to the device");
}

Expected<const void *> CudaRank::state(int64_t i, int64_t offset,
                                       int64_t bytes) {
  std::string what = "state '" + manifest.states[i].name + "'";
  TPRT_TRY(fromDevice(
      stagedState, operands + shared.values + layout.states[size_t(i)] + offset,
      bytes, what));
  TPRT_TRY(await("cannot load " + what + " from the device"));
  return static_cast<const void *>(stagedState);
}

Status CudaRank::step(int64_t entry) {
  auto check = [&](CUresult result) {
    return cuda->check(result, "entry '" + manifest.entries[entry].name + "'");
  };
  if (trace)
    TPRT_TRY(trace->beginStep(compute.get()));
  TPRT_TRY(check(cuda->cuEventRecord(begun.get(), compute.get())));
  if (entries[entry].graph)
    TPRT_TRY(
        check(cuda->cuGraphLaunch(entries[entry].graph.get(), compute.get())));
  else
    TPRT_TRY(explain(enqueueStep(entry, computing), false));
  TPRT_TRY(check(cuda->cuEventRecord(ended.get(), compute.get())));
  if (trace)
    TPRT_TRY(trace->endStepOn(compute.get()));
  TPRT_TRY(explain(await("entry '" + manifest.entries[entry].name + "'"),
                   bool(entries[entry].graph)));
  float milliseconds = 0;
  TPRT_TRY(
      check(cuda->cuEventElapsedTime(&milliseconds, begun.get(), ended.get())));
  entries[entry].times.add(milliseconds / 1000);
  return trace ? trace->endStep() : Status();
}

Status CudaRank::download(int64_t entry, const std::vector<bool> &chosen) {
  for (size_t i = 0; i < entries[entry].outputs.size(); ++i) {
    const Output &output = manifest.entries[entry].outputs[i];
    if (!chosen[i])
      continue;
    TPRT_TRY(fromDevice(this->output(entry, int64_t(i)),
                        addressOf(entries[entry].outputs[i]),
                        output.localBytes(), "output '" + output.name + "'"));
  }
  return await("cannot load the outputs from the device");
}

Status CudaRank::downloadPart(int64_t entry, int64_t output, int64_t offset,
                              int64_t bytes) {
  const std::string &name = manifest.entries[entry].outputs[output].name;
  TPRT_TRY(fromDevice(static_cast<char *>(this->output(entry, output)) + offset,
                      addressOf(entries[entry].outputs[output]) +
                          CUdeviceptr(offset),
                      bytes, "a part of output '" + name + "'"));
  return await("cannot load a part of the outputs from the device");
}

tprt_rank::Memory CudaRank::memory() const {
  Memory m = planned(std::vector<bool>(manifest.entries.size(), true));
  m.parameters = parameterPlan.bytes;
  // One allocation holds it all: what is stated is taken.
  m.arenaUsed = m.arenaStated;
  m.commUsed = m.commStated;
  int64_t staging = device ? device->deviceBytes() : 0;
  m.scratch = places.total - places.scratch + staging;
  m.states = layout.stateBytes;
  m.allocated = places.total + shared.total + staging;
  m.workspace = places.total - places.workspace + staging;
  m.context = contextBytes;
  m.communicators = communicatorBytes;
  return m;
}
