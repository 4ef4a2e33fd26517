//===- PagedDecode.cpp - attention of few queries to pages ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedParts.h"

#include "../support/Parallel.h"

#include <cstring>

using namespace tprt;

namespace {
/// Bytes of keys and values that are worth another item, and a parallel region.
constexpr int64_t kItemBytes = int64_t(64) << 10;
constexpr int64_t kRegionBytes = int64_t(128) << 10;
} // namespace

PagedDecode::PagedDecode(const PagedStep &step, std::vector<Segment> list)
    : step(step), segments(std::move(list)) {
  const PagedAttention &a = step.a;
  for (const Segment &s : segments) {
    int64_t queries = s.count * step.sharing();
    int64_t splits = (s.end() - 1) / kSplitKeys - s.first / kSplitKeys + 1;
    firstSplit.push_back(firstSplit.back() + splits);
    firstRecord.push_back(firstRecord.back() + splits * a.kvHeads * queries);
    rows = std::max(rows, queries);
    bytes += (s.end() - s.first) * step.cellBytes();
  }
  // Several items for each worker, where there are bytes for them.
  int64_t pieces = std::max<int64_t>(firstSplit.back(), 1);
  int64_t wanted = std::min((4 * workers() + pieces - 1) / pieces,
                            bytes / (pieces * kItemBytes));
  headsPerGroup = a.kvHeads / std::clamp<int64_t>(wanted, 1, a.kvHeads);
  groups = (a.kvHeads + headsPerGroup - 1) / headsPerGroup;
  int64_t count = int64_t(segments.size()) * groups;
  left = std::make_unique<std::atomic<int64_t>[]>(count);
  for (int64_t i = 0; i < count; ++i)
    left[i] = splits(i / groups);
}

PagedDecode::Own PagedDecode::place(float *memory) const {
  Own own;
  own.cells = reinterpret_cast<int64_t *>(memory);
  own.valueCells = own.cells + kSplitKeys;
  own.positions = reinterpret_cast<int32_t *>(own.valueCells + kSplitKeys);
  own.first = own.positions + kSplitKeys;
  own.last = own.first + alignUp(rows, 16);
  own.q = reinterpret_cast<float *>(own.last + alignUp(rows, 16));
  own.scores = own.q + headsPerGroup * rows * padded;
  own.result = own.scores + headsPerGroup * rows * kSplitKeys;
  own.bias = own.result + paddedValue;
  own.keyScales = own.bias + biasFloats();
  own.valueScales = own.keyScales + scaleFloats();
  own.wide = own.valueScales + scaleFloats();
  return own;
}

int64_t PagedDecode::biasFloats() const {
  return step.call.bias ? headsPerGroup * step.sharing() * kSplitKeys : 0;
}

/// The scales of keys, or of values.
int64_t PagedDecode::scaleFloats() const {
  return step.a.element ? headsPerGroup * kSplitKeys : 0;
}

int64_t PagedDecode::ownFloats() const {
  int64_t queries = headsPerGroup * rows * (padded + kSplitKeys) + paddedValue;
  int64_t wide =
      isDirect ? 0 : kSplitKeys * headsPerGroup * (padded + paddedValue);
  return 5 * kSplitKeys + 2 * alignUp(rows, 16) + queries + biasFloats() +
         2 * scaleFloats() + wide;
}

int64_t PagedDecode::floats() const {
  return firstRecord.back() * recordFloats(paddedValue) +
         workers() * ownFloats();
}

/// The record of the first query of KV head `head`.
float *PagedDecode::recordOf(int64_t index, int64_t split, int64_t head) const {
  int64_t queries = segments[index].count * step.sharing();
  return records +
         (firstRecord[index] + (split * step.a.kvHeads + head) * queries) *
             recordFloats(paddedValue);
}

