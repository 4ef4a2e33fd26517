//===- LocalCollective.cpp - one member's share of the work ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The row's states before and after decide what is done. A sum for all gives
// each member a slice of the elements: it alone reads that slice of every
// input, sums in the order of the group and writes it to every output, so that
// all get the same bits and in-place calls need no copy. The rest is pulled
// from the peers by strided copies, which handle any dimension.
//
//===----------------------------------------------------------------------===//

#include "Transfer.h"

#include "../support/Region.h"
#include "../support/Simd.h"

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

/// Addends to their sum, or maximum, or minimum.
void reduceAll(const Collective &c, int64_t self,
               const std::vector<const void *> &in,
               const std::vector<void *> &out) {
  int64_t members = in.size(), size = typeBytes(c.type);
  // Slices end on cache lines, so that no line has two writers.
  int64_t count = elementCount(c.inputShape);
  int64_t slice = (count + members - 1) / members;
  slice = (slice + 63) / 64 * 64;
  int64_t first = std::min(count, slice * self);
  int64_t last = std::min(count, first + slice);
  parallelFor(
      last - first, kLeastElements, [&](int64_t begin, int64_t end, int64_t) {
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

/// Parts of dimension `gathered` to all of them, or, where there is none,
/// addends to their sum; of each the part along dimension `cut`, if there is
/// one.
void pull(const Collective &c, int64_t self, int64_t gathered, int64_t cut,
          const std::vector<const void *> &in, void *out) {
  int64_t size = typeBytes(c.type), valid = 0;
  Region region{c.inputShape, Shape(c.inputShape.size()),
                Shape(c.inputShape.size())};
  if (cut >= 0) {
    int64_t start = self * c.outputShape[cut];
    valid =
        std::clamp<int64_t>(c.inputShape[cut] - start, 0, c.outputShape[cut]);
    region.extents[cut] = valid;
    region.fromStart[cut] = start;
  }
  for (size_t j = 0; gathered >= 0 && j < in.size(); ++j) {
    int64_t place = int64_t(j) * c.inputShape[gathered];
    region.extents[gathered] =
        std::min(c.inputShape[gathered], c.outputShape[gathered] - place);
    region.toStart[gathered] = place;
    copyBox(size, boxOf(c.inputShape, c.outputShape, region), in[j], out);
  }
  if (gathered < 0)
    forEachRun(c.inputShape, c.outputShape, region,
               [&](int64_t from, int64_t to, int64_t count) {
                 std::vector<const void *> sources;
                 for (const void *input : in)
                   sources.push_back(at(input, from * size));
                 simd().reduce(c.type, c.reduction, sources.data(),
                               int64_t(in.size()), at(out, to * size), count);
               });
  if (cut >= 0)
    zeroTail(c, size_t(cut), valid, out);
}

/// All of what another member has.
void permute(const Collective &c, int64_t self,
             const std::vector<const void *> &in, void *out) {
  size_t bytes = size_t(elementCount(c.outputShape) * typeBytes(c.type));
  for (auto [from, to] : c.pairs)
    if (to == self) {
      std::memcpy(out, in[from], bytes);
      return;
    }
  std::memset(out, 0, bytes);
}

} // namespace

/// A sum that all want is made once, by parts.
bool tprt::writesToOthers(const CollectiveRow &row) {
  return row.reduces() && !row.cuts();
}

void tprt::runLocally(const Collective &c, int64_t self,
                      const std::vector<const void *> &in,
                      const std::vector<void *> &out) {
  const CollectiveRow &row = c.row();
  if (row.permutes())
    return permute(c, self, in, out[self]);
  if (row.gathers() || row.cuts())
    return pull(c, self, c.gatheredDim(), c.cutDim(), in, out[self]);
  reduceAll(c, self, in, out);
}
