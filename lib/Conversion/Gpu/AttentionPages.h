//===- AttentionPages.h - Tokens and keys found by number -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn.paged_attention adds this to attention: which tokens a block has, where
// they stand, and in which cell a key lies. All of it is read when the kernel
// runs, so that one recorded launch is right for any lengths.
//
// If each batch entry is a token (AttentionShape) there is nothing to find.
// Otherwise every token has a block, and those of tokens that begin a *run*
// work: tokens that follow each other in one row, and none of which but the
// first has a number that `most`, what a block has room for, divides. Tokens
// without a row are runs too, of no keys. With most = 4 and the rows and
// positions
//
//        token      0   1   2   3   4   5   6
//        row        0   1   1   1   1   1  -1
//        position  70   3   4   5   6   7  -1
//
// there are runs at tokens 0 (one token), 1 (three), 4 (two) and 6 (one).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONPAGES_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONPAGES_H

#include "AttentionCopies.h"

namespace tp {

class AttentionPages {
public:
  using Value = mlir::Value;

  /// Addresses of the operands.
  AttentionPages(KernelEmitter &emitter, const AttentionShape &shape,
                 const AttentionTiles &tiles, Value rows, Value positions,
                 Value table)
      : e(emitter), shape(shape), pages(*shape.pages),
        most(tiles.getRows() / shape.getSharing()), rows(rows),
        positions(positions), table(table) {}

  /// True if `token` (i32) begins a run, where that has to be found.
  Value beginsRun(Value token);
  /// The tokens of the run that begins at `token`, on every lane of a warp.
  Value countTokens(Value token, Value lane);

  /// For `count` tokens from `token` on: q_offset, and kv_len, 0 without a row.
  void place(Value token, Value count, Value &queryOffset, Value &keyLength);
  /// The cell of position `key` (i32) of that row, if it is in [from, to), in
  /// tensors with heads of `size` elements.
  FoundRow find(Value key, Value from, Value to, int64_t size);

private:
  KernelEmitter &e;
  const AttentionShape &shape;
  const PagesShape &pages;
  int64_t most;
  Value rows, positions, table;
  Value slots; ///< the row's part of the table

  Value loadNumber(Value base, Value index);
  Value isRow(Value row);
  /// True if `token`, not the first, goes on where the one before it is.
  Value goesOn(Value token);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONPAGES_H
