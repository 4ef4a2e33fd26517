//===- AttentionMasks.h - Which keys a row sees -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The query at position p sees a range of keys, [lowest(p), highest(p)): what
// kv_len, the causal mask and the window leave. Seen from the other side it is
// the same: a key is seen by a range of queries. Neither end falls as p grows,
// so the rows of a block need the tiles from its first row's lowest key to its
// last row's highest, and between its last row's lowest and its first row's
// highest nothing is masked at all. With a window of 4, causal, and tiles of 8:
//
//        rows at positions 9 to 12    first row sees 6..9, last row 9..12
//        tiles read                   0 (keys 0..7) and 1 (keys 8..15)
//        keys that all rows see       9 alone: both tiles are masked by element
//
// The mask of padding ([batch, kv_capacity], non-zero: visible) is read by each
// warp, a key per lane, and kept as a bit per key. So is which keys have a
// page.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONMASKS_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONMASKS_H

#include "AttentionProducts.h"

namespace tp {

/// The keys that a row at position p sees: [p + from, p + to), as far as there
/// is any; an end without a number is not bounded by p.
struct Sight {
  std::optional<int64_t> from, to;

  static Sight ofQueries(const AttentionShape &shape) {
    Sight sight;
    if (shape.window > 0)
      sight.from = shape.causal ? 1 - shape.window : -(shape.window / 2);
    if (shape.causal)
      sight.to = 1;
    else if (shape.window > 0)
      sight.to = shape.window / 2 + 1;
    return sight;
  }
  /// The queries that see a key, where that is row p and they are the keys of
  /// these masks.
  static Sight ofKeys(const AttentionShape &shape) {
    if (!shape.causal)
      return ofQueries(shape); // as far to either side
    Sight sight;
    sight.from = 0;
    if (shape.window > 0)
      sight.to = shape.window;
    return sight;
  }
};

class AttentionMasks {
public:
  using Value = mlir::Value;

  /// The arguments are, of the call: kv_len, q_offset, how many queries (i32)
  /// there are, and the mask's row of this batch entry (or null); of the block:
  /// its first row; of the warp: its first row and key, counted from the
  /// block's row and from the tile.
  AttentionMasks(KernelEmitter &emitter, const AttentionShape &shape,
                 const AttentionTiles &tiles, Sight sight, Value keyLength,
                 Value queryOffset, Value queries, Value mask, Value blockRow,
                 Value warpRow, Value warpKey, Value lane);

  /// Tiles that some row of the block sees: [first, end), empty if end <=
  /// first.
  Value firstTile, endTile;
  /// The first key that the first query sees.
  Value firstKey;

  /// Reads the mask of padding for the tile that begins at key `start`.
  void readPadding(Value start);
  /// The same where `hasKey` tells of a key (i32) whether it is anywhere.
  void readPages(Value start, llvm::function_ref<Value(Value key)> hasKey);
  /// Scores of keys that are not seen become -inf.
  Fragments apply(const Fragments &scores, Value start);

private:
  KernelEmitter &e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;
  Sight sight;
  Value keyLength, queryOffset, mask, warpKey, lane;
  Value firstRow;           ///< of this lane, counted from the KV head's
  Value wholeFrom, wholeTo; ///< keys that all rows see
  llvm::SmallVector<Value> padding; ///< words of 32 keys
  Value hasAll; ///< no key of the tile is hidden; null if that is not known

  /// Bits of what `isSeen` tells of the warp's keys; of some lanes none.
  void readBits(Value start,
                llvm::function_ref<Value(Value key, Value isOwn)> isSeen);
  Value getLowest(Value position);
  Value getHighest(Value position);
  std::pair<Value, Value> getVisible(int64_t half);
  Fragments applyByElement(const Fragments &scores, Value start);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONMASKS_H
