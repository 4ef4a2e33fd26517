//===- ExpertShape.h - Sizes of a device's kernels of experts ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shape that kernels of nn.experts and nn.experts_backward are generated
// for, how their work is cut, and what they hand to each other in scratch. A
// row that has a weight for an expert is a *slot*; slots are numbered by
// expert, then by row:
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

#include "QuantizedMatrix.h"
#include "TileProduct.h"
#include "tp/Dialect/NN/IR/Gating.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Support/Bytes.h"
#include "llvm/Support/MathExtras.h"

namespace tp {

/// The sizes of nn.experts or its derivative: `rows` of `k` elements, of which
/// each goes through `chosen` of the experts at most, of width `f`, to results
/// of `n` elements.
struct ExpertShape {
  int64_t rows, experts, chosen, k, f, n;
  mlir::Type type;
  std::string activation;
  double alpha = 1, upOffset = 0;
  std::optional<double> limit;
  bool hasBiases = false;
  /// Weights multiply what experts read.
  bool scalesInput = false;
  bool hasInside; ///< whether positions of the width may be left out
  double active;  ///< the part of the experts that a row is expected to use
  bool isBackward;
  /// The forms of gate and up, and of down, where they are quantised.
  std::optional<QuantizedMatrix> gateForm, downForm;

  /// Emits an error for what no kernels are generated for.
  static mlir::FailureOr<ExpertShape> get(nn::ExpertsOp op);
  static mlir::FailureOr<ExpertShape> get(nn::QuantizedExpertsOp op);
  static mlir::FailureOr<ExpertShape> get(nn::ExpertsBackwardOp op);
  bool operator==(const ExpertShape &other) const = default;

  nn::Gating getGating() const { return {activation, alpha, limit, upOffset}; }
  int64_t getBytes() const { return getElementBytes(type); }
  int64_t getSlots() const { return rows * chosen; }
  /// The words of 32 experts each.
  int64_t getWords() const { return llvm::divideCeil(experts, 32); }
  /// True if a row may use more experts than it is promised to.
  bool mayBreakPromise() const { return chosen < experts; }
  /// True if some experts must be without a row.
  bool isSparse() const { return getSlots() < experts; }
  /// The width of what the last kernel adds up: results, or derivatives by the
  /// input.
  int64_t getSummed() const { return isBackward ? k : n; }

  /// How products with slots for rows are cut, and those that add up slots.
  ProductTiles getTiles() const;
  static ProductTiles getWeightTiles() { return {2, 2, 2, 8, 128}; }
  /// Tiles of slots that any split of them may have.
  int64_t countTiles() const {
    return getSlots() / getTiles().getRows() + std::min(experts, getSlots());
  }
  /// Parts of a slot's sum over the width that warps make, each in its place.
  int64_t countParts() const {
    ProductTiles tiles = getTiles();
    return llvm::divideCeil(f, tiles.getColumns() / 2) * tiles.columnWarps;
  }
};

/// Offsets in scratch, in bytes:
struct ExpertScratch {
  /// [rows, words] pairs of i32: a bit for each expert of the word that the row
  /// uses, and how many it uses before.
  int64_t marks;
  /// [tiles] of four i32: expert, first slot, slots (0: no tile), unused.
  int64_t tiles;
  /// [experts] pairs of i32: first slot, slots.
  int64_t spans;
  /// [slots] i32 and f32: the row and its weight.
  int64_t rowOf, weightOf;
  /// [rows, chosen] i32, in the order of experts: the slot, or -1; -2 first if
  /// the row breaks the promise.
  int64_t slotOf;
  /// [slots, f] of the element type, rows at a distance of widthPitch bytes. Of
  /// the derivative times the weight, and beside it those by gate and up.
  int64_t inner, gate, up, widthPitch;
  /// [slots, getSummed()] f32, likewise.
  int64_t outer, outerPitch;
  /// The derivative has by inner, [slots, f] f32, likewise; and [slots,
  /// countParts()] f32, the parts of that by the weight.
  int64_t byInner, byInnerPitch, parts;
  int64_t bytes = 0;

  explicit ExpertScratch(const ExpertShape &shape);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_EXPERTSHAPE_H
