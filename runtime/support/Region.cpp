//===- Region.cpp - rectangular parts of tensors --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Region.h"

#include <cstring>
#include <numeric>

using namespace tprt;

Box tprt::boxOf(const Shape &from, const Shape &to, const Region &region) {
  Box box{std::vector<Box::Dimension>(region.extents.size())};
  int64_t fromStride = 1, toStride = 1;
  for (size_t d = region.extents.size(); d-- > 0;) {
    box.dimensions[d] = {region.extents[d], fromStride, toStride};
    box.fromStart += region.fromStart[d] * fromStride;
    box.toStart += region.toStart[d] * toStride;
    fromStride *= from[d];
    toStride *= to[d];
  }
  return box;
}

Box tprt::simplified(Box box) {
  std::sort(box.dimensions.begin(), box.dimensions.end(),
            [](const auto &a, const auto &b) { return a.to > b.to; });
  // There is always a row, before all others.
  std::vector<Box::Dimension> joined{{1, 0, 0}};
  for (const Box::Dimension &d : box.dimensions) {
    Box::Dimension &last = joined.back();
    if (d.extent <= 0)
      return {{{0, 1, 1}, {0, 1, 1}}};
    if (d.extent == 1)
      continue;
    if (last.from == d.extent * d.from && last.to == d.extent * d.to)
      last = {last.extent * d.extent, d.from, d.to};
    else
      joined.push_back(d);
  }
  if (joined.back().to != 1)
    joined.push_back({1, 1, 1});
  box.dimensions = std::move(joined);
  return box;
}

void tprt::copyBox(int64_t size, const Box &given, const void *in, void *out,
                   int64_t least) {
  Box box = simplified(given);
  const auto &row = box.dimensions.end()[-2], &column = box.dimensions.back();
  auto *source = static_cast<const char *>(in);
  auto *target = static_cast<char *>(out);
  // In tiles that stay in the cache on both sides.
  auto copyElements = [&](auto bytes) {
    forEachTile(
        box, 32, 32,
        [&](int64_t from, int64_t to, int64_t rows, int64_t columns) {
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c)
              std::memcpy(target + (to + r * row.to + c) * bytes,
                          source +
                              (from + r * row.from + c * column.from) * bytes,
                          bytes);
        },
        least);
  };
  if (column.from == 1)
    forEachRun(
        box,
        [&](int64_t from, int64_t to, int64_t count) {
          std::memcpy(target + to * size, source + from * size, count * size);
        },
        least);
  else if (size == sizeof(float))
    copyElements(std::integral_constant<int64_t, sizeof(float)>());
  else
    copyElements(size);
}
