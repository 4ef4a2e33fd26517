//===- SimdQuantizedDecode.h - packed values to f32 in registers -*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders of one row of a quantised weight, by CPU level. After `begin`, a
// decoder is told the scale and the zero point of a group, then the address of
// a chunk of kChunk elements, which it hands out as kVectors vectors of f32,
// scaled or, if kScalesSums, for sums to be scaled.
//
// Decoders of 4 bits hand elements out in an order of their own, in which x is
// arranged too. With AVX-512, lane l of vector v of a chunk of C elements holds
// nibble v * N + l / D of dword l % D, there being D = C / 8 dwords, of which
// each lane takes N = 16 / D nibbles at once:
//
//   C = 128: D = 16, lane l of vector v is element 8 * l + v
//   C = 32:  D = 4,  lane l of vector v is element 8 * (l % 4) + 4 * v + l / 4
//
// so that a vector is one shift and one look-up of the nibble in a table of the
// sixteen values that the group's scale and zero point give. Below AVX-512, a
// chunk is unpacked to bytes, all even elements first.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDQUANTIZEDDECODE_H
#define TPRT_SUPPORT_SIMDQUANTIZEDDECODE_H

#include "SimdBytes.h"

#include <algorithm>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

/// Groups of so many elements and more scale the sums of their products, which
/// is less work than to scale each element.
constexpr int kLongGroup = 64;

