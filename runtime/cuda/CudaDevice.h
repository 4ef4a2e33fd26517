//===- CudaDevice.h - the device of a rank ----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses and opens the device, and says what the rest must know of it.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_CUDADEVICE_H
#define TPRT_CUDA_CUDADEVICE_H

#include "libraries/Libraries.h"

#include <memory>
#include <string>

namespace tprt {

/// A device with its primary context, which is current on the thread that
/// opened it.
class CudaDevice {
public:
  /// How many devices there are; an error if there is none.
  static Expected<int> count(const Driver &cuda);
  static Expected<CudaDevice> open(const Driver &cuda, int ordinal);

  CudaDevice() = default;

  /// Makes the context current on this thread.
  void makeCurrent() const;
  /// `device 0 (NVIDIA H100, compute capability 9.0)`, for messages.
  std::string describe() const;
  Status checkShared(int64_t bytes, const std::string &what) const;
  struct Free {
    int64_t free, total;
  };
  Expected<Free> memory() const;

  int major = 0, minor = 0;
  std::string name;
  int cacheBytes = 0; ///< of the second-level cache

private:
  /// Gives the primary context back.
  struct Release {
    Release() : Release(nullptr, 0) {}
    Release(const Driver *cuda, CUdevice device) : cuda(cuda), device(device) {}
    void operator()(CUcontext) const {
      cuda->cuDevicePrimaryCtxRelease(device);
    }
    const Driver *cuda;
    CUdevice device;
  };

  const Driver *cuda = nullptr;
  int ordinal = 0;
  std::unique_ptr<CUctx_st, Release> context;
  int maxShared = 0; ///< bytes that a block can ask for
};

} // namespace tprt

#endif // TPRT_CUDA_CUDADEVICE_H
