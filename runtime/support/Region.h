//===- Region.h - rectangular parts of tensors ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between tensors with strides on both sides, in runs that are
// contiguous on both where there are such: how collectives, inputs, outputs,
// weights and checkpoints handle any dimension.
//
// Example: columns 2 and 3 of [4, 8] to a [4, 2] are the box of extents {4, 2},
// strides {8, 1} and {2, 1}, which begins at element 2 of the first: four runs
// of two. All rows from 1 on are one run of 24.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_REGION_H
#define TPRT_SUPPORT_REGION_H

#include "../format/Manifest.h"
#include "Parallel.h"

#include <algorithm>
#include <cstdint>

namespace tprt {

/// Elements below which one thread moves the data alone.
constexpr int64_t kLeastElements = 1 << 15;
/// As `least`: by the calling thread alone, which may be of the host program.
constexpr int64_t kAlone = INT64_MAX;

struct Region {
  Shape extents, fromStart, toStart;
};

inline Shape stridesOf(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// Elements on both sides: how many along each dimension and how far apart,
/// from the first one on. Dimensions may be in any order.
struct Box {
  struct Dimension {
    int64_t extent, from, to;
  };
  std::vector<Dimension> dimensions;
  int64_t fromStart = 0, toStart = 0;
};

/// The box that begins at fromStart of a row-major tensor of shape `from` and
/// at toStart of one of shape `to`.
Box boxOf(const Shape &from, const Shape &to, const Region &region);

/// The same elements in the order of `to`, with as few dimensions as can be but
/// at least two: those that are contiguous on both sides are joined. The last
/// one is contiguous in `to`.
Box simplified(Box box);

/// Calls body(offset in from, offset in to, rows, columns) for parts of
/// `height` and `width`, fewer at the ends, of the last two dimensions of a
/// simplified box; from several threads, if there are more than `least`
/// elements.
template <typename Body>
void forEachTile(const Box &box, int64_t height, int64_t width, Body body,
                 int64_t least = kLeastElements) {
  size_t row = box.dimensions.size() - 2;
  int64_t most[2] = {std::min(height, box.dimensions[row].extent),
                     std::min(width, box.dimensions[row + 1].extent)};
  int64_t each = most[0] * most[1], tiles = 1;
  if (each == 0)
    return;
  auto part = [&](size_t d) { return d < row ? 1 : most[d - row]; };
  auto count = [&](size_t d) {
    return (box.dimensions[d].extent + part(d) - 1) / part(d);
  };
  for (size_t d = 0; d < row + 2; ++d)
    tiles *= count(d);
  parallelFor(tiles, std::max<int64_t>(1, least / each),
              [&](int64_t begin, int64_t end, int64_t) {
                for (int64_t i = begin; i < end; ++i) {
                  int64_t from = box.fromStart, to = box.toStart, left = i;
                  int64_t sizes[2];
                  for (size_t d = row + 2; d-- > 0; left /= count(d)) {
                    int64_t at = left % count(d) * part(d);
                    from += at * box.dimensions[d].from;
                    to += at * box.dimensions[d].to;
                    if (d >= row)
                      sizes[d - row] =
                          std::min(part(d), box.dimensions[d].extent - at);
                  }
                  body(from, to, sizes[0], sizes[1]);
                }
              });
}

/// Calls body(offset in from, offset in to, elements) for elements of a
/// simplified box that are contiguous on both sides. Long runs are shared among
/// the threads.
template <typename Body>
void forEachRun(const Box &box, Body body, int64_t least = kLeastElements) {
  const Box::Dimension &last = box.dimensions.back();
  int64_t run = last.from == 1 ? last.extent : 1;
  int64_t share = std::max((run + workers() - 1) / workers(), least);
  forEachTile(
      box, 1, std::max<int64_t>(1, std::min(run, share)),
      [&](int64_t from, int64_t to, int64_t, int64_t count) {
        body(from, to, count);
      },
      least);
}

/// The same for a region.
template <typename Body>
void forEachRun(const Shape &from, const Shape &to, const Region &region,
                Body body, int64_t least = kLeastElements) {
  forEachRun(simplified(boxOf(from, to, region)), body, least);
}

/// Copies elements of `size` bytes.
void copyBox(int64_t size, const Box &box, const void *in, void *out,
             int64_t least = kLeastElements);

} // namespace tprt

#endif // TPRT_SUPPORT_REGION_H
