//===- Region.h - rectangular parts of tensors ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided copies between row-major tensors, in runs that are contiguous on both
// sides: how collectives, inputs, outputs and weights handle any dimension.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_REGION_H
#define TPRT_SUPPORT_REGION_H

#include "../format/Manifest.h"
#include "Parallel.h"

#include <algorithm>
#include <cstring>

namespace tprt {

/// Elements below which one thread moves the data alone.
constexpr int64_t kLeastElements = 1 << 15;

struct Region {
  Shape extents, fromStart, toStart;
};

inline Shape stridesOf(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// The offsets on both sides of the index-th of `extents`, the last fastest.
inline std::pair<int64_t, int64_t> offsetsAt(int64_t index,
                                             const Shape &extents,
                                             const Shape &fromStrides,
                                             const Shape &toStrides) {
  int64_t from = 0, to = 0;
  for (size_t d = extents.size(); d-- > 0; index /= extents[d]) {
    from += index % extents[d] * fromStrides[d];
    to += index % extents[d] * toStrides[d];
  }
  return {from, to};
}

/// Calls body(offset in from, offset in to, contiguous elements) for the rows
/// of a region that begins at fromStart of a tensor of shape `from` and at
/// toStart of one of shape `to`; from several threads, if there are more than
/// `least` elements.
template <typename Body>
void forEachRun(const Shape &from, const Shape &to, const Region &region,
                Body body, int64_t least = kLeastElements) {
  const Shape &extents = region.extents;
  for (int64_t extent : extents)
    if (extent <= 0)
      return;
  Shape fromStrides = stridesOf(from), toStrides = stridesOf(to);
  int64_t fromBase = 0, toBase = 0;
  for (size_t d = 0; d < extents.size(); ++d) {
    fromBase += region.fromStart[d] * fromStrides[d];
    toBase += region.toStart[d] * toStrides[d];
  }
  // Trailing dimensions that are whole on both sides make one run.
  size_t outer = extents.size();
  int64_t run = 1;
  while (outer > 0) {
    --outer;
    run *= extents[outer];
    if (extents[outer] != from[outer] || extents[outer] != to[outer])
      break;
  }
  Shape outerSizes(extents.begin(), extents.begin() + long(outer));
  parallelFor(elementCount(outerSizes), std::max<int64_t>(1, least / run),
              [&](int64_t begin, int64_t end, int64_t) {
                for (int64_t i = begin; i < end; ++i) {
                  auto [f, t] =
                      offsetsAt(i, outerSizes, fromStrides, toStrides);
                  body(fromBase + f, toBase + t, run);
                }
              });
}

/// Copies a region; elements are of `size` bytes.
inline void copyRegion(int64_t size, const Shape &from, const Shape &to,
                       const Region &region, const void *in, void *out) {
  forEachRun(from, to, region,
             [&](int64_t source, int64_t target, int64_t count) {
               std::memcpy(static_cast<char *>(out) + target * size,
                           static_cast<const char *>(in) + source * size,
                           size_t(count * size));
             });
}

} // namespace tprt

#endif // TPRT_SUPPORT_REGION_H
