//===- ExpertShape.cpp - Sizes of a device's kernels of experts -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpertShape.h"

using namespace mlir;
using namespace tp;

/// The largest second extent of a grid.
static constexpr int64_t gridLimit = 65535;

/// Reads the attributes that all operations of experts share.
template <typename Op>
static void readAttributes(Op op, ExpertShape &shape) {
  shape.activation = op.getActivation().str();
  shape.alpha = op.getAlpha().convertToDouble();
  shape.upOffset = op.getUpOffset().convertToDouble();
  if (std::optional<llvm::APFloat> limit = op.getLimit())
    shape.limit = limit->convertToDouble();
  shape.hasBiases = !op.getBiases().empty();
  shape.hasInside = bool(op.getInside());
  shape.active = op.getActive().convertToDouble();
  shape.chosen =
      std::min<int64_t>(op.getTopK().value_or(shape.experts), shape.experts);
}

/// Completes `shape`, whose matrices have their sizes, and checks it.
template <typename Op>
static FailureOr<ExpertShape> finish(Op op, ExpertShape shape) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  shape.k = input.getShape().back();
  shape.type = input.getElementType();
  readAttributes(op, shape);
  int64_t most = std::numeric_limits<int32_t>::max() / 64;
  auto describe = [&] {
    return std::to_string(shape.experts) + " experts of width " +
           std::to_string(shape.f) + " with results of " +
           std::to_string(shape.n) + " elements";
  };
  if (!(shape.type.isF32() || shape.type.isBF16() || shape.type.isF16()) ||
      input.getNumElements() < 1 || shape.experts < 1 || shape.f < 1 ||
      shape.n < 1 || std::max({shape.k, shape.f, shape.n}) > most)
    return op.emitOpError("expected rows of f32, bf16 or f16 and matrices that "
                          "are not empty, with fewer than ")
           << most << " rows and columns, got " << input << " and "
           << describe();
  shape.rows = input.getNumElements() / shape.k;
  int64_t columns = std::max({shape.k, shape.f, shape.n});
  if (shape.rows * shape.getWords() > most || shape.getSlots() > most ||
      shape.experts > gridLimit ||
      columns / shape.getTiles().getColumns() * 2 >= gridLimit)
    return op.emitOpError("expected fewer rows and columns than a grid has "
                          "room for, got ")
           << shape.rows << " rows of " << shape.chosen << " experts each, and "
           << describe();
  return shape;
}

template <typename Op>
static ExpertShape getSizes(Op op, bool isBackward) {
  ExpertShape shape;
  auto down = cast<RankedTensorType>(op.getDown().getType());
  shape.experts = down.getDimSize(0);
  shape.n = down.getDimSize(1);
  shape.f = down.getDimSize(2);
  shape.isBackward = isBackward;
  return shape;
}

FailureOr<ExpertShape> ExpertShape::get(nn::ExpertsOp op) {
  ExpertShape shape = getSizes(op, /*isBackward=*/false);
  shape.scalesInput = op.getScalesInput();
  return finish(op, shape);
}

FailureOr<ExpertShape> ExpertShape::get(nn::ExpertsBackwardOp op) {
  if (!op.getBiases().empty() || op.getLimit() ||
      op.getAlpha().convertToDouble() != 1 || !op.getUpOffset().isZero())
    return op.emitOpError("with biases, limit, alpha or up_offset has no "
                          "kernel on a device: expected none of them "
                          "with this target; --target cpu:native computes "
                          "them");
  return finish(op, getSizes(op, /*isBackward=*/true));
}

FailureOr<ExpertShape> ExpertShape::get(nn::QuantizedExpertsOp op) {
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  RankedTensorType gate = typeOf(op.getValues()[0]),
                   down = typeOf(op.getValues()[2]);
  ExpertShape shape;
  shape.experts = down.getDimSize(0);
  shape.n = down.getDimSize(1);
  shape.f = gate.getDimSize(1);
  shape.isBackward = false;
  shape.scalesInput = op.getScalesInput();
  auto describe = [&](unsigned i, int64_t rows, int64_t columns,
                      ArrayRef<int64_t> group) {
    return QuantizedMatrix{op.getElement(),
                           typeOf(op.getScales()[i]).getElementType(),
                           op.getZeros().empty()
                               ? Type()
                               : typeOf(op.getZeros()[i]).getElementType(),
                           rows,
                           columns,
                           group[1],
                           group[2]};
  };
  shape.gateForm = describe(0, shape.f, typeOf(op.getInput()).getShape().back(),
                            op.getGroup());
  shape.downForm = describe(2, shape.n, shape.f, op.getDownGroup());
  return finish(op, shape);
}

/// By how many rows an expert is expected to have.
ProductTiles ExpertShape::getTiles() const {
  double own = double(rows) * active;
  if (own >= 96)
    return {4, 2, 2, 8, 128};
  if (own >= 40)
    return {2, 2, 2, 8, 128};
  if (own >= 12)
    return {1, 4, 2, 4, 128};
  // Weights are all that such a step reads: many blocks, and much of them under
  // way in each.
  return {1, 4, 1, 2, 256};
}

ExpertScratch::ExpertScratch(const ExpertShape &shape) {
  auto take = [&](int64_t size) {
    int64_t first = bytes;
    bytes = llvm::alignTo(bytes + size, 128);
    return first;
  };
  int64_t slots = shape.getSlots();
  marks = take(shape.rows * shape.getWords() * 8);
  tiles = take(shape.countTiles() * 16);
  spans = take(shape.experts * 8);
  rowOf = take(slots * 4);
  weightOf = take(slots * 4);
  slotOf = take(slots * 4);
  widthPitch = llvm::alignTo(shape.f * shape.getBytes(), 16);
  inner = take(slots * widthPitch);
  outerPitch = llvm::alignTo(shape.getSummed() * 4, 16);
  outer = take(slots * outerPitch);
  int64_t own = shape.isBackward ? slots : 0;
  gate = take(own * widthPitch);
  up = take(own * widthPitch);
  byInnerPitch = llvm::alignTo(shape.f * 4, 16);
  byInner = take(own * byInnerPitch);
  parts = take(own * shape.countParts() * 4);
}
