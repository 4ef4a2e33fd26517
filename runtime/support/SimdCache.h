//===- SimdCache.h - few queries against a cache ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of Simd.cpp: attention of so few queries that it costs what reading
// keys and values costs. They are read once, where they lie, all KV heads of a
// cell together, all queries of a head together. Several keys are read at once,
// each from another place, from where the next key follows: such streams a
// processor fetches ahead by itself, or where it is asked to. Keys that are
// neighbours would share pages of its memory, where it sees no direction.
//
// A vector of scores holds those of Q queries and K = kLanes / Q keys: lane l
// is query l / K and stream l % K. Vector i of a tile has key i of each stream.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDCACHE_H
#define TPRT_SUPPORT_SIMDCACHE_H

#include "Simd.h"
#include "SimdCacheElements.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

using tprt::CacheBlock;
using tprt::kSplitKeys;

/// Elements that are read at once.
constexpr int kPair = 2 * kLanes;
/// Queries of a tile, at most, and streams of the values of a tile.
constexpr int kTileQueries = 4;
template <int Q>
constexpr int kValueStreams = std::max(kLanes / Q, 8);
/// Vectors of values that registers hold beside the sums of Q queries.
template <int Q>
constexpr int kTileVectors = kLanes < 16 && Q == kTileQueries ? 2 : 4;
/// Keys are counted in whole vectors for all streams.
constexpr int64_t kSlots = 16;
static_assert(kSlots % kLanes == 0 && kSlots % kValueStreams<1> == 0);

inline int64_t slotsOf(const CacheBlock &b) {
  return (b.count + kSlots - 1) / kSlots * kSlots;
}

/// kPair elements as f32. Those of bf16 come as the even and the odd ones,
/// which takes half of the operations: queries and results are in that order
/// too.
template <typename Elements>
inline void loadPair(const char *p, Vec *out) {
  out[0] = Elements::load(p);
  out[1] = Elements::load(p + kLanes * Elements::kSize);
}

