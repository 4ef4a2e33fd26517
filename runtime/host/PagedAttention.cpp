//===- PagedAttention.cpp - attention to pages, and writing them ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens that follow each other in one row are a segment: the keys and values
// that its last token sees are packed from their pages once per KV head, and
// blocks of its queries run over them as in Attention.cpp.
//
//===----------------------------------------------------------------------===//

#include "HostRank.h"

#include "../support/Parallel.h"
#include "../support/Simd.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

namespace {

constexpr int64_t kHeadPadding = 16;

/// The arguments of tprt_api::paged_attention.
struct PagedCall {
  int64_t tokens;
  const char *q, *keys, *values;
  const int32_t *rows, *positions, *table;
  char *out;
};

/// Tokens [token, token + count) stand at `position` and behind it of `row`,
/// and see positions from `first` on.
struct Segment {
  int64_t token, count, row, position, first;
  int64_t end() const { return position + count; }
};

class PagedAttentionEngine final : public Engine {
public:
  explicit PagedAttentionEngine(const Manifest &manifest)
      : descriptions(manifest.pagedAttentions) {}

  Status run(int64_t id, const PagedCall &call);
  int64_t scratchBytes() const override { return scratch.size(); }

private:
  const std::vector<PagedAttention> &descriptions;
  Buffer scratch;
};

/// One call, cut into segments, KV heads and blocks of queries.
struct Pages {
  Pages(const PagedAttention &a, const PagedCall &call);

  int64_t floats() const {
    return workers() * (tileFloats + ownFloats + rowFloats);
  }
  void attend(const Segment &segment, int64_t head, int64_t worker);

