//===- ExpertRows.h - the rows of each expert -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common part of a mixture of experts and its derivative: which rows have a
// weight for an expert, brought together, and how many at once.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_EXPERTROWS_H
#define TPRT_HOST_EXPERTROWS_H

#include "../support/Memory.h"
#include "../support/Simd.h"

#include <span>
#include <vector>

namespace tprt {

/// Rows of an expert that pass through it at once.
constexpr int64_t kExpertRowsAtOnce = 1024;

/// Elements that are worth a thread.
constexpr int64_t kLeastExpertElements = 4096;

/// Checks that the manifest has this entry, and so many rows in it.
Status checkCall(const std::vector<Experts> &list, int64_t id, int64_t rows);

inline int64_t leastRows(int64_t columns) {
  return std::max<int64_t>(1, kLeastExpertElements / columns);
}

/// Products are prepared for each number of rows: only a few are used, with
/// rows of zeros where there are not enough. Up to 8 rows cost what they are.
int64_t roundRows(int64_t count);
/// The largest that a call has.
int64_t mostRows(const Experts &e);

/// rows[list[i]], of `bytes` each, and zeros up to `padded` of them.
void gatherRows(const char *rows, int64_t bytes, std::span<const int32_t> list,
                int64_t padded, char *out);

/// Zero for the positions of a row of the width that `inside` (may be null)
/// leaves out.
inline void leaveOut(const int32_t *inside, float *row, int64_t width) {
  for (int64_t c = 0; inside && c < width; ++c)
    row[c] = inside[c] == 0 ? 0 : row[c];
}

/// Adds an expert's row of a bias [experts, width] (may be null).
inline void addExpertBias(const float *bias, int64_t expert, float *row,
                          int64_t width) {
  if (bias)
    for (int64_t c = 0; c < width; ++c)
      row[c] += bias[expert * width + c];
}

/// Returns true if a bound changes the number. NaN is within all bounds.
inline bool isGateBounded(const Experts &e, float gate) {
  return e.limit > 0 && gate > e.limit;
}
inline bool isUpBounded(const Experts &e, float up) {
  return e.limit > 0 && (up > e.limit || up < -e.limit);
}
/// Up within its bounds, plus the offset.
inline float shiftUp(const Experts &e, float up) {
  if (isUpBounded(e, up))
    up = up > 0 ? e.limit : -e.limit;
  return up + e.upOffset;
}
/// `gate` becomes activation(min(gate, limit)).
void activateGate(const Experts &e, float *gate, int64_t width);

/// Scratch, part by part; without memory, how much that is.
class ScratchParts {
public:
  explicit ScratchParts(char *base) : base(base) {}
  char *take(int64_t bytes) {
    char *part = base ? base + used : nullptr;
    used += alignUp(bytes, TPRT_ALIGNMENT);
    return part;
  }
  float *takeFloats(int64_t count) {
    return reinterpret_cast<float *>(take(count * 4));
  }
  int64_t bytes() const { return used; }

private:
  char *base;
  int64_t used = 0;
};

/// Rows of each expert, in order.
class ExpertRows {
public:
  /// Finds the rows with a weight in routing[rows, experts].
  void find(const Experts &e, int64_t rows, const float *routing);
  /// At most kExpertRowsAtOnce each.
  std::vector<std::span<const int32_t>> blocksOf(int64_t expert) const;

private:
  std::vector<int32_t> first, chosen;
};

} // namespace tprt

#endif // TPRT_HOST_EXPERTROWS_H
