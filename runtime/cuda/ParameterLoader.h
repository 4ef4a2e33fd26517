//===- ParameterLoader.h - parameters to the device -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a rank's blocks of the checkpoint, piece by piece, into one of two
// pinned buffers while the other is copied to the device.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_PARAMETERLOADER_H
#define TPRT_CUDA_PARAMETERLOADER_H

#include "../tensors/ParameterPlan.h"
#include "../tensors/Weights.h"
#include "libraries/Libraries.h"

#include <functional>

namespace tprt {

/// Bytes of each of the two pinned buffers.
constexpr int64_t kPinnedBytes = int64_t(32) << 20;

/// Fills the block at `base` by way of `stream`; returns, when all is there,
/// the bytes read from the checkpoint. After an error of `await` the pinned
/// buffers are left to the device.
Expected<int64_t> loadParameters(const Driver &cuda, const Manifest &manifest,
                                 const ParameterPlan &plan,
                                 const Weights &weights,
                                 const std::vector<int64_t> &coordinates,
                                 CUdeviceptr base, CUstream stream,
                                 const AwaitEvent &await,
                                 const std::function<void(int64_t)> &progress,
                                 int64_t pinnedBytes = kPinnedBytes);

} // namespace tprt

#endif // TPRT_CUDA_PARAMETERLOADER_H
