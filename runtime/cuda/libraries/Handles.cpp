//===- Handles.cpp - owners of what the driver makes ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Handles.h.
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

using namespace tprt;

Expected<Stream> tprt::makeStream(const Driver &cuda) {
  CUstream stream = nullptr;
  TPRT_TRY(cuda.check(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                      "cannot make a CUDA stream"));
  return Stream(cuda, stream);
}

Expected<Event> tprt::makeEvent(const Driver &cuda, bool timed) {
  CUevent event = nullptr;
  unsigned flags = timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  TPRT_TRY(cuda.check(cuda.cuEventCreate(&event, flags),
                      "cannot make a CUDA event"));
  return Event(cuda, event);
}

Expected<PinnedBytes> tprt::allocatePinned(const Driver &cuda, int64_t bytes) {
  void *memory = nullptr;
  TPRT_TRY(
      cuda.check(cuda.cuMemHostAlloc(&memory, size_t(bytes ? bytes : 1),
                                     CU_MEMHOSTALLOC_PORTABLE),
                 detail::join("cannot pin ", bytes, " bytes of host memory")));
  return PinnedBytes(cuda, memory);
}
