//===- sample_draw.h - How a row draws its token ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scores of tokens, as nn.sample_records and nn.sample_pick define them.
// Random words and the order of tokens are the host's (runtime/support/Draw.h);
// logarithms are not, so two scores within roundings of f64 may compare
// otherwise than there.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_SAMPLE_DRAW_H
#define TP_KERNELS_DEVICE_SAMPLE_DRAW_H

#include "math64.h"
#include "reduce.h"
#include "support/Draw.h"
#include "tprt/abi.h"

inline constexpr float kInfinity = __builtin_inff();
inline constexpr int kCandidates = TPRT_RECORD_CANDIDATES;
inline constexpr int kNoToken = 0x7fffffff;

/// A token that may be drawn.
struct DrawnToken {
  double score;
  int token;
  float logit;
};

__device__ inline DrawnToken getNone() {
  return {-kInfinity, kNoToken, -kInfinity};
}

__device__ inline DrawnToken better(const DrawnToken &a, const DrawnToken &b) {
  return tprt::ranksAbove(a.score, a.token, b.score, b.token) ? a : b;
}

__device__ inline bool isFinite(float x) {
  return x < kInfinity && x > -kInfinity;
}

/// A row's draw; `scale` is 1 where it is not at random.
struct RowDraw {
  int32_t position;
  uint64_t seed;
  bool isRandom;
  double scale;

  __device__ RowDraw(int row, const int32_t *positions, const int64_t *seeds,
                     const float *temperatures)
      : position(positions[row]), seed(seeds[row]),
        isRandom(temperatures[row] > 0),
        scale(1 / double(isRandom ? temperatures[row] : 1.0f)) {}

  /// The score that the draw takes the largest of, for a finite logit. With u =
  /// (word + 1/2) / 2^32 the Gumbel number is -log(-log(1 - u)); 1 - u has no
  /// more digits than f64.
  __device__ double getScore(float logit, int token) const {
    if (!isRandom)
      return logit;
    double word = tprt::philox(seed, token, position);
    double rest = __builtin_fma(word + 0.5, -0x1p-32, 1.0);
    double gumbel = -math64::log(-math64::log(rest));
    return double(logit) * scale + gumbel;
  }
};

#endif // TP_KERNELS_DEVICE_SAMPLE_DRAW_H