/// The cells of a piece that are there, and their positions.
int64_t PagedDecode::listCells(const Segment &segment, int64_t split,
                               int64_t head, const Own &own) const {
  int64_t begin = (segment.first / kSplitKeys + split) * kSplitKeys;
  int64_t end = std::min(begin + kSplitKeys, segment.end()), listed = 0;
  step.forRuns(segment.row, std::max(begin, segment.first), end,
               [&](int64_t position, int64_t count, int64_t cell) {
                 for (int64_t i = 0; cell >= 0 && i < count; ++i, ++listed) {
                   int64_t place = (cell + i) * step.a.kvHeads + head;
                   own.cells[listed] = place * step.headBytes();
                   own.valueCells[listed] = place * step.valueBytes();
                   own.positions[listed] = int32_t(position + i);
                 }
               });
  return listed;
}

/// Finds which of the listed cells each query sees.
void PagedDecode::findSeen(const Segment &segment, int64_t count,
                           const Own &own) const {
  const int32_t *begin = own.positions, *end = begin + count;
  auto indexOf = [&](int64_t position) {
    return int32_t(std::lower_bound(begin, end, position) - begin);
  };
  for (int64_t r = 0; r < segment.count * step.sharing(); ++r) {
    int64_t position = segment.position + r / step.sharing();
    own.first[r] = step.a.window ? indexOf(position - step.a.window + 1) : 0;
    own.last[r] = indexOf(position + 1);
  }
}

/// Lists the bias of the listed cells' scores, for each query head of KV heads
/// [head, head + heads); zero behind them.
void PagedDecode::listBias(int64_t head, int64_t heads, int64_t count,
                           const Own &own) const {
  float *line = own.bias;
  int64_t first = head * step.sharing(), last = first + heads * step.sharing();
  for (; first < last; ++first, line += kSplitKeys) {
    AttentionBias bias = step.biasOf(first, 0);
    const char *data = static_cast<const char *>(bias.data);
    std::fill_n(line, kSplitKeys, 0.0f);
    // Positions follow each other, but where a page is missing.
    for (int64_t i = 0, run; i < count; i += run) {
      int64_t position = own.positions[i];
      for (run = 1;
           i + run < count && own.positions[i + run] == position + run;)
        ++run;
      simd().widen(bias.type, data + position * typeBytes(bias.type), line + i,
                   run);
    }
  }
}

/// Lists the scales of the listed cells, for each of KV heads [head, head +
/// heads).
void PagedDecode::listScales(int64_t head, int64_t heads, int64_t count,
                             const Own &own) const {
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < count; ++i) {
      int64_t cell = own.cells[i] / step.headBytes() / step.a.kvHeads;
      int64_t at = h * kSplitKeys + i;
      own.keyScales[at] = step.scaleOf(step.call.keyScales, cell, head + h);
      own.valueScales[at] = step.scaleOf(step.call.valueScales, cell, head + h);
    }
}

/// The queries of KV heads [head, head + heads), scaled.
void PagedDecode::widenQueries(const Segment &segment, int64_t head,
                               int64_t heads, float *q) const {
  const PagedAttention &a = step.a;
  for (int64_t h = head; h < head + heads; ++h)
    for (int64_t t = 0; t < segment.count; ++t)
      for (int64_t i = 0; i < step.sharing(); ++i, q += padded) {
        int64_t at = step.queryAt(segment.token + t, h * step.sharing() + i);
        simd().widen(a.type, step.call.q + at, q, a.headSize);
        std::fill(q + a.headSize, q + padded, 0.0f);
        for (int64_t d = 0; d < a.headSize; ++d)
          q[d] *= float(a.scale);
      }
}

