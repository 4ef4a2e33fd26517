//===- Simd.cpp - loops compiled for several CPU levels -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once per level, with TPRT_SIMD_LEVEL naming the factory function and
// the compiler's flags the instruction set. Everything is static: nothing
// compiled for a higher level may be merged with code that runs on a lower one.
//
//===----------------------------------------------------------------------===//

#include "Simd.h"
#include "SimdCache.h"
#include "SimdVector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#define TPRT_STRING2(x) #x
#define TPRT_STRING(x) TPRT_STRING2(x)

using namespace tprt;

namespace {

void random(uint64_t key, int64_t index, int64_t stride, int64_t count,
            float *out) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = mix(key + uint64_t(index + i * stride));
    int32_t sum = int32_t(bits & 0xffff) + int32_t((bits >> 16) & 0xffff) +
                  int32_t((bits >> 32) & 0xffff) + int32_t(bits >> 48);
    out[i] = float(double(sum - 2 * 65535) / 37837.2 * 0.02);
  }
}

void randomWords(uint64_t key, uint32_t first, uint32_t last, int64_t count,
                 uint32_t *__restrict words) {
  for (int64_t i = 0; i < count; ++i)
    words[i] = philox(key, first + uint32_t(i), last);
}

double exponentials(const float *in, float scale, float largest, int64_t count,
                    float *out) {
  constexpr int64_t kBlock = 4096;
  double all = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    int64_t end = std::min(begin + kBlock, count), i = begin;
    Vec sum{};
    for (; i + kLanes <= end; i += kLanes) {
      Vec x = expNegative((load(in + i) - largest) * scale);
      store(out + i, x);
      sum += x;
    }
    for (; i < end; ++i)
      all += out[i] = expNegative(splat((in[i] - largest) * scale))[0];
    for (int lane = 0; lane < kLanes; ++lane)
      all += sum[lane];
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Conversions and reductions
//===----------------------------------------------------------------------===//

inline float bf16ToFloat(uint16_t x) {
  return __builtin_bit_cast(float, uint32_t(x) << 16);
}

inline uint16_t floatToBf16(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40;
  return uint16_t((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

// Files promise no alignment.
typedef uint16_t Bits16 __attribute__((aligned(1), may_alias));
typedef _Float16 Half __attribute__((aligned(1), may_alias));

void widen(tprt_type from, const void *in, float *__restrict out,
           int64_t count) {
  if (from == TPRT_F32) {
    std::memcpy(out, in, count * sizeof(float));
  } else if (from == TPRT_BF16) {
    auto *source = static_cast<const Bits16 *>(in);
    for (int64_t i = 0; i < count; ++i)
      out[i] = bf16ToFloat(source[i]);
  } else {
    auto *source = static_cast<const Half *>(in);
    for (int64_t i = 0; i < count; ++i)
      out[i] = float(source[i]);
  }
}

void narrow(tprt_type to, const float *__restrict in, void *out,
            int64_t count) {
  if (to == TPRT_F32) {
    std::memcpy(out, in, count * sizeof(float));
  } else if (to == TPRT_BF16) {
    auto *target = static_cast<Bits16 *>(out);
    for (int64_t i = 0; i < count; ++i)
      target[i] = floatToBf16(in[i]);
  } else {
    auto *target = static_cast<Half *>(out);
    for (int64_t i = 0; i < count; ++i)
      target[i] = _Float16(in[i]);
  }
}

/// True of numbers below zero and of -0: of two equal numbers only zeros
/// differ, and -0 is the lower one.
template <typename T>
bool isNegative(T a) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return std::signbit(a);
}

template <typename T>
void combine(Reduction op, T *__restrict sum, const T *__restrict in,
             int64_t count) {
  switch (op) {
  case Reduction::Sum:
    // Unsigned arithmetic where integers may wrap.
    for (int64_t i = 0; i < count; ++i)
      if constexpr (std::is_integral_v<T>)
        sum[i] =
            T(std::make_unsigned_t<T>(sum[i]) + std::make_unsigned_t<T>(in[i]));
      else
        sum[i] += in[i];
    return;
  // A NaN on either side stays: silent loss of one would hide an error.
  case Reduction::Max:
    for (int64_t i = 0; i < count; ++i)
      sum[i] = in[i] > sum[i] || in[i] != in[i] ||
                       (in[i] == sum[i] && isNegative(sum[i]))
                   ? in[i]
                   : sum[i];
    return;
  case Reduction::Min:
    for (int64_t i = 0; i < count; ++i)
      sum[i] = in[i] < sum[i] || in[i] != in[i] ||
                       (in[i] == sum[i] && isNegative(in[i]))
                   ? in[i]
                   : sum[i];
    return;
  }
}

constexpr int64_t kChunk = 1024;

template <typename T>
void reduceAs(Reduction op, const void *const *inputs, int64_t inputCount,
              void *out, int64_t count) {
  alignas(64) T sum[kChunk];
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    int64_t n = std::min(kChunk, count - begin);
    std::memcpy(sum, static_cast<const T *>(inputs[0]) + begin, n * sizeof(T));
    for (int64_t j = 1; j < inputCount; ++j)
      combine(op, sum, static_cast<const T *>(inputs[j]) + begin, n);
    std::memcpy(static_cast<T *>(out) + begin, sum, n * sizeof(T));
  }
}

void reduceNarrow(tprt_type type, Reduction op, const void *const *inputs,
                  int64_t inputCount, void *out, int64_t count) {
  alignas(64) float sum[kChunk], next[kChunk];
  auto at = [](const void *p, int64_t i) {
    return static_cast<const char *>(p) + 2 * i;
  };
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    int64_t n = std::min(kChunk, count - begin);
    widen(type, at(inputs[0], begin), sum, n);
    for (int64_t j = 1; j < inputCount; ++j) {
      widen(type, at(inputs[j], begin), next, n);
      combine(op, sum, next, n);
    }
    narrow(type, sum, const_cast<char *>(at(out, begin)), n);
  }
}

void reduce(tprt_type type, Reduction op, const void *const *inputs,
            int64_t inputCount, void *out, int64_t count) {
  switch (type) {
  case TPRT_F32:
    return reduceAs<float>(op, inputs, inputCount, out, count);
  case TPRT_I32:
    return reduceAs<int32_t>(op, inputs, inputCount, out, count);
  case TPRT_I64:
    return reduceAs<int64_t>(op, inputs, inputCount, out, count);
  case TPRT_I8:
    return reduceAs<int8_t>(op, inputs, inputCount, out, count);
  case TPRT_BF16:
  case TPRT_F16:
    return reduceNarrow(type, op, inputs, inputCount, out, count);
  }
}

//===----------------------------------------------------------------------===//
// Products of few rows, and what surrounds those of a library
//===----------------------------------------------------------------------===//

/// Exchanges the lanes of `a` that have bit D of their number set with those of
/// `b` that have not.
template <int D, size_t... L>
inline void exchange(Vec &a, Vec &b, std::index_sequence<L...>) {
  Vec low = __builtin_shufflevector(a, b, (L & D ? kLanes + L - D : L)...);
  b = __builtin_shufflevector(a, b, (L & D ? kLanes + L : L + D)...);
  a = low;
}

/// Transposes a square of vectors: quarters first, then those of each quarter.
template <int D = kLanes / 2>
inline void transposeSquare(Vec (&v)[kLanes]) {
  for (int i = 0; i < kLanes; ++i)
    if (!(i & D))
      exchange<D>(v[i], v[i + D], std::make_index_sequence<kLanes>());
  if constexpr (D > 1)
    transposeSquare<D / 2>(v);
}

template <tprt_type Type>
void transposeAs(const void *in, int64_t inStride, int64_t rows,
                 int64_t columns, float *out, int64_t outStride) {
  int64_t squareRows = rows / kLanes * kLanes;
  int64_t squareColumns = columns / kLanes * kLanes;
  for (int64_t r = 0; r < squareRows; r += kLanes)
    for (int64_t c = 0; c < squareColumns; c += kLanes) {
      Vec v[kLanes];
      for (int i = 0; i < kLanes; ++i)
        v[i] = loadWide<Type>(rowAt(Type, in, (r + i) * inStride + c));
      transposeSquare(v);
      for (int i = 0; i < kLanes; ++i)
        store(out + (c + i) * outStride + r, v[i]);
    }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < squareRows ? squareColumns : 0; c < columns; ++c)
      widen(Type, rowAt(Type, in, r * inStride + c), out + c * outStride + r,
            1);
}

