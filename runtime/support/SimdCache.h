//===- SimdCache.h - few queries against a cache ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of Simd.cpp: attention of so few queries that it costs what reading
// keys and values costs. They are read once, where they lie, all KV heads of a
// cell together, all queries of a head together. Several keys are read at once,
// each from another place, from where the next key follows: the processor
// fetches such streams ahead by itself. Keys that are neighbours would share
// pages of its memory, where it sees no direction.
//
// A vector of scores holds those of Q queries and K = kLanes / Q keys: lane l
// is query l / K and stream l % K. Vector i of a tile has key i of each stream.
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

/// Elements that are read at once.
constexpr int kPair = 2 * kLanes;
/// Queries of a tile, at most, and streams of the values of a tile.
constexpr int kTileQueries = kLanes / 4, kValueStreams = 8;
/// Keys are counted in whole vectors for all streams.
constexpr int64_t kSlots = 16;
static_assert(kSlots % kLanes == 0 && kSlots % kValueStreams == 0);

inline int64_t slotsOf(const CacheBlock &b) {
  return (b.count + kSlots - 1) / kSlots * kSlots;
}

/// kPair elements as f32. Those of bf16 come as the even and the odd ones,
/// which takes half of the operations: queries and results are in that order
/// too.
template <tprt_type Type>
inline void loadPair(const char *p, Vec *out) {
  if constexpr (Type == TPRT_BF16) {
    typedef IVec Bits __attribute__((aligned(1), may_alias));
    IVec bits = *reinterpret_cast<const Bits *>(p);
    out[0] = (Vec)(bits << 16);
    out[1] = (Vec)(bits & int32_t(0xffff0000));
  } else {
    out[0] = loadWide<Type>(p);
    out[1] = loadWide<Type>(p + kLanes * kBytes[Type]);
  }
}

template <size_t... L>
inline void splitPair(float *p, std::index_sequence<L...>) {
  Vec a = load(p), b = load(p + kLanes);
  store(p, __builtin_shufflevector(a, b, (2 * L)...));
  store(p + kLanes, __builtin_shufflevector(a, b, (2 * L + 1)...));
}
template <size_t... L>
inline void joinPair(float *p, std::index_sequence<L...>) {
  Vec a = load(p), b = load(p + kLanes);
  store(p, __builtin_shufflevector(a, b, (L / 2 + L % 2 * kLanes)...));
  store(p + kLanes, __builtin_shufflevector(
                        a, b, (kLanes / 2 + L / 2 + L % 2 * kLanes)...));
}

/// The cells of the keys at place i of each stream, and those to fetch
/// meanwhile. The last key stands in for those that there are not.
template <int Streams>
struct Cells {
  const char *now[Streams], *ahead[Streams];

  Cells(const CacheBlock &b, const char *base, int64_t i) {
    int64_t length = slotsOf(b) / Streams;
    int64_t bytes = Streams * b.heads * b.headSize * kBytes[b.type];
    int64_t next = i + std::max<int64_t>(kAheadBytes / bytes, 1);
    for (int k = 0; k < Streams; ++k) {
      int64_t begin = k * length, last = b.count - 1;
      now[k] = base + b.cells[std::min(begin + i, last)];
      ahead[k] =
          base + b.cells[std::min(begin + std::min(next, length - 1), last)];
    }
  }
  template <tprt_type Type>
  void fetch(int stream, int64_t at) const {
    __builtin_prefetch(ahead[stream] + at);
    if constexpr (kPair * kBytes[Type] > 64)
      __builtin_prefetch(ahead[stream] + at + 64);
  }

private:
  static constexpr int64_t kAheadBytes = 8192;
};

/// The scores of a tile, `at` bytes into the cells.
template <tprt_type Type, int Q, int K>
inline Vec scoreTile(const Cells<K> &cells, int64_t at, const float *q,
                     int64_t size) {
  Vec sum[Q * K] = {};
  for (int64_t d = 0; d < size; d += kPair, at += kPair * kBytes[Type])
    for (int k = 0; k < K; ++k) {
      Vec key[2];
      cells.template fetch<Type>(k, at);
      loadPair<Type>(cells.now[k] + at, key);
      for (int half = 0; half < 2; ++half)
        for (int i = 0; i < Q; ++i)
          sum[i * K + k] += key[half] * load(q + i * size + d + half * kLanes);
    }
  return sumEach<Q * K>(sum);
}

/// Calls step(Q as a constant, first) for tiles of the queries of a KV head.
template <int Q = kTileQueries, typename Step>
inline void forTiles(int64_t rows, Step step, int64_t first = 0) {
  for (; first + Q <= rows; first += Q)
    step(std::integral_constant<int, Q>(), first);
  if constexpr (Q > 1)
    if (first < rows)
      forTiles<Q / 2>(rows, step, first);
}

template <tprt_type Type>
void scoreCells(const CacheBlock &b) {
  forTiles(b.rows, [&](auto queries, int64_t first) {
    constexpr int Q = queries, K = kLanes / Q;
    for (int64_t i = 0; i < slotsOf(b) / K; ++i) {
      Cells<K> cells(b, b.keys, i);
      for (int64_t h = 0; h < b.heads; ++h) {
        int64_t row = h * b.rows + first;
        store(b.scores + row * kSplitKeys + i * kLanes,
              scoreTile<Type, Q>(cells, h * b.headSize * kBytes[Type],
                                 b.q + row * b.headSize, b.headSize));
      }
    }
  });
}

