//===- SplitSums.cpp - Sums over rows in blocks ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

namespace tp {
#define GEN_PASS_DEF_SPLITSUMS
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;

/// Rows of a block, at least; blocks, at most; and elements of the loops that
/// are worth it.
static constexpr int64_t minBlock = 16, maxBlocks = 256, minWork = 1 << 15;

/// The size of the blocks of a loop: a function of its size alone, so that the
/// order of a sum depends on nothing else. 0 if no size divides it.
static int64_t getBlockSize(int64_t size) {
  for (int64_t block =
           std::max<int64_t>(minBlock, llvm::divideCeil(size, maxBlocks));
       2 * block <= size; ++block)
    if (size % block == 0)
      return block;
  return 0;
}

/// True if the one f32 result of `op` is a sum of terms that do not depend on
/// positions.
static bool isPlainSum(linalg::GenericOp op) {
  if (op->getNumResults() != 1 || op.getNumDpsInputs() == 0 ||
      !getElementTypeOrSelf(op.getResultTypes()[0]).isF32())
    return false;
  Value out = op.getRegionOutputArgs()[0];
  auto sum = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  bool isRead = op.getRegion()
                    .walk([](Operation *inner) {
                      return isa<linalg::IndexOp, tensor::ExtractOp>(inner)
                                 ? WalkResult::interrupt()
                                 : WalkResult::advance();
                    })
                    .wasInterrupted();
  return sum && !isRead && out.hasOneUse() && *out.user_begin() == sum &&
         (sum.getLhs() == out) != (sum.getRhs() == out);
}

/// The reduction to cut, of an operation that has no rows to share among
/// threads.
static std::optional<unsigned> findLoop(linalg::GenericOp op) {
  auto type = cast<RankedTensorType>(op.getResultTypes()[0]);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t work = 1;
  for (int64_t size : sizes)
    work *= size;
  auto iterators = op.getIteratorTypesArray();
  // If the last loop is a reduction, the result's elements are the rows.
  bool hasRows =
      type.getRank() == 1 && iterators.back() == utils::IteratorType::reduction;
  if (type.getRank() > 1 || hasRows || work < minWork)
    return std::nullopt;
  std::optional<unsigned> found;
  for (auto [loop, iterator] : llvm::enumerate(iterators))
    if (iterator == utils::IteratorType::reduction &&
        getBlockSize(sizes[loop]) > 0 &&
        (!found || sizes[loop] > sizes[*found]))
      found = loop;
  return found;
}

/// True if all operands can be seen with a loop as blocks.
static bool canSplit(linalg::GenericOp op, unsigned loop) {
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    return map.isProjectedPermutation() &&
           !(operand.get().getDefiningOp<arith::ConstantOp>() &&
             map.isFunctionOfDim(loop));
  });
}

/// The operand with `loop` as blocks and positions in them, which are the loops
/// 0 and loop + 1 of the new operation.
static Value splitOperand(OpBuilder &builder, Location loc, Value value,
                          AffineMap map, unsigned loop, int64_t block,
                          AffineMap &newMap) {
  MLIRContext *context = builder.getContext();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<AffineExpr> results;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    unsigned position = cast<AffineDimExpr>(expr).getPosition();
    groups.push_back({int64_t(shape.size())});
    if (position == loop) {
      groups.back().push_back(shape.size() + 1);
      shape.push_back(type.getDimSize(dim) / block);
      results.push_back(getAffineDimExpr(0, context));
    }
    shape.push_back(position == loop ? block : type.getDimSize(dim));
    results.push_back(getAffineDimExpr(position + 1, context));
  }
  newMap = AffineMap::get(map.getNumDims() + 1, 0, results, context);
  if (shape.size() == size_t(type.getRank()))
    return value;
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), value,
                                       groups);
}

/// `op` as a sum in each block, and the sum of those.
static bool split(linalg::GenericOp op) {
  std::optional<unsigned> loop = findLoop(op);
  if (!loop || !isPlainSum(op) || !canSplit(op, *loop))
    return false;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  int64_t size = op.getStaticLoopRanges()[*loop], block = getBlockSize(size);
  SmallVector<AffineMap> old = op.getIndexingMapsArray(), maps;
  SmallVector<Value> inputs;
  for (auto [input, map] : llvm::zip(op.getDpsInputs(), old))
    inputs.push_back(splitOperand(builder, loc, input, map, *loop, block,
                                  maps.emplace_back()));
  auto type = cast<RankedTensorType>(op.getResultTypes()[0]);
  SmallVector<int64_t> shape{size / block};
  llvm::append_range(shape, type.getShape());
  SmallVector<AffineExpr> place{getAffineDimExpr(0, context)};
  for (AffineExpr expr : old.back().getResults())
    place.push_back(expr.shiftDims(old.back().getNumDims(), 1));
  maps.push_back(
      AffineMap::get(old.back().getNumDims() + 1, 0, place, context));
  SmallVector<utils::IteratorType> iterators{utils::IteratorType::parallel};
  llvm::append_range(iterators, op.getIteratorTypesArray());
  auto partType = type.clone(shape);
  Value zero = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(partType, builder.getF32FloatAttr(0).getValue()));
  auto parts =
      linalg::GenericOp::create(builder, loc, TypeRange{partType}, inputs,
                                ValueRange{zero}, maps, iterators);
  IRMapping mapping;
  op.getRegion().cloneInto(&parts.getRegion(), mapping);
  parts->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  // The sum of the parts, from what the sum began with.
  unsigned rank = type.getRank() + 1;
  SmallVector<utils::IteratorType> last(rank, utils::IteratorType::parallel);
  last[0] = utils::IteratorType::reduction;
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  auto total = linalg::GenericOp::create(
      builder, loc, TypeRange{type}, parts->getResults(), op.getDpsInits(),
      {identity, identity.dropResult(0)}, last,
      [](OpBuilder &inner, Location at, ValueRange args) {
        Value sum = arith::AddFOp::create(inner, at, args[1], args[0]);
        linalg::YieldOp::create(inner, at, sum);
      });
  total->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(total);
  op->erase();
  return true;
}

namespace {
struct SplitSumsPass : tp::impl::SplitSumsBase<SplitSumsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function->hasAttr("tp.kernel"))
      return;
    SmallVector<linalg::GenericOp> ops;
    function.walk([&](linalg::GenericOp op) { ops.push_back(op); });
    for (linalg::GenericOp op : ops)
      numSums += split(op);
  }
};
} // namespace
