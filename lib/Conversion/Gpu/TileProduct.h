//===- TileProduct.h - A product of two tiles of rows -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sums[rows, columns] += left[rows, reduction] * right[columns, reduction]^T
// for a block, from global memory through two stages of shared memory: copies
// of the next step of the reduction run beside the products of this one. Either
// operand may lie *along* the reduction, a line of memory for each of its rows,
// or *across* it, a line for each position of the reduction:
//
//        x w^T            left along     right along      [m, k] [n, k]
//        x w              left along     right across     [m, k] [k, n]
//        x^T w            left across    right across     [k, m] [k, n]
//
// Results lie in lanes as TensorCores.h says, in every type: bf16 and f16 use
// tensor cores, f32 fused multiply-adds.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_TILEPRODUCT_H
#define TP_LIB_CONVERSION_GPU_TILEPRODUCT_H

#include "TensorCores.h"
#include "tp/Support/Bytes.h"
#include <functional>

namespace tp {

/// A block of rowWarps * columnWarps warps computes getRows() rows by
/// getColumns() columns, each warp 16 * fragments rows by 8 * tiles columns. A
/// step of the reduction is `stepBytes` of it.
struct ProductTiles {
  int64_t rowWarps, columnWarps, fragments, tiles, stepBytes;

  int64_t getThreads() const { return 32 * rowWarps * columnWarps; }
  int64_t getWarpRows() const { return 16 * fragments; }
  int64_t getWarpColumns() const { return 8 * tiles; }
  int64_t getRows() const { return rowWarps * getWarpRows(); }
  int64_t getColumns() const { return columnWarps * getWarpColumns(); }
};

/// The place of an operand in global memory.
struct TileOperand {
  bool isAcross;
  /// Bytes of a line that there are.
  int64_t lineBytes;
  /// The address of a line: of a row of the tile, or, across, of a position of
  /// the reduction. What is asked for is 0 at least; a line that there is not
  /// may be any other.
  std::function<mlir::Value(mlir::Value line)> getLine;
  /// Across: the bytes of a line before the tile (i32).
  mlir::Value skipped = {};
  /// Along: where memory has no such elements, what makes `size` of them, f32,
  /// of a row of the tile from a position of the reduction (i32) on; zeros
  /// behind the end. There are no lines then.
  std::function<KernelEmitter::Values(mlir::Value line, mlir::Value position,
                                      int64_t size)>
      make = {};
};

class TileProduct {
public:
  using Value = mlir::Value;

  /// Lines begin at multiples of their bytes behind `bases`.
  TileProduct(KernelEmitter &emitter, mlir::Type type,
              const ProductTiles &tiles, Value shared, TileOperand left,
              TileOperand right, llvm::ArrayRef<Value> bases);

  /// Bytes of shared memory, for operands along the reduction or across it.
  static int64_t getSharedBytes(mlir::Type type, const ProductTiles &tiles,
                                bool isLeftAcross, bool isRightAcross);

  Fragments makeSums() const;
  /// Adds the products of `size` positions (i32, or static along).
  void accumulate(Fragments &sums, Value size);

  /// Calls `visit` with a lane's pairs of sums: the row of the tile, the first
  /// of the two columns, and where in `sums` they are.
  using Visit =
      llvm::function_ref<void(Value row, int64_t fragment, int64_t half)>;
  void visitRows(Visit visit);
  /// The lane's first column of its warp's first tile.
  Value getOwnColumn();
  Value getWarpColumn() const { return warpColumn; }

private:
  KernelEmitter &e;
  mlir::Type type;
  ProductTiles tiles;
  Value shared;
  TileOperand left, right;
  Value thread, lane, warpRow, warpColumn;
  int64_t chunk; ///< bytes that lines divide into
  Value isAligned;

  int64_t getBytes() const { return getElementBytes(type); }
  int64_t getSteps() const { return tiles.stepBytes / getBytes(); }
  /// An operand's lines in a stage.
  struct Layout {
    int64_t lines, bytes, pitch;
    int64_t getStageBytes() const { return lines * pitch; }
  };
  static Layout getLayout(mlir::Type type, const ProductTiles &tiles,
                          bool isAcross, int64_t rows);
  Layout getLayout(bool isLeft) const {
    return getLayout(type, tiles, (isLeft ? left : right).isAcross,
                     isLeft ? tiles.getRows() : tiles.getColumns());
  }
  int64_t getStageBytes() const {
    return getLayout(true).getStageBytes() + getLayout(false).getStageBytes();
  }
  Value getStage(Value step) {
    return e.offset(shared, e.mul(e.rem(step, 2), getStageBytes()));
  }

  llvm::SmallVector<Value> getPointers(bool isLeft);
  void copyUnit(Value to, Value from, int64_t bytes, Value inBounds);
  void copyOperand(bool isLeft, Value stage, Value step, Value size,
                   int64_t bytes, llvm::ArrayRef<Value> pointers);
  void makeOperand(const TileOperand &operand, const Layout &layout,
                   Value stage, Value step);
  void copyStep(Value step, Value size, llvm::ArrayRef<Value> leftPointers,
                llvm::ArrayRef<Value> rightPointers);
  void multiply(Value stage, Fragments &sums);
  void multiplyTensorCores(Value leftStage, Value rightStage, Fragments &sums);
  void multiplyFused(Value leftStage, Value rightStage, Fragments &sums);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_TILEPRODUCT_H