/// The sixteen values of a 4-bit type.
inline const float *codebook(QuantizedType type) {
  static const float unsignedValues[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                           8, 9, 10, 11, 12, 13, 14, 15};
  static const float signedValues[16] = {0,  1,  2,  3,  4,  5,  6,  7,
                                         -8, -7, -6, -5, -4, -3, -2, -1};
  static const float e2m1Values[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                       -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  return type == QuantizedType::U4   ? unsignedValues
         : type == QuantizedType::I4 ? signedValues
                                     : e2m1Values;
}

/// Keeps what was stored in memory: loads that widen what they read are cheaper
/// than moving the parts of a register.
template <typename T>
inline void keepStored(T &values) {
  asm volatile("" : "+m"(values));
}

/// Signed bytes, with a zero point if HasZero.
template <int C, bool HasZero>
struct Int8Decoder {
  static constexpr int kChunk = C, kChunkBytes = C, kVectors = C / kLanes;
  static constexpr bool kIsArranged = false, kScalesSums = C >= kLongGroup;
  const int8_t *at;
  Vec scale, zero;

  void begin(QuantizedType) {}
  void group(float s, float z) {
    scale = splat(s);
    if constexpr (HasZero)
      zero = splat(z);
  }
  void chunk(const char *p) { at = reinterpret_cast<const int8_t *>(p); }
  Vec get(int v) const {
    Vec values = bytesToFloat(at + v * kLanes);
    if constexpr (HasZero)
      values -= zero;
    return kScalesSums ? values : values * scale;
  }
  bool isNan() const { return false; }
};

/// e4m3 bytes. A NaN anywhere makes the row's products NaN, whatever x is: the
/// bytes' magnitudes are doubled, and the largest is kept. Long chunks are
/// taken as words of two elements each, which are brought to f16 in place:
/// vectors 0 and 1 of four are the even ones of 4 * kLanes elements, 2 and 3
/// the odd ones.
template <int C>
struct E4m3Decoder {
  static constexpr int kChunk = C, kChunkBytes = C, kVectors = C / kLanes;
  static constexpr bool kIsArranged = C >= kLongGroup;
  static constexpr bool kScalesSums = kIsArranged;
  static constexpr int kBytesAtOnce = std::min(C, 4 * kLanes);
  typedef uint8_t Watch __attribute__((vector_size(kBytesAtOnce)));
  typedef int16_t Words __attribute__((vector_size(kBytesAtOnce)));
  const int8_t *at;
  Vec scale;
  Watch largest = {};
  alignas(64) Words halves[2 * C / kBytesAtOnce];

  void begin(QuantizedType) {}
  void group(float s, float) { scale = splat(s * kE4m3Scale); }
  void chunk(const char *p) {
    typedef Watch Unaligned __attribute__((aligned(1), may_alias));
    at = reinterpret_cast<const int8_t *>(p);
    for (int i = 0; i < C / kBytesAtOnce; ++i) {
      Watch bytes = reinterpret_cast<const Unaligned *>(p)[i];
      Watch doubled = bytes + bytes;
      largest = doubled > largest ? doubled : largest;
      if constexpr (kIsArranged) {
        Words odd = (Words)bytes;
        halves[2 * i] = toHalf(odd << 8);
        halves[2 * i + 1] = toHalf(odd);
      }
    }
    if constexpr (kIsArranged)
      keepStored(halves);
  }
  Vec get(int v) const {
    if constexpr (!kIsArranged)
      return e4m3ToFloat(at + v * kLanes) * scale;
    return __builtin_convertvector(reinterpret_cast<const HalfVec *>(halves)[v],
                                   Vec);
  }
  bool isNan() const {
    // Byte by byte it would take as long as the products of a short row.
    typedef uint64_t Words64 __attribute__((vector_size(kBytesAtOnce)));
    Words64 equal = (Words64)(Watch)(largest == 0xfe);
    uint64_t found = 0;
    for (size_t i = 0; i < kBytesAtOnce / sizeof(uint64_t); ++i)
      found |= equal[i];
    return found != 0;
  }
  static int element(int v, int l) {
    return v / 4 * kBytesAtOnce + 2 * (v % 2 * kLanes + l) + v % 4 / 2;
  }

private:
  /// From the high byte of each word; see e4m3ToFloat.
  static Words toHalf(Words words) { return (words >> 1) & int16_t(0xbf80); }
};

#if defined(__AVX512F__)

/// True if a decoder of 4 bits must know if they, or zero points, are floats.
constexpr bool kTellsFloats = false;

/// 4-bit values by a table of sixteen.
template <int C, bool IsFloat = false, bool HasFloatZero = false>
struct NibbleDecoder {
  static constexpr int kChunk = C, kChunkBytes = C / 2, kVectors = C / kLanes;
  static constexpr bool kIsArranged = true, kScalesSums = false;
  static constexpr int kDwords = C / 8, kAtOnce = kLanes / kDwords;
  Vec values, table;
  __m512i bits;

  void begin(QuantizedType type) { values = load(codebook(type)); }
  void group(float s, float z) { table = (values - splat(z)) * splat(s); }
  void chunk(const char *p) {
    if constexpr (C == 128)
      bits = _mm512_loadu_si512(p);
    else if constexpr (C == 64)
      bits = _mm512_broadcast_i64x4(
          _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
    else if constexpr (C == 32)
      bits = _mm512_broadcast_i32x4(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
    else
      bits = _mm512_broadcastq_epi64(
          _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p)));
  }
  Vec get(int v) const {
    __m512i index;
    if constexpr (kAtOnce == 1) {
      index = _mm512_srli_epi32(bits, unsigned(4 * v));
    } else {
      IVec shifts;
      for (int l = 0; l < kLanes; ++l)
        shifts[l] = 4 * (v * kAtOnce + l / kDwords);
      index = _mm512_srlv_epi32(bits, (__m512i)shifts);
    }
    // The look-up reads the lowest four bits of each index.
    return (Vec)_mm512_permutexvar_ps(index, (__m512)table);
  }
  bool isNan() const { return false; }
  /// The element of a chunk that lane l of vector v holds.
  static int element(int v, int l) {
    return 8 * (l % kDwords) + v * kAtOnce + l / kDwords;
  }
};

#else

constexpr bool kTellsFloats = true;

/// 4-bit values by way of bytes. Those of e2m1 are doubled, and the scale
/// halved.
template <int C, bool IsFloat = false, bool HasFloatZero = false>
struct NibbleDecoder {
  static constexpr int kChunk = C, kChunkBytes = C / 2, kVectors = C / kLanes;
  static constexpr bool kIsArranged = true, kScalesSums = C >= kLongGroup;
  typedef uint8_t Bytes __attribute__((vector_size(C / 2)));
  Vec scale, floatZero;
  /// Two's complement is the unsigned value of the nibble with its highest bit
  /// flipped, less 8.
  uint8_t flip, origin, zero;
  Bytes unpacked[2];

  void begin(QuantizedType type) {
    flip = type == QuantizedType::I4 ? 0x88 : 0;
    origin = flip / 17;
  }
  void group(float s, float z) {
    scale = splat(IsFloat ? s * 0.5f : s);
    if constexpr (HasFloatZero) {
      floatZero = splat(z);
      zero = origin;
    } else {
      zero = uint8_t(int32_t(z) + origin);
    }
  }
  void chunk(const char *p) {
    typedef Bytes Unaligned __attribute__((aligned(1), may_alias));
    Bytes bytes = *reinterpret_cast<const Unaligned *>(p) ^ flip;
    unpacked[0] = toBytes(bytes & 0x0f);
    unpacked[1] = toBytes(bytes >> 4);
    keepStored(unpacked);
  }
  Vec get(int v) const {
    Vec values =
        bytesToFloat(reinterpret_cast<const int8_t *>(unpacked) + v * kLanes);
    if constexpr (HasFloatZero)
      values -= floatZero;
    return kScalesSums ? values : values * scale;
  }
  bool isNan() const { return false; }
  static int element(int v, int l) {
    int place = v * kLanes + l;
    return place < C / 2 ? 2 * place : 2 * (place - C / 2) + 1;
  }

private:
  /// Twice the magnitude of e2m1 is 0, 1, 2, 3, 4, 6, 8, 12: from 4 on, steps
  /// of 2, and from 6 on of 4.
  Bytes toBytes(Bytes nibbles) const {
    if constexpr (!IsFloat)
      return nibbles - zero;
    Bytes size = nibbles & 7, none = {};
    Bytes wide = (Bytes)(size > 4), widest = (Bytes)(size > 6);
    Bytes twice = size + (wide & (size - 4)) + (widest & 2);
    Bytes sign = (Bytes)((nibbles & 8) != none);
    return (twice ^ sign) - sign;
  }
};

#if defined(__AVX2__)
/// e2m1 by shifts in the order of AVX-512: a look-up of the magnitude, scaled,
/// beside the sign.
template <int C>
struct NibbleDecoder<C, true, false> {
  static constexpr int kChunk = C, kChunkBytes = C / 2, kVectors = C / kLanes;
  static constexpr bool kIsArranged = true, kScalesSums = false;
  static constexpr int kDwords = C / 8, kAtOnce = kLanes / kDwords;
  Vec table;
  IVec bits;

  void begin(QuantizedType) {}
  void group(float s, float) {
    table = load(codebook(QuantizedType::E2M1)) * splat(s);
  }
  void chunk(const char *p) {
    if constexpr (C == 64)
      bits = (IVec)_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
    else if constexpr (C == 32)
      bits = (IVec)_mm256_broadcastsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
    else
      bits = (IVec)_mm256_broadcastq_epi64(
          _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p)));
  }
  Vec get(int v) const {
    IVec shifts;
    for (int l = 0; l < kLanes; ++l)
      shifts[l] = 4 * (v * kAtOnce + l / kDwords);
    __m256i index = _mm256_srlv_epi32((__m256i)bits, (__m256i)shifts);
    // The look-up reads the lowest three bits of each index.
    Vec size = (Vec)_mm256_permutevar8x32_ps((__m256)table, index);
    IVec sign = ((IVec)index << 28) & INT32_MIN;
    return (Vec)((IVec)size ^ sign);
  }
  bool isNan() const { return false; }
  static int element(int v, int l) {
    return 8 * (l % kDwords) + v * kAtOnce + l / kDwords;
  }
};
#endif

#endif

} // namespace

#endif // TPRT_SUPPORT_SIMDQUANTIZEDDECODE_H
