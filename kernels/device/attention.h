//===- attention.h - What every attention kernel shares ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows, the keys that they see, and how scores become powers of 2. Row r of a
// KV head is query r / g of head r % g of the g query heads that share it, so
// that they read its keys and values once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_ATTENTION_H
#define TP_KERNELS_DEVICE_ATTENTION_H

#include "primitives.h"

TP_SHAPE(int, batch)
TP_SHAPE(int, queries)     ///< of a batch entry
TP_SHAPE(int, keyCapacity) ///< keys of a batch entry that there is memory for
TP_SHAPE(int, keyHeads)
TP_SHAPE(int, sharing) ///< query heads of a KV head
TP_SHAPE(int, headSize)
TP_SHAPE(int, valueSize)
TP_SHAPE(bool, causal)
/// Keys that a causal query sees at most; of others, half to either side. 0:
/// all.
TP_SHAPE(int, window)
TP_SHAPE(float, scale)
TP_SHAPE(float, softCap)     ///< 0: none
TP_SHAPE(int, maskBytes)     ///< of an element of the mask; 0: no mask
TP_SHAPE(int, sinkType)      ///< 0: no sinks, 1: f32, 2: bf16, 3: f16
TP_SHAPE(int, headsTogether) ///< whose keys the second-level cache holds
TP_SHAPE(int, blocks)        ///< of the launch
// Keys over pages, which a table of `tableRows` rows of `slots` pages names:
TP_SHAPE(int, page)  ///< cells of a page
TP_SHAPE(int, cells) ///< of the pool
TP_SHAPE(int, tableRows)
TP_SHAPE(int, slots)

namespace attention {

inline constexpr float kInfinity = __builtin_inff();
inline constexpr float kLog2E = 0x1.715476p+0f, kLn2 = 0x1.62e430p-1f;
/// How far scores may rise, as powers of 2, before what was summed is scaled
/// anew. Powers up to 2^8 are rounded no worse than those below 1 in any type
/// (f16 ends at 2^16), and their sums are f32.
inline constexpr float kPowersAbove = 8;

/// The call's arguments. Tensors are [batch, tokens, heads, size]; strides
/// count elements from token to token. Over pages, `batch` is 1, keys and
/// values are pools [cells, heads, size], and each token has a row of the table
/// and a position.
struct Arguments {
  const char *query;
  int64_t queryStride;
  const char *key;
  int64_t keyStride;
  const char *value;
  int64_t valueStride;
  const char *mask;  ///< [batch, keyCapacity], zero where a key is hidden
  const char *sinks; ///< [query heads]
  int keyLength, queryOffset;
  char *output;
  int64_t outputStride;
  float *logSumExp; ///< [batch, queries, query heads], or null
  const int *rows = nullptr, *positions = nullptr, *table = nullptr;
};

/// Keys [from, to).
struct Range {
  int from, to;
};

/// The keys that a query at `position` sees of `length` keys.
__device__ inline Range seenFrom(int position, int length) {
  const int window = shape::window();
  auto clamp = [&](int key) { return min(max(key, 0), length); };
  Range seen{0, length};
  if (window > 0)
    seen.from = clamp(position - (shape::causal() ? window - 1 : window / 2));
  if (shape::causal())
    seen.to = clamp(position + 1);
  else if (window > 0)
    seen.to = clamp(position + window / 2 + 1);
  return seen;
}

/// True if the mask shows key `key` of a batch entry.
__device__ inline bool isShown(const Arguments &call, int batch, int key) {
  const int64_t index = int64_t(batch) * shape::keyCapacity() + key;
  switch (shape::maskBytes()) {
  case 1:
    return reinterpret_cast<const uint8_t *>(call.mask)[index] != 0;
  case 2:
    return reinterpret_cast<const uint16_t *>(call.mask)[index] != 0;
  case 4:
    return reinterpret_cast<const uint32_t *>(call.mask)[index] != 0;
  default:
    return reinterpret_cast<const uint64_t *>(call.mask)[index] != 0;
  }
}

/// True if scores have to be powers of 2 before their maximum is taken.
/// Otherwise scale and log2 e are left to the exponent's multiplication.
__device__ inline bool scalesScores() {
  return !(shape::scale() > 0) || shape::softCap() != 0 ||
         shape::sinkType() != 0;
}
__device__ inline float multiplier() { return shape::scale() * kLog2E; }

/// tanh x to an absolute error of 2^-22.
__device__ inline float tanhApprox(float x) {
  return 1 - 2 * reciprocalApprox(exp2Approx(x * (2 * kLog2E)) + 1);
}

__device__ inline float scaleScore(float score) {
  if (!scalesScores())
    return score;
  if (shape::softCap() == 0)
    return score * multiplier();
  return tanhApprox(score * (shape::scale() / shape::softCap())) *
         (shape::softCap() * kLog2E);
}

/// The number that the exponents of a row are reduced by, whose greatest score
/// this is.
__device__ inline float getShift(float greatest) {
  if (greatest == -kInfinity)
    return 0;
  return scalesScores() ? greatest : greatest * multiplier();
}
__device__ inline float getPower(float score, float shift) {
  return exp2Approx(
      __builtin_fmaf(score, scalesScores() ? 1.0f : multiplier(), -shift));
}

/// The sink of a query head, as a power of 2.
__device__ inline float readSink(const char *sinks, int head) {
  float sink;
  if (shape::sinkType() == 1)
    sink = reinterpret_cast<const float *>(sinks)[head];
  else if (shape::sinkType() == 2)
    sink = __builtin_bit_cast(
        float, uint32_t(reinterpret_cast<const uint16_t *>(sinks)[head]) << 16);
  else
    sink = reinterpret_cast<const _Float16 *>(sinks)[head];
  return sink * kLog2E;
}

} // namespace attention

#endif // TP_KERNELS_DEVICE_ATTENTION_H
