//===- PagedPrefill.cpp - attention of many queries to pages --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "PagedParts.h"

#include "../support/Parallel.h"

#include <cstring>
#include <limits>

using namespace tprt;

namespace {
/// Bytes of packed keys and values that one wave may take.
constexpr int64_t kWaveBytes = int64_t(64) << 20;
} // namespace

PagedPrefill::PagedPrefill(const PagedStep &step, std::vector<Segment> list)
    : step(step), segments(std::move(list)) {
  int64_t at = 0;
  for (const Segment &segment : segments) {
    int64_t base = segment.first / kKeyBlock * kKeyBlock;
    int64_t blocks = (segment.end() - base + kKeyBlock - 1) / kKeyBlock;
    Tile tile{&segment, 0, base, blocks, hasHoles(segment), 0};
    for (; tile.head < step.a.kvHeads; ++tile.head) {
      // A tile at 0 begins a wave.
      bool fits = (at + tileFloats(tile)) * 4 <= kWaveBytes;
      tile.at = fits ? at : 0;
      at = tile.at + tileFloats(tile);
      waveFloats = std::max(waveFloats, at);
      tiles.push_back(tile);
    }
  }
}

bool PagedPrefill::hasHoles(const Segment &segment) const {
  bool found = false;
  step.forRuns(segment.row, segment.first, segment.end(),
               [&](int64_t, int64_t, int64_t cell) { found |= cell < 0; });
  return found;
}

/// Keys, values, and what masks them.
int64_t PagedPrefill::tileFloats(const Tile &tile) const {
  int64_t keyFloats = step.a.headSize + padded + tile.isMasked;
  return alignUp(tile.blocks * kKeyBlock * keyFloats, 16);
}

int64_t PagedPrefill::floats() const {
  return tiles.empty() ? 0 : waveFloats + workers() * ownFloats;
}

/// Few queries: several heads share a block.
int64_t PagedPrefill::headsPerBlock(const Segment &segment) const {
  return std::clamp<int64_t>(kQueryBlock / segment.count, 1, step.sharing());
}
int64_t PagedPrefill::queriesPerBlock(const Segment &segment) const {
  return std::min(segment.count, kQueryBlock / headsPerBlock(segment));
}

void PagedPrefill::run(float *scratch) {
  wave = scratch;
  own = wave + waveFloats;
  for (size_t begin = 0, end; begin < tiles.size(); begin = end) {
    for (end = begin + 1; end < tiles.size() && tiles[end].at != 0; ++end)
      ;
    runWave(&tiles[begin], &tiles[begin] + (end - begin));
  }
}

void PagedPrefill::runWave(const Tile *begin, const Tile *end) {
  std::vector<Item> keys, queries;
  for (const Tile *tile = begin; tile != end; ++tile) {
    for (int64_t block = 0; block < tile->blocks; ++block)
      keys.push_back({tile, 0, block});
    // The longest rows first: they end together.
    const Segment &segment = *tile->segment;
    int64_t size = queriesPerBlock(segment);
    for (int64_t block = (segment.count - 1) / size; block >= 0; --block)
      for (int64_t head = 0; head < step.sharing();
           head += headsPerBlock(segment))
        queries.push_back({tile, head, block * size});
  }
  parallelItems(int64_t(keys.size()), [&](int64_t item, int64_t worker) {
    pack(keys[item], worker);
  });
  parallelItems(int64_t(queries.size()), [&](int64_t item, int64_t worker) {
    attend(queries[item], worker);
  });
}