  const PagedAttention &a;
  const PagedCall &call;
  std::vector<Segment> segments;
  int64_t padded, longest = 0; ///< head size; keys of a segment
  int64_t tileFloats, ownFloats, rowFloats;
  float *scratch = nullptr;

private:
  const char *cell(const char *pool, const Segment &segment, int64_t position,
                   int64_t head) const;
  void pack(const Segment &segment, int64_t head, int64_t block, char *rows,
            float *keys, float *values) const;
};

Pages::Pages(const PagedAttention &a, const PagedCall &call)
    : a(a), call(call), padded(alignUp(a.headSize, kHeadPadding)) {
  for (int64_t t = 0; t < call.tokens; ++t) {
    int64_t row = call.rows[t], position = call.positions[t];
    if (!segments.empty() && row == segments.back().row &&
        position == segments.back().end()) {
      ++segments.back().count;
      continue;
    }
    // Positions past the table have no cells and are not seen.
    bool isNone = row < 0 || row >= a.rows || position < 0;
    int64_t first =
        a.window ? std::max<int64_t>(0, position - a.window + 1) : 0;
    segments.push_back(
        {t, 1, isNone ? -1 : row, position, first / kKeyBlock * kKeyBlock});
  }
  for (const Segment &segment : segments)
    longest = std::max(longest, segment.end() - segment.first);
  longest = alignUp(longest, kKeyBlock);
  tileFloats = alignUp(longest * (a.headSize + padded), 16);
  ownFloats = alignUp(attentionScratch(padded), 16);
  rowFloats = alignUp(kKeyBlock * a.headSize, 16);
}

/// Null where the position has no page.
const char *Pages::cell(const char *pool, const Segment &segment,
                        int64_t position, int64_t head) const {
  int64_t slot = position / a.page;
  int64_t page = slot < a.pages ? call.table[segment.row * a.pages + slot] : -1;
  if (page < 0 || page >= a.cells / a.page)
    return nullptr;
  int64_t index = page * a.page + position % a.page;
  return pool +
         (index * a.kvHeads + head) * a.headSize * typeBytes(a.cacheType);
}

/// A block of keys and values, which begins `block` positions past the first.
void Pages::pack(const Segment &segment, int64_t head, int64_t block,
                 char *rows, float *keys, float *values) const {
  int64_t base = segment.first + block;
  int64_t count = std::min(kKeyBlock, segment.end() - base);
  int64_t bytes = a.headSize * typeBytes(a.cacheType);
  auto gather = [&](const char *pool) {
    for (int64_t i = 0; i < count; ++i) {
      const char *from = cell(pool, segment, base + i, head);
      from ? (void)std::memcpy(rows + i * bytes, from, bytes)
           : (void)std::memset(rows + i * bytes, 0, bytes);
    }
  };
  gather(call.keys);
  simd().packKeys(a.cacheType, rows, a.headSize, count, a.headSize,
                  keys + block * a.headSize);
  gather(call.values);
  simd().packValues(a.cacheType, rows, a.headSize, count, a.headSize, padded,
                    values + block * padded);
}

void Pages::attend(const Segment &segment, int64_t head, int64_t worker) {
  int64_t sharing = a.qHeads / a.kvHeads;
  int64_t tokenBytes = a.qHeads * a.headSize * typeBytes(a.type);
  int64_t offset = segment.token * tokenBytes +
                   head * sharing * a.headSize * typeBytes(a.type);
  if (segment.row < 0) {
    for (int64_t t = 0; t < segment.count; ++t)
      std::memset(call.out + offset + t * tokenBytes, 0,
                  tokenBytes / a.kvHeads);
    return;
  }
  float *keys = scratch + worker * (tileFloats + ownFloats + rowFloats);
  float *values = keys + longest * a.headSize, *own = keys + tileFloats;
  char *rows = reinterpret_cast<char *>(own + ownFloats);
  int64_t length = segment.end() - segment.first;
  for (int64_t block = 0; block < length; block += kKeyBlock)
    pack(segment, head, block, rows, keys, values);
  AttentionBlock task;
  task.type = a.type;
  task.headSize = a.headSize;
  task.paddedHeadSize = padded;
  task.qStride = task.outStride = a.qHeads * a.headSize;
  task.lse = nullptr;
  task.lseStride = 0;
  task.keys = keys;
  task.values = values;
  task.keyMask = nullptr;
  task.kvLen = length;
  task.causal = true;
  task.window = a.window;
  task.scale = float(a.scale);
  task.scratch = own;
  int64_t queries = std::min(segment.count, kQueryBlock);
  int64_t heads = std::clamp<int64_t>(kQueryBlock / queries, 1, sharing);
  for (int64_t query = 0; query < segment.count; query += queries)
    for (int64_t h = 0; h < sharing; h += heads) {
      task.queries = std::min(queries, segment.count - query);
      task.heads = std::min(heads, sharing - h);
      int64_t at =
          offset + query * tokenBytes + h * a.headSize * typeBytes(a.type);
      task.q = call.q + at;
      task.out = call.out + at;
      task.position = segment.position - segment.first + query;
      simd().attend(task);
    }
}

Status PagedAttentionEngine::run(int64_t id, const PagedCall &call) {
  if (id < 0 || id >= int64_t(descriptions.size()))
    return internalError("paged attention ", id, " is not in the manifest");
  const PagedAttention &a = descriptions[id];
  Pages pages(a, call);
  TPRT_TRY(scratch.reserve(pages.floats() * 4));
  pages.scratch = reinterpret_cast<float *>(scratch.data());
  parallelItems(int64_t(pages.segments.size()) * a.kvHeads,
                [&](int64_t item, int64_t worker) {
                  pages.attend(pages.segments[item / a.kvHeads],
                               item % a.kvHeads, worker);
                });
  return {};
}

} // namespace

int32_t HostFunctions::paged_attention(tprt_rank *rank, int32_t id,
                                       int64_t tokens, const void *q,
                                       const void *keys, const void *values,
                                       const void *rows, const void *positions,
                                       const void *table, void *out) {
  auto &host = *static_cast<HostRank *>(rank);
  auto bytes = [](const void *p) { return static_cast<const char *>(p); };
  auto numbers = [](const void *p) { return static_cast<const int32_t *>(p); };
  return host.traced(Timeline::Kind::PagedAttention, id, 0, [&] {
    return host.engine<PagedAttentionEngine>(TPRT_SLOT_paged_attention)
        .run(id,
             {tokens, bytes(q), bytes(keys), bytes(values), numbers(rows),
              numbers(positions), numbers(table), static_cast<char *>(out)});
  });
}

int32_t HostFunctions::cache_write(tprt_rank *, int64_t tokens,
                                   int64_t cellBytes, int64_t numCells,
                                   const void *rows, const void *cells,
                                   const void *old, void *pool) {
  if (pool != old)
    std::memcpy(pool, old, cellBytes * numCells);
  for (int64_t t = 0; t < tokens; ++t) {
    int64_t cell = static_cast<const int32_t *>(cells)[t];
    if (cell >= 0 && cell < numCells)
      std::memcpy(static_cast<char *>(pool) + cell * cellBytes,
                  static_cast<const char *>(rows) + t * cellBytes, cellBytes);
  }
  return 0;
}
