//===- ExpertShape.h - Sizes of a device's kernels of experts ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernels of nn.experts are generated for, how their work is cut, and
// what they hand to each other in scratch. A row that has a weight for an
// expert is a *slot*; slots are numbered by expert, then by row:
//
//        rows' experts      0: 1, 3    1: 0, 3    2: 3
//        slots              0: row 1 of expert 0    1: row 0 of expert 1
//                           2: row 0 of expert 3    3: row 1    4: row 2
//
// Products take tiles of slots that have one expert. Nobody but the device
// knows how many slots an expert has, so a grid has room for any split of them,
// and blocks without a tile end at once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_EXPERTSHAPE_H
#define TP_LIB_CONVERSION_GPU_EXPERTSHAPE_H

#include "tp/Dialect/NN/IR/NNOps.h"
#include "llvm/Support/MathExtras.h"

namespace tp {

/// Of nn.experts: `rows` of `k` elements, of which each goes through `chosen`
/// of the experts at most, of width `f`, to results of `n` elements.
struct ExpertShape {
  int64_t rows, experts, chosen, k, f, n;
  mlir::Type type;
  std::string activation;
  double active; ///< the part of the experts that a row is expected to use

  /// Emits an error for what no kernels are generated for.
  static mlir::FailureOr<ExpertShape> get(nn::ExpertsOp op);
  bool operator==(const ExpertShape &other) const = default;

  int64_t getBytes() const { return type.isF32() ? 4 : 2; }
  int64_t getSlots() const { return rows * chosen; }
  /// Of 32 experts each.
  int64_t getWords() const { return llvm::divideCeil(experts, 32); }
  /// Whether some experts must be without a row.
  bool isSparse() const { return getSlots() < experts; }
};

/// A block of rowWarps * columnWarps warps multiplies up to getRows() slots
/// with getColumns() rows of an expert's matrices. Each warp has 16 * fragments
/// of the slots and 8 * tiles of the others. Both are read `stepBytes` of a row
/// at a time, into two stages of shared memory.
struct ExpertTiles {
  int64_t rowWarps, columnWarps, fragments, tiles, stepBytes;

  static ExpertTiles choose(const ExpertShape &shape);

  int64_t getThreads() const { return 32 * rowWarps * columnWarps; }
  int64_t getWarpRows() const { return 16 * fragments; }
  int64_t getWarpColumns() const { return 8 * tiles; }
  int64_t getRows() const { return rowWarps * getWarpRows(); }
  int64_t getColumns() const { return columnWarps * getWarpColumns(); }
  /// Eight rows at the same column lie in different banks.
  int64_t getPitch() const { return stepBytes + 16; }
  int64_t getStageBytes() const {
    return (getRows() + getColumns()) * getPitch();
  }
  /// Tiles of slots that any split of them may have.
  int64_t getTiles(const ExpertShape &shape) const {
    return shape.getSlots() / getRows() +
           std::min(shape.experts, shape.getSlots());
  }
};

/// Where in scratch lies, in bytes:
struct ExpertScratch {
  /// [rows, words] pairs of i32: a bit for each expert of the word that the row
  /// uses, and how many it uses before.
  int64_t marks;
  /// [tiles] of four i32: expert, first slot, slots (0: no tile), unused.
  int64_t tiles;
  /// [slots] i32: the row.
  int64_t rowOf;
  /// [rows, chosen] i32 and f32, in the order of experts: the slot, or -1, and
  /// its weight.
  int64_t slotOf, weightOf;
  /// [slots, width] of the element type, rows at a distance of widthPitch
  /// bytes.
  int64_t inner, widthPitch;
  /// [slots, n] f32, likewise.
  int64_t outer, outerPitch;
  int64_t bytes;

  ExpertScratch(const ExpertShape &shape, const ExpertTiles &tiles);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_EXPERTSHAPE_H
