//===- SimdCacheElements.h - keys and values in eight bits ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of a quantised cache, read and written: a part of Simd.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDCACHEELEMENTS_H
#define TPRT_SUPPORT_SIMDCACHEELEMENTS_H

#include "SimdBytes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace {

/// Signed bytes.
struct ByteElements {
  static constexpr int64_t kSize = 1;
  static constexpr float kLargest = 127;
  static Vec load(const char *p) {
    return bytesToFloat(reinterpret_cast<const int8_t *>(p));
  }
  /// The bytes, in the low bits of each lane, of numbers in [-127, 127].
  static IVec encode(Vec x) {
    constexpr float kRound = 12582912.f;
    return __builtin_convertvector(x + kRound - kRound, IVec);
  }
};

/// e4m3. Unlike those of a weight its NaNs are read as what they are: a number
/// that a model computes may be none.
struct E4m3Elements {
  static constexpr int64_t kSize = 1;
  static constexpr float kLargest = 448;
  static Vec load(const char *p) {
    const int8_t *bytes = reinterpret_cast<const int8_t *>(p);
    IVec magnitudes =
        __builtin_convertvector(*reinterpret_cast<const ByteVecU *>(p), IVec) &
        0x7f;
    return select(magnitudes == 0x7f, splat(__builtin_nanf("")),
                  e4m3ToFloat(bytes) * kE4m3Scale);
  }
  /// The bytes of numbers in [-448, 448]. Between a power of two and the next
  /// one there are eight steps, and as many below the least power: so eight for
  /// each power, and the steps from zero, are the code.
  static IVec encode(Vec x) {
    constexpr float kRound = 12582912.f;
    constexpr int32_t kLeast = 121 << 23;
    IVec bits = (IVec)x, magnitude = bits & 0x7fffffff;
    IVec power = magnitude & 0x7f800000;
    power = power > kLeast ? power : IVec{} + kLeast;
    // The reciprocal of a power of two is exact; a NaN has the power of
    // infinity, and is replaced below.
    Vec steps = (Vec)magnitude * (8.0f / (Vec)power) + kRound - kRound;
    IVec isNan = x != x;
    steps = select(isNan, Vec{}, steps);
    IVec code = ((power - kLeast) >> 20) + __builtin_convertvector(steps, IVec);
    return (isNan ? IVec{} + 0x7f : code) | ((bits >> 24) & 0x80);
  }
};

/// Calls `work` with the elements of a cache.
template <typename Work>
inline void withCacheElements(QuantizedType type, Work work) {
  if (type == QuantizedType::I8)
    work(ByteElements());
  else
    work(E4m3Elements());
}

/// Calls work(begin, count) for the vectors of `count` elements, of which the
/// last may have fewer than kLanes.
template <typename Work>
inline void forVectors(int64_t count, Work work) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    work(i, kLanes);
  if (i < count)
    work(i, count - i);
}

/// See Simd::widenBytes.
void widenBytes(QuantizedType type, const void *in, float scale,
                float *__restrict out, int64_t count) {
  const char *from = static_cast<const char *>(in);
  withCacheElements(type, [&](auto elements) {
    forVectors(count, [&](int64_t i, int64_t part) {
      if (part == kLanes)
        return store(out + i, elements.load(from + i) * scale);
      char last[kLanes] = {};
      std::memcpy(last, from + i, part);
      Vec values = elements.load(last) * scale;
      std::memcpy(out + i, &values, part * sizeof(float));
    });
  });
}

/// See Simd::narrowBytes.
void narrowBytes(QuantizedType type, const float *in, float scale, void *out,
                 int64_t count) {
  char *to = static_cast<char *>(out);
  if (scale == 0)
    return void(std::memset(to, 0, count));
  withCacheElements(type, [&](auto elements) {
    constexpr float kLargest = decltype(elements)::kLargest;
    forVectors(count, [&](int64_t i, int64_t part) {
      Vec x = {};
      std::memcpy(&x, in + i, part * sizeof(float));
      x = x / scale;
      // Comparisons leave a NaN as it is.
      x = select(x > splat(kLargest), splat(kLargest), x);
      x = select(x < splat(-kLargest), splat(-kLargest), x);
      ByteVec bytes = __builtin_convertvector(elements.encode(x), ByteVec);
      std::memcpy(to + i, &bytes, part);
    });
  });
}

/// See Simd::byteScale.
float byteScale(QuantizedType type, const float *in, int64_t count) {
  float largest = 0;
  bool isFinite = true;
  for (int64_t i = 0; i < count; ++i) {
    float magnitude = std::fabs(in[i]);
    isFinite &= magnitude <= std::numeric_limits<float>::max();
    largest = std::max(largest, magnitude);
  }
  if (!isFinite)
    return std::numeric_limits<float>::quiet_NaN();
  float scale = 0;
  withCacheElements(type, [&](auto elements) {
    scale = largest / decltype(elements)::kLargest;
  });
  return scale;
}

} // namespace

#endif // TPRT_SUPPORT_SIMDCACHEELEMENTS_H
