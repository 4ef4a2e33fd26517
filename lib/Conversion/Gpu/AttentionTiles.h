//===- AttentionTiles.h - Sizes of a device's attention kernel --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attention kernel is generated for, and how its work is cut: into
// blocks of query rows, tiles of keys, and the warps that share them. Chosen
// from the sizes alone, so that equal attentions get the same kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONTILES_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONTILES_H

#include "mlir/IR/Types.h"
#include "tp/Dialect/NN/IR/NNOps.h"

namespace tp {

/// One `attentions` entry of the manifest (docs/RuntimeABI.md).
struct AttentionShape {
  int64_t batch, queryLength, keyCapacity, queryHeads, keyHeads, headSize;
  mlir::Type type, maskType; ///< maskType is null without a mask
  bool causal;
  int64_t window; ///< 0: none; only with causal
  double scale;

  /// Emits an error for what no kernel is generated for.
  static mlir::FailureOr<AttentionShape> get(nn::AttentionOp op);
  bool operator==(const AttentionShape &other) const = default;

  int64_t getElementBytes() const { return type.isF32() ? 4 : 2; }
  /// Query heads that share a KV head.
  int64_t getSharing() const { return queryHeads / keyHeads; }
  /// Rows of one KV head: row r is query r / sharing of head r % sharing of
  /// those that share it. All of them read the same keys, so a tile of rows
  /// holds several heads, and short queries still fill it.
  int64_t getRows() const { return queryLength * getSharing(); }
};

/// A block of rowWarps * keyWarps warps computes getRows() rows of one KV head.
/// It walks over tiles of `keys` keys; of each, every warp takes keys/keyWarps
/// for its 16 * fragments rows. Shared memory holds the queries and two tiles
/// each of keys and values, all rows at one pitch. Where rows are too few to
/// fill a card, `splits` blocks share the tiles of the same rows
/// (AttentionParts).
struct AttentionTiles {
  int64_t rowWarps, keyWarps, fragments, keys;
  int64_t splits;
  int64_t paddedHead; ///< head size in a multiple of 16
  int64_t pitch;      ///< bytes from row to row in shared memory
  bool queriesInRegisters;
  /// Blocks that a multiprocessor should run at once. It is the bound that the
  /// assembler takes for registers; left to itself it aims at more and spills.
  int64_t residentBlocks;

  static AttentionTiles choose(const AttentionShape &shape);

  int64_t getThreads() const { return 32 * rowWarps * keyWarps; }
  int64_t getRows() const { return 16 * rowWarps * fragments; }
  int64_t getWarpRows() const { return 16 * fragments; }
  int64_t getWarpKeys() const { return keys / keyWarps; }
  /// Byte offsets in shared memory. Keys and values have two stages each.
  int64_t getStageBytes() const { return keys * pitch; }
  int64_t getKeysOffset() const { return getRows() * pitch; }
  int64_t getValuesOffset() const {
    return getKeysOffset() + 2 * getStageBytes();
  }
  int64_t getSharedBytes() const {
    return getKeysOffset() + 4 * getStageBytes();
  }
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONTILES_H