void transpose(tprt_type type, const void *in, int64_t inStride, int64_t rows,
               int64_t columns, float *out, int64_t outStride) {
  withFloatType(type, [&](auto known) {
    transposeAs<known()>(in, inStride, rows, columns, out, outStride);
  });
}

/// out[X, W] = x[X, k] * w[W, k], sums in registers. Rows of w are `apart`
/// bytes from each other, and their results `outApart` floats; what is read of
/// them is asked for `ahead` bytes before.
template <tprt_type Type, int W, int X>
void dotTile(const char *w, int64_t apart, const float *x, int64_t xStride,
             int64_t k, float *out, int64_t outStride, int64_t outApart,
             int64_t ahead) {
  // One row of x would wait for its sums.
  constexpr int U = X == 1 ? 2 : 1;
  Vec sum[W][U][X] = {};
  int64_t p = 0;
  for (; p + U * kLanes <= k; p += U * kLanes)
    for (int u = 0; u < U; ++u) {
      int64_t at = p + u * kLanes;
      Vec left[W];
      for (int i = 0; i < W; ++i) {
        auto *line = static_cast<const char *>(rowAt(Type, w + i * apart, at));
        askAhead<kLanes * kBytes[Type]>(line, ahead);
        left[i] = loadWide<Type>(line);
      }
      for (int j = 0; j < X; ++j) {
        Vec right = load(x + j * xStride + at);
        for (int i = 0; i < W; ++i)
          sum[i][u][j] += left[i] * right;
      }
    }
  for (int i = 0; i < W; ++i) {
    if constexpr (U == 2)
      sum[i][0][0] += sum[i][1][0];
    Vec totals = sumEach<X>(sum[i][0]);
    for (int j = 0; j < X; ++j) {
      float total = totals[j], left;
      for (int64_t q = p; q < k; ++q) {
        widen(Type, rowAt(Type, w + i * apart, q), &left, 1);
        total += left * x[j * xStride + q];
      }
      out[j * outStride + i * outApart] = total;
    }
  }
}

