//===- Device.cpp - devices and contexts ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing works before cuInit, and nearly nothing without a current context on
// the calling thread: as on a machine with a driver.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Memory.h"
#include "Scheduler.h"
#include "Stream.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace fake;

// The header leaves it open what a context is.
struct CUctx_st {
  int device;
  int users;
};

namespace {

bool initialised = false;
thread_local CUcontext current = nullptr;

CUcontext contextOf(int device) {
  static std::vector<CUctx_st> *all = [] {
    auto *list = new std::vector<CUctx_st>;
    for (int i = 0; i < deviceCount(); ++i)
      list->push_back({i, 0});
    return list;
  }();
  return &(*all)[size_t(device)];
}

bool isDevice(CUdevice device) { return device >= 0 && device < deviceCount(); }

} // namespace

int fake::deviceCount() {
  static int count = int(environmentNumber("TP_FAKE_CUDA_DEVICES", 1));
  return count;
}

int fake::computeCapability() {
  static int value = [] {
    const char *text = std::getenv("TP_FAKE_CUDA_ARCH");
    if (!text || !*text)
      return 99;
    char *end;
    int major = int(std::strtol(text, &end, 10));
    int minor = *end == '.' ? int(std::strtol(end + 1, nullptr, 10)) : 0;
    return major * 10 + minor;
  }();
  return value;
}

CUresult fake::ready() {
  if (!initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!current)
    return CUDA_ERROR_INVALID_CONTEXT;
  return Scheduler::get().failure();
}

int fake::currentDevice() { return current ? current->device : -1; }

std::string fake::busId(int device) {
  return "0000:0" + std::to_string(device + 1) + ":00.0";
}

CUresult cuInit(unsigned int Flags) {
  Guard guard;
  if (Flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (deviceCount() == 0)
    return CUDA_ERROR_NO_DEVICE;
  initialised = true;
  initialiseMemory();
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *driverVersion) {
  if (!driverVersion)
    return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  Guard guard;
  if (!initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  *count = deviceCount();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  Guard guard;
  if (!initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!isDevice(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) {
  Guard guard;
  if (!initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!isDevice(dev))
    return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid, 0, sizeof(*uuid));
  std::memcpy(uuid->bytes, busId(dev).data(), busId(dev).size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice dev) {
  Guard guard;
  if (!initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!isDevice(dev))
    return CUDA_ERROR_INVALID_DEVICE;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = deviceCapacity();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev) {
  if (!isDevice(dev))
    return CUDA_ERROR_INVALID_DEVICE;
  std::strncpy(name, "host memory in the place of a device", size_t(len));
  name[len - 1] = 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib,
                              CUdevice dev) {
  if (!isDevice(dev))
    return CUDA_ERROR_INVALID_DEVICE;
  switch (attrib) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *pi = computeCapability() / 10;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *pi = computeCapability() % 10;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *pi = 4;
    break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *pi = 64 << 10;
    break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    *pi = 32;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    *pi = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    *pi = 64;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    *pi = 2147483647;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    *pi = 65535;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    *pi = kSharedLimit;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *pi = kSharedLimitOptIn;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    *pi = kSharedLimitOptIn + 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    *pi = 1;
    break;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    *pi = 2;
    break;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    *pi = dev + 1;
    break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
    *pi = 512;
    break;
  default:
    *pi = 0;
    break;
  }
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev) {
  Guard guard;
  if (!initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!isDevice(dev))
    return CUDA_ERROR_INVALID_DEVICE;
  *pctx = contextOf(dev);
  ++(*pctx)->users;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  Guard guard;
  if (!initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!isDevice(dev))
    return CUDA_ERROR_INVALID_DEVICE;
  if (contextOf(dev)->users == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--contextOf(dev)->users == 0 && std::getenv("TP_FAKE_CUDA_LOG"))
    std::fprintf(stderr, "fake-cuda: %zu bytes were copied to the host\n",
                 bytesToHost());
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  Guard guard;
  if (!initialised)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (ctx && ctx->users == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  current = ctx;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {

struct ErrorText {
  CUresult error;
  const char *name, *text;
};

const ErrorText *errorText(CUresult error) {
#define FAKE_ERROR(name, text)                                                 \
  {                                                                            \
    name, #name, text                                                          \
  }
  static const ErrorText all[] = {
      FAKE_ERROR(CUDA_SUCCESS, "no error"),
      FAKE_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
      FAKE_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
      FAKE_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
      FAKE_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
      FAKE_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
      FAKE_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
      FAKE_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
      FAKE_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
                 "no kernel image is available for execution on the device"),
      FAKE_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
      FAKE_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
      FAKE_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
      FAKE_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
      FAKE_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS,
                 "an illegal memory access was encountered"),
      FAKE_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
      FAKE_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                 "part or all of the requested memory range is already mapped"),
      FAKE_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                 "pointer does not correspond to a registered memory region"),
      FAKE_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
      FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                 "operation not permitted when stream is capturing"),
      FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                 "operation failed due to a previous error during capture"),
      FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE,
                 "operation would result in a merge of separate capture "
                 "sequences"),
      FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                 "capture was not ended in the same stream as it began"),
      FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                 "capturing stream has unjoined work"),
      FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                 "dependency created on uncaptured work in another stream"),
      FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                 "operation would make the legacy stream depend on a capturing "
                 "blocking stream"),
      FAKE_ERROR(CUDA_ERROR_CAPTURED_EVENT,
                 "operation not permitted on an event last recorded in a "
                 "capturing stream"),
      FAKE_ERROR(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                 "attempt to terminate a thread-local capture sequence from "
                 "another thread"),
  };
#undef FAKE_ERROR
  for (const ErrorText &entry : all)
    if (entry.error == error)
      return &entry;
  return nullptr;
}

} // namespace

CUresult cuGetErrorName(CUresult error, const char **pStr) {
  const ErrorText *entry = errorText(error);
  *pStr = entry ? entry->name : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **pStr) {
  const ErrorText *entry = errorText(error);
  *pStr = entry ? entry->text : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
