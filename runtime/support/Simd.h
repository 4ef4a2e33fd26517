//===- Simd.h - loops compiled for several CPU levels -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own arithmetic (conversions, reductions of collectives, blocks
// of attention) is written once in portable vector code and compiled for
// x86-64, x86-64-v3 and x86-64-v4. simd() picks the best that this machine
// runs.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMD_H
#define TPRT_SUPPORT_SIMD_H

#include "../format/Manifest.h"
#include "Draw.h"
#include "tprt/abi.h"

#include <cstdint>

namespace tprt {

/// Query rows and keys of one attention block.
constexpr int64_t kQueryBlock = 48;
constexpr int64_t kKeyBlock = 128;

/// A bias of the scores: element (head, query, key) at head*headStride +
/// query*queryStride + key, or null.
struct AttentionBias {
  const void *data = nullptr;
  tprt_type type = TPRT_F32;
  int64_t headStride = 0, queryStride = 0;
};

/// One block of attention: `heads` query heads of one batch entry that share a
/// KV head, times `queries` positions; heads * queries <= kQueryBlock.
struct AttentionBlock {
  tprt_type type;
  int64_t heads, queries, headSize;
  int64_t valueSize, paddedValueSize; ///< of values and results
  const void
      *q; ///< element (head, query, d) at query*qStride + head*headSize + d
  int64_t qStride;
  void *out;
  int64_t outStride;
  float *lse; ///< or null; (head, query) at query*lseStride + head
  int64_t lseStride;
  const float *keys;            ///< [key block][headSize][kKeyBlock]
  const float *values;          ///< [key][paddedValueSize]
  const float *keyMask;         ///< or null; 0 where visible, -inf elsewhere
  AttentionBias bias;           ///< of the first head and query
  const float *sinks = nullptr; ///< or null; of the first head
  int64_t kvLen;
  int64_t position; ///< of the first query
  bool causal;
  int64_t window;
  float scale, softCap; ///< softCap 0: none
  float *scratch;       ///< attentionScratch floats
};

/// Floats of scratch that one block needs.
inline int64_t attentionScratch(int64_t headSize, int64_t paddedValueSize) {
  return kQueryBlock * (headSize + paddedValueSize + kKeyBlock + 2);
}

/// The derivative of attention of one query head of one batch entry.
struct AttentionBackwardHead {
  tprt_type type;
  int64_t headSize, paddedHeadSize;
  int64_t valueSize, paddedValueSize;
  const void *q, *cotangent;
  int64_t qStride, outStride; ///< of q, dq and dk; of cotangent and dv
  const void *k, *v;
  int64_t kStride, vStride;
  const float *lse, *delta; ///< rowStride apart
  int64_t rowStride;
  const float *keyMask; ///< or null; as above
  AttentionBias bias;   ///< of the head
  int64_t qLen, kvLen, position;
  bool causal;
  int64_t window;
  float scale, softCap;
  void *dq;
  float *dk, *dv;
  float *dbias;   ///< or null; [qLen][kvLen]
  float *scratch; ///< attentionBackwardScratch floats
};

/// Floats of scratch that one head needs.
inline int64_t attentionBackwardScratch(int64_t qLen, int64_t paddedHeadSize,
                                        int64_t paddedValueSize) {
  return paddedHeadSize * (3 * kKeyBlock + kQueryBlock + qLen) +
         paddedValueSize * (2 * kKeyBlock + kQueryBlock) +
         2 * kQueryBlock * kKeyBlock;
}

/// Keys of a cache that are attended to at once: results are combined from
/// pieces of so many.
constexpr int64_t kSplitKeys = 256;

/// A few queries against a piece of a cache, read where it lies.
struct CacheBlock {
  tprt_type type; ///< of keys and values, unless they are bytes:
  std::optional<QuantizedType> element = {}; ///< of a byte; I8 or E4M3
  const char *keys, *values;
  /// [count], at most kSplitKeys: bytes from `keys`, and from `values`, to the
  /// block's first head of each cell.
  const int64_t *cells, *valueCells;
  int64_t count;
  /// Or null; [heads][kSplitKeys]: what keys and values are multiplied by.
  const float *keyScales = nullptr, *valueScales = nullptr;
  int64_t heads;               ///< KV heads, which follow each other in a cell
  int64_t rows;                ///< queries of each
  int64_t headSize, valueSize; ///< multiples of 32
  float softCap;               ///< 0: none
  /// Or null; [heads][sharing][kSplitKeys]: added to scores behind the cap, to
  /// those of query r of a KV head line r % sharing.
  const float *bias = nullptr;
  int64_t sharing = 1;
  float *q; ///< [heads][rows][headSize], scaled; may be overwritten
  const int32_t *first, *last; ///< [rows]: a query sees cells [first, last)
  float *scores;               ///< [heads][rows][kSplitKeys]
  float *records;              ///< [heads][rows][recordFloats(valueSize)]
};

/// Floats of what a piece comes to for one query: the sum of the values, each
/// weighted by the exponential of its score relative to the largest; the
/// largest score; the sum of the weights.
inline int64_t recordFloats(int64_t valueSize) { return valueSize + 16; }

/// The finaliser of splitmix64. Static, as what is compiled for one level may
/// not be merged with what runs on another.
static inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct Simd {
  const char *level;
  /// Random numbers `index`, `index + stride`, ... of a key, about normal: the
  /// sum of four uniform numbers of 16 bits, whose deviation is
  /// sqrt(4 * (2^32 - 1) / 12), scaled to a deviation of 0.02.
  void (*random)(uint64_t key, int64_t index, int64_t stride, int64_t count,
                 float *out);
  /// words[i] = philox(key, first + i, last).
  void (*randomWords)(uint64_t key, uint32_t first, uint32_t last,
                      int64_t count, uint32_t *words);
  /// out[i] = exp(scale * (in[i] - largest)), nothing being larger; returns
  /// their sum.
  double (*exponentials)(const float *in, float scale, float largest,
                         int64_t count, float *out);
  /// count elements of a float type to f32.
  void (*widen)(tprt_type from, const void *in, float *out, int64_t count);
  /// count elements of f32 to a float type, to nearest even.
  void (*narrow)(tprt_type to, const float *in, void *out, int64_t count);
  /// out[i] = inputs[0][i] op inputs[1][i] op ..., in this order; out may be
  /// one of the inputs. 16-bit floats are summed in f32.
  void (*reduce)(tprt_type type, Reduction op, const void *const *inputs,
                 int64_t inputCount, void *out, int64_t count);
  /// out[c * outStride + r] = in[r * inStride + c], widened.
  void (*transpose)(tprt_type type, const void *in, int64_t inStride,
                    int64_t rows, int64_t columns, float *out,
                    int64_t outStride);
  /// out[r * outStride + j] = the sum over k of x[r, k] * w[j, k]; w has n
  /// rows, and which of them it is has no part in the order. For few rows of x,
  /// which wait for w to come from memory.
  void (*dot)(tprt_type type, const void *w, int64_t n, const float *x,
              int64_t xStride, int64_t rows, int64_t k, float *out,
              int64_t outStride);
  void (*activate)(Gemm::Activation activation, float *values, int64_t count);
  /// Widens `rows` values to rows of paddedHeadSize, zero past headSize.
  void (*packValues)(tprt_type type, const void *values, int64_t stride,
                     int64_t rows, int64_t headSize, int64_t paddedHeadSize,
                     float *out);
  /// count bytes of a cache's elements (I8 or E4M3) to f32, times scale.
  void (*widenBytes)(QuantizedType from, const void *in, float scale,
                     float *out, int64_t count);
  /// count elements of f32, over scale, to bytes: to nearest even, and none
  /// above the largest. All are zero if the scale is.
  void (*narrowBytes)(QuantizedType to, const float *in, float scale, void *out,
                      int64_t count);
  /// The scale by which the largest magnitude becomes the largest element; NaN
  /// unless all are finite.
  float (*byteScale)(QuantizedType to, const float *in, int64_t count);
  void (*attend)(const AttentionBlock &block);
  void (*attendBackward)(const AttentionBackwardHead &head);
  void (*attendCache)(const CacheBlock &block);
  /// The result of a query from `count` records, `stride` floats apart, in this
  /// order; zero where nothing is seen. The sink may be null.
  void (*mergeRecords)(const float *records, int64_t count, int64_t stride,
                       int64_t valueSize, const float *sink, float *out);
};

/// The best level this machine runs; the environment variable TPRT_SIMD
/// (x86-64, x86-64-v3) lowers it, for tests.
const Simd &simd();

const Simd &simdBase();
const Simd &simdV3();
const Simd &simdV4();

} // namespace tprt

#endif // TPRT_SUPPORT_SIMD_H
