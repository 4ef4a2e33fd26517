//===- SimdQuantized.cpp - loops over quantised weights -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once per CPU level, as Simd.cpp is, and static for the same reason.
// A row's scales and zero points are brought to f32 first. Rows of 4 bits in
// groups of usual sizes are multiplied as integers (SimdFixed.h); others whose
// groups consist of whole chunks of a decoder are multiplied as they are
// decoded; the rest (columns that name their groups, groups of odd sizes, e5m2)
// are dequantised one by one beside the product.
//
//===----------------------------------------------------------------------===//

#include "SimdQuantized.h"
#include "Simd.h"
#include "SimdFixed.h"
#include "SimdQuantizedDecode.h"
#include "SimdVector.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tprt;

namespace {

/// Elements that the longest chunk has: an arranged row is padded to them, and
/// a row of groups to as many lanes as a vector may have.
constexpr int64_t kLongestChunk = 128, kMostLanes = 16;

/// Rows of x that a tile takes at most, and rows of the weight beside X of
/// them: what registers hold of the sums and of what decodes each row.
constexpr int kMostRows = kLanes == 16 ? 8 : 4;
template <int X>
constexpr int kBeside = X == kMostRows ? 2 : 4;

//===----------------------------------------------------------------------===//
// Scales and zero points
//===----------------------------------------------------------------------===//

inline float e8m0ToFloat(uint8_t byte) {
  // 2^-127 is subnormal.
  uint32_t bits = byte == 255 ? 0x7fc00000
                  : byte == 0 ? 0x00400000
                              : uint32_t(byte) << 23;
  return __builtin_bit_cast(float, bits);
}

inline float e4m3ToFloat(uint8_t byte) {
  int exponent = byte >> 3 & 15, mantissa = byte & 7;
  float size = (byte & 0x7f) == 0x7f ? __builtin_nanf("")
               : exponent == 0
                   ? float(mantissa) * 0x1p-9f
                   : __builtin_bit_cast(float, uint32_t(exponent + 120) << 23 |
                                                   uint32_t(mantissa) << 20);
  return byte & 0x80 ? -size : size;
}

/// `count` scales, from the first one of the weight on.
void readScales(const QuantizedWeight &w, int64_t from, int64_t count,
                float *out) {
  const char *base =
      static_cast<const char *>(w.scales) + from * scaleBytes(w.scaleType);
  auto *bytes = reinterpret_cast<const uint8_t *>(base);
  switch (w.scaleType) {
  case ScaleType::F32:
    std::memcpy(out, base, size_t(count) * sizeof(float));
    break;
  case ScaleType::F16:
    simd().widen(TPRT_F16, base, out, count);
    break;
  case ScaleType::BF16:
    simd().widen(TPRT_BF16, base, out, count);
    break;
  case ScaleType::E8M0:
    for (int64_t i = 0; i < count; ++i)
      out[i] = e8m0ToFloat(bytes[i]);
    break;
  case ScaleType::E4M3:
    for (int64_t i = 0; i < count; ++i)
      out[i] = e4m3ToFloat(bytes[i]);
    break;
  }
  if (w.outerScale)
    for (int64_t i = 0; i < count; ++i)
      out[i] *= *w.outerScale;
}

void readZeros(const QuantizedWeight &w, int64_t from, int64_t count,
               float *out) {
  if (w.floatZeros) {
    std::memcpy(out, w.floatZeros + from, size_t(count) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    out[i] = w.zeros ? float(w.zeros[from + i]) : float(w.zero);
}

/// The products of a row's blocks: of an f16 and a byte for each group.
void readBlocks(const QuantizedWeight &w, const void *all, int64_t i,
                float *out) {
  int64_t columns = w.columns(), packed = w.packed;
  auto *at = static_cast<const char *>(all) + i * w.packedBytes();
  for (int64_t g = 0; g < columns; g += packed, at += packed + 2) {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    float factor = float(__builtin_bit_cast(_Float16, bits));
    for (int64_t j = 0; j < packed; ++j)
      out[g + j] = factor * float(int8_t(at[2 + j]));
  }
}

/// Reads a row's scales and zero points from blocks. A group of no scale stands
/// for its minimum: an element is nothing beside a zero point of 2^30.
void readPacked(const QuantizedWeight &w, int64_t i, float *scales,
                float *zeros) {
  int64_t columns = w.columns();
  readBlocks(w, w.scales, i, scales);
  if (!w.zeroBlocks) {
    std::fill_n(zeros, columns, 0.0f);
    return;
  }
  readBlocks(w, w.zeroBlocks, i, zeros);
  float middle = isNibble(w.type) ? 8.0f : 0.0f;
  for (int64_t g = 0; g < columns; ++g) {
    bool isFlat = scales[g] == 0;
    float least = zeros[g];
    zeros[g] = isFlat ? 0x1p30f : least / scales[g] - middle;
    scales[g] = isFlat ? least * 0x1p-30f : scales[g];
  }
}

/// The scales and zero points of row i of the weight, columns() of each.
void readGroups(const QuantizedWeight &w, int64_t i, float *scales,
                float *zeros) {
  if (w.packed)
    return readPacked(w, i, scales, zeros);
  int64_t columns = w.columns();
  readScales(w, w.scaleRow(i) * columns, columns, scales);
  readZeros(w, w.scaleRow(i) * columns, columns, zeros);
}

void rowGroups(const QuantizedWeight &w, int64_t row, int64_t n, float *scales,
               float *zeros) {
  for (int64_t j = 0; j < n; ++j)
    readGroups(w, row + j, scales + j, zeros + j);
}

inline const char *lineOf(const QuantizedWeight &w, int64_t i) {
  return static_cast<const char *>(w.values) + i * w.rowBytes();
}

//===----------------------------------------------------------------------===//
// Rows as f32
//===----------------------------------------------------------------------===//

void decodeBytes(const QuantizedWeight &w, const int8_t *line, float *out) {
  int64_t p = 0;
  for (; p + kLanes <= w.k; p += kLanes)
    store(out + p, bytesToFloat(line + p));
  for (; p < w.k; ++p)
    out[p] = line[p];
}

void decodeE4m3(const QuantizedWeight &w, const int8_t *line, float *out) {
  int64_t p = 0;
  for (; p + kLanes <= w.k; p += kLanes) {
    // 480 is what the byte of a NaN would stand for.
    Vec values = e4m3ToFloat(line + p) * kE4m3Scale;
    IVec isNan = values * values == splat(480.0f * 480.0f);
    store(out + p, select(isNan, splat(__builtin_nanf("")), values));
  }
  for (; p < w.k; ++p)
    out[p] = e4m3ToFloat(uint8_t(line[p]));
}

void decodeE5m2(const QuantizedWeight &w, const int8_t *line, float *out) {
  for (int64_t p = 0; p < w.k; ++p)
    out[p] =
        float(__builtin_bit_cast(_Float16, uint16_t(uint8_t(line[p]) << 8)));
}

void decodeNibbles(const QuantizedWeight &w, const uint8_t *line, float *out) {
  const float *values = codebook(w.type);
  int64_t p = 0;
#if defined(__AVX512F__)
  IVec dwords, shifts;
  for (int l = 0; l < kLanes; ++l) {
    dwords[l] = l / 8;
    shifts[l] = 4 * (l % 8);
  }
  for (; p + kLanes <= w.k; p += kLanes) {
    __m512i bits = _mm512_castsi128_si512(
        _mm_loadl_epi64(reinterpret_cast<const __m128i *>(line + p / 2)));
    bits = _mm512_permutexvar_epi32((__m512i)dwords, bits);
    bits = _mm512_srlv_epi32(bits, (__m512i)shifts);
    store(out + p, (Vec)_mm512_permutexvar_ps(bits, _mm512_loadu_ps(values)));
  }
#endif
  for (; p + 2 <= w.k; p += 2) {
    out[p] = values[line[p / 2] & 15];
    out[p + 1] = values[line[p / 2] >> 4];
  }
  if (p < w.k)
    out[p] = values[line[p / 2] & 15];
}

/// values[i] = (values[i] - zero) * scale.
inline void scaleGroup(float *values, int64_t count, float scale, float zero) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(values + i, (load(values + i) - zero) * scale);
  for (; i < count; ++i)
    values[i] = (values[i] - zero) * scale;
}

/// The elements of row i as numbers, neither zero point nor scale being taken.
void decodeRow(const QuantizedWeight &w, int64_t i, float *out) {
  auto *line = reinterpret_cast<const int8_t *>(lineOf(w, i));
  switch (w.type) {
  case QuantizedType::I8:
    decodeBytes(w, line, out);
    break;
  case QuantizedType::E4M3:
    decodeE4m3(w, line, out);
    break;
  case QuantizedType::E5M2:
    decodeE5m2(w, line, out);
    break;
  default:
    decodeNibbles(w, reinterpret_cast<const uint8_t *>(line), out);
  }
}

/// Row i of the weight; `groups` holds 2 * columns() floats.
void dequantizeRow(const QuantizedWeight &w, int64_t i, float *out,
                   float *groups) {
  float *scales = groups, *zeros = groups + w.columns();
  readGroups(w, i, scales, zeros);
  decodeRow(w, i, out);
  if (w.groupOf) {
    for (int64_t p = 0; p < w.k; ++p)
      out[p] = (out[p] - zeros[w.groupOf[p]]) * scales[w.groupOf[p]];
    return;
  }
  int64_t end = w.groupK == 0 ? w.k : w.groupK - w.firstK;
  for (int64_t p = 0, g = 0; p < w.k; p = end, end += w.groupK, ++g)
    scaleGroup(out + p, std::min(end, w.k) - p, scales[g], zeros[g]);
}

void dequantize(const QuantizedWeight &w, int64_t row, int64_t n, float *out,
                int64_t stride, float *scratch) {
  for (int64_t j = 0; j < n; ++j)
    dequantizeRow(w, row + j, out + j * stride, scratch);
}

/// Differences of elements and zero points have eight bits, as bf16 has.
void split(const QuantizedWeight &w, int64_t row, int64_t n, void *high,
           void *low, float *scale, float *scratch) {
  float *groups = scratch, *line = scratch + 2 * w.columns();
  for (int64_t j = 0; j < n; ++j) {
    char *to = static_cast<char *>(high) + j * w.k * 2;
    if (w.hasRowScales()) {
      readGroups(w, row + j, groups, groups + 1);
      decodeRow(w, row + j, line);
      scaleGroup(line, w.k, 1, groups[1]);
      simd().narrow(TPRT_BF16, line, to, w.k);
      scale[j] = groups[0];
      continue;
    }
    scale[j] = 1;
    dequantizeRow(w, row + j, line, groups);
    simd().narrow(TPRT_BF16, line, to, w.k);
    constexpr int64_t kPiece = 256;
    float nearest[kPiece];
    for (int64_t p = 0; p < w.k; p += kPiece) {
      int64_t piece = std::min(kPiece, w.k - p);
      simd().widen(TPRT_BF16, to + p * 2, nearest, piece);
      for (int64_t i = 0; i < piece; ++i)
        line[p + i] -= nearest[i];
    }
    simd().narrow(TPRT_BF16, line, static_cast<char *>(low) + j * w.k * 2, w.k);
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Elements of the chunks that every group consists of; 0 if none are that
/// short.
int64_t chunkOf(const QuantizedWeight &w) {
  if (w.groupOf || w.type == QuantizedType::E5M2)
    return 0;
  bool isNarrow = isNibble(w.type);
  int64_t longest = isNarrow && kLanes == 16 ? 128 : 64;
  for (int64_t chunk : {longest, int64_t(64), int64_t(32), int64_t(16)}) {
    // Bytes come in long chunks and short ones.
    if (!isNarrow && chunk == 32)
      continue;
    if (w.columns() == 1 || (w.groupK % chunk == 0 && w.firstK % chunk == 0))
      return chunk;
  }
  return 0;
}

/// Calls `work` with a decoder of the weight's type and chunk.
template <typename Work>
void withDecoder(const QuantizedWeight &w, Work work) {
  auto withBytes = [&](auto chunk) {
    constexpr int C = chunk;
    if (w.type == QuantizedType::E4M3)
      work(E4m3Decoder<C>());
    else if (w.zeros || w.hasFloatZeros() || w.zero != 0)
      work(Int8Decoder<C, true>());
    else
      work(Int8Decoder<C, false>());
  };
  int64_t chunk = chunkOf(w);
  if (!isNibble(w.type)) {
    if (chunk == 64)
      withBytes(std::integral_constant<int, 64>());
    else
      withBytes(std::integral_constant<int, 16>());
    return;
  }
  if constexpr (kLanes == 16)
    if (chunk == 128)
      return work(NibbleDecoder<128>());
  auto withNibbles = [&](auto chunk) {
    if constexpr (kTellsFloats) {
      if (w.type == QuantizedType::E2M1)
        return work(NibbleDecoder<chunk, kTellsFloats>());
      if (w.hasFloatZeros())
        return work(NibbleDecoder<chunk, false, kTellsFloats>());
    }
    work(NibbleDecoder<chunk>());
  };
  if (chunk == 64)
    withNibbles(std::integral_constant<int, 64>());
  else if (chunk == 32)
    withNibbles(std::integral_constant<int, 32>());
  else
    withNibbles(std::integral_constant<int, 16>());
}

#if defined(__AVX2__)
/// True if each chunk of integers is of one group.
inline bool hasLongGroups(const QuantizedWeight &w) {
  return w.columns() == 1 ||
         (w.groupK % kFixedChunk == 0 && w.firstK % kFixedChunk == 0);
}
#endif

/// Calls `work` with what multiplies the weight as integers, where something
/// does: 4-bit elements of which every lane has one group.
template <typename Work>
bool withFixed(const QuantizedWeight &w, Work work) {
#if defined(__AVX2__)
  bool hasLanes = w.groupK > 0 && kFixedChunk % w.groupK == 0 &&
                  w.groupK % 8 == 0 && w.firstK % 8 == 0;
  if (!w.inFixedPoint || !isNibble(w.type) || w.groupOf ||
      (!hasLongGroups(w) && !hasLanes))
    return false;
  int32_t origin = w.type == QuantizedType::I4 ? 8 : 0;
  if (w.type == QuantizedType::E2M1)
    work(FixedProducts<true, false>());
  else if (w.zeros || w.hasFloatZeros() || w.zero + origin != 8)
    work(FixedProducts<false, true>());
  else
    work(FixedProducts<false, false>());
  return true;
#else
  return false;
#endif
}

int64_t arrangedWidth(const QuantizedWeight &w) {
  // Rows are not whole pages apart, which would bring them to the same places
  // of a cache.
  int64_t width =
      (w.k + kLongestChunk - 1) / kLongestChunk * kLongestChunk + 16;
  withFixed(
      w, [&](auto products) { width = decltype(products)::Row::width(w.k); });
  return width;
}

void arrange(const QuantizedWeight &w, const float *x, float *out) {
  int64_t k = w.k, width = arrangedWidth(w);
  bool isFixed = withFixed(
      w, [&](auto products) { decltype(products)::Row::bring(x, k, out); });
  if (isFixed)
    return;
  std::memcpy(out, x, size_t(k) * sizeof(float));
  std::fill(out + k, out + width, 0.0f);
  if (chunkOf(w) == 0)
    return;
  withDecoder(w, [&](auto decoder) {
    using Decoder = decltype(decoder);
    if constexpr (Decoder::kIsArranged) {
      constexpr int C = Decoder::kChunk;
      int element[C];
      for (int i = 0; i < C; ++i)
        element[i] = Decoder::element(i / kLanes, i % kLanes);
      for (int64_t p = 0; p < width; p += C)
        for (int i = 0; i < C && p + i < width; ++i)
          out[p + i] = p + element[i] < k ? x[p + element[i]] : 0.0f;
    }
  });
}

/// Floats between the groups of one line and those of the next, padded with
/// groups that scale by zero.
int64_t groupStride(const QuantizedWeight &w) {
  return w.columns() + kMostLanes;
}

int64_t scratchFloats(const QuantizedWeight &w) {
  return 3 * kBeside<1> * groupStride(w) + w.k + kLanes;
}

/// W rows of a weight: their packed values, and their groups' scales, zero
/// points and, where the products have them, rests of zero points, `stride`
/// from one row's to the next.
template <int W>
struct Lines {
  const char *at[W];
  float *scales, *zeros, *rests;
  int64_t columns, stride;
  float *out[W]; ///< of the first row of x
};

/// Copies what a line still has into a chunk of `bytes`, and zeros behind it.
__attribute__((noinline)) const char *copyEnd(const char *line, int64_t left,
                                              int64_t bytes, char *chunk) {
  std::memset(chunk, 0, size_t(bytes));
  std::memcpy(chunk, line, size_t(left));
  return chunk;
}

/// The chunk at column p of a line. What is past the end of a row is zero: a
/// copy is read there. Behind an odd end there is a nibble of nobody's, beside
/// zeros of x.
template <int64_t C, int64_t Bytes>
__attribute__((always_inline)) inline const char *
chunkAt(const char *line, int64_t p, int64_t k, int64_t ahead,
        char (&copy)[Bytes]) {
  const char *at = line + p / C * Bytes;
  if (p + C > k)
    return copyEnd(at, Bytes < C ? (k - p + 1) / 2 : k - p, Bytes, copy);
  askAhead<Bytes>(at, ahead);
  return at;
}

/// Lanes are added in one order, however many rows of x there are.
template <int X>
inline void storeSums(const Vec (&sums)[X], float *out, int64_t stride) {
  Vec each[kMostRows] = {};
  for (int j = 0; j < X; ++j)
    each[j] = sums[j];
  Vec totals = sumEach<kMostRows>(each);
  for (int j = 0; j < X; ++j)
    out[j * stride] = totals[j];
}

/// Products of decoded elements, sums in registers.
template <typename Decoder>
struct DecodedTile {
  static void prepare(const QuantizedWeight &, int64_t, float *, float *,
                      float *) {}

  /// X rows of x with W lines.
  template <int W, int X>
  __attribute__((noinline)) static void
  run(const QuantizedWeight &w, const Lines<W> &lines, const float *x,
      int64_t xStride, int64_t outStride, int64_t ahead) {
    // Sums of a group, if it scales them, and of all.
    Vec sum[W][X] = {}, total[W][X] = {};
    Decoder decoders[W];
    char copies[W][Decoder::kChunkBytes];
    for (int i = 0; i < W; ++i)
      decoders[i].begin(w.type);
    int64_t k = w.k, end = lines.columns == 1 ? k : w.groupK - w.firstK;
    for (int64_t p = 0, g = 0; p < k; ++g, end += w.groupK) {
      for (int i = 0; i < W; ++i)
        decoders[i].group(lines.scales[i * lines.stride + g],
                          lines.zeros[i * lines.stride + g]);
      for (int64_t last = std::min(end, k); p < last; p += Decoder::kChunk) {
        for (int i = 0; i < W; ++i)
          decoders[i].chunk(chunkAt<Decoder::kChunk, Decoder::kChunkBytes>(
              lines.at[i], p, k, ahead, copies[i]));
        for (int v = 0; v < Decoder::kVectors; ++v) {
          Vec left[W];
          for (int i = 0; i < W; ++i)
            left[i] = decoders[i].get(v);
          for (int j = 0; j < X; ++j) {
            Vec right = load(x + j * xStride + p + v * kLanes);
            for (int i = 0; i < W; ++i)
              sum[i][j] += left[i] * right;
          }
        }
      }
      if constexpr (Decoder::kScalesSums)
        for (int i = 0; i < W; ++i)
          for (int j = 0; j < X; ++j) {
            total[i][j] += sum[i][j] * decoders[i].scale;
            sum[i][j] = Vec{};
          }
    }
    for (int i = 0; i < W; ++i) {
      Vec(&sums)[X] = Decoder::kScalesSums ? total[i] : sum[i];
      if (decoders[i].isNan())
        std::fill_n(sums, X, splat(__builtin_nanf("")));
      storeSums(sums, lines.out[i], outStride);
    }
  }
};

#if defined(__AVX2__)
/// The same of elements as integers.
template <typename Products>
struct FixedTile {
  static void prepare(const QuantizedWeight &w, int64_t columns, float *scales,
                      float *zeros, float *rests) {
    Products::prepare(w, columns, scales, zeros, rests);
  }

  template <int W, int X>
  __attribute__((noinline)) static void
  run(const QuantizedWeight &w, const Lines<W> &lines, const float *x,
      int64_t xStride, int64_t outStride, int64_t ahead) {
    constexpr int64_t C = Products::kChunk;
    Vec total[W][X] = {};
    Products products[W];
    const typename Products::Elements unpack(w.type);
    char copy[Products::kChunkBytes];
    // A chunk is of one group, or its lanes are of groups of their own.
    int64_t k = w.k, group = lines.columns == 1 ? k : w.groupK, step = 1;
    int64_t end = group - w.firstK;
    IVec index = {};
    if (!hasLongGroups(w)) {
      for (int l = 0; l < kLanes; ++l)
        index[l] = int32_t((w.firstK + 8 * l) / group);
      step = C / group;
      group = end = C;
    }
    for (int64_t p = 0, g = 0; p < k; g += step, end += group) {
      for (int i = 0; i < W; ++i) {
        int64_t at = i * lines.stride + g;
        products[i].group(lines.scales + at, lines.zeros + at, lines.rests + at,
                          index);
      }
      auto take = [&](auto count) {
        for (int i = 0; i < W; ++i) {
          Unpacked elements[count];
          for (int c = 0; c < count; ++c)
            elements[c] = unpack(chunkAt<C, Products::kChunkBytes>(
                lines.at[i], p + c * C, k, ahead, copy));
          products[i].add(elements, x, xStride, total[i]);
          // Each line reads the digits again: sixteen registers do not hold
          // them, and would go to memory.
          if constexpr (kLanes == 8)
            asm volatile("" ::: "memory");
        }
        p += count * C;
        x += count * Products::Row::kFloats;
      };
      int64_t last = std::min(end, k);
      while (p + (kFixedTogether - 1) * C < last)
        take(std::integral_constant<int, kFixedTogether>());
      if constexpr (kFixedTogether > 1)
        if (p < last)
          take(std::integral_constant<int, 1>());
    }
    // Behind the chunks of x there are the powers of two.
    for (int i = 0; i < W; ++i) {
      for (int j = 0; j < X; ++j)
        total[i][j] *= splat(x[j * xStride]);
      storeSums(total[i], lines.out[i], outStride);
    }
  }
};
#endif

/// All of x passes by while W lines lie in the first cache: one from each of W
/// equal parts, as forStreams of Simd.cpp takes them. Where there are none
/// left, the last one is computed again.
template <typename Tile, int Most>
void dotAs(const QuantizedWeight &w, int64_t row, int64_t n, const float *x,
           int64_t xStride, int64_t rows, float *out, int64_t outStride,
           float *scratch) {
  constexpr int W = kBeside<Most>;
  const int64_t ahead = aheadBytes(rows < 4 ? 2048 : 1024, 0);
  int64_t part = (n + W - 1) / W, columns = w.columns();
  int64_t stride = groupStride(w);
  std::fill_n(scratch, 3 * W * stride, 0.0f);
  for (int64_t i = 0; i < part; ++i) {
    Lines<W> lines = {{},
                      scratch,
                      scratch + W * stride,
                      scratch + 2 * W * stride,
                      columns,
                      stride,
                      {}};
    for (int s = 0; s < W; ++s) {
      int64_t line = std::min(s * part + i, n - 1);
      float *scales = lines.scales + s * stride, *zeros = scales + W * stride;
      lines.at[s] = lineOf(w, row + line);
      readGroups(w, row + line, scales, zeros);
      Tile::prepare(w, columns, scales, zeros, zeros + W * stride);
      lines.out[s] = out + line;
    }
    int64_t r = 0;
    auto take = [&](auto count) {
      for (; r + count <= rows; r += count) {
        Tile::template run<W, count>(w, lines, x + r * xStride, xStride,
                                     outStride, ahead);
        for (float *&to : lines.out)
          to += count * outStride;
      }
    };
    if constexpr (Most >= 8)
      take(std::integral_constant<int, 8>());
    if constexpr (Most >= 4)
      take(std::integral_constant<int, 4>());
    if constexpr (Most >= 2)
      take(std::integral_constant<int, 2>());
    take(std::integral_constant<int, 1>());
  }
}

/// Lines are dequantised beside the product.
void dotPlain(const QuantizedWeight &w, int64_t row, int64_t n, const float *x,
              int64_t xStride, int64_t rows, float *out, int64_t outStride,
              float *scratch) {
  float *line = scratch + 2 * w.columns();
  for (int64_t j = 0; j < n; ++j) {
    dequantizeRow(w, row + j, line, scratch);
    for (int64_t r = 0; r < rows; ++r)
      simd().dot(TPRT_F32, line, 1, x + r * xStride, xStride, 1, w.k,
                 out + r * outStride + j, outStride);
  }
}

void dot(const QuantizedWeight &w, int64_t row, int64_t n, const float *x,
         int64_t xStride, int64_t rows, float *out, int64_t outStride,
         float *scratch) {
#if defined(__AVX2__)
  if (withFixed(w, [&](auto products) {
        dotAs<FixedTile<decltype(products)>, 2>(w, row, n, x, xStride, rows,
                                                out, outStride, scratch);
      }))
    return;
#endif
  if (chunkOf(w) == 0)
    return dotPlain(w, row, n, x, xStride, rows, out, outStride, scratch);
  withDecoder(w, [&](auto decoder) {
    auto run = [&](auto most) {
      dotAs<DecodedTile<decltype(decoder)>, most>(w, row, n, x, xStride, rows,
                                                  out, outStride, scratch);
    };
    if (kMostRows == 8 && rows >= 8)
      run(std::integral_constant<int, kMostRows>());
    else if (rows >= 4)
      run(std::integral_constant<int, 4>());
    else
      run(std::integral_constant<int, 2>());
  });
}

} // namespace

namespace tprt {

const QuantizedLoops &TPRT_JOIN(TPRT_SIMD_LEVEL, Quantized)() {
  static const QuantizedLoops table = {
      arrangedWidth, arrange, scratchFloats, rowGroups, dot, dequantize, split};
  return table;
}

} // namespace tprt
