//===- Philox.h - random numbers by their place -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011): a block of four words is a function of a key and a counter. As in the
// compiler's dropout, a number is the first word of a block.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_PHILOX_H
#define TPRT_GENERATION_PHILOX_H

#include <cmath>
#include <cstdint>

namespace tprt::generation {

/// The first word of the block of counter {first, 0, 0, last}.
inline uint32_t philox(uint64_t key, uint32_t first, uint32_t last) {
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

/// A number of the standard Gumbel distribution from a random word: the smaller
/// the word, the larger the number, and the finer.
inline double gumbel(uint32_t word) {
  return -std::log(-std::log1p(-(word + 0.5) * 0x1p-32));
}

} // namespace tprt::generation

#endif // TPRT_GENERATION_PHILOX_H
