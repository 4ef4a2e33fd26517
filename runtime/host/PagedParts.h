//===- PagedParts.h - the two ways to attend to pages -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens that follow each other in one row are a segment. Few queries (decode)
// read keys and values where they lie, as reading is all they cost. Many
// (prefill) have them packed first, once per KV head, and run over them as
// attention does.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_PAGEDPARTS_H
#define TPRT_HOST_PAGEDPARTS_H

#include "PagedAttention.h"

#include "../support/Simd.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace tprt {

/// Tokens [token, token + count) stand at `position` and behind it of `row`,
/// and see positions from `first` on.
struct Segment {
  int64_t token, count, row, position, first;
  int64_t end() const { return position + count; }
};

/// One call: where its queries and cells are.
struct PagedStep {
  const PagedAttention &a;
  const PagedCall &call;
  std::vector<float> sinks = {}; ///< of the query heads, or none

  int64_t sharing() const { return a.qHeads / a.kvHeads; }
  int64_t headBytes() const { return a.headSize * typeBytes(a.cacheType); }
  int64_t valueBytes() const { return a.valueSize * typeBytes(a.cacheType); }
  /// Bytes of a cell, keys and values.
  int64_t cellBytes() const { return a.kvHeads * (headBytes() + valueBytes()); }
  /// Bytes to a query, and to its result.
  int64_t queryAt(int64_t token, int64_t head) const {
    return (token * a.qHeads + head) * a.headSize * typeBytes(a.type);
  }
  int64_t resultAt(int64_t token, int64_t head) const {
    return (token * a.qHeads + head) * a.valueSize * typeBytes(a.type);
  }
  /// Added to the scores of query head `head` and those behind it, from
  /// position `position` on; null without.
  AttentionBias biasOf(int64_t head, int64_t position) const {
    AttentionBias bias;
    if (!call.bias)
      return bias;
    bias.type = *a.biasType;
    bias.headStride = a.pages * a.page;
    bias.data = static_cast<const char *>(call.bias) +
                (head * bias.headStride + position) * typeBytes(bias.type);
    return bias;
  }
  /// The scale of a head's elements in a quantised cell, `scales` being
  /// those of keys or of values.
  float scaleOf(const float *scales, int64_t cell, int64_t head) const {
    switch (a.scales) {
    case PagedAttention::Scales::Cells:
      return scales[cell * a.kvHeads + head];
    case PagedAttention::Scales::Heads:
      return scales[head];
    case PagedAttention::Scales::One:
      break;
    }
    return scales[0];
  }
  const float *sinkOf(int64_t head) const {
    return sinks.empty() ? nullptr : &sinks[head];
  }
  /// Calls work(position, count, cell) for runs of positions in [begin, end)
  /// whose cells follow each other; the cell is -1 where there is no page.
  template <typename Work>
  void forRuns(int64_t row, int64_t begin, int64_t end, Work work) const {
    while (begin < end) {
      int64_t slot = begin / a.page, within = begin % a.page;
      int64_t count = std::min(end - begin, a.page - within);
      int64_t page = slot < a.pages ? call.table[row * a.pages + slot] : -1;
      bool isCell = page >= 0 && page < a.cells / a.page;
      work(begin, count, isCell ? page * a.page + within : -1);
      begin += count;
    }
  }
};

/// Segments of few queries. Each is cut into pieces of kSplitKeys positions and
/// groups of KV heads; whoever ends the last piece of a group combines them, in
/// their order. So one parallel region is entered, and the number of threads
/// changes nothing in the result.
class PagedDecode {
public:
  PagedDecode(const PagedStep &step, std::vector<Segment> segments);

  int64_t floats() const;
  void run(float *scratch);

private:
  /// The buffers of a worker.
  struct Own {
    int64_t *cells, *valueCells;
    int32_t *positions, *first, *last;
    float *q, *scores, *bias, *keyScales, *valueScales, *wide, *result;
  };
  int64_t biasFloats() const;
  int64_t scaleFloats() const;
  int64_t ownFloats() const;
  Own place(float *memory) const;
  void attend(int64_t item, const Own &own);
  int64_t listCells(const Segment &segment, int64_t split, int64_t head,
                    const Own &own) const;
  void findSeen(const Segment &segment, int64_t count, const Own &own) const;
  void listBias(int64_t head, int64_t heads, int64_t count,
                const Own &own) const;
  void widenQueries(const Segment &segment, int64_t head, int64_t heads,
                    float *q) const;
  void listScales(int64_t head, int64_t heads, int64_t count,
                  const Own &own) const;
  void widenCells(CacheBlock &block, const Own &own) const;
  void combine(int64_t index, int64_t head, int64_t heads, float *result) const;
  float *recordOf(int64_t index, int64_t split, int64_t head) const;
  int64_t splits(int64_t index) const {
    return firstSplit[index + 1] - firstSplit[index];
  }

  const PagedStep &step;
  /// Sizes, to two of the widest vectors of any CPU level.
  const int64_t padded = alignUp(step.a.headSize, 32);
  const int64_t paddedValue = alignUp(step.a.valueSize, 32);
  /// True if keys and values are read where they lie.
  const bool isDirect =
      padded == step.a.headSize && paddedValue == step.a.valueSize;
  std::vector<Segment> segments;
  /// The first piece and record of each segment, and past the last.
  std::vector<int64_t> firstSplit{0}, firstRecord{0};
  int64_t rows = 0;  ///< queries of a KV head, at most
  int64_t bytes = 0; ///< of keys and values
  int64_t groups = 1, headsPerGroup;
  std::unique_ptr<std::atomic<int64_t>[]> left; ///< pieces, of (segment, group)
  float *records = nullptr;
};

/// Segments of many queries. Pairs of a segment and a KV head are taken in
/// waves whose packed tiles fit a fixed amount of memory: in each, blocks of
/// keys are packed, then blocks of queries attend.
class PagedPrefill {
public:
  PagedPrefill(const PagedStep &step, std::vector<Segment> segments);

  int64_t floats() const;
  void run(float *scratch);

private:
  /// Packed keys and values of a segment and KV head, from position `base` on.
  struct Tile {
    const Segment *segment;
    int64_t head, base, blocks;
    bool isMasked; ///< positions without a page lie among those that are seen
    int64_t at;    ///< in the wave's memory
  };
  /// A block of keys, or of query heads and queries.
  struct Item {
    const Tile *tile;
    int64_t head, index;
  };
  int64_t tileFloats(const Tile &tile) const;
  void runWave(const Tile *begin, const Tile *end);
  void pack(const Item &item, int64_t worker);
  void gather(const Item &item, bool isKeys, char *rows, float *mask) const;
  void attend(const Item &item, int64_t worker);
  bool hasHoles(const Segment &segment) const;
  int64_t queriesPerBlock(const Segment &segment) const;
  int64_t headsPerBlock(const Segment &segment) const;

  const PagedStep &step;
  /// Value size, to the widest vector of any CPU level.
  const int64_t padded = alignUp(step.a.valueSize, 16);
  std::vector<Segment> segments;
  std::vector<Tile> tiles;
  const int64_t blockFloats =
      alignUp(attentionScratch(step.a.headSize, padded), 16);
  /// The floats of a worker: a block of queries, and rows of a block of keys or
  /// values.
  const int64_t ownFloats =
      blockFloats +
      alignUp(kKeyBlock * std::max(step.a.headSize, step.a.valueSize), 16);
  int64_t waveFloats = 0;
  float *wave = nullptr, *own = nullptr;
};

} // namespace tprt

#endif // TPRT_HOST_PAGEDPARTS_H
