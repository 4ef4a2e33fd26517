//===- CacheWrite.cpp - rows into cells of a cache ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As they are, or quantised on the way. Several workers write parts of every
// cell, so that what comes last for a cell stays, however many there are.
//
//===----------------------------------------------------------------------===//

#include "HostRank.h"

#include "../support/Parallel.h"
#include "../support/QuantizedWeight.h"
#include "../support/Simd.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace tprt;

/// Bytes that are worth a parallel region when they are copied, and numbers
/// when they are quantised.
static constexpr int64_t kCopyBytes = int64_t(256) << 10;
static constexpr int64_t kQuantizedNumbers = int64_t(32) << 10;

/// Copies `old` to the pool, unless it is the same memory.
static void copyPool(const void *old, void *pool, int64_t bytes) {
  if (pool == old)
    return;
  parallelFor(bytes, kCopyBytes, [&](int64_t begin, int64_t end, int64_t) {
    std::memcpy(static_cast<char *>(pool) + begin,
                static_cast<const char *>(old) + begin, end - begin);
  });
}

int32_t HostFunctions::cache_write(tprt_rank *, int64_t tokens,
                                   int64_t cellBytes, int64_t numCells,
                                   const void *rows, const void *cells,
                                   const void *old, void *pool) {
  char *to = static_cast<char *>(pool);
  copyPool(old, pool, cellBytes * numCells);
  int64_t least =
      std::max<int64_t>(64, kCopyBytes / std::max(tokens, int64_t(1)));
  parallelFor(cellBytes, least, [&](int64_t begin, int64_t end, int64_t) {
    for (int64_t t = 0; t < tokens; ++t) {
      int64_t cell = static_cast<const int32_t *>(cells)[t];
      if (cell >= 0 && cell < numCells)
        std::memcpy(to + cell * cellBytes + begin,
                    static_cast<const char *>(rows) + t * cellBytes + begin,
                    end - begin);
    }
  });
  return 0;
}

/// Each worker has some of the heads.
int32_t HostFunctions::quantized_cache_write(
    tprt_rank *, int64_t tokens, int64_t heads, int64_t headSize,
    int64_t numCells, int64_t scaleHeads, int64_t type, int64_t element,
    const void *rows, const void *cells, const void *old, const void *oldScales,
    void *pool, void *scales) {
  auto kind =
      element == TPRT_CACHE_I8 ? QuantizedType::I8 : QuantizedType::E4M3;
  auto *to = static_cast<char *>(pool);
  auto *made = static_cast<float *>(scales);
  auto *given = static_cast<const float *>(oldScales);
  copyPool(old, pool, numCells * heads * headSize);
  if (made)
    copyPool(given, made, numCells * heads * int64_t(sizeof(float)));
  int64_t rowBytes = headSize * typeBytes(tprt_type(type));
  auto write = [&](int64_t cell, int64_t t, int64_t head, float *row) {
    int64_t at = cell * heads + head;
    simd().widen(tprt_type(type),
                 static_cast<const char *>(rows) +
                     (t * heads + head) * rowBytes,
                 row, headSize);
    float scale = made ? made[at] = simd().byteScale(kind, row, headSize)
                       : given[scaleHeads == 1 ? 0 : head];
    simd().narrowBytes(kind, row, scale, to + at * headSize, headSize);
  };
  int64_t least = std::max<int64_t>(
      1, kQuantizedNumbers / std::max<int64_t>(tokens * headSize, 1));
  parallelFor(heads, least, [&](int64_t begin, int64_t end, int64_t) {
    std::vector<float> row(headSize);
    for (int64_t t = 0; t < tokens; ++t) {
      int64_t cell = static_cast<const int32_t *>(cells)[t];
      for (int64_t head = begin; cell >= 0 && cell < numCells && head < end;
           ++head)
        write(cell, t, head, row.data());
    }
  });
  return 0;
}
