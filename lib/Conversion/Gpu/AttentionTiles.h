//===- AttentionTiles.h - Sizes of a device's attention kernel --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attention that a kernel is generated for, and how its work is cut: into
// blocks of query rows, tiles of keys, and the warps that share them. Chosen
// from the sizes alone, so that equal attentions get the same kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONTILES_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONTILES_H

#include "mlir/IR/Types.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Support/Bytes.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

namespace tp {

/// The keys of nn.paged_attention lie in cells of pages, which a table of
/// `slots` pages for each of `rows` rows names.
struct PagesShape {
  int64_t page, cells, rows, slots;
  bool operator==(const PagesShape &other) const = default;
};

/// The shape of nn.attention or nn.paged_attention, without what its kernel is
/// told.
///
/// Tokens over pages are one batch entry each if there are no more of them than
/// rows, for then each may have a row of its own. More are one batch entry, of
/// which a block takes some that stand one behind the other in one row.
struct AttentionShape {
  int64_t batch, queryLength, keyCapacity, queryHeads, keyHeads;
  int64_t headSize, valueSize; ///< of queries and keys, of values and results
  /// The type of the products: f32 unless queries and keys have one type.
  mlir::Type type;
  mlir::Type queryType, keyType; ///< in memory
  mlir::Type maskType;           ///< null without a mask
  bool causal;
  int64_t window;                 ///< 0: none
  double scale, softCap;          ///< softCap 0: none
  mlir::Type biasType, sinksType; ///< null without
  int64_t biasHeads = 0;
  bool wantsBias = false; ///< its derivative
  std::optional<PagesShape> pages;

  /// Emits an error for what no kernel is generated for.
  static mlir::FailureOr<AttentionShape> get(mlir::Operation *op);
  /// The shape of the attention whose derivative an nn.attention_backward is.
  static mlir::FailureOr<AttentionShape> get(nn::AttentionBackwardOp op);
  bool operator==(const AttentionShape &other) const = default;

  static int64_t getBytes(mlir::Type type) { return tp::getElementBytes(type); }
  /// Bytes of an element in shared memory.
  int64_t getElementBytes() const { return getBytes(type); }
  /// True if a block finds out which tokens it has.
  bool findsTokens() const { return pages && queryLength > 1; }
  /// Query heads that share a KV head.
  int64_t getSharing() const { return queryHeads / keyHeads; }
  /// Rows of one KV head: row r is query r / sharing of head r % sharing of
  /// those that share it. All of them read the same keys, so a tile of rows
  /// holds several heads, and short queries still fill it.
  int64_t getRows() const { return queryLength * getSharing(); }
};

/// How rows of one head lie in shared memory.
struct RowLayout {
  int64_t size;   ///< elements
  int64_t padded; ///< in a multiple of 16
  int64_t pitch;  ///< bytes from row to row
  static RowLayout get(int64_t size, int64_t elementBytes);
  bool operator==(const RowLayout &other) const = default;
};

/// A block of rowWarps * keyWarps warps computes getRows() rows of one KV head.
/// It walks over tiles of `keys` keys; of each, every warp takes keys/keyWarps
/// for its 16 * fragments rows. Shared memory holds the block's rows (queries,
/// in whose place the results are written; of the derivative: two tensors of
/// them) and two stages of a tile of keys and one of values. Where rows are too
/// few to fill a card, `splits` blocks share the tiles of the same rows
/// (AttentionSplits).
struct AttentionTiles {
  int64_t rowWarps, keyWarps, fragments, keys;
  int64_t splits;
  /// True if the kernels have a pointer to scratch: for what splits make, or
  /// for a kernel of another architecture.
  bool hasScratch = false;
  RowLayout head;   ///< of queries and keys
  RowLayout value;  ///< of values and results
  int64_t rowBytes; ///< of shared memory, for each of the block's rows
  bool queriesInRegisters;
  /// Blocks that a multiprocessor should run at once. It is the bound that the
  /// assembler takes for registers; left to itself it aims at more and spills.
  int64_t residentBlocks;

  static AttentionTiles choose(const AttentionShape &shape);
  /// Chooses the tiles of the derivative, whose rows are keys, or queries of
  /// one head, and which walks over tiles of the others. `splits` blocks have
  /// the same rows, and a result each, where one has no room for the sums of
  /// both.
  static AttentionTiles chooseBackward(const AttentionShape &shape,
                                       bool byKeys);

  int64_t getThreads() const { return 32 * rowWarps * keyWarps; }
  /// Blocks of a KV head and batch entry, if each has one split.
  int64_t getBlocks(const AttentionShape &shape) const {
    return shape.findsTokens()
               ? shape.queryLength
               : int64_t(llvm::divideCeil(shape.getRows(), getRows()));
  }
  int64_t getRows() const { return 16 * rowWarps * fragments; }
  int64_t getWarpRows() const { return 16 * fragments; }
  int64_t getWarpKeys() const { return keys / keyWarps; }
  /// Byte offsets in shared memory: of the first stage, behind which lies the
  /// other.
  int64_t getStageBytes() const { return keys * (head.pitch + value.pitch); }
  int64_t getKeysOffset() const { return getRows() * rowBytes; }
  int64_t getValuesOffset() const {
    return getKeysOffset() + keys * head.pitch;
  }
  int64_t getSharedBytes() const {
    return getKeysOffset() + 2 * getStageBytes();
  }
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONTILES_H
