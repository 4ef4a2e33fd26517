//===- Embedding.cpp - sums of rows by their ids --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivative of an embedding. Each worker takes columns of all rows, so
// that no two write to one place and the order of a sum is that of the tokens,
// however many workers there are.
//
//===----------------------------------------------------------------------===//

#include "HostRank.h"

#include "../support/Parallel.h"

#include <cstring>

using namespace tprt;

int32_t HostFunctions::embedding_backward(tprt_rank *, int64_t tokens,
                                          int64_t rows, int64_t columns,
                                          int64_t idBytes, const void *ids,
                                          const void *cotangent,
                                          const void *into, void *table) {
  auto *sums = static_cast<float *>(table);
  if (into != table)
    parallelFor(
        rows * columns, 1 << 16, [&](int64_t begin, int64_t end, int64_t) {
          size_t bytes = size_t(end - begin) * 4;
          if (into)
            std::memcpy(sums + begin, static_cast<const float *>(into) + begin,
                        bytes);
          else
            std::memset(sums + begin, 0, bytes);
        });
  parallelFor(columns, 64, [&](int64_t begin, int64_t end, int64_t) {
    for (int64_t t = 0; t < tokens; ++t) {
      int64_t id = idBytes == 8 ? static_cast<const int64_t *>(ids)[t]
                                : static_cast<const int32_t *>(ids)[t];
      if (id < 0 || id >= rows)
        continue;
      const float *from = static_cast<const float *>(cotangent) + t * columns;
      for (int64_t c = begin; c < end; ++c)
        sums[id * columns + c] += from[c];
    }
  });
  return 0;
}
