//===- HeadSplits.h - How heads may be spread over ranks --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N = a b ranks cut the KV heads a ways and the query heads of each KV head b
// ways; both cuts may be uneven, and what is missing on the last ranks is
// padding. Ranks that differ only in b hold copies of their KV heads.
//
// Example: 28 query heads of 4 KV heads on 8 ranks. 4 x 2 leaves each rank one
// KV head and four of its seven query heads, or three and one of padding.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_HEADSPLITS_H
#define TP_LIB_ANNOTATE_HEADSPLITS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace tp {

/// Numbers of heads that share what.
struct HeadCounts {
  int64_t queries, keys;
  /// The words for one of each in messages. In linear attention value heads
  /// share key heads.
  llvm::StringLiteral query = "query head", key = "KV head",
                      keysTogether = "key/value heads";
  /// Query heads of each KV head.
  int64_t getGroup() const { return queries / keys; }
};

struct HeadSplit {
  /// Ways in which KV heads, and the query heads of each, are cut.
  int64_t outer, inner;
  /// KV heads of a rank, and query heads of each, padding included.
  int64_t keys, group;

  int64_t getQueries() const { return keys * group; }
  int64_t getDegree() const { return outer * inner; }
  /// Query heads of all ranks, padding included.
  int64_t getPaddedQueries() const { return getDegree() * getQueries(); }
  /// Heads whose rows a rank has in the four projections: its parameters, and
  /// the FLOPs of their products.
  int64_t getRows() const { return 2 * getQueries() + 2 * keys; }
};

/// The ways in which `degree` ranks can share the heads, cheapest first: by
/// rows of the projections, then by cached heads, then by heads of attention.
/// None if there are more ranks than query heads.
llvm::SmallVector<HeadSplit> listHeadSplits(HeadCounts heads, int64_t degree);

/// Returns true if more than half of the query heads would be padding, which is
/// refused unless it is asked for.
bool isWasteful(HeadCounts heads, const HeadSplit &split);

/// "4 x 2, 4 query heads and 1 KV head a rank, 4 of 32 query heads are
/// padding".
std::string describe(HeadCounts heads, const HeadSplit &split);

} // namespace tp

#endif // TP_LIB_ANNOTATE_HEADSPLITS_H
