//===- Copy.cpp - copies and fills ----------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pinned memory is read and written when the node runs, which is as late as can
// be: a staging buffer that is filled again too early spoils the first copy.
// Pageable memory is read during the call, and a copy into it returns when it
// is done, as the driver documents.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Memory.h"
#include "Stream.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

using namespace fake;

namespace {

/// `rows` pieces of `width` bytes, `planes` times.
struct Shape {
  size_t width, rows = 1, planes = 1;
};

struct End {
  char *data;
  size_t pitch = 0, planePitch = 0;

  char *row(size_t plane, size_t row) const {
    return data + plane * planePitch + row * pitch;
  }
  /// Bytes from the first to the last that is touched.
  size_t extent(const Shape &s) const {
    return (s.planes - 1) * planePitch + (s.rows - 1) * pitch + s.width;
  }
};

enum class Kind { Host, Device, Any };

std::atomic<size_t> toHost = 0;

bool isDevicePlace(const void *data) {
  Place place = spanOf(data).place;
  return place == Place::Device || place == Place::NoDevice;
}

/// CUDA_SUCCESS if the end lies where the caller said it does.
CUresult check(const End &end, const Shape &shape, Kind kind) {
  Span span = spanOf(end.data);
  bool device = isDevicePlace(end.data);
  if (!end.data || (kind == Kind::Host && device) ||
      (kind == Kind::Device && !device))
    return CUDA_ERROR_INVALID_VALUE;
  if (device && !onDevice(end.data, end.extent(shape))) {
    std::fprintf(stderr, "fake-cuda: a copy of %zu bytes at %s\n",
                 end.extent(shape), describe(end.data).c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (span.place == Place::Pinned &&
      end.data + end.extent(shape) > span.begin + span.size)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

/// Finds faults at the time the node runs, which the call did not have.
bool stillThere(const End &end, const Shape &shape) {
  if (!isDevicePlace(end.data) || onDevice(end.data, end.extent(shape)))
    return true;
  Scheduler::get().fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                        "access to " + describe(end.data));
  return false;
}

Step move(const End &to, const End &from, const Shape &shape) {
  if (!stillThere(to, shape) || !stillThere(from, shape))
    return Step::Done;
  openMemory();
  if (isDevicePlace(from.data) && !isDevicePlace(to.data))
    toHost += shape.planes * shape.rows * shape.width;
  for (size_t plane = 0; plane < shape.planes; ++plane)
    for (size_t row = 0; row < shape.rows; ++row)
      std::memmove(to.row(plane, row), from.row(plane, row), shape.width);
  return Step::Done;
}

} // namespace

size_t fake::bytesToHost() { return toHost; }

namespace {

CUresult copy(CUstream handle, const char *name, End to, Kind toKind, End from,
              Kind fromKind, Shape shape) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (shape.width == 0 || shape.rows == 0 || shape.planes == 0)
    return CUDA_SUCCESS;
  TRY(check(to, shape, toKind));
  TRY(check(from, shape, fromKind));
  bool fromPageable = spanOf(from.data).place == Place::Pageable;
  bool toPageable = spanOf(to.data).place == Place::Pageable;
  if (stream->capture && (fromPageable || toPageable)) {
    invalidate(stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (fromPageable) {
    auto held = std::make_shared<std::string>(from.data,
                                              from.data + from.extent(shape));
    TRY(submitWork(handle, name, [=] {
      return move(to, {held->data(), from.pitch, from.planePitch}, shape);
    }));
  } else {
    TRY(submitWork(handle, name, [=] { return move(to, from, shape); }));
  }
  return toPageable ? synchronise(stream) : CUDA_SUCCESS;
}

End at(CUdeviceptr address) { return {reinterpret_cast<char *>(address)}; }
End at(const void *address) {
  return {static_cast<char *>(const_cast<void *>(address))};
}

/// Pinned memory may be filled too: it has an address on the device.
template <typename T>
CUresult fill(CUstream stream, CUdeviceptr address, T value, size_t count) {
  Guard guard;
  TRY(ready());
  if (!streamOf(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  if (count == 0)
    return CUDA_SUCCESS;
  End to = at(address);
  Shape shape = {count * sizeof(T)};
  if (address % sizeof(T) || spanOf(to.data).place == Place::Pageable)
    return CUDA_ERROR_INVALID_VALUE;
  TRY(check(to, shape, Kind::Any));
  return submitWork(stream, "fill", [=] {
    if (stillThere(to, shape)) {
      openMemory();
      std::fill_n(reinterpret_cast<T *>(to.data), count, value);
    }
    return Step::Done;
  });
}

/// One side of the driver's description of a rectangle or box.
CUresult side(CUmemorytype type, const void *host, CUdeviceptr device, End &end,
              Kind &kind) {
  switch (type) {
  case CU_MEMORYTYPE_HOST:
    end = at(host);
    kind = Kind::Host;
    return CUDA_SUCCESS;
  case CU_MEMORYTYPE_DEVICE:
    end = at(device);
    kind = Kind::Device;
    return CUDA_SUCCESS;
  case CU_MEMORYTYPE_UNIFIED:
    end = at(device);
    kind = Kind::Any;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

template <typename Description>
CUresult sides(const Description &d, End &to, Kind &toKind, End &from,
               Kind &fromKind) {
  TRY(side(d.srcMemoryType, d.srcHost, d.srcDevice, from, fromKind));
  TRY(side(d.dstMemoryType, d.dstHost, d.dstDevice, to, toKind));
  from.pitch = d.srcPitch ? d.srcPitch : d.WidthInBytes;
  to.pitch = d.dstPitch ? d.dstPitch : d.WidthInBytes;
  if (from.pitch < d.srcXInBytes + d.WidthInBytes ||
      to.pitch < d.dstXInBytes + d.WidthInBytes)
    return CUDA_ERROR_INVALID_VALUE;
  from.data += d.srcXInBytes + d.srcY * from.pitch;
  to.data += d.dstXInBytes + d.dstY * to.pitch;
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes,
                           CUstream stream) {
  return copy(stream, "cuMemcpyHtoDAsync", at(dst), Kind::Device, at(src),
              Kind::Host, {bytes});
}

CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes,
                           CUstream stream) {
  return copy(stream, "cuMemcpyDtoHAsync", at(dst), Kind::Host, at(src),
              Kind::Device, {bytes});
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                           CUstream stream) {
  return copy(stream, "cuMemcpyDtoDAsync", at(dst), Kind::Device, at(src),
              Kind::Device, {bytes});
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *d, CUstream stream) {
  End to, from;
  Kind toKind, fromKind;
  if (!d)
    return CUDA_ERROR_INVALID_VALUE;
  TRY(sides(*d, to, toKind, from, fromKind));
  return copy(stream, "cuMemcpy2DAsync", to, toKind, from, fromKind,
              {d->WidthInBytes, d->Height});
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *d, CUstream stream) {
  End to, from;
  Kind toKind, fromKind;
  if (!d || d->srcLOD || d->dstLOD)
    return CUDA_ERROR_INVALID_VALUE;
  TRY(sides(*d, to, toKind, from, fromKind));
  size_t fromHeight = d->srcHeight ? d->srcHeight : d->Height;
  size_t toHeight = d->dstHeight ? d->dstHeight : d->Height;
  if (fromHeight < d->srcY + d->Height || toHeight < d->dstY + d->Height)
    return CUDA_ERROR_INVALID_VALUE;
  from.planePitch = from.pitch * fromHeight;
  to.planePitch = to.pitch * toHeight;
  from.data += d->srcZ * from.planePitch;
  to.data += d->dstZ * to.planePitch;
  return copy(stream, "cuMemcpy3DAsync", to, toKind, from, fromKind,
              {d->WidthInBytes, d->Height, d->Depth});
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count,
                         CUstream stream) {
  return fill(stream, dst, value, count);
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t count,
                          CUstream stream) {
  return fill(stream, dst, value, count);
}
