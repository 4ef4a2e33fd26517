//===- ParameterLoader.cpp - parameters to the device ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ParameterLoader.h.
//
//===----------------------------------------------------------------------===//

#include "ParameterLoader.h"

#include "../rank/Rank.h"

#include <algorithm>

using namespace tprt;

Expected<int64_t> tprt::loadParameters(
    const Driver &cuda, const Manifest &manifest, const ParameterPlan &plan,
    const Weights &weights, const std::vector<int64_t> &coordinates,
    CUdeviceptr base, CUstream stream, const AwaitEvent &await,
    const std::function<void(int64_t)> &progress, int64_t pinnedBytes) {
  // A row is the smallest piece.
  int64_t bytes = std::min(plan.bytes, pinnedBytes);
  auto rowBytes = [](const Parameter &p) { return p.localBytes(1); };
  for (const Parameter &p : manifest.parameters)
    bytes = std::max(bytes, rowBytes(p));
  PinnedBytes buffers[2];
  Event copied[2];
  for (int b : {0, 1}) {
    TPRT_ASSIGN(buffers[b], allocatePinned(cuda, bytes));
    TPRT_ASSIGN(copied[b], makeEvent(cuda));
  }

  /// The copy that used this buffer before; success if there was none.
  auto settle = [&](int turn) -> Status {
    Status status = await(copied[turn].get());
    if (!status.ok())
      for (PinnedBytes &buffer : buffers)
        (void)buffer.release();
    return status;
  };

  int64_t read = 0;
  int turn = 0;
  for (const ParameterPlan::Tensor &tensor : plan.tensors) {
    const Parameter &p = manifest.parameters[tensor.parameter];
    int64_t rows = p.localShape.empty() ? 1 : p.localShape[0];
    int64_t row = rowBytes(p), step = std::max<int64_t>(1, bytes / row);
    std::string what =
        "cannot load '" + p.nameOf(0, tensor.instance) + "' to the device";
    for (int64_t first = 0; first < rows; first += step, turn ^= 1) {
      int64_t count = std::min(step, rows - first);
      void *staging = buffers[turn].get();
      TPRT_TRY(settle(turn).in(what));
      TPRT_ASSIGN(auto bytes, weights.load(tensor.parameter, tensor.instance,
                                           coordinates, staging, first, count));
      read += bytes;
      TPRT_TRY(cuda.check(
          cuda.cuMemcpyHtoDAsync(base + tensor.offset + first * row, staging,
                                 size_t(count * row), stream),
          what));
      TPRT_TRY(
          cuda.check(cuda.cuEventRecord(copied[turn].get(), stream), what));
      progress(tensor.offset + (first + count) * row);
    }
  }
  for (int turn : {0, 1})
    TPRT_TRY(settle(turn).in("cannot load the parameters to the device"));
  return read;
}
