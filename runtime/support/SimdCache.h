//===- SimdCache.h - few queries against a cache ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of Simd.cpp: attention of so few queries that it costs what reading
// keys and values costs. They are read once, where they lie, in the order of
// their cells: all KV heads of a cell together, all queries of a head together.
// The cells that come next are asked for ahead, as no processor guesses the
// order of pages.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDCACHE_H
#define TPRT_SUPPORT_SIMDCACHE_H

#include "Simd.h"
#include "SimdVector.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

using tprt::CacheBlock;
using tprt::kSplitKeys;

/// Keys and queries of a tile of scores: as many sums as a vector has lanes.
constexpr int kTileKeys = 4, kTileQueries = kLanes / kTileKeys;

/// The cells of keys or of values, and how far ahead they are fetched.
struct CellReader {
  const char *base;
  const int64_t *cells;
  int64_t count, headBytes, ahead;

  CellReader(const CacheBlock &b, const char *base)
      : base(base), cells(b.cells), count(b.count),
        headBytes(b.headSize * kBytes[b.type]),
        ahead(std::clamp<int64_t>(kAheadBytes / (b.heads * headBytes), 4, 64)) {
  }
  const char *at(int64_t key, int64_t head) const {
    return base + cells[key] + head * headBytes;
  }
  /// Keys that come after [key, key + size).
  void prefetch(int64_t key, int64_t size, int64_t head) const {
    int64_t end = std::min(key + size + ahead, count);
    for (int64_t i = key + ahead; i < end; ++i)
      for (int64_t byte = 0; byte < headBytes; byte += 64)
        __builtin_prefetch(at(i, head) + byte);
  }

private:
  static constexpr int64_t kAheadBytes = 8192;
};

/// scores[Q rows of kSplitKeys][kTileKeys] of as many keys.
template <tprt_type Type, int Q>
inline void scoreTile(const char *const *keys, const float *q, int64_t size,
                      float *scores) {
  Vec sum[Q * kTileKeys] = {};
  for (int64_t d = 0; d < size; d += kLanes) {
    Vec key[kTileKeys];
    for (int k = 0; k < kTileKeys; ++k)
      key[k] = loadWide<Type>(keys[k] + d * kBytes[Type]);
    for (int i = 0; i < Q; ++i) {
      Vec query = load(q + i * size + d);
      for (int k = 0; k < kTileKeys; ++k)
        sum[i * kTileKeys + k] += query * key[k];
    }
  }
  Vec total = sumEach<Q * kTileKeys>(sum);
  for (int i = 0; i < Q; ++i)
    std::memcpy(scores + i * kSplitKeys,
                reinterpret_cast<const float *>(&total) + i * kTileKeys,
                kTileKeys * sizeof(float));
}

/// Calls step(count as a constant, first) for tiles of at most Most of `rows`.
template <int Most, typename Step>
inline void forTiles(int64_t rows, Step step, int64_t first = 0) {
  for (; first + Most <= rows; first += Most)
    step(std::integral_constant<int, Most>(), first);
  if constexpr (Most > 1)
    if (first < rows)
      forTiles<Most / 2>(rows, step, first);
}

template <tprt_type Type>
void scoreCells(const CacheBlock &b) {
  CellReader reader(b, b.keys);
  for (int64_t j = 0; j < b.count; j += kTileKeys)
    for (int64_t h = 0; h < b.heads; ++h) {
      reader.prefetch(j, kTileKeys, h);
      // The last key stands in for those that the tile lacks.
      const char *keys[kTileKeys];
      for (int k = 0; k < kTileKeys; ++k)
        keys[k] = reader.at(std::min(j + k, b.count - 1), h);
      const float *q = b.q + h * b.rows * b.headSize;
      float *scores = b.scores + h * b.rows * kSplitKeys + j;
      forTiles<kTileQueries>(b.rows, [&](auto queries, int64_t first) {
        scoreTile<Type, queries>(keys, q + first * b.headSize, b.headSize,
                                 scores + first * kSplitKeys);
      });
    }
}

/// out[Q][V vectors] += weights[Q][count] * values[count][V vectors].
template <tprt_type Type, int Q, int V>
inline void valueTile(const char *const *values, int64_t count,
                      const float *weights, float *out, int64_t stride) {
  Vec sum[Q][V];
  for (int i = 0; i < Q; ++i)
    for (int v = 0; v < V; ++v)
      sum[i][v] = load(out + i * stride + v * kLanes);
  for (int64_t k = 0; k < count; ++k) {
    Vec value[V];
    for (int v = 0; v < V; ++v)
      value[v] = loadWide<Type>(values[k] + v * kLanes * kBytes[Type]);
    for (int i = 0; i < Q; ++i) {
      Vec weight = splat(weights[i * kSplitKeys + k]);
      for (int v = 0; v < V; ++v)
        sum[i][v] += weight * value[v];
    }
  }
  for (int i = 0; i < Q; ++i)
    for (int v = 0; v < V; ++v)
      store(out + i * stride + v * kLanes, sum[i][v]);
}

template <tprt_type Type>
void addValues(const CacheBlock &b) {
  constexpr int64_t kKeys = 8;
  CellReader reader(b, b.values);
  int64_t stride = tprt::recordFloats(b.headSize);
  for (int64_t j = 0; j < b.count; j += kKeys)
    for (int64_t h = 0; h < b.heads; ++h) {
      reader.prefetch(j, kKeys, h);
      int64_t count = std::min(kKeys, b.count - j);
      for (int64_t d = 0; d < b.headSize;) {
        const char *values[kKeys];
        for (int64_t k = 0; k < count; ++k)
          values[k] = reader.at(j + k, h) + d * kBytes[Type];
        const float *weights = b.scores + h * b.rows * kSplitKeys + j;
        float *out = b.records + h * b.rows * stride + d;
        auto take = [&](auto vectors) {
          forTiles<4>(b.rows, [&](auto queries, int64_t first) {
            valueTile<Type, queries, vectors>(values, count,
                                              weights + first * kSplitKeys,
                                              out + first * stride, stride);
          });
          d += vectors * kLanes;
        };
        if (d + kPanel * kLanes <= b.headSize)
          take(std::integral_constant<int, kPanel>());
        else
          take(std::integral_constant<int, 1>());
      }
    }
}

} // namespace

#endif // TPRT_SUPPORT_SIMDCACHE_H
