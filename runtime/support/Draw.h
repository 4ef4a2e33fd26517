//===- Draw.h - what host and device agree on when they draw ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The random words of tokens, and which of two tokens is the better. Included
// by the host's sampling and by kernels/device/sampling.cu, so it needs no
// library; functions are constexpr, which clang compiles for both sides.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_DRAW_H
#define TPRT_SUPPORT_DRAW_H

#include <stdint.h>

namespace tprt {

/// Sums of a record are rounded: a sum nearer than this to top_p, relative to
/// all, does not tell on which side of it the exact one is.
static constexpr double kNearness = 1e-5;

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// 2011): the first word of the block of counter {first, 0, 0, last}. Static,
/// as what is compiled for one level of the CPU may not be merged with what
/// runs on another.
static constexpr uint32_t philox(uint64_t key, uint32_t first, uint32_t last) {
  uint32_t c0 = first, c1 = 0, c2 = 0, c3 = last;
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(c0) * 0xD2511F53, b = uint64_t(c2) * 0xCD9E8D57;
    c0 = uint32_t(b >> 32) ^ c1 ^ k0;
    c1 = uint32_t(b);
    c2 = uint32_t(a >> 32) ^ c3 ^ k1;
    c3 = uint32_t(a);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c0;
}

/// True if a token comes before another of logits or scores: the larger value,
/// of equal ones the lower token.
static constexpr bool ranksAbove(double value, int64_t token, double otherValue,
                                 int64_t otherToken) {
  return value != otherValue ? value > otherValue : token < otherToken;
}

} // namespace tprt

#endif // TPRT_SUPPORT_DRAW_H
