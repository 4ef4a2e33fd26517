//===- RealTokens.cpp - What depends on a padding mask alone --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations are evaluated by their own folders: whole tensors where an
// operation folds them, and a linalg operation point by point, where each
// operation of its body folds attributes. A mask of ones gives, for example:
//
//   n[b, s] += mask[b, t] where t <= s        [1, 2, 3, 4]
//   p[b, s] = n[b, s] * mask[b, s] + 1        [2, 3, 4, 5]
//
//===----------------------------------------------------------------------===//

#include "RealTokens.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tp {

/// A running sum of this many points takes seconds.
static constexpr int64_t kMaxPoints = int64_t(1) << 22;

RealTokens::RealTokens(func::FuncOp source) {
  source.walk([&](nn::AttentionOp op) {
    auto mask = dyn_cast_or_null<BlockArgument>(op.getMask());
    if (mask && mask.getOwner()->getParentOp() == source &&
        cast<RankedTensorType>(mask.getType()).getElementType().isInteger())
      masks.insert(mask);
  });
}

bool RealTokens::dependsOnMasksAlone(Value value) const {
  llvm::SetVector<Value> pending;
  pending.insert(value);
  bool hasMask = false;
  for (size_t i = 0; i < pending.size(); ++i) {
    Value next = pending[i];
    if (masks.contains(next)) {
      hasMask = true;
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (!op || op->getNumResults() != 1 || !isMemoryEffectFree(op) ||
        (op->getNumOperands() == 0 && !op->hasTrait<OpTrait::ConstantLike>() &&
         !isa<tensor::EmptyOp>(op)))
      return false;
    pending.insert(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), pending);
  }
  return hasMask;
}

DenseElementsAttr RealTokens::fold(Value value) {
  if (!isa<RankedTensorType>(value.getType()) || !dependsOnMasksAlone(value))
    return {};
  return evaluate(value);
}

DenseElementsAttr RealTokens::evaluate(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return {};
  if (isMask(value))
    return DenseElementsAttr::get(type,
                                  IntegerAttr::get(type.getElementType(), 1));
  if (auto known = folded.find(value); known != folded.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  DenseElementsAttr result;
  if (isa<tensor::EmptyOp>(op)) {
    // Nobody reads it.
    result = DenseElementsAttr::get(
        type, cast<TypedAttr>(Builder(op).getZeroAttr(type.getElementType())));
  } else if (auto loops = dyn_cast<linalg::LinalgOp>(op)) {
    result = evaluateLoops(loops);
  } else if (!matchPattern(op, m_Constant(&result))) {
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(evaluate(operand));
    SmallVector<OpFoldResult> results;
    Operation *copy = op->clone();
    if (!llvm::is_contained(operands, Attribute()) &&
        succeeded(copy->fold(operands, results)) && results.size() == 1) {
      if (auto same = dyn_cast<Value>(results.front()))
        result = evaluate(same);
      else
        result = dyn_cast<DenseElementsAttr>(cast<Attribute>(results.front()));
    }
    copy->destroy();
  }
  return folded[value] = result;
}

/// Returns where element `index` of a tensor of `shape` is, row by row.
static int64_t flatten(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t place = 0;
  for (auto [at, size] : llvm::zip_equal(index, shape))
    place = place * size + at;
  return place;
}

/// Returns what a value of a body is; null if that is not known. Constants may
/// stand outside.
static Attribute lookUp(Value value,
                        const llvm::DenseMap<Value, Attribute> &known) {
  Attribute constant = known.lookup(value);
  if (!constant)
    (void)matchPattern(value, m_Constant(&constant));
  return constant;
}

/// Evaluates the operations of `body`, whose arguments and indices are in
/// `known`. Returns false if one does not fold.
static bool foldBody(Block &body, ArrayRef<int64_t> point,
                     llvm::DenseMap<Value, Attribute> &known) {
  Builder builder(body.getParentOp());
  for (Operation &op : body.without_terminator()) {
    if (op.getNumResults() != 1 || op.getNumRegions() != 0)
      return false;
    Attribute &result = known[op.getResult(0)];
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      result = builder.getIndexAttr(point[index.getDim()]);
      continue;
    }
    Attribute constant;
    if (matchPattern(&op, m_Constant(&constant))) {
      result = constant;
      continue;
    }
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands()) {
      operands.push_back(lookUp(operand, known));
      if (!operands.back())
        return false;
    }
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.size() != 1)
      return false;
    auto same = dyn_cast<Value>(results.front());
    Attribute made =
        same ? lookUp(same, known) : cast<Attribute>(results.front());
    if (!made)
      return false;
    known[op.getResult(0)] = made;
  }
  return true;
}

DenseElementsAttr RealTokens::evaluateLoops(linalg::LinalgOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int64_t points = 1;
  for (int64_t range : ranges) {
    if (range <= 0 || points > kMaxPoints / range)
      return {};
    points *= range;
  }
  if (op->getNumResults() != 1)
    return {};
  // A scalar operand has one element.
  SmallVector<SmallVector<Attribute>> elements;
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    Attribute scalar;
    if (type) {
      DenseElementsAttr all = evaluate(operand);
      if (!all)
        return {};
      elements.emplace_back(all.getValues<Attribute>());
      shapes.push_back(type.getShape());
    } else if (matchPattern(operand, m_Constant(&scalar))) {
      elements.push_back({scalar});
      shapes.push_back({});
    } else {
      return {};
    }
  }
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  // Folding may change an operation in place.
  Operation *copy = op->clone();
  Block &body = copy->getRegion(0).front();
  SmallVector<int64_t> point(ranges.size(), 0);
  bool isFolded = true;
  for (int64_t i = 0; i < points && isFolded; ++i) {
    int64_t rest = i;
    for (int64_t d = int64_t(ranges.size()) - 1; d >= 0; --d) {
      point[d] = rest % ranges[d];
      rest /= ranges[d];
    }
    llvm::DenseMap<Value, Attribute> known;
    int64_t place = 0;
    for (auto [o, argument] : llvm::enumerate(body.getArguments())) {
      place = flatten(maps[o].compose(point), shapes[o]);
      known[argument] = elements[o][place];
    }
    isFolded = foldBody(body, point, known);
    Attribute yielded = isFolded
                            ? lookUp(body.getTerminator()->getOperand(0), known)
                            : Attribute();
    isFolded = yielded != nullptr;
    if (isFolded)
      elements.back()[place] = yielded;
  }
  copy->destroy();
  return isFolded ? DenseElementsAttr::get(
                        cast<RankedTensorType>(op->getResult(0).getType()),
                        elements.back())
                  : DenseElementsAttr();
}

} // namespace tp
