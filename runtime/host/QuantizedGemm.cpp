//===- QuantizedGemm.cpp - products by quantised weights ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of the table: what the manifest says of the weight, as the
// engine reads it.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"

using namespace tprt;

int32_t HostFunctions::quantized_gemm(tprt_rank *rank, int32_t id, int64_t rows,
                                      const void *x, int64_t xStride,
                                      const void *values, const void *scales,
                                      const void *zeros, const void *groups,
                                      const void *outerScale, const void *bias,
                                      const void *residual, void *y,
                                      int64_t yStride) {
  auto &host = *static_cast<HostRank *>(rank);
  return host.traced(Timeline::Kind::Gemm, id, host.layer, [&]() -> Status {
    const auto &gemms = host.manifest.gemms;
    if (id < 0 || id >= int64_t(gemms.size()) || !gemms[size_t(id)].quantized)
      return internalError("gemm ", id, " has no quantised weight");
    const Gemm &gemm = gemms[size_t(id)];
    const QuantizedGemm &q = *gemm.quantized;
    QuantizedWeight weight;
    weight.type = q.type;
    weight.n = gemm.n;
    weight.k = gemm.k;
    weight.values = values;
    weight.scaleType = q.scaleType;
    weight.scales = scales;
    weight.groupN = q.groupN;
    weight.groupK = q.groupK;
    weight.packed = q.packed;
    if (q.packed)
      weight.zeroBlocks = zeros;
    else if (q.hasFloatZeros)
      weight.floatZeros = static_cast<const float *>(zeros);
    else
      weight.zeros = static_cast<const int8_t *>(zeros);
    weight.groupOf = static_cast<const int32_t *>(groups);
    weight.groups = groups ? q.groups : 0;
    weight.meetsIntegers = q.hasIntegers;
    weight.outerScale = static_cast<const float *>(outerScale);
    return host.engine<GemmEngine>(TPRT_SLOT_gemm)
        .run({id, rows, x, xStride, nullptr, bias, residual, y, yStride},
             weight);
  });
}
