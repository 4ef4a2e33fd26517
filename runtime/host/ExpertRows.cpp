//===- ExpertRows.cpp - the rows of each expert ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpertRows.h"

#include "../support/Parallel.h"

#include <cstring>

using namespace tprt;

Status tprt::checkCall(const std::vector<Experts> &list, int64_t id,
                       int64_t rows) {
  if (id < 0 || id >= int64_t(list.size()))
    return internalError("experts ", id, " is not in the manifest");
  const Experts &e = list[size_t(id)];
  if (rows < 0 || rows > e.rows)
    return internalError("experts ", id, ": expected at most ", e.rows,
                         " rows, got ", rows);
  return {};
}

int64_t tprt::roundRows(int64_t count) {
  int64_t unit = count <= 8 ? 1 : count <= 64 ? 8 : count <= 256 ? 32 : 128;
  return alignUp(count, unit);
}

int64_t tprt::mostRows(const Experts &e) {
  return std::min(kExpertRowsAtOnce, roundRows(e.rows));
}

void tprt::gatherRows(const char *rows, int64_t bytes,
                      std::span<const int32_t> list, int64_t padded,
                      char *out) {
  auto count = int64_t(list.size());
  int64_t least = std::max<int64_t>(1, kLeastExpertElements * 4 / bytes);
  parallelFor(count, least, [&](int64_t begin, int64_t end, int64_t) {
    for (int64_t r = begin; r < end; ++r)
      std::memcpy(out + r * bytes, rows + list[size_t(r)] * bytes,
                  size_t(bytes));
  });
  std::memset(out + count * bytes, 0, size_t((padded - count) * bytes));
}

void tprt::activateGate(const Experts &e, float *gate, int64_t width) {
  for (int64_t c = 0; e.limit > 0 && c < width; ++c)
    gate[c] = isGateBounded(e, gate[c]) ? e.limit : gate[c];
  // silu(alpha x) / alpha is x / (1 + exp(-alpha x)).
  for (int64_t c = 0; e.alpha != 1 && c < width; ++c)
    gate[c] *= e.alpha;
  simd().activate(e.activation, gate, width);
  for (int64_t c = 0; e.alpha != 1 && c < width; ++c)
    gate[c] /= e.alpha;
}

void ExpertRows::find(const Experts &e, int64_t rows, const float *routing) {
  chosen.reserve(size_t(e.rows * e.experts));
  first.reserve(size_t(e.experts + 1));
  first.assign(1, 0);
  chosen.clear();
  for (int64_t expert = 0; expert < e.experts; ++expert) {
    for (int64_t row = 0; row < rows; ++row)
      if (routing[row * e.experts + expert] != 0)
        chosen.push_back(int32_t(row));
    first.push_back(int32_t(chosen.size()));
  }
}

std::vector<std::span<const int32_t>>
ExpertRows::blocksOf(int64_t expert) const {
  std::vector<std::span<const int32_t>> blocks;
  int64_t end = first[size_t(expert + 1)];
  for (int64_t at = first[size_t(expert)]; at < end; at += kExpertRowsAtOnce)
    blocks.push_back(
        {chosen.data() + at, size_t(std::min(kExpertRowsAtOnce, end - at))});
  return blocks;
}