/// Heads that are no whole vectors are read from a copy with room around them.
void PagedDecode::widenCells(CacheBlock &block, const Own &own) const {
  const std::optional<QuantizedType> &element = step.a.element;
  auto widen = [&](const char *&pool, int64_t *cells, const float *scales,
                   int64_t size, int64_t paddedSize, float *out) {
    int64_t cellFloats = block.heads * paddedSize;
    for (int64_t i = 0; i < block.count; ++i) {
      float *to = out + i * cellFloats;
      if (!element)
        simd().packValues(step.a.cacheType, pool + cells[i], size, block.heads,
                          size, paddedSize, to);
      for (int64_t h = 0; element && h < block.heads; ++h, to += paddedSize) {
        simd().widenBytes(*element, pool + cells[i] + h * size,
                          scales[h * kSplitKeys + i], to, size);
        std::fill(to + size, to + paddedSize, 0.0f);
      }
      cells[i] = i * cellFloats * int64_t(sizeof(float));
    }
    pool = reinterpret_cast<const char *>(out);
  };
  widen(block.keys, own.cells, own.keyScales, step.a.headSize, padded,
        own.wide);
  widen(block.values, own.valueCells, own.valueScales, step.a.valueSize,
        paddedValue, own.wide + kSplitKeys * block.heads * padded);
  block.type = TPRT_F32;
}

void PagedDecode::attend(int64_t item, const Own &own) {
  int64_t piece = item / groups, group = item % groups;
  int64_t index =
      std::upper_bound(firstSplit.begin(), firstSplit.end(), piece) -
      firstSplit.begin() - 1;
  int64_t split = piece - firstSplit[index], head = group * headsPerGroup;
  const Segment &segment = segments[index];
  CacheBlock block;
  block.type = step.a.cacheType;
  block.keys = step.call.keys;
  block.values = step.call.values;
  block.count = listCells(segment, split, head, own);
  block.heads = std::min(headsPerGroup, step.a.kvHeads - head);
  block.rows = segment.count * step.sharing();
  block.headSize = padded;
  block.valueSize = paddedValue;
  block.softCap = float(step.a.softCap);
  findSeen(segment, block.count, own);
  widenQueries(segment, head, block.heads, own.q);
  if (step.call.bias) {
    listBias(head, block.heads, block.count, own);
    block.bias = own.bias;
    block.sharing = step.sharing();
  }
  if (step.a.element)
    listScales(head, block.heads, block.count, own);
  if (!isDirect) {
    widenCells(block, own);
  } else if (step.a.element) {
    block.element = step.a.element;
    block.keyScales = own.keyScales;
    block.valueScales = own.valueScales;
  }
  block.cells = own.cells;
  block.valueCells = own.valueCells;
  block.q = own.q;
  block.first = own.first;
  block.last = own.last;
  block.scores = own.scores;
  block.records = recordOf(index, split, head);
  simd().attendCache(block);
  if (left[index * groups + group].fetch_sub(1) == 1)
    combine(index, head, block.heads, own.result);
}

void PagedDecode::combine(int64_t index, int64_t head, int64_t heads,
                          float *result) const {
  const Segment &segment = segments[index];
  int64_t queries = segment.count * step.sharing();
  int64_t size = recordFloats(paddedValue);
  for (int64_t h = head; h < head + heads; ++h)
    for (int64_t r = 0; r < queries; ++r) {
      int64_t token = segment.token + r / step.sharing();
      int64_t own = h * step.sharing() + r % step.sharing();
      simd().mergeRecords(recordOf(index, 0, h) + r * size, splits(index),
                          step.a.kvHeads * queries * size, paddedValue,
                          step.sinkOf(own), result);
      simd().narrow(step.a.type, result,
                    step.call.out + step.resultAt(token, own),
                    step.a.valueSize);
    }
}

void PagedDecode::run(float *scratch) {
  int64_t each = ownFloats();
  records = scratch + workers() * each;
  int64_t items = firstSplit.back() * groups;
  auto work = [&](int64_t item, int64_t worker) {
    attend(item, place(scratch + worker * each));
  };
  if (bytes >= kRegionBytes)
    return parallelItems(items, work);
  for (int64_t item = 0; item < items; ++item)
    work(item, 0);
}