template <tprt_type Type>
struct FloatElements {
  static constexpr int64_t kSize = kBytes[Type];
  static Vec load(const char *p) { return loadWide<Type>(p); }
};
template <>
inline void loadPair<FloatElements<TPRT_BF16>>(const char *p, Vec *out) {
  typedef IVec Bits __attribute__((aligned(1), may_alias));
  IVec bits = *reinterpret_cast<const Bits *>(p);
  out[0] = (Vec)(bits << 16);
  out[1] = (Vec)(bits & int32_t(0xffff0000));
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

/// The cells of the keys at place i of each stream. The last key stands in for
/// those that there are not.
template <int Streams>
struct Cells {
  const char *now[Streams];
  int64_t ahead = aheadBytes(1024, 0);

  /// The cells are `offsets` from `base`.
  Cells(const CacheBlock &b, const char *base, const int64_t *offsets,
        int64_t i) {
    for (int64_t k = 0; k < Streams; ++k)
      now[k] =
          base + offsets[std::min(k * (slotsOf(b) / Streams) + i, b.count - 1)];
  }
};

/// The scores of a tile, `at` bytes into the cells.
template <typename Elements, int Q, int K>
inline Vec scoreTile(const Cells<K> &cells, int64_t at, const float *q,
                     int64_t size) {
  Vec sum[Q * K] = {};
  for (int64_t d = 0; d < size; d += kPair, at += kPair * Elements::kSize) {
    Vec keys[K][2];
    for (int k = 0; k < K; ++k) {
      askAhead<kPair * Elements::kSize>(cells.now[k] + at, cells.ahead);
      loadPair<Elements>(cells.now[k] + at, keys[k]);
    }
    for (int half = 0; half < 2; ++half)
      for (int i = 0; i < Q; ++i) {
        Vec query = load(q + i * size + d + half * kLanes);
        for (int k = 0; k < K; ++k)
          sum[i * K + k] += keys[k][half] * query;
      }
  }
  return sumEach<Q * K>(sum);
}

/// Calls step(Q as a constant, first, last) for the queries of a KV head: as
/// many as there are whole tiles of Q, then what is left in smaller ones.
template <int Q = kTileQueries, typename Step>
inline void forTiles(int64_t rows, Step step, int64_t first = 0) {
  int64_t last = first + (rows - first) / Q * Q;
  if (first < last)
    step(std::integral_constant<int, Q>(), first, last);
  if constexpr (Q > 1)
    if (last < rows)
      forTiles<Q / 2>(rows, step, last);
}

template <typename Elements>
void scoreCells(const CacheBlock &b) {
  int64_t headBytes = b.headSize * Elements::kSize;
  forTiles(b.rows, [&](auto queries, int64_t first, int64_t last) {
    constexpr int Q = queries, K = kLanes / Q;
    for (int64_t i = 0; i < slotsOf(b) / K; ++i) {
      Cells<K> cells(b, b.keys, b.cells, i);
      for (int64_t h = 0; h < b.heads; ++h) {
        for (int64_t row = h * b.rows + first; row < h * b.rows + last;
             row += Q)
          store(b.scores + row * kSplitKeys + i * kLanes,
                scoreTile<Elements, Q>(cells, h * headBytes,
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
  if (b.softCap != 0)
    for (int64_t i = 0; i < length; ++i)
      store(scores + i * kLanes,
            tanhOf(load(scores + i * kLanes) / b.softCap) * b.softCap);
  if (b.bias) {
    const float *lines[Q];
    for (int q = 0; q < Q; ++q)
      lines[q] = b.bias + ((row + q) / b.rows * b.sharing +
                           (row + q) % b.rows % b.sharing) *
                              kSplitKeys;
    for (int64_t i = 0; i < length; ++i) {
      Vec bias;
      for (int l = 0; l < kLanes; ++l)
        bias[l] = lines[l / K][key[l] + i];
      store(scores + i * kLanes, load(scores + i * kLanes) + bias);
    }
  }
  // Nothing is stored where it is not seen yet: that would be a masked store,
  // which some processors take many cycles for.
  auto seen = [&](int64_t i) {
    IVec at = key + int32_t(i);
    return select((at >= first) & (at < last), load(scores + i * kLanes),
                  splat(-infinity));
  };
  Vec best = splat(-infinity), sum = {};
  for (int64_t i = 0; i < length; ++i)
    best = maximum(seen(i), best);
  best = overGroup<K>(best, [](Vec x, Vec y) { return maximum(x, y); }, lanes);
  Vec origin = select(best == splat(-infinity), Vec{}, best);
  for (int64_t i = 0; i < length; ++i) {
    Vec weight = expNegative(seen(i) - origin);
    store(scores + i * kLanes, weight);
    sum += weight;
  }
  sum = overGroup<K>(sum, [](Vec x, Vec y) { return x + y; }, lanes);
  for (int i = 0; i < Q; ++i) {
    float *record = b.records + (row + i) * tprt::recordFloats(b.valueSize);
    record[b.valueSize] = best[i * K];
    record[b.valueSize + 1] = sum[i * K];
  }
}

/// out[Q][V vectors] += weights * values of the streams, of which `Runs` follow
/// each other in one stream of the scores: `run` weights lie between them.
template <typename Elements, int Q, int V>
inline void valueTile(const Cells<kValueStreams<Q>> &cells, int64_t at,
                      const float *weights, int64_t run, float *out,
                      int64_t stride) {
  constexpr int K = kLanes / Q, Runs = kValueStreams<Q> / K;
  Vec sum[Q][V];
  for (int i = 0; i < Q; ++i)
    for (int v = 0; v < V; ++v)
      sum[i][v] = load(out + i * stride + v * kLanes);
  // As a loop: unrolled, it would be scheduled past what registers hold.
#pragma GCC unroll 1
  for (int begin = 0; begin < K; ++begin)
    for (int r = 0; r < Runs; ++r) {
      Vec value[V];
      const char *line = cells.now[begin * Runs + r] + at;
      askAhead<V * kLanes * Elements::kSize>(line, cells.ahead);
      for (int v = 0; v < V; v += 2)
        loadPair<Elements>(line + v * kLanes * Elements::kSize, value + v);
      for (int i = 0; i < Q; ++i) {
        Vec weight = splat(weights[r * run + begin + i * K]);
        for (int v = 0; v < V; ++v)
          sum[i][v] += weight * value[v];
      }
    }
  for (int i = 0; i < Q; ++i)
    for (int v = 0; v < V; ++v)
      store(out + i * stride + v * kLanes, sum[i][v]);
}

template <typename Elements>
void addValues(const CacheBlock &b) {
  int64_t stride = tprt::recordFloats(b.valueSize), slots = slotsOf(b);
  int64_t headBytes = b.valueSize * Elements::kSize;
  forTiles(b.rows, [&](auto queries, int64_t first, int64_t last) {
    constexpr int Q = queries, Streams = kValueStreams<Q>;
    auto take = [&](const auto &cells, int64_t row, int64_t j, auto vectors,
                    int64_t d) {
      valueTile<Elements, Q, vectors>(
          cells, row / b.rows * headBytes + d * Elements::kSize,
          b.scores + row * kSplitKeys + j * kLanes, slots / Streams * kLanes,
          b.records + row * stride + d, stride);
      return d + vectors * kLanes;
    };
    for (int64_t j = 0; j < slots / Streams; ++j) {
      Cells<Streams> cells(b, b.values, b.valueCells, j);
      for (int64_t h = 0; h < b.heads; ++h) {
        for (int64_t row = h * b.rows + first; row < h * b.rows + last;
             row += Q) {
          int64_t d = 0;
          while (d + kTileVectors<Q> * kLanes <= b.valueSize)
            d = take(cells, row, j,
                     std::integral_constant<int, kTileVectors<Q>>(), d);
          if (d < b.valueSize)
            take(cells, row, j, std::integral_constant<int, 2>(), d);
        }
      }
    }
  });
}

/// Multiplies the scores of all queries of a KV head by what each cell's line
/// of `scales` [heads][kSplitKeys] has for it.
template <int Q>
void scaleTile(const CacheBlock &b, int64_t row, const float *scales) {
  constexpr int K = kLanes / Q;
  int64_t length = slotsOf(b) / K;
  float *scores = b.scores + row * kSplitKeys;
  const float *line = scales + row / b.rows * kSplitKeys;
  for (int64_t i = 0; i < length; ++i) {
    Vec scale;
    for (int l = 0; l < kLanes; ++l)
      scale[l] = line[std::min(l % K * length + i, b.count - 1)];
    store(scores + i * kLanes, load(scores + i * kLanes) * scale);
  }
}

/// Records are zero before.
template <typename Elements>
void attendCells(const CacheBlock &b) {
  scoreCells<Elements>(b);
  for (int64_t h = 0; h < b.heads; ++h)
    forTiles(b.rows, [&](auto queries, int64_t first, int64_t last) {
      for (int64_t row = h * b.rows + first; row < h * b.rows + last;
           row += queries) {
        if (b.keyScales)
          scaleTile<queries>(b, row, b.keyScales);
        weighTile<queries>(b, row);
        if (b.valueScales)
          scaleTile<queries>(b, row, b.valueScales);
      }
    });
  addValues<Elements>(b);
}

/// See Simd::attendCache.
void attendCache(const CacheBlock &b) {
  int64_t rows = b.heads * b.rows, stride = tprt::recordFloats(b.valueSize);
  bool isSplit = !b.element && b.type == TPRT_BF16;
  auto lanes = std::make_index_sequence<kLanes>();
  if (isSplit)
    for (int64_t i = 0; i < rows * b.headSize; i += kPair)
      splitPair(b.q + i, lanes);
  std::fill_n(b.records, rows * stride, 0.0f);
  for (int64_t r = 0; r < rows; ++r)
    b.records[r * stride + b.valueSize] = -__builtin_inff();
  if (b.count > 0 && b.element)
    withCacheElements(
        *b.element, [&](auto elements) { attendCells<decltype(elements)>(b); });
  else if (b.count > 0)
    withFloatType(b.type,
                  [&](auto type) { attendCells<FloatElements<type()>>(b); });
  if (isSplit)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t d = 0; d < b.valueSize; d += kPair)
        joinPair(b.records + r * stride + d, lanes);
}

} // namespace

#endif // TPRT_SUPPORT_SIMDCACHE_H