/// Rows of x that a tile takes at most, and rows of w beside X of them: what
/// registers hold of the sums and one vector of each row of w.
constexpr int kTileColumns = kLanes == 16 ? 8 : 4;
template <int X>
constexpr int kTileRows = X == kTileColumns ? 3 : 4;

/// A row of w from each of W equal parts, as far as they go; then single rows.
/// Each part is read in order and all of them together: the processor fetches
/// so many streams ahead by itself, and more of memory than of one.
template <tprt_type Type, int W, typename Tiles>
void forStreams(const void *w, int64_t n, int64_t k, Tiles tiles) {
  int64_t part = n / W, bytes = k * kBytes[Type];
  auto *base = static_cast<const char *>(w);
  for (int64_t i = 0; i < part; ++i)
    tiles(std::integral_constant<int, W>(), base + i * bytes, part, i);
  for (int64_t i = part * W; i < n; ++i)
    tiles(std::integral_constant<int, 1>(), base + i * bytes, part, i);
}

/// All of x passes by while rows of w lie in the first cache.
template <tprt_type Type>
void dotAs(const void *w, int64_t n, const float *x, int64_t xStride,
           int64_t rows, int64_t k, float *out, int64_t outStride) {
  const int64_t single = aheadBytes(2048, 0), several = aheadBytes(1024, 512);
  auto run = [&](auto most) {
    constexpr int X = most, W = kTileRows<X>;
    forStreams<Type, W>(
        w, n, k, [&](auto height, const char *at, int64_t part, int64_t i) {
          int64_t r = 0, apart = part * k * kBytes[Type];
          auto take = [&](auto count) {
            for (; r + count <= rows; r += count)
              dotTile<Type, height, count>(at, apart, x + r * xStride, xStride,
                                           k, out + r * outStride + i,
                                           outStride, part,
                                           count < 4 ? single : several);
          };
          if constexpr (X >= 8)
            take(std::integral_constant<int, 8>());
          if constexpr (X >= 4)
            take(std::integral_constant<int, 4>());
          if constexpr (X >= 2)
            take(std::integral_constant<int, 2>());
          take(std::integral_constant<int, 1>());
        });
  };
  if constexpr (kTileColumns == 8)
    if (rows >= 8)
      return run(std::integral_constant<int, 8>());
  if (rows >= 4)
    return run(std::integral_constant<int, 4>());
  run(std::integral_constant<int, 2>());
}

