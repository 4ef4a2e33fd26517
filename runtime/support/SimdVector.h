//===- SimdVector.h - vectors of one CPU level ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of the loops in Simd.cpp: a vector as wide as the level has
// them, its loads from every float type, and sums over its lanes. Included by
// Simd.cpp and its parts alone; static, as they are.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDVECTOR_H
#define TPRT_SUPPORT_SIMDVECTOR_H

#include "tprt/abi.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16, kPanel = 4, kRows = 6;
#elif defined(__AVX2__)
constexpr int kLanes = 8, kPanel = 2, kRows = 6;
#else
constexpr int kLanes = 4, kPanel = 2, kRows = 4;
#endif

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef int32_t IVec __attribute__((vector_size(kLanes * 4)));
typedef Vec VecU __attribute__((aligned(4), may_alias));

inline Vec load(const float *p) { return *reinterpret_cast<const VecU *>(p); }
inline void store(float *p, Vec v) { *reinterpret_cast<VecU *>(p) = v; }
// 0 is taken away, not added: that is nothing even for -0.
inline Vec splat(float x) { return x - Vec{}; }
inline Vec select(IVec mask, Vec yes, Vec no) { return mask ? yes : no; }
inline Vec maximum(Vec a, Vec b) { return select(a > b, a, b); }

/// exp for arguments up to 0, to two units in the last place; 0 below -87.
inline Vec expNegative(Vec x) {
  Vec n = x * 1.44269504f + 12582912.f - 12582912.f;
  Vec r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  IVec tiny = x < splat(-87.0f);
  // Lanes below the range must not reach the conversion.
  Vec clamped = select(tiny, splat(-126.0f), n);
  IVec exponent = (__builtin_convertvector(clamped, IVec) + 127) << 23;
  return select(tiny, Vec{}, p * (Vec)exponent);
}

/// tanh, to two units in the last place. Near 0, where a quotient would cancel,
/// an odd polynomial (fitted to the relative error up to 0.6).
inline Vec tanhOf(Vec x) {
  Vec z = x * x;
  Vec p = z * -5.883233156e-3f + 2.078514732e-2f;
  p = p * z - 5.378039926e-2f;
  p = p * z + 1.333187968e-1f;
  p = p * z - 3.333329558e-1f;
  Vec size = select(x < Vec{}, -x, x);
  Vec e = expNegative(size * -2.0f);
  Vec far = (1.0f - e) / (1.0f + e);
  return select(size < splat(0.6f), x + x * z * p,
                select(x < Vec{}, -far, far));
}

/// How far ahead loops that wait for memory ask for it, in bytes; 0: not at
/// all. Intel's processors read on later by themselves than memory could, and
/// the later the more arithmetic there is between (Sapphire Rapids). AMD's
/// follow a few streams as fast as memory is (Zen 3 and 4), and lose by being
/// asked, but where much arithmetic is between.
inline int64_t aheadBytes(int64_t intel, int64_t amd) {
  return __builtin_cpu_is("amd") ? amd : intel;
}

/// Asks for the cache lines of `Bytes` that lie `ahead` bytes behind p. What is
/// past the end of an operand is not read.
template <int Bytes>
inline void askAhead(const char *p, int64_t ahead) {
  for (int line = 0; ahead && line < Bytes; line += 64)
    __builtin_prefetch(p + ahead + line);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// The vector with its lanes moved by half, quarter, ... of its width.
template <int Distance, std::size_t... L>
inline Vec rotate(Vec v, std::index_sequence<L...>) {
  return __builtin_shufflevector(v, v, (L + Distance) % kLanes...);
}
template <int Distance>
inline Vec rotate(Vec v) {
  return rotate<Distance>(v, std::make_index_sequence<kLanes>());
}

inline float reduceMax(Vec v) {
  if constexpr (kLanes > 8)
    v = maximum(v, rotate<8>(v));
  if constexpr (kLanes > 4)
    v = maximum(v, rotate<4>(v));
  v = maximum(v, rotate<2>(v));
  return maximum(v, rotate<1>(v))[0];
}

inline float reduceSum(Vec v) {
  if constexpr (kLanes > 8)
    v += rotate<8>(v);
  if constexpr (kLanes > 4)
    v += rotate<4>(v);
  v += rotate<2>(v);
  return (v + rotate<1>(v))[0];
}

/// Lanes of `a` where bit D of their number is clear and of `b` where it is
/// set, each plus the lane of its vector D away: one shuffle and one blend.
template <int D, std::size_t... L>
inline Vec addPairs(Vec a, Vec b, std::index_sequence<L...>) {
  Vec own = __builtin_shufflevector(a, b, (L & D ? kLanes + L : L)...);
  return own +
         __builtin_shufflevector(a, b, (L & D ? kLanes + L - D : L + D)...);
}

/// Lane l is the sum of the lanes of v[l % N]; v is overwritten. N is a power
/// of two, at most kLanes.
template <int N, int D = N / 2>
inline Vec sumEach(Vec *v) {
  for (int i = 0; i < D; ++i)
    v[i] = addPairs<D>(v[i], v[i + D], std::make_index_sequence<kLanes>());
  if constexpr (D > 1)
    return sumEach<N, D / 2>(v);
  Vec sum = v[0];
  if constexpr (kLanes / 2 >= N)
    sum += rotate<kLanes / 2>(sum);
  if constexpr (kLanes / 4 >= N)
    sum += rotate<kLanes / 4>(sum);
  if constexpr (kLanes / 8 >= N)
    sum += rotate<kLanes / 8>(sum);
  if constexpr (kLanes / 16 >= N)
    sum += rotate<kLanes / 16>(sum);
  return sum;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

constexpr int64_t kBytes[] = {
#define TPRT_BYTES(id, name, bytes) bytes,
    TPRT_TYPES(TPRT_BYTES)
#undef TPRT_BYTES
};

inline const void *rowAt(tprt_type type, const void *base, int64_t elements) {
  return static_cast<const char *>(base) + elements * kBytes[type];
}

/// kLanes elements of a float type as f32.
template <tprt_type Type>
inline Vec loadWide(const void *p) {
  if constexpr (Type == TPRT_F32) {
    return load(static_cast<const float *>(p));
  } else if constexpr (Type == TPRT_BF16) {
    typedef uint16_t Narrow
        __attribute__((vector_size(kLanes * 2), aligned(1), may_alias));
    return (Vec)(__builtin_convertvector(*static_cast<const Narrow *>(p), IVec)
                 << 16);
  } else {
    typedef _Float16 Narrow
        __attribute__((vector_size(kLanes * 2), aligned(1), may_alias));
    return __builtin_convertvector(*static_cast<const Narrow *>(p), Vec);
  }
}

/// Calls `work` with the float type as a constant.
template <typename Work>
inline void withFloatType(tprt_type type, Work work) {
  if (type == TPRT_F32)
    work(std::integral_constant<tprt_type, TPRT_F32>());
  else if (type == TPRT_BF16)
    work(std::integral_constant<tprt_type, TPRT_BF16>());
  else
    work(std::integral_constant<tprt_type, TPRT_F16>());
}

} // namespace

#endif // TPRT_SUPPORT_SIMDVECTOR_H
