//===- Stream.cpp - streams and events ------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The edges of the graph of nodes come from here: the order within a stream,
// waits for events, and the legacy stream, which waits for every blocking
// stream and they for it.
//
//===----------------------------------------------------------------------===//

#include "Stream.h"
#include "Device.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unordered_set>

using namespace fake;

namespace {

struct Record {
  NodeRef node;
  std::chrono::steady_clock::time_point time;
};

} // namespace

struct CUevent_st {
  unsigned flags;
  std::shared_ptr<Record> record;
  // The capture of the last record, if it was captured.
  std::shared_ptr<Capture> capture;
  std::set<int> ends, joinedEnds;
  unsigned queries = 0;
};

namespace {

std::unordered_set<CUstream> &streams() {
  static auto *all = new std::unordered_set<CUstream>;
  return *all;
}

std::unordered_set<CUevent> &events() {
  static auto *all = new std::unordered_set<CUevent>;
  return *all;
}

CUstream legacy() {
  static CUstream stream = new CUstream_st{
      Scheduler::get().freshLane(), CU_STREAM_DEFAULT, {}, {}, {}, {}};
  return stream;
}

int64_t waits = 0;

bool isBlocking(CUstream stream) {
  return stream != legacy() && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

bool isEvent(CUevent event) { return events().count(event) != 0; }

} // namespace

int64_t fake::waitCount() { return waits; }

CUstream fake::streamOf(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY ||
      handle == CU_STREAM_PER_THREAD)
    return legacy();
  return streams().count(handle) ? handle : nullptr;
}

bool fake::isCapturing(CUstream handle) {
  CUstream stream = streamOf(handle);
  return stream && stream->capture;
}

void fake::invalidate(const std::shared_ptr<Capture> &capture) {
  capture->valid = false;
}

