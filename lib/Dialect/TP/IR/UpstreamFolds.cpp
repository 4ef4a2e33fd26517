//===- UpstreamFolds.cpp - Folds in place of wrong ones of MLIR -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns on upstream operations that the canonicalizer tries before
// upstream's own, because those of MLIR 22 change what a program computes. They
// belong to the dialect, so that they are there wherever a canonicalizer runs:
// in the inliner, in a pipeline, or as --canonicalize. docs/Rationale.md lists
// them.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

/// Higher than any pattern of upstream's.
static constexpr unsigned firstOfAll = 100;

/// `type`, the result of a slice of `before`, with the sizes that are constants
/// now. Its dimensions are those of the slice in order, some of size one left
/// out: which of them makes no difference.
static RankedTensorType refine(RankedTensorType type, ArrayRef<int64_t> before,
                               ArrayRef<int64_t> after) {
  SmallVector<int64_t> shape(type.getShape());
  unsigned dim = 0;
  for (auto [old, size] : llvm::zip_equal(before, after))
    if (dim < shape.size() && shape[dim] == old)
      shape[dim++] = size;
  return type.clone(shape);
}

namespace {
/// Constant operands of a slice become attributes of it.
///
/// MLIR 22 gives the new slice the first type that a slice of its sizes can
/// have, and a cast to the old one. For sizes [1, 2, 1] that is tensor<2x1>;
/// where the slice is a tensor<1x2>, the cast is none and is then folded into
/// sizes [1, 1, 2], which are other elements.
struct FoldSliceOperands : OpRewritePattern<tensor::ExtractSliceOp> {
  explicit FoldSliceOperands(MLIRContext *context)
      : OpRewritePattern(context, firstOfAll) {}

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
    SmallVector<OpFoldResult> sizes = op.getMixedSizes();
    SmallVector<OpFoldResult> strides = op.getMixedStrides();
    bool isFolded =
        succeeded(foldDynamicIndexList(offsets, /*onlyNonNegative=*/true));
    isFolded |=
        succeeded(foldDynamicIndexList(sizes, /*onlyNonNegative=*/true));
    isFolded |= succeeded(foldDynamicIndexList(strides));
    // A value that is out of bounds stays as it is, for its user to see.
    if (!isFolded || !verifyInBoundsSlice(op.getSourceType().getShape(),
                                          offsets, sizes, strides)
                          .isValid)
      return failure();
    SmallVector<int64_t> staticOffsets, staticSizes, staticStrides;
    SmallVector<Value> dynamicOffsets, dynamicSizes, dynamicStrides;
    dispatchIndexOpFoldResults(offsets, dynamicOffsets, staticOffsets);
    dispatchIndexOpFoldResults(sizes, dynamicSizes, staticSizes);
    dispatchIndexOpFoldResults(strides, dynamicStrides, staticStrides);
    RankedTensorType old = op.getType();
    RankedTensorType type = refine(old, op.getStaticSizes(), staticSizes);
    // The op is changed in place, as annotations are discardable attributes.
    rewriter.modifyOpInPlace(op, [&] {
      op.getOffsetsMutable().assign(dynamicOffsets);
      op.getSizesMutable().assign(dynamicSizes);
      op.getStridesMutable().assign(dynamicStrides);
      op.setStaticOffsets(staticOffsets);
      op.setStaticSizes(staticSizes);
      op.setStaticStrides(staticStrides);
      op.getResult().setType(type);
    });
    if (type == old)
      return success();
    rewriter.setInsertionPointAfter(op);
    Value cast = tensor::CastOp::create(rewriter, op.getLoc(), old, op);
    rewriter.replaceAllUsesExcept(op, cast, cast.getDefiningOp());
    return success();
  }
};

/// The same for the padding of a tensor.pad, which upstream leaves as operands;
/// lower needs it as attributes.
struct FoldPadOperands : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::PadOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<int64_t> staticLow, staticHigh;
    SmallVector<Value> dynamicLow, dynamicHigh;
    // These have constants as attributes already.
    dispatchIndexOpFoldResults(op.getMixedLowPad(), dynamicLow, staticLow);
    dispatchIndexOpFoldResults(op.getMixedHighPad(), dynamicHigh, staticHigh);
    // Sizes that are not in the type are for upstream's own pattern.
    if ((dynamicLow.size() == op.getLow().size() &&
         dynamicHigh.size() == op.getHigh().size()) ||
        !op.getType().hasStaticShape())
      return failure();
    // Padding that does not come to the type stays for its user to see.
    auto isWrong = [](int64_t number) {
      return number < 0 && !ShapedType::isDynamic(number);
    };
    for (auto [source, low, high, size] :
         llvm::zip_equal(op.getSourceType().getShape(), staticLow, staticHigh,
                         op.getType().getShape())) {
      bool isKnown = !llvm::is_contained({source, low, high},
                                         int64_t(ShapedType::kDynamic));
      if (isWrong(low) || isWrong(high) ||
          (isKnown && source + low + high != size))
        return failure();
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getLowMutable().assign(dynamicLow);
      op.getHighMutable().assign(dynamicHigh);
      op.setStaticLow(staticLow);
      op.setStaticHigh(staticHigh);
    });
    return success();
  }
};
} // namespace

void TPDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<FoldSliceOperands, FoldPadOperands>(getContext());
}
