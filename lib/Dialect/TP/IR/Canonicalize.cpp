//===- Canonicalize.cpp - Simpler forms of tp operations
//--------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reshards that change nothing, groups of one rank, a gather of the slice of
// the same value; and parts and transposes of a parameter, which are parameters
// with a source, so that each part is loaded and sharded on its own.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Reshards and collectives
//===----------------------------------------------------------------------===//

OpFoldResult ShardingConstraintOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<ShardingConstraintOp>();
  if (inner && inner.getSharding() == getSharding())
    return getInput();
  return {};
}

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  return getFrom() == getTo() ? getInput() : OpFoldResult();
}

/// The ranks of a group along `axes`; none if the mesh has no such axes.
static std::optional<int64_t>
getGroupSize(Operation *op, FlatSymbolRefAttr symbol, AxisListAttr axes) {
  MeshOp meshOp = lookupMesh(op, symbol);
  if (!meshOp)
    return std::nullopt;
  Mesh mesh = meshOp.getMesh().toMesh();
  int64_t ranks = 1;
  for (AxisRefAttr axis : axes.getAxes()) {
    std::optional<unsigned> index = mesh.findAxis(axis.getName());
    if (!index)
      return std::nullopt;
    ranks *= axis.getSize() ? axis.getSize() : mesh.getAxis(*index).size;
  }
  return ranks;
}

/// True if `outer` puts together what `inner` cut, or the reverse, along the
/// same groups, and no element changes: parts that reach past the end of what
/// is gathered come back from a slice with zeros there, whatever they held.
static bool undoes(ReshardStepOpInterface outer, ReshardStepOpInterface inner) {
  const CollectiveRow &row = outer.getRow();
  if (row.from != inner.getRow().to || row.to != inner.getRow().from ||
      (row.from != Holding::Replicated && row.to != Holding::Replicated) ||
      outer.getGatheredDim() != inner.getCutDim() ||
      outer.getCutDim() != inner.getGatheredDim() ||
      inner.getGroupMesh() != outer.getGroupMesh() ||
      inner.getGroupAxes() != outer.getGroupAxes() ||
      inner->getOperand(0).getType() != outer->getResult(0).getType())
    return false;
  if (row.gathers())
    return true;
  if (!row.cuts())
    return false;
  std::optional<int64_t> parts =
      getGroupSize(outer, outer.getGroupMesh(), outer.getGroupAxes());
  auto getSize = [dim = outer.getCutDim()](Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  return parts &&
         getSize(outer->getResult(0)) * *parts == getSize(outer->getOperand(0));
}

OpFoldResult tp::detail::foldStep(Operation *op) {
  auto step = cast<ReshardStepOpInterface>(op);
  Value input = op->getOperand(0);
  if (auto inner = input.getDefiningOp<ReshardStepOpInterface>();
      inner && undoes(step, inner))
    return inner->getOperand(0);
  // Otherwise nothing may move, and no padding come or go.
  if (input.getType() != op->getResult(0).getType())
    return {};
  if (DenseIntElementsAttr pairs = step.getRankPairs()) {
    SmallVector<int64_t> ranks(pairs.getValues<int64_t>());
    for (size_t i = 0; i + 1 < ranks.size(); i += 2)
      if (ranks[i] != ranks[i + 1])
        return {};
    return input;
  }
  if (getGroupSize(op, step.getGroupMesh(), step.getGroupAxes()) == 1)
    return input;
  return {};
}

//===----------------------------------------------------------------------===//
// Parts of parameters
//===----------------------------------------------------------------------===//

/// The parameter that `value` is, if its parts can take its place: nothing has
/// been said of its sharding, and no one wants the whole.
static ParameterOp getDivisible(Value value) {
  auto parameter = value.getDefiningOp<ParameterOp>();
  if (!parameter || parameter->hasAttr(TPDialect::getShardingsAttrName()) ||
      !llvm::all_of(parameter->getUsers(), [&](Operation *user) {
        if (auto transpose = dyn_cast<linalg::TransposeOp>(user))
          return transpose.getInput() == value && transpose.getInit() != value;
        return isa<tensor::ExtractSliceOp>(user);
      }))
    return {};
  return parameter;
}

static ParameterSourceAttr getSourceOrWhole(ParameterOp parameter) {
  if (ParameterSourceAttr source = parameter.getSourceAttr())
    return source;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(parameter.getType()).getShape();
  SmallVector<int64_t> offsets(shape.size(), 0);
  auto identity = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  return ParameterSourceAttr::get(parameter.getContext(), shape, offsets,
                                  identity);
}

static void replaceByParameter(PatternRewriter &rewriter, Operation *op,
                               ParameterOp parameter,
                               ParameterSourceAttr source) {
  // `{i}` is the iteration of the loop that the parameter is in.
  rewriter.setInsertionPoint(parameter);
  auto part = rewriter.replaceOpWithNewOp<ParameterOp>(
      op, op->getResult(0).getType(), parameter.getNameAttr(), source,
      parameter.getAlternativesAttr(), parameter.getStorageAttr());
  // Import's notes on a tensor hold for its parts.
  if (Attribute init = parameter->getAttr("tp.init"))
    part->setAttr("tp.init", init);
}

namespace {
/// extract_slice(parameter) is the parameter with a smaller box; not where it
/// is trained, for the rest of it changes as well.
struct SliceOfParameter : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    ParameterOp parameter = getDivisible(op.getSource());
    auto module = op->getParentOfType<ModuleOp>();
    if (!parameter ||
        (module && module->hasAttr(TPDialect::getTrainingAttrName())) ||
        op->hasAttr(TPDialect::getShardingsAttrName()) ||
        op.getType().getRank() != op.getSourceType().getRank() ||
        !op.hasUnitStride() || !op.getType().hasStaticShape() ||
        llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic))
      return failure();
    ParameterSourceAttr old = getSourceOrWhole(parameter);
    SmallVector<int64_t> offsets(old.getOffsets());
    for (auto [dim, offset] : llvm::enumerate(op.getStaticOffsets()))
      offsets[old.getPermutation()[dim]] +=
          offset * old.getStep(old.getPermutation()[dim]);
    replaceByParameter(rewriter, op, parameter,
                       ParameterSourceAttr::get(op.getContext(), old.getShape(),
                                                offsets, old.getPermutation(),
                                                old.getSteps()));
    return success();
  }
};

/// transpose(parameter) is the parameter in another order of dimensions.
struct TransposeOfParameter : OpRewritePattern<linalg::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    ParameterOp parameter = getDivisible(op.getInput());
    if (!parameter || op->getNumResults() != 1 ||
        op->hasAttr(TPDialect::getShardingsAttrName()))
      return failure();
    ParameterSourceAttr old = getSourceOrWhole(parameter);
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(old.getPermutation()[dim]);
    replaceByParameter(rewriter, op, parameter,
                       ParameterSourceAttr::get(op.getContext(), old.getShape(),
                                                old.getOffsets(), permutation,
                                                old.getSteps()));
    return success();
  }
};
} // namespace

void ParameterOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<SliceOfParameter, TransposeOfParameter>(context);
}
