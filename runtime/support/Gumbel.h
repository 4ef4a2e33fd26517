//===- Gumbel.h - what a token adds to its logit in a draw ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The token with the largest sum of logit, over the temperature, and Gumbel
// number is drawn as often as its probability says (Gumbel, 1954). Not in
// Simd.h: sampling from records and from logits must have the same bits, so it
// is compiled once, for the lowest CPU level.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_GUMBEL_H
#define TPRT_SUPPORT_GUMBEL_H

#include <cmath>
#include <cstdint>

namespace tprt {

/// A number of the standard Gumbel distribution from a random word: the smaller
/// the word, the larger the number, and the finer.
inline double gumbel(uint32_t word) {
  return -std::log(-std::log1p(-(word + 0.5) * 0x1p-32));
}

} // namespace tprt

#endif // TPRT_SUPPORT_GUMBEL_H