void dot(tprt_type type, const void *w, int64_t n, const float *x,
         int64_t xStride, int64_t rows, int64_t k, float *out,
         int64_t outStride) {
  withFloatType(type, [&](auto known) {
    dotAs<known()>(w, n, x, xStride, rows, k, out, outStride);
  });
}

/// 1 / (1 + exp(-x)).
inline Vec sigmoid(Vec x) {
  Vec e = expNegative(select(x < Vec{}, x, -x));
  return select(x < Vec{}, e, splat(1)) / (1 + e);
}

/// The error function to 2e-7 (Abramowitz and Stegun, 7.1.26).
inline Vec erf(Vec x) {
  Vec size = select(x < Vec{}, -x, x);
  Vec t = 1 / (1 + 0.3275911f * size);
  Vec p = t * 1.061405429f - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  Vec y = 1 - p * t * expNegative(-size * size);
  return select(x < Vec{}, -y, y);
}

inline Vec activate(Gemm::Activation activation, Vec x) {
  switch (activation) {
  case Gemm::Activation::None:
    return x;
  case Gemm::Activation::Relu:
    return select(x < Vec{}, Vec{}, x);
  case Gemm::Activation::Silu:
    return x * sigmoid(x);
  case Gemm::Activation::GeluErf:
    return 0.5f * x * (1 + erf(x * 0.70710678f));
  case Gemm::Activation::GeluTanh:
    // (1 + tanh(u)) / 2 is the sigmoid of 2u.
    return x * sigmoid(1.5957691f * (x + 0.044715f * x * x * x));
  }
}

