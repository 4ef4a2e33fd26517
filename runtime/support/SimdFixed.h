//===- SimdFixed.h - few rows by 4-bit weights, in integers -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For rows of x of 16 bits. A row is brought to fixed point once: integers of
// 24 bits, which are cut into signed bytes, the digits, and a power of two.
// 4-bit elements are multiplied by digits four at a time where they lie, eight
// elements to a 32-bit lane, and these sums are exact. Each lane is then
// rounded to f32, scaled by its group and added up.
//
// An element of x is off by at most 2^-23 of the row's largest. A row that
// holds a NaN or an infinity counts as NaN.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDFIXED_H
#define TPRT_SUPPORT_SIMDFIXED_H

#include "SimdQuantizedDecode.h"

#include <cmath>

#if defined(__AVX2__)

namespace {

/// Elements of a chunk, which one vector of packed bytes holds.
constexpr int kFixedChunk = 8 * kLanes;

/// Chunks of a group that are added up before they are scaled.
constexpr int kFixedTogether = kLanes == 8 ? 2 : 1;

typedef uint8_t Packed __attribute__((vector_size(kLanes * 4)));
typedef uint16_t PackedWords __attribute__((vector_size(kLanes * 4)));
typedef Packed PackedU __attribute__((aligned(1), may_alias));
typedef IVec IVecU __attribute__((aligned(4), may_alias));

//===----------------------------------------------------------------------===//
// Rows of x
//===----------------------------------------------------------------------===//

constexpr int kDigits = 3;
/// The largest integer that has so many, each at most 127.
constexpr int kLargest = 127 * 0x10101;

/// A chunk of x in memory: for each digit, the highest first, those of even
/// elements and those of odd ones; the sums over a lane's eight elements, times
/// Origin; where HasZeros, these sums as floats. Behind the last chunk there is
/// the power of two.
template <int Origin, bool HasZeros>
struct FixedRow {
  static constexpr int kSums = 2 * kDigits * kLanes,
                       kFloatSums = kSums + kLanes,
                       kFloats = kFloatSums + (HasZeros ? kLanes : 0);

  static int64_t width(int64_t k) {
    return (k + kFixedChunk - 1) / kFixedChunk * kFloats + 16;
  }
  static float &factor(float *row, int64_t k) { return row[width(k) - 16]; }

  static void bring(const float *x, int64_t k, float *out) {
    uint32_t most = 0;
    for (int64_t i = 0; i < k; ++i)
      most = std::max(most, __builtin_bit_cast(uint32_t, x[i]) & 0x7fffffff);
    float largest = __builtin_bit_cast(float, most);
    if (!std::isfinite(largest)) {
      std::fill_n(out, width(k), 0.0f);
      factor(out, k) = __builtin_nanf("");
      return;
    }
    // The factor is no subnormal, nor is what x is multiplied by infinite.
    int shift = most ? std::min(22 - std::ilogb(largest), 126) : 0;
    if (std::ldexp(largest, shift) > kLargest)
      --shift;
    for (int64_t p = 0; p < k; p += kFixedChunk)
      cut(x + p, std::min<int64_t>(kFixedChunk, k - p), std::ldexp(1.0f, shift),
          out + p / kFixedChunk * kFloats);
    factor(out, k) = std::ldexp(1.0f, -shift);
  }

private:
  static void cut(const float *x, int64_t count, float scale, float *out) {
    constexpr int kHalf = kFixedChunk / 2;
    int32_t whole[kFixedChunk] = {};
    for (int64_t i = 0; i < count; ++i)
      whole[i] = int32_t(__builtin_rintf(x[i] * scale));
    for (int l = 0; l < kLanes; ++l) {
      int32_t sum = 0;
      for (int i = 8 * l; i < 8 * l + 8; ++i)
        sum += whole[i];
      reinterpret_cast<int32_t *>(out)[kSums + l] = sum * Origin;
      if constexpr (HasZeros)
        out[kFloatSums + l] = float(sum);
    }
    auto *digits = reinterpret_cast<int8_t *>(out);
    for (int d = kDigits - 1; d >= 0; --d) {
      int8_t *even = digits + 2 * d * kHalf, *odd = even + kHalf;
      for (int i = 0; i < kHalf; ++i) {
        even[i] = int8_t(whole[2 * i]);
        odd[i] = int8_t(whole[2 * i + 1]);
      }
      for (int &value : whole)
        value = (value - int8_t(value)) >> 8;
    }
  }
};

//===----------------------------------------------------------------------===//
// Elements of the weight
//===----------------------------------------------------------------------===//

inline Packed lookUp(Packed table, Packed index) {
#if defined(__AVX512F__)
  return (Packed)_mm512_shuffle_epi8((__m512i)table, (__m512i)index);
#else
  return (Packed)_mm256_shuffle_epi8((__m256i)table, (__m256i)index);
#endif
}

/// The elements of a chunk as unsigned bytes, even ones and odd ones.
struct Unpacked {
  Packed even, odd;
};

/// Makes each element kOrigin more than it is; those of e2m1 are doubled
/// before.
template <bool IsE2m1>
struct Unpacker {
  static constexpr int kOrigin = IsE2m1 ? 12 : 8;
  /// The table of e2m1, or what each byte is flipped by.
  Packed bytes;

