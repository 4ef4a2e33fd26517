//===- HeadSplits.cpp - How heads may be spread over ranks ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All pairs of factors of the degree, by their cost.
//
//===----------------------------------------------------------------------===//

#include "HeadSplits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <tuple>

using namespace tp;

llvm::SmallVector<HeadSplit> tp::listHeadSplits(HeadCounts heads,
                                                int64_t degree) {
  llvm::SmallVector<HeadSplit> splits;
  for (int64_t outer = 1; outer <= degree && degree <= heads.queries; ++outer) {
    int64_t inner = degree / outer;
    if (degree % outer != 0)
      continue;
    splits.push_back({outer, inner,
                      int64_t(llvm::divideCeil(heads.keys, outer)),
                      int64_t(llvm::divideCeil(heads.getGroup(), inner))});
  }
  auto cost = [](const HeadSplit &split) {
    return std::tuple(split.getRows(), split.keys, split.getQueries(),
                      split.outer);
  };
  llvm::sort(splits, [&](const HeadSplit &a, const HeadSplit &b) {
    return cost(a) < cost(b);
  });
  return splits;
}

bool tp::isWasteful(HeadCounts heads, const HeadSplit &split) {
  return split.getPaddedQueries() > 2 * heads.queries;
}

static std::string several(int64_t number, llvm::StringRef what) {
  return std::to_string(number) + " " + what.str() + (number == 1 ? "" : "s");
}

std::string tp::describe(HeadCounts heads, const HeadSplit &split) {
  int64_t all = split.getPaddedQueries();
  return std::to_string(split.outer) + " x " + std::to_string(split.inner) +
         ", " + several(split.getQueries(), heads.query) + " and " +
         several(split.keys, heads.key) + " a rank, " +
         std::to_string(all - heads.queries) + " of " +
         several(all, heads.query) + " padding";
}
