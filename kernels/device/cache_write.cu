//===- cache_write.cu - Rows into cells of a cache ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block (t, part) writes a part of token t's row, a chunk per thread. Cells are
// read when the kernel runs, so that one recorded launch is right for any
// tokens.
//
//===----------------------------------------------------------------------===//

#include "primitives.h"

TP_SHAPE(int, cells)
TP_SHAPE(int, rowBytes)
/// Blocks of a row.
TP_SHAPE(int, parts)

namespace {
/// Chunks `chunk`, `chunk + stride`, ... of a row.
template <typename Chunk>
__device__ void copyRow(char *to, const char *from, int chunk, int stride) {
#pragma unroll 1
  for (int i = chunk; i < shape::rowBytes() / int(sizeof(Chunk)); i += stride)
    reinterpret_cast<Chunk *>(to)[i] = reinterpret_cast<const Chunk *>(from)[i];
}

__device__ bool isWritten(const int32_t *cells, int cell) {
  bool found = false;
  for (int token = 0; token < int(gridDim.x); ++token)
    found |= cells[token] == cell;
  return found;
}

template <typename Chunk>
__device__ void writeRows(const char *rows, const int32_t *cells,
                          const char *old, char *pool) {
  const int64_t rowBytes = shape::rowBytes();
  const int token = blockIdx.x;
  const int chunk = blockIdx.y * launch::threads() + threadIdx.x;
  const int stride = launch::threads() * shape::parts();
  const unsigned own = cells[token];
  if (own < unsigned(shape::cells()))
    copyRow<Chunk>(pool + own * rowBytes, rows + token * rowBytes, chunk,
                   stride);
  // A pool that does not replace the old one gets what that has in all other
  // cells. A state is updated where it lies, so no step has this work.
  if (old == pool)
    return;
#pragma unroll 1
  for (int cell = token; cell < shape::cells(); cell += gridDim.x)
    if (!isWritten(cells, cell))
      copyRow<Chunk>(pool + cell * rowBytes, old + cell * rowBytes, chunk,
                     stride);
}

/// By chunks where the addresses of the call allow it, else by elements.
template <typename Element, typename Chunk>
__device__ void cacheWrite(const char *rows, const int32_t *cells,
                           const char *old, char *pool) {
  uintptr_t bits = uintptr_t(rows) | uintptr_t(old) | uintptr_t(pool);
  if (bits % sizeof(Chunk) == 0)
    writeRows<Chunk>(rows, cells, old, pool);
  else
    writeRows<Element>(rows, cells, old, pool);
}
} // namespace

// cache_write_<bytes of an element>_<bytes of a chunk>; the parameters are the
// arguments of cache_write in tprt/abi.h.
#define TP_CACHE_WRITE(elementBytes, Element, chunkBytes, Chunk)               \
  extern "C" __global__ void cache_write_##elementBytes##_##chunkBytes(        \
      int64_t, int64_t, int64_t, const char *rows, const int32_t *cells,       \
      const char *old, char *pool) {                                           \
    cacheWrite<Element, Chunk>(rows, cells, old, pool);                        \
  }
TP_CACHE_WRITE(1, uint8_t, 1, uint8_t)
TP_CACHE_WRITE(1, uint8_t, 2, uint16_t)
TP_CACHE_WRITE(1, uint8_t, 4, uint32_t)
TP_CACHE_WRITE(1, uint8_t, 8, uint64_t)
TP_CACHE_WRITE(1, uint8_t, 16, uint4)
TP_CACHE_WRITE(2, uint16_t, 2, uint16_t)
TP_CACHE_WRITE(2, uint16_t, 4, uint32_t)
TP_CACHE_WRITE(2, uint16_t, 8, uint64_t)
TP_CACHE_WRITE(2, uint16_t, 16, uint4)
TP_CACHE_WRITE(4, uint32_t, 4, uint32_t)
TP_CACHE_WRITE(4, uint32_t, 8, uint64_t)
TP_CACHE_WRITE(4, uint32_t, 16, uint4)
#undef TP_CACHE_WRITE