  explicit Unpacker(QuantizedType type) {
    bytes = Packed{} + uint8_t(type == QuantizedType::I4 ? 0x88 : 0);
    if constexpr (IsE2m1)
      for (int i = 0; i < kLanes * 4; ++i)
        bytes[i] = uint8_t(kOrigin + 2 * codebook(type)[i % 16]);
  }
  Unpacked operator()(const char *p) const {
    Packed both = *reinterpret_cast<const PackedU *>(p);
    if constexpr (!IsE2m1)
      both ^= bytes;
    Packed even = both & 0x0f, odd = (Packed)((PackedWords)both >> 4) & 0x0f;
    if constexpr (IsE2m1)
      return {lookUp(bytes, even), lookUp(bytes, odd)};
    return {even, odd};
  }
};

/// Sums over the lanes of N chunks, and 256 times `sum`. The digits of one
/// chunk are `stride` vectors from those of the next.
#if defined(__AVX512VNNI__)
template <int N>
inline IVec addDigit(const Unpacked (&w)[N], const PackedU *digits, int stride,
                     IVec sum) {
  sum <<= 8;
  for (int c = 0; c < N; ++c, digits += stride)
    sum = (IVec)_mm512_dpbusd_epi32(_mm512_dpbusd_epi32((__m512i)sum,
                                                        (__m512i)w[c].even,
                                                        (__m512i)digits[0]),
                                    (__m512i)w[c].odd, (__m512i)digits[1]);
  return sum;
}
#else
typedef int16_t Pairs __attribute__((vector_size(kLanes * 4)));

inline Pairs multiplyPairs(Packed w, Packed digits) {
#if defined(__AVX512F__)
  return (Pairs)_mm512_maddubs_epi16((__m512i)w, (__m512i)digits);
#else
  return (Pairs)_mm256_maddubs_epi16((__m256i)w, (__m256i)digits);
#endif
}

inline IVec addPairs(Pairs pairs) {
#if defined(__AVX512F__)
  return (IVec)_mm512_madd_epi16((__m512i)pairs, _mm512_set1_epi16(1));
#else
  return (IVec)_mm256_madd_epi16((__m256i)pairs, _mm256_set1_epi16(1));
#endif
}

template <int N>
inline IVec addDigit(const Unpacked (&w)[N], const PackedU *digits, int stride,
                     IVec sum) {
  // Four products a chunk, none above 24 * 128.
  static_assert(N * 4 * 24 * 128 <= INT16_MAX);
  Pairs pairs = {};
  for (int c = 0; c < N; ++c, digits += stride)
    pairs += multiplyPairs(w[c].even, digits[0]) +
             multiplyPairs(w[c].odd, digits[1]);
  return (sum << 8) + addPairs(pairs);
}
#endif

/// values[index], lane by lane.
inline Vec spread(Vec values, IVec index) {
#if defined(__AVX512F__)
  return (Vec)_mm512_permutexvar_ps((__m512i)index, (__m512)values);
#else
  return (Vec)_mm256_permutevar8x32_ps((__m256)values, (__m256i)index);
#endif
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Products with elements of one kind. A zero point that groups have of their
/// own is taken as an integer in [0, 16], by exact sums, and a rest.
template <bool IsE2m1, bool HasZeros>
struct FixedProducts {
  static constexpr int64_t kChunk = kFixedChunk, kChunkBytes = kFixedChunk / 2;
  using Elements = Unpacker<IsE2m1>;
  using Row = FixedRow<HasZeros ? 1 : Elements::kOrigin, HasZeros>;

  /// A line's scales, zero points and rests, as they come from readGroups and
  /// as `sums` reads them.
  static void prepare(const QuantizedWeight &w, int64_t columns, float *scales,
                      float *zeros, float *rests) {
    if constexpr (IsE2m1)
      for (int64_t g = 0; g < columns; ++g)
        scales[g] *= 0.5f;
    if constexpr (!HasZeros)
      return;
    float origin = w.type == QuantizedType::I4 ? 8 : 0;
    for (int64_t g = 0; g < columns; ++g) {
      float zero = zeros[g] + origin;
      float whole = std::min(std::max(__builtin_rintf(zero), 0.0f), 16.0f);
      rests[g] = scales[g] * (zero - whole);
      zeros[g] = __builtin_bit_cast(float, int32_t(whole));
    }
  }

  Vec scale, rest;
  IVec zero;

  /// From group g on; `index` says which of these a lane belongs to.
  void group(const float *scales, const float *zeros, const float *rests,
             IVec index) {
    scale = spread(load(scales), index);
    if constexpr (HasZeros) {
      zero = (IVec)spread(load(zeros), index);
      rest = spread(load(rests), index);
    }
  }

  /// Adds the products with N chunks of X rows of x, which take turns: the sums
  /// of one wait for each other.
  template <int N, int X>
  void add(const Unpacked (&elements)[N], const float *x, int64_t stride,
           Vec (&total)[X]) const {
    constexpr int kNext = Row::kFloats / kLanes;
    // The differences fit; that the sums before them may wrap does no harm.
    static_assert(N * 8 * 16ll * kLargest <= INT32_MAX);
    IVec exact[X] = {};
    for (int d = 0; d < kDigits; ++d)
      for (int j = 0; j < X; ++j)
        exact[j] = addDigit(
            elements, reinterpret_cast<const PackedU *>(x + j * stride) + 2 * d,
            kNext, exact[j]);
    for (int j = 0; j < X; ++j) {
      IVec ofX = {};
      for (int c = 0; c < N; ++c)
        ofX += *reinterpret_cast<const IVecU *>(x + j * stride + Row::kSums +
                                                c * Row::kFloats);
      if constexpr (HasZeros)
        ofX *= zero;
      total[j] += __builtin_convertvector(exact[j] - ofX, Vec) * scale;
      if constexpr (HasZeros)
        for (int c = 0; c < N; ++c)
          total[j] -=
              load(x + j * stride + Row::kFloatSums + c * Row::kFloats) * rest;
    }
  }
};

} // namespace

#endif
#endif // TPRT_SUPPORT_SIMDFIXED_H
