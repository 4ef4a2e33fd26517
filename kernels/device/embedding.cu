//===- embedding.cu - Sums of rows by their ids ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivative of a table by rows. The first kernel puts into the table what
// is added to. In the second each token has blocks: where no token before it
// has its id, they add its row of the cotangent and those of later tokens with
// that id, in order, so that no atomic is needed and every run gives the same
// bits. A warp compares 32 ids at a time:
//
//        ids     7 4 7 9 4 7       token 0 adds rows 0, 2 and 5 to row 7 of the
//        first   y y n y n n       table, token 1 rows 1 and 4 to row 4, ...
//
//===----------------------------------------------------------------------===//

#include "primitives.h"

TP_SHAPE(int, tokens)
TP_SHAPE(int64_t, rows)
TP_SHAPE(int, columns)
/// Blocks that copy the table.
TP_SHAPE(int64_t, copyBlocks)
/// Columns that a warp adds up, as the table of families has it.
inline constexpr int kWarpColumns = 512;

namespace {
/// True if a row of each of these can be read by four elements at a time.
__device__ bool isWide(const void *a, const void *b, const void *c) {
  uintptr_t bits = uintptr_t(a) | uintptr_t(b) | uintptr_t(c);
  return shape::columns() % 4 == 0 && bits % sizeof(float4) == 0;
}

template <typename Unit>
__device__ void copyTable(const float *into, float *table) {
  const int64_t stride = shape::copyBlocks() * launch::threads();
  const int64_t count =
      shape::rows() * shape::columns() / (sizeof(Unit) / sizeof(float));
#pragma unroll 1
  for (int64_t i = int64_t(blockIdx.x) * launch::threads() + threadIdx.x;
       i < count; i += stride)
    reinterpret_cast<Unit *>(table)[i] =
        into ? reinterpret_cast<const Unit *>(into)[i] : Unit(0);
}

/// Bit i: token `first` + i, which is before `end`, has this id.
template <typename Id>
__device__ unsigned findId(const Id *ids, int64_t id, int first, int end) {
  int token = first + lane();
  int64_t own = ids[min(token, shape::tokens() - 1)];
  return ballot(token < end && own == id);
}

/// Adds the rows of all tokens of `id`, of which `token` is the first, to the
/// table's row. A thread has a unit of every 32 among the warp's columns.
template <typename Id, typename Unit>
__device__ void addRows(const Id *ids, const float *cotangent, float *table,
                        int token, int64_t id) {
  constexpr int size = sizeof(Unit) / sizeof(float);
  constexpr int slots = kWarpColumns / (kWarp * size);
  const int first =
      (blockIdx.y * (launch::threads() / kWarp) + warp()) * kWarpColumns;
  if (first >= shape::columns())
    return; // all of the warp
  const int column = first + lane() * size;
  auto isThere = [&](int slot) {
    return shape::columns() % kWarpColumns == 0 ||
           column + slot * kWarp * size < shape::columns();
  };
  Unit sums[slots];
  auto row = reinterpret_cast<Unit *>(table + id * shape::columns() + column);
#pragma unroll
  for (int i = 0; i < slots; ++i)
    sums[i] = isThere(i) ? row[i * kWarp] : Unit(0);
#pragma unroll 1
  for (int start = token; start < shape::tokens(); start += kWarp) {
#pragma unroll 1
    for (unsigned found = findId(ids, id, start, shape::tokens()); found;
         found &= found - 1) {
      const int64_t other = start + __builtin_ctz(found);
      auto from = reinterpret_cast<const Unit *>(
          cotangent + other * shape::columns() + column);
#pragma unroll
      for (int i = 0; i < slots; ++i)
        if (isThere(i))
          sums[i] += from[i * kWarp];
    }
  }
#pragma unroll
  for (int i = 0; i < slots; ++i)
    if (isThere(i))
      row[i * kWarp] = sums[i];
}

template <typename Id>
__device__ void addTokens(const Id *ids, const float *cotangent,
                          const float *into, float *table) {
  const int token = blockIdx.x;
  const int64_t id = ids[token];
  if (uint64_t(id) >= uint64_t(shape::rows()))
    return;
  unsigned before = 0;
#pragma unroll 1
  for (int start = 0; start < token; start += kWarp)
    before |= findId(ids, id, start, token);
  if (before)
    return;
  if (isWide(cotangent, into, table))
    addRows<Id, float4>(ids, cotangent, table, token, id);
  else
    addRows<Id, float>(ids, cotangent, table, token, id);
}
} // namespace

// The parameters are the arguments of embedding_backward in tprt/abi.h.
extern "C" __global__ void embedding_copy(int64_t, int64_t, int64_t, int64_t,
                                          const void *, const float *cotangent,
                                          const float *into, float *table) {
  if (into == table)
    return;
  if (isWide(cotangent, into, table))
    copyTable<float4>(into, table);
  else
    copyTable<float>(into, table);
}

#define TP_EMBEDDING_ADD(name, Id)                                             \
  extern "C" __global__ void name(int64_t, int64_t, int64_t, int64_t,          \
                                  const Id *ids, const float *cotangent,       \
                                  const float *into, float *table) {           \
    addTokens<Id>(ids, cotangent, into, table);                                \
  }
TP_EMBEDDING_ADD(embedding_add_i32, int32_t)
TP_EMBEDDING_ADD(embedding_add_i64, int64_t)
#undef TP_EMBEDDING_ADD