/// Brings the keys or values of a block's positions together: in the cache's
/// type, or as f32 where it is quantised. Positions without a page are masked.
void PagedPrefill::gather(const Item &item, bool isKeys, char *rows,
                          float *mask) const {
  const PagedAttention &a = step.a;
  const Tile &tile = *item.tile;
  const Segment &segment = *tile.segment;
  int64_t base = tile.base + item.index * kKeyBlock;
  int64_t end = std::min(base + kKeyBlock, segment.end());
  int64_t size = isKeys ? a.headSize : a.valueSize;
  int64_t cellBytes = isKeys ? step.headBytes() : step.valueBytes();
  int64_t bytes = a.element ? size * int64_t(sizeof(float)) : cellBytes;
  const char *pool = isKeys ? step.call.keys : step.call.values;
  const float *scales = isKeys ? step.call.keyScales : step.call.valueScales;
  auto copy = [&](int64_t cell, char *to) {
    const char *from = pool + (cell * a.kvHeads + tile.head) * cellBytes;
    if (a.element)
      simd().widenBytes(*a.element, from, step.scaleOf(scales, cell, tile.head),
                        reinterpret_cast<float *>(to), size);
    else
      std::memcpy(to, from, bytes);
  };
  int64_t unseen = std::clamp<int64_t>(segment.first - base, 0, end - base);
  std::memset(rows, 0, unseen * bytes);
  step.forRuns(segment.row, base + unseen, end,
               [&](int64_t position, int64_t run, int64_t cell) {
                 char *to = rows + (position - base) * bytes;
                 if (cell < 0) {
                   std::memset(to, 0, run * bytes);
                   std::fill_n(mask + position - base, run,
                               -std::numeric_limits<float>::infinity());
                 }
                 for (int64_t i = 0; cell >= 0 && i < run; ++i)
                   copy(cell + i, to + i * bytes);
               });
}

/// A block of keys and values. Positions that no query sees, or that have no
/// page, are zero: their memory may hold no numbers, and a weight of 0 would
/// not hide those.
void PagedPrefill::pack(const Item &item, int64_t worker) {
  const PagedAttention &a = step.a;
  const Tile &tile = *item.tile;
  int64_t base = tile.base + item.index * kKeyBlock;
  int64_t count = std::min(kKeyBlock, tile.segment->end() - base);
  char *rows = reinterpret_cast<char *>(own + worker * ownFloats + blockFloats);
  float *keys = wave + tile.at,
        *values = keys + tile.blocks * kKeyBlock * a.headSize;
  int64_t from = item.index * kKeyBlock;
  float *mask = values + tile.blocks * kKeyBlock * padded + from;
  if (tile.isMasked)
    std::fill_n(mask, kKeyBlock, 0.0f);
  tprt_type type = a.element ? TPRT_F32 : a.cacheType;
  gather(item, /*isKeys=*/true, rows, mask);
  float *block = keys + from * a.headSize;
  if (count < kKeyBlock)
    std::fill_n(block, a.headSize * kKeyBlock, 0.0f);
  simd().transpose(type, rows, a.headSize, count, a.headSize, block, kKeyBlock);
  gather(item, /*isKeys=*/false, rows, mask);
  simd().packValues(type, rows, a.valueSize, count, a.valueSize, padded,
                    values + from * padded);
}

/// A block of query heads and queries.
void PagedPrefill::attend(const Item &item, int64_t worker) {
  const PagedAttention &a = step.a;
  const Tile &tile = *item.tile;
  const Segment &segment = *tile.segment;
  auto task = taskOf<AttentionBlock>(a);
  task.heads = std::min(headsPerBlock(segment), step.sharing() - item.head);
  task.queries = std::min(queriesPerBlock(segment), segment.count - item.index);
  task.paddedValueSize = padded;
  task.qStride = a.qHeads * a.headSize;
  task.outStride = a.qHeads * a.valueSize;
  int64_t token = segment.token + item.index;
  int64_t head = tile.head * step.sharing() + item.head;
  task.q = step.call.q + step.queryAt(token, head);
  task.out = step.call.out + step.resultAt(token, head);
  task.bias = step.biasOf(head, tile.base);
  task.sinks = step.sinkOf(head);
  task.lse = nullptr;
  task.lseStride = 0;
  task.keys = wave + tile.at;
  task.values = task.keys + tile.blocks * kKeyBlock * a.headSize;
  task.keyMask =
      tile.isMasked ? task.values + tile.blocks * kKeyBlock * padded : nullptr;
  task.kvLen = segment.end() - tile.base;
  task.position = segment.position - tile.base + item.index;
  task.causal = true;
  task.scratch = own + worker * ownFloats;
  simd().attend(task);
}
