//===- AttentionCopies.h - Tiles between global and shared memory -*- C++ -*-=//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies tiles of rows, one head wide, in the widest chunks that divide such a
// row. Strides and addresses are known only when the kernel runs: where they
// are no multiple of the chunk, the same copy is made element by element. What
// has another type in global memory than in shared is converted on its way.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONCOPIES_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONCOPIES_H

#include "AttentionTiles.h"
#include "KernelEmitter.h"

namespace tp {

/// The place of one row of a tile in global memory, and whether it exists.
struct GlobalRow {
  mlir::Value pointer, inBounds;
};

/// The first `count` (i32) rows of a tile lie `pitch` (i64) bytes apart.
struct GlobalRows {
  mlir::Value pointer, pitch, count;
};

/// The place of one row in each of several tensors (i64, bytes).
struct FoundRow {
  mlir::Value offset, inBounds;
};

/// A tile in shared memory and the tensor in global memory that it is of.
struct TileOf {
  mlir::Value to, from;
};

class AttentionCopies {
public:
  using Value = mlir::Value;
  using RowOf = llvm::function_ref<GlobalRow(Value row)>;

  /// Copies tensors whose rows lie in shared memory as `layout` says;
  /// `addresses` are all addresses and strides in bytes (i64) of them in the
  /// call.
  AttentionCopies(KernelEmitter &emitter, const AttentionShape &shape,
                  const AttentionTiles &tiles, const RowLayout &layout,
                  mlir::ValueRange addresses);

  /// All threads put zeros in the columns that pad the head, of `rows` rows of
  /// shared memory at `to`. Nothing else writes there.
  void clearPadding(Value to, int64_t rows, Value thread);
  /// All threads start to copy `rows` rows of queries to shared memory at `to`;
  /// rows that are not there become zero.
  void load(Value to, int64_t rows, Value thread, RowOf rowOf);
  /// The same for keys or values, whose rows lie at one distance, with few
  /// registers: what a loop does while its registers are full.
  void load(Value to, int64_t rows, Value thread, const GlobalRows &from);
  /// The same for tiles whose rows are found one by one, each once for all.
  void load(llvm::ArrayRef<TileOf> tilesOf, int64_t rows, Value thread,
            llvm::function_ref<FoundRow(Value row)> find);
  /// One warp copies `rows` rows of results from shared memory at `from`.
  void store(Value from, int64_t rows, Value lane, RowOf rowOf);

private:
  KernelEmitter &e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;
  RowLayout layout;
  int64_t element;       ///< bytes, in shared memory
  int64_t chunkElements; ///< of a row, copied at once
  Value isAligned;       ///< may copy by chunks; null: a chunk is an element

  /// The place of column unit `unit` of a row, in shared memory and in a tensor
  /// of `type` (i64).
  std::pair<Value, Value> getSkips(Value unit, int64_t elements,
                                   mlir::Type type);
  /// True if a tile is few enough chunks to be copied without a loop.
  bool isShort(int64_t rows, int64_t elements) const;
  /// Unit `index` of the tile is column `index % units` of row `index / units`.
  void loadUnits(Value to, int64_t rows, Value thread, int64_t elements,
                 mlir::Type type, RowOf rowOf);
  /// As many whole rows at a time as there are threads for. Calls `copy` with
  /// this thread's row in the pass that begins at row `first`.
  void inPasses(int64_t rows, Value thread, int64_t elements,
                llvm::function_ref<void(int64_t first, Value row)> copy);
  void loadInPasses(Value to, int64_t rows, Value thread, int64_t elements,
                    const GlobalRows &from);
  void loadUnit(Value to, Value from, int64_t elements, mlir::Type type,
                Value inBounds);
  void storeUnits(Value from, int64_t rows, Value lane, int64_t elements,
                  RowOf rowOf);
  /// Calls `copy` with the number of elements of the unit that the call allows.
  void byUnit(llvm::function_ref<void(int64_t elements)> copy);
};

/// The copies of queries and keys and those of values and results, which are
/// the same where their rows are alike.
class AttentionTileCopies {
public:
  using Value = mlir::Value;

  AttentionTileCopies(KernelEmitter &emitter, const AttentionShape &shape,
                      const AttentionTiles &tiles,
                      llvm::ArrayRef<Value> headAddresses,
                      llvm::ArrayRef<Value> valueAddresses);

  AttentionCopies &ofHead() { return *head; }
  AttentionCopies &ofValue() { return areOne() ? *head : *value; }
  /// True if one look-up of a row serves keys and values.
  bool areOne() const { return tiles.head == tiles.value; }
  /// Clears the padding of all that AttentionTiles has in shared memory.
  void clearPadding(Value shared, Value thread);

private:
  KernelEmitter &e;
  const AttentionTiles &tiles;
  std::optional<AttentionCopies> head, value;
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONCOPIES_H
