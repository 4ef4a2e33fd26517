//===- PagedAttention.h - attention to pages of a cache ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens of many rows, each of which sees the keys and values of its own row:
// they lie in pages of a cache that all rows share.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_PAGEDATTENTION_H
#define TPRT_HOST_PAGEDATTENTION_H

#include "HostRank.h"

namespace tprt {

/// The arguments of tprt_api::paged_attention, or quantized_paged_attention.
struct PagedCall {
  int64_t tokens;
  const char *q, *keys, *values;
  const int32_t *rows, *positions, *table;
  const void *bias = nullptr, *sinks = nullptr;
  char *out;
  const float *keyScales = nullptr, *valueScales = nullptr;
};

class PagedAttentionEngine final : public Engine {
public:
  explicit PagedAttentionEngine(const Manifest &manifest)
      : PagedAttentionEngine(manifest.pagedAttentions) {}
  explicit PagedAttentionEngine(const std::vector<PagedAttention> &list)
      : descriptions(list) {}

  Status run(int64_t id, const PagedCall &call);
  int64_t scratchBytes() const override { return scratch.size(); }

private:
  const std::vector<PagedAttention> &descriptions;
  Buffer scratch;
};

} // namespace tprt

#endif // TPRT_HOST_PAGEDATTENTION_H
