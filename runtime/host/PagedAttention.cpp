//===- PagedAttention.cpp - attention to pages ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts the tokens of a call into segments, and hands each to what is faster
// for it.
//
//===----------------------------------------------------------------------===//

#include "PagedAttention.h"
#include "PagedParts.h"

#include <cstring>

using namespace tprt;

namespace {

/// Queries of a KV head that still read keys and values where they lie.
constexpr int64_t kDirectQueries = 16;

/// The tokens that have a row, as segments.
std::vector<Segment> findSegments(const PagedAttention &a,
                                  const PagedCall &call) {
  std::vector<Segment> segments;
  for (int64_t t = 0; t < call.tokens; ++t) {
    int64_t row = call.rows[t], position = call.positions[t];
    if (row < 0 || row >= a.rows || position < 0)
      continue;
    if (!segments.empty()) {
      Segment &last = segments.back();
      if (last.row == row && last.end() == position &&
          last.token + last.count == t) {
        ++last.count;
        continue;
      }
    }
    int64_t first =
        a.window ? std::max<int64_t>(0, position - a.window + 1) : 0;
    segments.push_back({t, 1, row, position, first});
  }
  return segments;
}

/// Tokens that no segment has get zeros.
void clearRest(const PagedStep &step, const std::vector<Segment> &segments) {
  int64_t next = 0;
  auto clear = [&](int64_t end) {
    std::memset(step.call.out + step.resultAt(next, 0), 0,
                step.resultAt(end - next, 0));
  };
  for (const Segment &segment : segments) {
    clear(segment.token);
    next = segment.token + segment.count;
  }
  clear(step.call.tokens);
}

} // namespace

Status PagedAttentionEngine::run(int64_t id, const PagedCall &call) {
  if (id < 0 || id >= int64_t(descriptions.size()))
    return internalError("paged attention ", id, " is not in the manifest");
  const PagedAttention &a = descriptions[id];
  if (call.tokens < 0 || call.tokens > a.tokens)
    return internalError("paged attention ", id, ": expected at most ",
                         a.tokens, " tokens, got ", call.tokens);
  if (!!call.bias != a.biasType.has_value())
    return internalError("paged attention ", id,
                         ": the bias is not as the manifest says");
  if (!!call.sinks != a.sinksType.has_value())
    return internalError("paged attention ", id,
                         ": the sinks are not as the manifest says");
  if (!!call.keyScales != a.element.has_value())
    return internalError("paged attention ", id,
                         ": the cache is not as the manifest says");
  PagedStep step{a, call};
  if (call.sinks) {
    step.sinks.resize(a.qHeads);
    simd().widen(*a.sinksType, call.sinks, step.sinks.data(), a.qHeads);
  }
  std::vector<Segment> few, many = findSegments(a, call);
  clearRest(step, many);
  auto isFew = [&](const Segment &segment) {
    return segment.count * step.sharing() <= kDirectQueries ||
           segment.count == 1;
  };
  std::copy_if(many.begin(), many.end(), std::back_inserter(few), isFew);
  many.erase(std::remove_if(many.begin(), many.end(), isFew), many.end());
  PagedDecode decode(step, std::move(few));
  PagedPrefill prefill(step, std::move(many));
  TPRT_TRY(scratch.reserve(std::max(decode.floats(), prefill.floats()) * 4));
  decode.run(reinterpret_cast<float *>(scratch.data()));
  prefill.run(reinterpret_cast<float *>(scratch.data()));
  return {};
}

int32_t HostFunctions::paged_attention(tprt_rank *rank, int32_t id,
                                       int64_t tokens, const void *q,
                                       const void *keys, const void *values,
                                       const void *rows, const void *positions,
                                       const void *table, const void *bias,
                                       const void *sinks, void *out) {
  auto &host = *static_cast<HostRank *>(rank);
  auto bytes = [](const void *p) { return static_cast<const char *>(p); };
  auto numbers = [](const void *p) { return static_cast<const int32_t *>(p); };
  return host.traced(Timeline::Kind::PagedAttention, id, host.layer, [&] {
    return host.engine<PagedAttentionEngine>(TPRT_SLOT_paged_attention)
        .run(id, {tokens, bytes(q), bytes(keys), bytes(values), numbers(rows),
                  numbers(positions), numbers(table), bias, sinks,
                  static_cast<char *>(out)});
  });
}

int32_t HostFunctions::quantized_paged_attention(
    tprt_rank *rank, int32_t id, int64_t tokens, const void *q,
    const void *keys, const void *keyScales, const void *values,
    const void *valueScales, const void *rows, const void *positions,
    const void *table, const void *bias, const void *sinks, void *out) {
  auto &host = *static_cast<HostRank *>(rank);
  auto bytes = [](const void *p) { return static_cast<const char *>(p); };
  auto numbers = [](const void *p) { return static_cast<const int32_t *>(p); };
  auto floats = [](const void *p) { return static_cast<const float *>(p); };
  return host.traced(Timeline::Kind::PagedAttention, id, host.layer, [&] {
    return host.engine<PagedAttentionEngine>(TPRT_SLOT_paged_attention)
        .run(id, {tokens, bytes(q), bytes(keys), bytes(values), numbers(rows),
                  numbers(positions), numbers(table), bias, sinks,
                  static_cast<char *>(out), floats(keyScales),
                  floats(valueScales)});
  });
}
