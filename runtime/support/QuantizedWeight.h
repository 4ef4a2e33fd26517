//===- QuantizedWeight.h - a weight in fewer than 16 bits -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a quantised weight lies in memory, and the number that each of its
// elements stands for:
//
//   value(i, j) = (q(i, j) - zero) * (scale * outerScale)    in f32,
//
// scale and zero being those of the element's group. Formats on disk are
// brought to this one when they are read; nothing is ever widened as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_QUANTIZEDWEIGHT_H
#define TPRT_SUPPORT_QUANTIZEDWEIGHT_H

#include "tprt/status.h"

#include <cstdint>

namespace tprt {

/// Element types of the values q. Those of 4 bits lie two in a byte, the even
/// element in the low nibble; I4 is in two's complement.
enum class QuantizedType { I8, U4, I4, E4M3, E5M2, E2M1 };

/// Element types of scales. E8M0 is 2^(byte - 127), and NaN for 255.
enum class ScaleType { F32, F16, BF16, E8M0, E4M3 };

bool isNibble(QuantizedType type);
int64_t scaleBytes(ScaleType type);

/// The weight [n, k] of a product, which does not own what it points to.
struct QuantizedWeight {
  QuantizedType type = QuantizedType::I8;
  int64_t n = 0, k = 0;
  const void *values = nullptr; ///< n rows of rowBytes() bytes

  ScaleType scaleType = ScaleType::F32;
  const void *scales = nullptr; ///< [groups of n, columns()]
  int64_t groupN = 0;           ///< rows of a group; 0: all
  int64_t groupK = 0;           ///< columns of a group; 0: all
  /// Row 0 and column 0 stand here in their groups, as a shard of 192 rows
  /// under blocks of 128 may begin in the middle of one.
  int64_t firstN = 0, firstK = 0;

  /// Or null; the shape of scales. Those of 4-bit values lie in [-112, 127], so
  /// that differences are bytes. Floats have none.
  const int8_t *zeros = nullptr;
  int32_t zero = 0; ///< of all groups, where `zeros` is null
  /// Or null; in place of `zeros`, of any value.
  const float *floatZeros = nullptr;

  /// Groups whose scales are a block of bytes: an f16, and a signed byte of
  /// each group, which it is multiplied with (scaleType counts no more). So are
  /// the minima at `zeroBlocks`, which are subtracted from (q + middle) *
  /// scale, middle being 8 for 4 bits and else 0. 0: there are no blocks.
  /// Blocks begin with the row: groupN is 1 and firstK is 0.
  int64_t packed = 0;
  const void *zeroBlocks = nullptr; ///< or null; in place of `zeros`

  /// Or null; [k]: the column of scales and zeros that each column of the
  /// weight belongs to, in place of groupK and firstK.
  const int32_t *groupOf = nullptr;
  int64_t groups = 0; ///< columns of scales, where groupOf is given

  const float *outerScale = nullptr; ///< or null; of the whole weight

  // Not inline: the loops that use them are compiled for several CPU levels.
  int64_t rowBytes() const;
  /// Columns of scales and zeros.
  int64_t columns() const;
  /// Bytes of a row's scales where groups are packed.
  int64_t packedBytes() const;
  /// The rows that it is multiplied with are of integers from -127 to 127.
  bool meetsIntegers = false;
  /// Few rows are brought to fixed point where it is of 4 bits, which makes one
  /// or two of them faster, and more of them slower.
  bool inFixedPoint = false;

  /// True if a row has one scale, and one zero point, an integer.
  bool hasRowScales() const {
    return !groupOf && !hasFloatZeros() && columns() == 1;
  }
  /// True if zero points are any numbers.
  bool hasFloatZeros() const;
  /// The row of scales and zeros that row i of the weight belongs to.
  int64_t scaleRow(int64_t i) const;
};

/// An error if the fields cannot belong together. The values of zeros and
/// groupOf are the caller's to check.
Status check(const QuantizedWeight &weight);

} // namespace tprt

#endif // TPRT_SUPPORT_QUANTIZEDWEIGHT_H
