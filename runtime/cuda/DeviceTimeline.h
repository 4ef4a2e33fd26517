//===- DeviceTimeline.h - when a device did what ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events around every call, read when the step is over. Steps that are recorded
// are enqueued call by call, not replayed as a graph.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_DEVICETIMELINE_H
#define TPRT_CUDA_DEVICETIMELINE_H

#include "../rank/Timeline.h"
#include "libraries/Libraries.h"

namespace tprt {

class DeviceTimeline {
public:
  DeviceTimeline(const Driver &cuda, Timeline &timeline)
      : cuda(cuda), timeline(timeline) {}

  Status beginStep(CUstream stream) {
    used = 0;
    calls.clear();
    stepStart = Timeline::Clock::now();
    return record(stream).status();
  }
  Status begin(Timeline::Kind kind, int64_t id, int64_t layer,
               CUstream stream) {
    TPRT_ASSIGN(auto start, record(stream));
    calls.push_back({kind, id, layer, start, 0});
    return {};
  }
  Status end(CUstream stream) {
    TPRT_ASSIGN(calls.back().stop, record(stream));
    return {};
  }
  /// The last of the step, on the stream of beginStep.
  Status endStepOn(CUstream stream) {
    TPRT_ASSIGN(last, record(stream));
    return {};
  }
  /// When the device has done the step: writes it to the timeline.
  Status endStep() {
    auto timeOf = [&](size_t event,
                      Timeline::Clock::time_point &time) -> Status {
      float milliseconds = 0;
      TPRT_TRY(
          cuda.check(cuda.cuEventElapsedTime(&milliseconds, events[0].get(),
                                             events[event].get()),
                     "cannot read the timeline"));
      time = stepStart +
             std::chrono::duration_cast<Timeline::Clock::duration>(
                 std::chrono::duration<double, std::milli>(milliseconds));
      return {};
    };
    for (const Call &call : calls) {
      Timeline::Event event{call.kind, int32_t(call.id), call.layer, {}, {}};
      TPRT_TRY(timeOf(call.start, event.start));
      TPRT_TRY(timeOf(call.stop, event.stop));
      timeline.add(event);
    }
    Timeline::Event step{Timeline::Kind::Step, 0, 0, {}, {}};
    TPRT_TRY(timeOf(0, step.start));
    TPRT_TRY(timeOf(last, step.stop));
    timeline.add(step);
    return {};
  }

private:
  struct Call {
    Timeline::Kind kind;
    int64_t id, layer;
    size_t start, stop; ///< positions in events
  };
  /// Records an event that is free in this step.
  Expected<size_t> record(CUstream stream) {
    if (used == events.size()) {
      TPRT_ASSIGN(auto made, makeEvent(cuda, /*timed=*/true));
      events.push_back(std::move(made));
    }
    TPRT_TRY(cuda.check(cuda.cuEventRecord(events[used].get(), stream),
                        "cannot record the timeline"));
    return used++;
  }

  const Driver &cuda;
  Timeline &timeline;
  std::vector<Event> events;
  std::vector<Call> calls;
  size_t used = 0, last = 0;
  Timeline::Clock::time_point stepStart;
};

} // namespace tprt

#endif // TPRT_CUDA_DEVICETIMELINE_H
