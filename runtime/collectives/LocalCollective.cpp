//===- LocalCollective.cpp - one member's share of the work ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_reduce gives each member a slice of the elements: it alone reads that
// slice of every input, sums in the order of the group and writes it to every
// output, so that all get the same bits and in-place calls need no copy. The
// others pull what they need from their peers by strided copies, which handle
// any dimension.
//
//===----------------------------------------------------------------------===//

#include "LocalCollective.h"

#include "../core/Region.h"
#include "../kernels/Simd.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

namespace {

const char *at(const void *base, int64_t bytes) {
  return static_cast<const char *>(base) + bytes;
}
char *at(void *base, int64_t bytes) {
  return static_cast<char *>(base) + bytes;
}

/// Zeroes [start, end) of dimension d of the output.
void zeroTail(const Collective &c, size_t d, int64_t start, void *out) {
  if (start >= c.outputShape[d])
    return;
  Region region{c.outputShape, Shape(c.outputShape.size()),
                Shape(c.outputShape.size())};
  region.extents[d] = c.outputShape[d] - start;
  region.toStart[d] = start;
  int64_t size = typeBytes(c.type);
  forEachRun(c.outputShape, c.outputShape, region,
             [&](int64_t, int64_t to, int64_t count) {
               std::memset(at(out, to * size), 0, count * size);
             });
}

void allReduce(const Collective &c, int64_t self,
               const std::vector<const void *> &in,
               const std::vector<void *> &out) {
  int64_t members = in.size(), size = typeBytes(c.type);
  // Slices end on cache lines, so that no line has two writers.
  int64_t count = elementCount(c.inputShape);
  int64_t slice = (count + members - 1) / members;
  slice = (slice + 63) / 64 * 64;
  int64_t first = std::min(count, slice * self);
  int64_t last = std::min(count, first + slice);
  parallelFor(last - first, kGrain, [&](int64_t begin, int64_t end, int64_t) {
    // By blocks that stay in the cache between the sum and its copies.
    constexpr int64_t kBlock = 1 << 13;
    std::vector<const void *> sources(members);
    for (int64_t b = first + begin; b < first + end; b += kBlock) {
      int64_t n = std::min(kBlock, first + end - b);
      for (int64_t j = 0; j < members; ++j)
        sources[j] = at(in[j], b * size);
      void *sum = at(out[self], b * size);
      simd().reduce(c.type, c.reduction, sources.data(), members, sum, n);
      for (int64_t j = 0; j < members; ++j)
        if (j != self)
          std::memcpy(at(out[j], b * size), sum, n * size);
    }
  });
}

void reduceScatter(const Collective &c, int64_t self,
                   const std::vector<const void *> &in, void *out) {
  int64_t members = in.size(), size = typeBytes(c.type);
  size_t rank = c.inputShape.size();
  int64_t start = self * c.outputShape[c.dim];
  int64_t valid =
      std::clamp<int64_t>(c.inputShape[c.dim] - start, 0, c.outputShape[c.dim]);
  Region region{c.outputShape, Shape(rank), Shape(rank)};
  region.extents[c.dim] = valid;
  region.fromStart[c.dim] = start;
  forEachRun(c.inputShape, c.outputShape, region,
             [&](int64_t from, int64_t to, int64_t count) {
               std::vector<const void *> sources(members);
               for (int64_t j = 0; j < members; ++j)
                 sources[j] = at(in[j], from * size);
               simd().reduce(c.type, c.reduction, sources.data(), members,
                             at(out, to * size), count);
             });
  zeroTail(c, c.dim, valid, out);
}

void allGather(const Collective &c, const std::vector<const void *> &in,
               void *out) {
  size_t rank = c.inputShape.size();
  for (size_t j = 0; j < in.size(); ++j) {
    Region region{c.inputShape, Shape(rank), Shape(rank)};
    int64_t start = int64_t(j) * c.inputShape[c.dim];
    region.extents[c.dim] =
        std::min(c.inputShape[c.dim], c.outputShape[c.dim] - start);
    region.toStart[c.dim] = start;
    copyRegion(typeBytes(c.type), c.inputShape, c.outputShape, region, in[j],
               out);
  }
}

void allToAll(const Collective &c, int64_t self,
              const std::vector<const void *> &in, void *out) {
  size_t rank = c.inputShape.size();
  int64_t start = self * c.outputShape[c.splitDim];
  int64_t valid = std::clamp<int64_t>(c.inputShape[c.splitDim] - start, 0,
                                      c.outputShape[c.splitDim]);
  for (size_t j = 0; j < in.size(); ++j) {
    Region region{c.inputShape, Shape(rank), Shape(rank)};
    int64_t place = int64_t(j) * c.inputShape[c.dim];
    region.extents[c.dim] =
        std::min(c.inputShape[c.dim], c.outputShape[c.dim] - place);
    region.extents[c.splitDim] = valid;
    region.fromStart[c.splitDim] = start;
    region.toStart[c.dim] = place;
    copyRegion(typeBytes(c.type), c.inputShape, c.outputShape, region, in[j],
               out);
  }
  zeroTail(c, c.splitDim, valid, out);
}

void copyAll(const Collective &c, const void *in, void *out) {
  if (in != out)
    std::memcpy(out, in, elementCount(c.inputShape) * typeBytes(c.type));
}

} // namespace

void tprt::runLocally(const Collective &c, int64_t self,
                      const std::vector<const void *> &in,
                      const std::vector<void *> &out) {
  switch (c.kind) {
  case CollectiveKind::AllReduce:
    return allReduce(c, self, in, out);
  case CollectiveKind::ReduceScatter:
    return reduceScatter(c, self, in, out[self]);
  case CollectiveKind::AllGather:
    return allGather(c, in, out[self]);
  case CollectiveKind::AllToAll:
    return allToAll(c, self, in, out[self]);
  case CollectiveKind::Broadcast:
    return copyAll(c, in[c.root], out[self]);
  case CollectiveKind::CollectivePermute:
    for (auto [from, to] : c.pairs)
      if (to == self)
        return copyAll(c, in[from], out[self]);
    std::memset(out[self], 0, elementCount(c.outputShape) * typeBytes(c.type));
    return;
  }
}
