//===- Handles.h - owners of what the driver makes --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events, memory and graphs that are given back when their owner goes.
// An owner belongs to the thread and context in which it was made.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_LIBRARIES_HANDLES_H
#define TPRT_CUDA_LIBRARIES_HANDLES_H

#include "Driver.h"

#include <utility>

namespace tprt {

/// Owns a handle; `destroy` is the member of Driver that gives it back.
template <typename Type, auto destroy>
class Handle {
public:
  Handle() = default;
  Handle(const Driver &cuda, Type value) : cuda(&cuda), value(value) {}
  Handle(Handle &&other) noexcept { swap(other); }
  Handle &operator=(Handle &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Handle() {
    if (value)
      (cuda->*destroy)(value);
  }

  Type get() const { return value; }
  explicit operator bool() const { return bool(value); }

private:
  void swap(Handle &other) {
    std::swap(cuda, other.cuda);
    std::swap(value, other.value);
  }
  const Driver *cuda = nullptr;
  Type value{};
};

using Stream = Handle<CUstream, &Driver::cuStreamDestroy>;
using Event = Handle<CUevent, &Driver::cuEventDestroy>;
using DeviceBytes = Handle<CUdeviceptr, &Driver::cuMemFree>;
using PinnedBytes = Handle<void *, &Driver::cuMemFreeHost>;
using Graph = Handle<CUgraph, &Driver::cuGraphDestroy>;
using GraphExec = Handle<CUgraphExec, &Driver::cuGraphExecDestroy>;
using LoadedLibrary = Handle<CUlibrary, &Driver::cuLibraryUnload>;

/// A stream that does not wait for the default stream.
Expected<Stream> makeStream(const Driver &cuda);
/// `timed`: for measuring; others are cheaper.
Expected<Event> makeEvent(const Driver &cuda, bool timed = false);
/// Host memory that the device reads and writes directly.
Expected<PinnedBytes> allocatePinned(const Driver &cuda, int64_t bytes);

} // namespace tprt

#endif // TPRT_CUDA_LIBRARIES_HANDLES_H
