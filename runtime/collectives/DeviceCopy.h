//===- DeviceCopy.h - the copies of a plan, on a device ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of a plan (Transfer.h) that move nothing between ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_DEVICECOPY_H
#define TPRT_COLLECTIVES_DEVICECOPY_H

#include "../cuda/libraries/Libraries.h"
#include "Transfer.h"

namespace tprt {

/// Enqueues a Copy or a Zero.
inline CUresult enqueueCopy(const Driver &cuda, const TransferStep &step,
                            CUdeviceptr from, CUdeviceptr to, CUstream stream) {
  if (step.kind == TransferStep::Kind::Zero)
    return cuda.cuMemsetD8Async(to, 0, size_t(step.width), stream);
  if (step.rows == 1)
    return from == to
               ? CUDA_SUCCESS
               : cuda.cuMemcpyDtoDAsync(to, from, size_t(step.width), stream);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.srcPitch = size_t(step.from.pitch);
  copy.dstDevice = to;
  copy.dstPitch = size_t(step.to.pitch);
  copy.WidthInBytes = size_t(step.width);
  copy.Height = size_t(step.rows);
  return cuda.cuMemcpy2DAsync(&copy, stream);
}

} // namespace tprt

#endif // TPRT_COLLECTIVES_DEVICECOPY_H
