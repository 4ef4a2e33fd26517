//===- CudaDevice.cpp - the device of a rank ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CudaDevice.h.
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"

using namespace tprt;

Expected<int> CudaDevice::count(const Driver &cuda) {
  TPRT_TRY(cuda.check(cuda.cuInit(0), "cannot use CUDA"));
  int devices = 0;
  TPRT_TRY(
      cuda.check(cuda.cuDeviceGetCount(&devices), "cannot count CUDA devices"));
  if (devices == 0)
    return userError("there is no CUDA device: expected at least one that "
                     "CUDA_VISIBLE_DEVICES does not hide");
  return devices;
}

Expected<CudaDevice> CudaDevice::open(const Driver &cuda, int ordinal) {
  CudaDevice made;
  made.cuda = &cuda;
  made.ordinal = ordinal;
  std::string what = detail::join("cannot use CUDA device ", ordinal);
  CUdevice device = 0;
  TPRT_TRY(cuda.check(cuda.cuDeviceGet(&device, ordinal), what));
  char name[256] = "";
  TPRT_TRY(cuda.check(cuda.cuDeviceGetName(name, sizeof(name), device), what));
  made.name = name;
  auto attribute = [&](CUdevice_attribute key, int &value) {
    return cuda.check(cuda.cuDeviceGetAttribute(&value, key, device), what);
  };
  TPRT_TRY(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, made.major));
  TPRT_TRY(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, made.minor));
  TPRT_TRY(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                     made.maxShared));
  TPRT_TRY(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, made.cacheBytes));
  CUcontext context = nullptr;
  TPRT_TRY(cuda.check(cuda.cuDevicePrimaryCtxRetain(&context, device), what));
  made.context = {context, {&cuda, device}};
  TPRT_TRY(cuda.check(cuda.cuCtxSetCurrent(context), what));
  return made;
}

void CudaDevice::makeCurrent() const {
  if (context)
    cuda->cuCtxSetCurrent(context.get());
}

std::string CudaDevice::describe() const {
  return detail::join("device ", ordinal, " (", name, ", compute capability ",
                      major, ".", minor, ")");
}

Status CudaDevice::checkShared(int64_t bytes, const std::string &what) const {
  if (bytes <= maxShared)
    return {};
  return userError(what, " needs ", bytes,
                   " bytes of shared memory per block; ", describe(), " has ",
                   maxShared);
}

Expected<CudaDevice::Free> CudaDevice::memory() const {
  size_t free = 0, total = 0;
  TPRT_TRY(cuda->check(cuda->cuMemGetInfo(&free, &total),
                       "cannot ask for the device's free memory"));
  return Free{int64_t(free), int64_t(total)};
}
