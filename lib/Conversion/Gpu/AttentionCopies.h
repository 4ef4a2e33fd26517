//===- AttentionCopies.h - Tiles between global and shared memory -*- C++ -*-=//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies tiles of rows, one head wide, in the widest chunks that divide such a
// row. Strides and addresses are known only when the kernel runs: where they
// are no multiple of the chunk, the same copy is made element by element.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONCOPIES_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONCOPIES_H

#include "AttentionTiles.h"
#include "KernelEmitter.h"

namespace tp {

/// Where one row of a tile lies in global memory, and whether it exists.
struct GlobalRow {
  mlir::Value pointer, isThere;
};

/// The first `count` (i32) rows of a tile lie `pitch` (i64) bytes apart.
struct GlobalRows {
  mlir::Value pointer, pitch, count;
};

class AttentionCopies {
public:
  using Value = mlir::Value;
  using RowOf = llvm::function_ref<GlobalRow(Value row)>;

  /// `addresses` are all addresses and strides in bytes (i64) of the call.
  AttentionCopies(KernelEmitter &emitter, const AttentionShape &shape,
                  const AttentionTiles &tiles, mlir::ValueRange addresses);

  /// Zeros in the columns that pad the head, of every row of shared memory.
  /// Nothing else writes there.
  void clearPadding(Value shared, Value thread);
  /// All threads start to copy `rows` rows to shared memory at `to`; rows that
  /// are not there become zero.
  void load(Value to, int64_t rows, Value thread, RowOf rowOf);
  /// The same for rows at one distance, with few registers: what a loop does
  /// while its registers are full.
  void load(Value to, int64_t rows, Value thread, const GlobalRows &from);
  /// One warp copies `rows` rows from shared memory at `from`.
  void store(Value from, int64_t rows, Value lane, RowOf rowOf);

private:
  KernelEmitter &e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;
  int64_t element, chunk; ///< bytes
  Value isAligned;        ///< may copy by chunks; null: a chunk is an element

  int64_t getUnits(int64_t bytes) const {
    return shape.headSize * element / bytes;
  }
  /// Unit `index` of the tile is column `index % units` of row `index / units`.
  void loadUnits(Value to, int64_t rows, Value thread, int64_t bytes,
                 RowOf rowOf);
  void loadInPasses(Value to, int64_t rows, Value thread, int64_t bytes,
                    const GlobalRows &from);
  void loadUnit(Value to, Value from, int64_t bytes, Value isThere);
  void storeUnits(Value from, int64_t rows, Value lane, int64_t bytes,
                  RowOf rowOf);
  /// Calls `copy` with the number of bytes of the unit that the call allows.
  void byUnit(llvm::function_ref<void(int64_t bytes)> copy);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONCOPIES_H
