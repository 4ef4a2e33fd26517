//===- AttentionOrder.cpp - Order of attention's blocks -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionOrder.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionOrder.h"

#include <algorithm>

using namespace mlir;
using namespace tp;

/// The part of the second-level cache (40 MiB and more from sm_80 on) for keys
/// and values; rows and results pass through it too.
static constexpr int64_t cacheBytes = 16 << 20;

AttentionOrder::AttentionOrder(int64_t splits, int64_t blocks, int64_t heads,
                               int64_t batch, bool differ, int64_t headBytes)
    : splits(splits), blocks(blocks), heads(heads), batch(batch), together(1) {
  if (differ && blocks > 1)
    together = std::clamp<int64_t>(cacheBytes / std::max<int64_t>(headBytes, 1),
                                   1, heads * batch);
}

AttentionOrder::Place AttentionOrder::locate(KernelEmitter &e,
                                             Value number) const {
  int64_t lines = heads * batch;
  Value split = e.rem(number, splits);
  number = e.div(number, splits);
  Value group = e.div(number, blocks * together);
  Value within = e.rem(number, blocks * together);
  Value first = e.mul(group, together);
  Value size = e.int32(together);
  if (lines % together != 0) // the last group is smaller
    size = e.min(e.sub(e.int32(lines), first), together);
  Value line = e.add(first, e.rem(within, size));
  return {split, e.div(within, size), e.rem(line, heads), e.div(line, heads)};
}