CUresult fake::refuseInCapture(const char *function) {
  for (CUstream stream : streams()) {
    const std::shared_ptr<Capture> &capture = stream->capture;
    if (!capture || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
      continue;
    bool mine = capture->thread == std::this_thread::get_id();
    bool everywhere = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!mine && !everywhere)
      continue;
    std::fprintf(stderr, "fake-cuda: %s while a stream is captured\n",
                 function);
    invalidate(capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

std::vector<NodeRef> fake::tailsOf(CUstream stream) {
  std::vector<NodeRef> tails = {stream->tail};
  if (stream == legacy()) {
    for (CUstream other : streams())
      if (isBlocking(other))
        tails.push_back(other->tail);
  } else if (isBlocking(stream)) {
    tails.push_back(legacy()->tail);
  }
  return tails;
}

void fake::setTail(CUstream stream, NodeRef node) {
  stream->tail = std::move(node);
}

CUresult fake::submit(CUstream handle, std::string name, Recipe recipe,
                      const void *owner) {
  TRY(ready());
  CUstream stream = streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    Capture &capture = *stream->capture;
    if (!capture.valid)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    int id = int(capture.graph->nodes.size());
    capture.graph->nodes.push_back({std::move(name), stream->lane, stream->ends,
                                    stream->joinedEnds, std::move(recipe),
                                    owner});
    stream->ends = stream->joinedEnds = {id};
    return CUDA_SUCCESS;
  }
  if (stream == legacy())
    for (CUstream other : streams())
      if (isBlocking(other) && other->capture) {
        invalidate(other->capture);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      }
  setTail(stream, Scheduler::get().add(stream->lane, tailsOf(stream),
                                       std::move(name), recipe));
  return CUDA_SUCCESS;
}

CUresult fake::submitWork(CUstream handle, std::string name, Work work) {
  return submit(handle, std::move(name),
                [work](const NodeRef &) { return work; });
}

CUresult fake::synchronise(CUstream stream) {
  Scheduler::get().wait(tailsOf(stream));
  return Scheduler::get().failure();
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags) {
  Guard guard;
  TRY(ready());
  if (!phStream || Flags & ~unsigned(CU_STREAM_NON_BLOCKING))
    return CUDA_ERROR_INVALID_VALUE;
  *phStream =
      new CUstream_st{Scheduler::get().freshLane(), Flags, {}, {}, {}, {}};
  streams().insert(*phStream);
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream hStream) {
  Guard guard;
  TRY(ready());
  if (!streams().count(hStream))
    return CUDA_ERROR_INVALID_HANDLE;
  if (hStream->capture) {
    invalidate(hStream->capture);
    hStream->capture->members.erase(hStream);
  }
  // Its work goes on by itself, as on a device.
  streams().erase(hStream);
  delete hStream;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream hStream) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(hStream);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  TRY(refuseInCapture("cuStreamSynchronize"));
  if (stream->capture) {
    invalidate(stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return synchronise(stream);
}

CUresult cuStreamQuery(CUstream hStream) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(hStream);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  TRY(refuseInCapture("cuStreamQuery"));
  if (stream->capture) {
    invalidate(stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  bool done = true;
  for (const NodeRef &tail : tailsOf(stream))
    done &= Scheduler::get().poll(tail);
  TRY(Scheduler::get().failure());
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags) {
  Guard guard;
  TRY(ready());
  if (!phEvent || Flags & ~7u)
    return CUDA_ERROR_INVALID_VALUE;
  *phEvent = new CUevent_st{Flags, {}, {}, {}, {}};
  events().insert(*phEvent);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent hEvent) {
  Guard guard;
  TRY(ready());
  if (!isEvent(hEvent))
    return CUDA_ERROR_INVALID_HANDLE;
  events().erase(hEvent);
  delete hEvent;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(hStream);
  if (!stream || !isEvent(hEvent))
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    if (!stream->capture->valid)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    hEvent->capture = stream->capture;
    hEvent->ends = stream->ends;
    hEvent->joinedEnds = stream->joinedEnds;
    hEvent->record = nullptr;
    return CUDA_SUCCESS;
  }
  auto record = std::make_shared<Record>();
  TRY(submitWork(hStream, "event record", [record] {
    record->time = std::chrono::steady_clock::now();
    return Step::Done;
  }));
  record->node = stream->tail;
  hEvent->record = record;
  hEvent->capture = nullptr;
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent,
                           unsigned int Flags) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(hStream);
  if (!stream || !isEvent(hEvent))
    return CUDA_ERROR_INVALID_HANDLE;
  if (Flags)
    return CUDA_ERROR_INVALID_VALUE;
  static int64_t drop = environmentNumber("TP_FAKE_CUDA_DROP_WAIT", 0);
  bool dropped = ++waits == drop;
  if (dropped)
    std::fprintf(stderr, "fake-cuda: wait %lld is dropped\n",
                 static_cast<long long>(waits));
  if (hEvent->capture) {
    const std::shared_ptr<Capture> &capture = hEvent->capture;
    if (!capture->valid)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream == legacy()) {
      invalidate(capture);
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture && stream->capture != capture) {
      invalidate(capture);
      invalidate(stream->capture);
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!capture->members.count(capture->origin))
      return CUDA_ERROR_CAPTURED_EVENT; // the capture has ended
    if (!stream->capture) {
      stream->capture = capture;
      capture->members.insert(stream);
    }
    if (!dropped)
      stream->ends.insert(hEvent->ends.begin(), hEvent->ends.end());
    stream->joinedEnds.insert(hEvent->joinedEnds.begin(),
                              hEvent->joinedEnds.end());
    return CUDA_SUCCESS;
  }
  if (stream->capture) {
    if (!hEvent->record) // never recorded: nothing to wait for
      return CUDA_SUCCESS;
    invalidate(stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (dropped || !hEvent->record)
    return CUDA_SUCCESS;
  std::vector<NodeRef> needs = tailsOf(stream);
  needs.push_back(hEvent->record->node);
  setTail(stream, Scheduler::get().add(stream->lane, needs, "event wait"));
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent hEvent) {
  Guard guard;
  TRY(ready());
  if (!isEvent(hEvent))
    return CUDA_ERROR_INVALID_HANDLE;
  TRY(refuseInCapture("cuEventQuery"));
  if (hEvent->capture)
    return CUDA_ERROR_CAPTURED_EVENT;
  if (!hEvent->record)
    return CUDA_SUCCESS;
  bool done = Scheduler::get().poll(hEvent->record->node);
  TRY(Scheduler::get().failure());
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent hEvent) {
  Guard guard;
  TRY(ready());
  if (!isEvent(hEvent))
    return CUDA_ERROR_INVALID_HANDLE;
  TRY(refuseInCapture("cuEventSynchronize"));
  if (hEvent->capture)
    return CUDA_ERROR_CAPTURED_EVENT;
  if (hEvent->record)
    Scheduler::get().wait({hEvent->record->node});
  return Scheduler::get().failure();
}

CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart,
                            CUevent hEnd) {
  Guard guard;
  TRY(ready());
  if (!isEvent(hStart) || !isEvent(hEnd) || !hStart->record || !hEnd->record ||
      (hStart->flags | hEnd->flags) & CU_EVENT_DISABLE_TIMING)
    return CUDA_ERROR_INVALID_HANDLE;
  for (CUevent event : {hStart, hEnd})
    if (event->record->node && !event->record->node->done)
      return CUDA_ERROR_NOT_READY;
  std::chrono::duration<float, std::milli> time =
      hEnd->record->time - hStart->record->time;
  *pMilliseconds = time.count();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

CUresult cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(hStream);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream == legacy())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->members.insert(stream);
  stream->capture = capture;
  stream->ends.clear();
  stream->joinedEnds.clear();
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream hStream,
                             CUstreamCaptureStatus *captureStatus) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(hStream);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  *captureStatus = !stream->capture ? CU_STREAM_CAPTURE_STATUS_NONE
                   : stream->capture->valid
                       ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                       : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_SUCCESS;
}
