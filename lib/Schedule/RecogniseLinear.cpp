//===- RecogniseLinear.cpp - Products written in linalg -------------------===//
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
#include "mlir/IR/Matchers.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {
#define GEN_PASS_DEF_RECOGNISELINEAR
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// True if the body of `op` adds the product of its two inputs to its output.
static bool isMultiplyAdd(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (!body || !llvm::hasNItems(body->getOperations(), 3))
    return false;
  auto add =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value output = body->getArgument(2);
  Value other = add.getLhs() == output ? add.getRhs() : add.getLhs();
  if (add.getLhs() != output && add.getRhs() != output)
    return false;
  auto product = other.getDefiningOp<arith::MulFOp>();
  return product && (product.getLhs() == body->getArgument(0)
                         ? product.getRhs() == body->getArgument(1)
                         : product.getLhs() == body->getArgument(1) &&
                               product.getRhs() == body->getArgument(0));
}

/// Positions of the domain's dimensions that `map` reads; fails if it reads
/// anything else.
static FailureOr<SmallVector<unsigned>> getDims(AffineMap map) {
  SmallVector<unsigned> dims;
  for (AffineExpr result : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim || llvm::is_contained(dims, dim.getPosition()))
      return failure();
    dims.push_back(dim.getPosition());
  }
  return dims;
}

static bool isZero(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.value(), m_AnyZeroFloat());
  return matchPattern(value, m_AnyZeroFloat());
}

/// The parameter with its two dimensions exchanged: the loader does it. In its
/// place, because `{i}` is the iteration of the loop that it is in.
static Value transposeParameter(ParameterOp op) {
  OpBuilder builder(op);
  MLIRContext *context = op.getContext();
  auto swapType = [](RankedTensorType type) {
    return RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)},
                                 type.getElementType());
  };
  auto local = cast<RankedTensorType>(op.getType());
  auto globalAttr =
      op->getAttrOfType<TypeAttr>(TPDialect::getGlobalTypeAttrName());
  auto global =
      globalAttr ? cast<RankedTensorType>(globalAttr.getValue()) : local;
  ParameterSourceAttr source = op.getSourceAttr();
  SmallVector<int64_t> order{1, 0};
  if (source)
    order = {source.getPermutation()[1], source.getPermutation()[0]};
  auto swapped = ParameterSourceAttr::get(
      context, source ? source.getShape() : global.getShape(),
      source ? source.getOffsets() : ArrayRef<int64_t>{0, 0}, order);
  auto clone = cast<ParameterOp>(builder.clone(*op));
  clone.setSourceAttr(swapped);
  clone.getResult().setType(swapType(local));
  if (globalAttr)
    clone->setAttr(TPDialect::getGlobalTypeAttrName(),
                   TypeAttr::get(swapType(global)));
  if (auto shardings =
          op->getAttrOfType<ArrayAttr>(TPDialect::getShardingsAttrName()))
    if (auto sharding = dyn_cast<ShardingAttr>(shardings[0])) {
      SmallVector<DimShardingAttr> dims(sharding.getDims());
      std::swap(dims[0], dims[1]);
      clone->setAttr(
          TPDialect::getShardingsAttrName(),
          ArrayAttr::get(context, ShardingAttr::get(context, sharding.getMesh(),
                                                    dims, sharding.getPartial(),
                                                    sharding.getReduction())));
    }
  return clone;
}

namespace {
struct RecogniseLinearPass
    : tp::impl::RecogniseLinearBase<RecogniseLinearPass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops)
      convert(op);
  }

  void convert(linalg::LinalgOp op) {
    if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
        op->getNumResults() != 1 || op.getNumReductionLoops() != 1 ||
        !isMultiplyAdd(op))
      return;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Value input = op.getDpsInputs()[0], weight = op.getDpsInputs()[1];
    if (getElementTypeOrSelf(input) != type.getElementType() ||
        getElementTypeOrSelf(weight) != type.getElementType() ||
        !type.hasStaticShape())
      return;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    FailureOr<SmallVector<unsigned>> x = getDims(maps[0]), w = getDims(maps[1]),
                                     y = getDims(maps[2]);
    if (failed(x) || failed(w) || failed(y))
      return;
    if (w->size() != 2 && x->size() == 2) {
      std::swap(x, w);
      std::swap(input, weight);
    }
    // y[rows, n], x[rows, k], w[n, k] or w[k, n].
    if (w->size() != 2 || x->empty() || y->empty() || x->size() != y->size())
      return;
    unsigned n = y->back(), k = x->back();
    if (n == k || ArrayRef(*x).drop_back() != ArrayRef(*y).drop_back())
      return;
    bool isTransposed = *w == SmallVector<unsigned>{k, n};
    if (!isTransposed && *w != SmallVector<unsigned>{n, k})
      return;
    OpBuilder builder(op);
    if (isTransposed) {
      auto parameter = weight.getDefiningOp<ParameterOp>();
      if (!parameter)
        return;
      weight = transposeParameter(parameter);
    }
    Value product = nn::LinearOp::create(builder, op.getLoc(), type, input,
                                         weight, Value());
    Value init = op.getDpsInits()[0];
    if (!isZero(init))
      product = arith::AddFOp::create(builder, op.getLoc(), product, init);
    op->getResult(0).replaceAllUsesWith(product);
    op->erase();
    ++numLinears;
  }
};
} // namespace
