//===- GgufBlocks.h - blocks of GGUF's tensor types -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block holds 32 or 256 neighbours of a row: their elements, and a scale of
// all of them or of each group, by some types with a minimum.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_GGUFBLOCKS_H
#define TPRT_TENSORS_GGUFBLOCKS_H

#include "tprt/gguf.h"

#include <cstdint>

namespace tprt {

/// A block's numbers: element i of group g stands for (elements[i] - zeros[g])
/// * scales[g]. Elements of GgufElements::Nibbles lie in [-8, 7]; those of E2M1
/// are codes, and their scales the bytes of exponents.
struct GgufBlock {
  int8_t elements[256];
  float scales[16], zeros[16];
  /// The halves and bytes whose products are the scales and the minima, of a
  /// type with packedGroups().
  uint16_t factor, leastFactor;
  int8_t codes[16], leastCodes[16];
};

/// Decodes one block of a type that is not Floats; scales and zero points alone
/// where elements are not wanted.
void decodeBlock(const GgufType &type, const uint8_t *block, bool wantsElements,
                 GgufBlock &out);

} // namespace tprt

#endif // TPRT_TENSORS_GGUFBLOCKS_H
