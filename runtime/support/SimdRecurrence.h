//===- SimdRecurrence.h - loops of the gated delta rule ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The columns of a head's state do not depend on each other, so that a block of
// them goes through all positions while it stays in the first level of cache.
// Compiled for the CPU levels of Simd.h.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDRECURRENCE_H
#define TPRT_SUPPORT_SIMDRECURRENCE_H

#include <cstdint>

namespace tprt {

/// Columns of a state, which are elements of a value, that are computed at
/// once.
constexpr int64_t kDeltaColumns = 32;

/// Positions between states that the derivative keeps.
constexpr int64_t kDeltaPositions = 32;

/// Positions of one value head, and at most kDeltaColumns elements of its
/// values. All pointers are to the first position.
struct DeltaBlock {
  int64_t positions, keySize, columns;
  const float *query, *key; ///< keyStride apart
  int64_t keyStride;
  const float *value; ///< valueStride apart; of the first column
  int64_t valueStride;
  const float *decay, *beta; ///< headStride apart; beta may be null
  int64_t headStride;
};

/// The operands and results of the derivative beside it.
struct DeltaBackwardBlock {
  DeltaBlock forward;
  const float *cotangent; ///< as values
  float *dQuery, *dKey;   ///< added to; dKeyStride apart
  int64_t dKeyStride;
  float *dValue;         ///< as values
  float *dDecay, *dBeta; ///< added to; as decay
  float *scratch;        ///< deltaBackwardScratch floats
};

/// Floats of scratch that one block of the derivative needs.
inline int64_t deltaBackwardScratch(int64_t positions, int64_t keySize) {
  int64_t kept = (positions + kDeltaPositions - 1) / kDeltaPositions;
  int64_t rows = keySize * kDeltaColumns;
  return rows * (kept + 2 * kDeltaPositions + 2) +
         2 * kDeltaPositions * kDeltaColumns;
}

struct RecurrenceLoops {
  /// Goes through the positions. state [keySize][kDeltaColumns] is the one
  /// before the first and then that behind the last; `out` is as values.
  void (*forward)(const DeltaBlock &block, float *state, float *out);
  void (*backward)(const DeltaBackwardBlock &block);
};

/// The loops of simd()'s level.
const RecurrenceLoops &recurrenceLoops();

} // namespace tprt

#endif // TPRT_SUPPORT_SIMDRECURRENCE_H