void activate(Gemm::Activation activation, float *values, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(values + i, activate(activation, load(values + i)));
  if (i == count)
    return;
  float rest[kLanes] = {};
  std::memcpy(rest, values + i, (count - i) * sizeof(float));
  store(rest, activate(activation, load(rest)));
  std::memcpy(values + i, rest, (count - i) * sizeof(float));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// c[M, N vectors] (+)= a[M, depth] * b[depth, N vectors], in registers.
/// Flipped, a lies as [depth, M].
template <int M, int N, bool Flipped>
void tile(const float *a, int64_t lda, const float *b, int64_t ldb, float *c,
          int64_t ldc, int64_t depth, bool accumulate) {
  Vec sum[M][N];
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      sum[i][j] = accumulate ? load(c + i * ldc + j * kLanes) : Vec{};
  for (int64_t p = 0; p < depth; ++p) {
    Vec right[N];
    for (int j = 0; j < N; ++j)
      right[j] = load(b + p * ldb + j * kLanes);
    for (int i = 0; i < M; ++i) {
      Vec left = splat(Flipped ? a[p * lda + i] : a[i * lda + p]);
      for (int j = 0; j < N; ++j)
        sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      store(c + i * ldc + j * kLanes, sum[i][j]);
}

template <int M, bool Flipped>
void rowTiles(const float *a, int64_t lda, const float *b, int64_t ldb,
              float *c, int64_t ldc, int64_t vectors, int64_t depth,
              bool accumulate) {
  int64_t j = 0;
  for (; j + kPanel <= vectors; j += kPanel)
    tile<M, kPanel, Flipped>(a, lda, b + j * kLanes, ldb, c + j * kLanes, ldc,
                             depth, accumulate);
  for (; j < vectors; ++j)
    tile<M, 1, Flipped>(a, lda, b + j * kLanes, ldb, c + j * kLanes, ldc, depth,
                        accumulate);
}

/// c[rows, columns] (+)= a[rows, depth] * b[depth, columns]; columns is a
/// multiple of kLanes.
template <bool Flipped = false>
void multiply(const float *a, int64_t lda, const float *b, int64_t ldb,
              float *c, int64_t ldc, int64_t rows, int64_t columns,
              int64_t depth, bool accumulate) {
  int64_t vectors = columns / kLanes, i = 0, step = Flipped ? 1 : lda;
  for (; i + kRows <= rows; i += kRows)
    rowTiles<kRows, Flipped>(a + i * step, lda, b, ldb, c + i * ldc, ldc,
                             vectors, depth, accumulate);
  for (; i + 2 <= rows; i += 2)
    rowTiles<2, Flipped>(a + i * step, lda, b, ldb, c + i * ldc, ldc, vectors,
                         depth, accumulate);
  for (; i < rows; ++i)
    rowTiles<1, Flipped>(a + i * step, lda, b, ldb, c + i * ldc, ldc, vectors,
                         depth, accumulate);
}

void packValues(tprt_type type, const void *values, int64_t stride,
                int64_t rows, int64_t headSize, int64_t paddedHeadSize,
                float *out) {
  for (int64_t j = 0; j < rows; ++j, out += paddedHeadSize) {
    widen(type, rowAt(type, values, j * stride), out, headSize);
    std::fill(out + headSize, out + paddedHeadSize, 0.0f);
  }
}

/// Keys [first, last) that the query at `position` sees.
template <typename Block>
void visible(const Block &b, int64_t position, int64_t &first, int64_t &last) {
  int64_t before = b.causal ? b.window - 1 : b.window / 2;
  first = b.window ? std::max<int64_t>(0, position - before) : 0;
  last = b.kvLen;
  if (b.causal)
    last = std::min(last, position + 1);
  else if (b.window)
    last = std::min(last, position + before + 1);
}

/// Calls step(first key, bias of kLanes keys) along a row of the bias.
template <typename Step>
void alongBias(const AttentionBias &bias, int64_t head, int64_t query,
               int64_t base, int64_t keys, Step step) {
  const void *row =
      rowAt(bias.type, bias.data,
            head * bias.headStride + query * bias.queryStride + base);
  withFloatType(bias.type, [&](auto type) {
    int64_t j = 0;
    for (; j + kLanes <= keys; j += kLanes)
      step(j, loadWide<type()>(rowAt(type, row, j)));
    if (j == keys)
      return;
    char last[kLanes * 4] = {};
    std::memcpy(last, rowAt(type, row, j), (keys - j) * kBytes[type]);
    step(j, loadWide<type()>(last));
  });
}

/// Scales and caps a row of scores, before anything is masked.
template <typename Block>
void shapeScores(const Block &b, int64_t head, int64_t query, int64_t base,
                 int64_t keys, float *scores) {
  if (b.softCap != 0)
    for (int64_t j = 0; j < keys; j += kLanes)
      store(scores + j, tanhOf(load(scores + j) / b.softCap) * b.softCap);
  if (b.bias.data)
    alongBias(b.bias, head, query, base, keys, [&](int64_t j, Vec bias) {
      store(scores + j, load(scores + j) + bias);
    });
}

/// Takes a sink into the maximum and sum of a row, and rescales its result.
void addSink(float sink, float &best, float &sum, float *result, int64_t size) {
  float newBest = std::max(best, sink);
  if (newBest == -__builtin_inff())
    return;
  float rescale = best == newBest ? 1.0f : std::exp(best - newBest);
  for (int64_t d = 0; d < size; d += kLanes)
    store(result + d, load(result + d) * rescale);
  sum = sum * rescale + std::exp(sink - newBest);
  best = newBest;
}

/// Turns a row of scores into exponentials of what lies in [first, last) and
/// updates the running maximum and sum; rescales the row of results.
void softmaxRow(float *scores, int64_t columns, int64_t first, int64_t last,
                const float *keyMask, float &best, float &sum, float *result,
                int64_t resultSize) {
  const float infinity = __builtin_inff();
  for (int64_t j = 0; j < std::min(first, columns); ++j)
    scores[j] = -infinity;
  for (int64_t j = std::max<int64_t>(last, 0); j < columns; ++j)
    scores[j] = -infinity;
  if (keyMask)
    for (int64_t j = 0; j < columns; j += kLanes)
      store(scores + j, load(scores + j) + load(keyMask + j));
  Vec most = splat(-infinity);
  for (int64_t j = 0; j < columns; j += kLanes)
    most = maximum(load(scores + j), most);
  float newBest = std::max(best, reduceMax(most));
  if (newBest == -infinity) {
    // Nothing is visible here; but a NaN, which no comparison finds, stays.
    for (int64_t j = 0; j < columns; ++j) {
      sum = scores[j] != scores[j] ? scores[j] : sum;
      scores[j] = 0;
    }
    return;
  }
  Vec total = {};
  Vec shift = splat(newBest);
  for (int64_t j = 0; j < columns; j += kLanes) {
    Vec e = expNegative(load(scores + j) - shift);
    store(scores + j, e);
    total += e;
  }
  if (newBest != best) {
    float rescale = best == -infinity ? 0.0f : std::exp(best - newBest);
    for (int64_t d = 0; d < resultSize; d += kLanes)
      store(result + d, load(result + d) * rescale);
    sum *= rescale;
    best = newBest;
  }
  sum += reduceSum(total);
}

void attend(const AttentionBlock &b) {
  int64_t rows = b.heads * b.queries, size = b.headSize;
  int64_t padded = b.paddedValueSize;
  float *q = b.scratch, *result = q + kQueryBlock * size;
  float *scores = result + kQueryBlock * padded;
  float *best = scores + kQueryBlock * kKeyBlock, *sum = best + kQueryBlock;

  for (int64_t r = 0; r < rows; ++r) {
    int64_t head = r / b.queries, query = r % b.queries;
    float *row = q + r * size;
    widen(b.type, rowAt(b.type, b.q, query * b.qStride + head * size), row,
          size);
    for (int64_t d = 0; d < size; ++d)
      row[d] *= b.scale;
    best[r] = -__builtin_inff();
    sum[r] = 0;
  }
  std::memset(result, 0, rows * padded * sizeof(float));

  int64_t begin, end, unused;
  visible(b, b.position, begin, unused);
  visible(b, b.position + b.queries - 1, unused, end);
  for (int64_t block = begin / kKeyBlock; block * kKeyBlock < end; ++block) {
    int64_t base = block * kKeyBlock;
    int64_t keys = std::min(kKeyBlock, end - base);
    int64_t columns = (keys + kLanes - 1) / kLanes * kLanes;
    multiply(q, size, b.keys + base * size, kKeyBlock, scores, kKeyBlock, rows,
             columns, size, false);
    for (int64_t r = 0; r < rows; ++r) {
      int64_t first, last;
      visible(b, b.position + r % b.queries, first, last);
      shapeScores(b, r / b.queries, r % b.queries, base, keys,
                  scores + r * kKeyBlock);
      softmaxRow(scores + r * kKeyBlock, columns, first - base, last - base,
                 b.keyMask ? b.keyMask + base : nullptr, best[r], sum[r],
                 result + r * padded, padded);
    }
    multiply(scores, kKeyBlock, b.values + base * padded, padded, result,
             padded, rows, padded, keys, true);
  }

  for (int64_t r = 0; r < rows; ++r) {
    int64_t head = r / b.queries, query = r % b.queries;
    float *row = result + r * padded;
    if (b.sinks)
      addSink(b.sinks[head], best[r], sum[r], row, padded);
    float inverse = sum[r] > 0 || sum[r] != sum[r] ? 1.0f / sum[r] : 0.0f;
    for (int64_t d = 0; d < b.valueSize; ++d)
      row[d] *= inverse;
    narrow(b.type, row,
           const_cast<void *>(
               rowAt(b.type, b.out, query * b.outStride + head * b.valueSize)),
           b.valueSize);
    if (b.lse)
      b.lse[query * b.lseStride + head] = best[r] + std::log(sum[r]);
  }
}

/// From a row of scores, weights; from the products of cotangent and values,
/// the derivative by the scores (to dbias too, if there is one), and of those
/// by the products that were capped. Of keys outside [first, last) all are
/// zero.
void backwardRow(const AttentionBackwardHead &h, float *scores, float *products,
                 int64_t base, int64_t columns, int64_t count, int64_t query) {
  int64_t first, last;
  visible(h, h.position + query, first, last);
  first = std::clamp<int64_t>(first - base, 0, columns);
  last = std::clamp<int64_t>(last - base, first, columns);
  float lse = h.lse[query * h.rowStride], delta = h.delta[query * h.rowStride];
  if (lse == -__builtin_inff()) // nothing is seen
    last = first;
  int64_t begin = first / kLanes * kLanes;
  float slopes[kKeyBlock];
  for (int64_t j = begin; h.softCap != 0 && j < last; j += kLanes) {
    Vec bend = tanhOf(load(scores + j) / h.softCap);
    store(scores + j, bend * h.softCap);
    store(slopes + j, 1.0f - bend * bend);
  }
  if (h.bias.data)
    alongBias(h.bias, 0, query, base, count, [&](int64_t j, Vec bias) {
      store(scores + j, load(scores + j) + bias);
    });
  for (int64_t j = begin; j < last; j += kLanes) {
    Vec score = load(scores + j);
    if (h.keyMask)
      score += load(h.keyMask + base + j);
    Vec weight = expNegative(score - lse);
    store(scores + j, weight);
    store(products + j, weight * (load(products + j) - delta));
  }
  for (float *row : {scores, products}) {
    std::fill(row, row + first, 0.0f);
    std::fill(row + last, row + columns, 0.0f);
  }
  if (h.dbias)
    std::copy_n(products, count, h.dbias + query * h.kvLen + base);
  for (int64_t j = begin; h.softCap != 0 && j < last; j += kLanes)
    store(products + j, load(products + j) * load(slopes + j));
}

void attendBackward(const AttentionBackwardHead &h) {
  int64_t size = h.headSize, padded = h.paddedHeadSize;
  int64_t valueSize = h.valueSize, paddedValue = h.paddedValueSize;
  float *flatKeys = h.scratch, *flatValues = flatKeys + kKeyBlock * padded;
  float *keys = flatValues + kKeyBlock * paddedValue;
  float *dk = keys + kKeyBlock * padded, *dv = dk + kKeyBlock * padded;
  float *q = dv + kKeyBlock * paddedValue;
  float *cotangent = q + kQueryBlock * padded;
  float *dq = cotangent + kQueryBlock * paddedValue;
  float *weights = dq + h.qLen * padded;
  float *scores = weights + kQueryBlock * kKeyBlock;
  std::fill_n(dq, h.qLen * padded, 0.0f);
  if (h.dbias)
    std::fill_n(h.dbias, h.qLen * h.kvLen, 0.0f);
  for (int64_t base = 0; base < h.kvLen; base += kKeyBlock) {
    int64_t count = std::min(kKeyBlock, h.kvLen - base);
    int64_t columns = (count + kLanes - 1) / kLanes * kLanes;
    const void *k = rowAt(h.type, h.k, base * h.kStride);
    const void *v = rowAt(h.type, h.v, base * h.vStride);
    if (count < kKeyBlock)
      std::fill_n(flatKeys, kKeyBlock * (padded + paddedValue), 0.0f);
    transpose(h.type, k, h.kStride, count, size, flatKeys, kKeyBlock);
    transpose(h.type, v, h.vStride, count, valueSize, flatValues, kKeyBlock);
    packValues(h.type, k, h.kStride, count, size, padded, keys);
    std::fill_n(dk, kKeyBlock * (padded + paddedValue), 0.0f);
    for (int64_t query = 0; query < h.qLen; query += kQueryBlock) {
      int64_t rows = std::min(kQueryBlock, h.qLen - query);
      int64_t position = h.position + query, begin, end, unused;
      visible(h, position, begin, unused);
      visible(h, position + rows - 1, unused, end);
      if (begin >= base + count || end <= base)
        continue;
      packValues(h.type, rowAt(h.type, h.q, query * h.qStride), h.qStride, rows,
                 size, padded, q);
      packValues(h.type, rowAt(h.type, h.cotangent, query * h.outStride),
                 h.outStride, rows, valueSize, paddedValue, cotangent);
      for (int64_t i = 0; i < rows * padded; i += kLanes)
        store(q + i, load(q + i) * h.scale);
      multiply(q, padded, flatKeys, kKeyBlock, weights, kKeyBlock, rows,
               columns, size, false);
      multiply(cotangent, paddedValue, flatValues, kKeyBlock, scores, kKeyBlock,
               rows, columns, valueSize, false);
      for (int64_t r = 0; r < rows; ++r)
        backwardRow(h, weights + r * kKeyBlock, scores + r * kKeyBlock, base,
                    columns, count, query + r);
      multiply<true>(weights, kKeyBlock, cotangent, paddedValue, dv,
                     paddedValue, count, paddedValue, rows, true);
      multiply<true>(scores, kKeyBlock, q, padded, dk, padded, count, padded,
                     rows, true);
      multiply(scores, kKeyBlock, keys, padded, dq + query * padded, padded,
               rows, padded, count, true);
    }
    for (int64_t j = 0; j < count; ++j) {
      std::copy_n(dk + j * padded, size, h.dk + (base + j) * h.qStride);
      std::copy_n(dv + j * paddedValue, valueSize,
                  h.dv + (base + j) * h.outStride);
    }
  }
  for (int64_t i = 0; i < h.qLen; ++i) {
    float *row = dq + i * padded;
    for (int64_t d = 0; d < padded; d += kLanes)
      store(row + d, load(row + d) * h.scale);
    narrow(h.type, row, const_cast<void *>(rowAt(h.type, h.dq, i * h.qStride)),
           size);
  }
}

void mergeRecords(const float *records, int64_t count, int64_t stride,
                  int64_t valueSize, const float *sink, float *out) {
  const float infinity = __builtin_inff();
  float best = -infinity, sum = 0;
  for (int64_t i = 0; i < count; ++i)
    best = std::max(best, records[i * stride + valueSize]);
  std::fill_n(out, valueSize, 0.0f);
  for (int64_t i = 0; i < count; ++i) {
    const float *record = records + i * stride;
    float own = record[valueSize];
    float weight = own == best ? 1.0f : std::exp(own - best);
    sum += weight * record[valueSize + 1];
    for (int64_t d = 0; d < valueSize; d += kLanes)
      store(out + d, load(out + d) + weight * load(record + d));
  }
  if (sink)
    addSink(*sink, best, sum, out, valueSize);
  float inverse = sum > 0 || sum != sum ? 1.0f / sum : 0.0f;
  for (int64_t d = 0; d < valueSize; d += kLanes)
    store(out + d, load(out + d) * inverse);
}

} // namespace

const Simd &tprt::TPRT_SIMD_LEVEL() {
  static const Simd table = {TPRT_STRING(TPRT_SIMD_LEVEL),
                             random,
                             randomWords,
                             exponentials,
                             widen,
                             narrow,
                             reduce,
                             transpose,
                             dot,
                             activate,
                             packValues,
                             widenBytes,
                             narrowBytes,
                             byteScale,
                             attend,
                             attendBackward,
                             attendCache,
                             mergeRecords};
  return table;
}