/// Each lane becomes what `combine` makes of its group of K.
template <int K, typename Combine, size_t... L>
inline Vec overGroup(Vec v, Combine combine, std::index_sequence<L...> lanes) {
  if constexpr (K > 1)
    v = overGroup<K / 2>(
        combine(v, __builtin_shufflevector(v, v, (L ^ (K / 2))...)), combine,
        lanes);
  return v;
}

/// Turns a tile's scores into weights, relative to the largest of each query;
/// writes those and their sums to the records. What a query does not see weighs
/// nothing; a NaN, which no comparison finds, stays.
template <int Q>
void weighTile(const CacheBlock &b, int64_t row) {
  constexpr int K = kLanes / Q;
  const float infinity = __builtin_inff();
  auto lanes = std::make_index_sequence<kLanes>();
  int64_t length = slotsOf(b) / K;
  IVec key, first, last;
  for (int l = 0; l < kLanes; ++l) {
    key[l] = int32_t(l % K * length);
    first[l] = b.first[row % b.rows + l / K];
    last[l] = b.last[row % b.rows + l / K];
  }
  float *scores = b.scores + row * kSplitKeys;
  Vec best = splat(-infinity), sum = {};
  for (int64_t i = 0; i < length; ++i, key += 1) {
    Vec seen = select((key >= first) & (key < last), load(scores + i * kLanes),
                      splat(-infinity));
    store(scores + i * kLanes, seen);
    best = maximum(seen, best);
  }
  best = overGroup<K>(best, [](Vec x, Vec y) { return maximum(x, y); }, lanes);
  Vec origin = select(best == splat(-infinity), Vec{}, best);
  for (int64_t i = 0; i < length; ++i) {
    Vec weight = expNegative(load(scores + i * kLanes) - origin);
    store(scores + i * kLanes, weight);
    sum += weight;
  }
  sum = overGroup<K>(sum, [](Vec x, Vec y) { return x + y; }, lanes);
  for (int i = 0; i < Q; ++i) {
    float *record = b.records + (row + i) * tprt::recordFloats(b.headSize);
    record[b.headSize] = best[i * K];
    record[b.headSize + 1] = sum[i * K];
  }
}

/// out[Q][V vectors] += weights * values of the streams. Weight s of query i is
/// weights[places[s] + i * K].
template <tprt_type Type, int Q, int V>
inline void valueTile(const Cells<kValueStreams> &cells, int64_t at,
                      const float *weights, const int64_t *places, float *out,
                      int64_t stride) {
  constexpr int K = kLanes / Q;
  Vec sum[Q][V];
  for (int i = 0; i < Q; ++i)
    for (int v = 0; v < V; ++v)
      sum[i][v] = load(out + i * stride + v * kLanes);
  for (int s = 0; s < kValueStreams; ++s) {
    Vec value[V];
    for (int v = 0; v < V; v += 2) {
      int64_t from = at + v * kLanes * kBytes[Type];
      cells.fetch<Type>(s, from);
      loadPair<Type>(cells.now[s] + from, value + v);
    }
    for (int i = 0; i < Q; ++i) {
      Vec weight = splat(weights[places[s] + i * K]);
      for (int v = 0; v < V; ++v)
        sum[i][v] += weight * value[v];
    }
  }
  for (int i = 0; i < Q; ++i)
    for (int v = 0; v < V; ++v)
      store(out + i * stride + v * kLanes, sum[i][v]);
}

template <tprt_type Type, int Q>
void addTiles(const CacheBlock &b, int64_t first) {
  constexpr int K = kLanes / Q;
  int64_t stride = tprt::recordFloats(b.headSize), slots = slotsOf(b);
  int64_t length = slots / K;
  for (int64_t j = 0; j < slots / kValueStreams; ++j) {
    Cells<kValueStreams> cells(b, b.values, j);
    int64_t places[kValueStreams];
    for (int s = 0; s < kValueStreams; ++s) {
      int64_t key = s * (slots / kValueStreams) + j;
      places[s] = key % length * kLanes + key / length;
    }
    for (int64_t h = 0; h < b.heads; ++h)
      for (int64_t d = 0; d < b.headSize;) {
        int64_t row = h * b.rows + first;
        auto take = [&](auto vectors) {
          valueTile<Type, Q, vectors>(cells,
                                      (h * b.headSize + d) * kBytes[Type],
                                      b.scores + row * kSplitKeys, places,
                                      b.records + row * stride + d, stride);
          d += vectors * kLanes;
        };
        if (d + 2 * kPair <= b.headSize)
          take(std::integral_constant<int, 4>());
        else
          take(std::integral_constant<int, 2>());
      }
  }
}

/// Records are zero before.
template <tprt_type Type>
void attendCells(const CacheBlock &b) {
  scoreCells<Type>(b);
  for (int64_t h = 0; h < b.heads; ++h)
    forTiles(b.rows, [&](auto queries, int64_t first) {
      weighTile<queries>(b, h * b.rows + first);
    });
  forTiles(b.rows, [&](auto queries, int64_t first) {
    addTiles<Type, queries>(b, first);
  });
}

} // namespace

#endif // TPRT_SUPPORT_SIMDCACHE_H
