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
#include "libraries/Handles.h"

namespace tprt {

class DeviceTimeline {
public:
  DeviceTimeline(const Driver &cuda, Timeline &timeline)
      : cuda(cuda), timeline(timeline) {}

  Status beginStep(CUstream stream);
  Status begin(Timeline::Kind kind, int64_t id, int64_t layer, CUstream stream);
  Status end(CUstream stream);
  /// The last of the step, on the stream of beginStep.
  Status endStepOn(CUstream stream);
  /// When the device has done the step: writes it to the timeline.
  Status endStep();

private:
  struct Call {
    Timeline::Kind kind;
    int64_t id, layer;
    size_t start, stop; ///< positions in events
  };
  /// Records an event that is free in this step.
  Expected<size_t> record(CUstream stream);

  const Driver &cuda;
  Timeline &timeline;
  std::vector<Event> events;
  std::vector<Call> calls;
  size_t used = 0, last = 0;
  Timeline::Clock::time_point stepStart;
};

} // namespace tprt

#endif // TPRT_CUDA_DEVICETIMELINE_H
