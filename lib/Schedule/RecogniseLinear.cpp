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
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {
#define GEN_PASS_DEF_RECOGNISELINEAR
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The input that `value`, in the body of `op`, is, perhaps widened; -1 if
/// none.
static int64_t getInputNumber(linalg::LinalgOp op, Value value) {
  if (auto wide = value.getDefiningOp<arith::ExtFOp>())
    value = wide.getIn();
  auto argument = dyn_cast<BlockArgument>(value);
  bool isInput = argument && argument.getOwner() == op.getBlock() &&
                 argument.getArgNumber() < op.getNumDpsInputs();
  return isInput ? int64_t(argument.getArgNumber()) : -1;
}

/// True if the body of `op` adds the product of its two inputs to its output,
/// in f32 if they are narrower.
static bool isMultiplyAdd(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (!body)
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
  return product &&
         getInputNumber(op, product.getLhs()) +
                 getInputNumber(op, product.getRhs()) ==
             1 &&
         getInputNumber(op, product.getLhs()) >= 0 &&
         getInputNumber(op, product.getRhs()) >= 0;
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
      source ? source.getOffsets() : ArrayRef<int64_t>{0, 0}, order,
      source ? source.getSteps() : ArrayRef<int64_t>());
  auto clone = cast<ParameterOp>(builder.clone(*op));
  clone.setSourceAttr(swapped);
  // It is another value than the one that the number is of.
  clone->removeAttr(valueIdAttrName);
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
/// The products that there are operations for, each of rows of an input.
struct Product {
  /// y[rows, n], x[rows, k], w[n, k]; w[k, n]; and y[k, n], the sum over rows
  /// of x[rows, k] and w[rows, n].
  enum Kind { Linear, Matmul, Transposed } kind;
  Value input, weight;
};
} // namespace

static FailureOr<Product> findProduct(linalg::LinalgOp op) {
  Value input = op.getDpsInputs()[0], weight = op.getDpsInputs()[1];
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  FailureOr<SmallVector<unsigned>> x = getDims(maps[0]), w = getDims(maps[1]),
                                   y = getDims(maps[2]);
  if (failed(x) || failed(w) || failed(y) || x->empty() || w->empty() ||
      y->empty())
    return failure();
  auto getRows = [](const SmallVector<unsigned> &dims) {
    return ArrayRef(dims).drop_back();
  };
  using Dims = SmallVector<unsigned>;
  if (getRows(*x) == getRows(*w) && x->size() > 1 && x->back() != w->back() &&
      op.getNumReductionLoops() == x->size() - 1) {
    if (*y == Dims{x->back(), w->back()})
      return Product{Product::Transposed, input, weight};
    if (*y == Dims{w->back(), x->back()})
      return Product{Product::Transposed, weight, input};
  }
  if (w->size() != 2 || (x->size() == 2 && getRows(*x) != getRows(*y))) {
    std::swap(x, w);
    std::swap(input, weight);
  }
  unsigned n = y->back(), k = x->back();
  if (op.getNumReductionLoops() != 1 || n == k || getRows(*x) != getRows(*y))
    return failure();
  if (*w == Dims{n, k})
    return Product{Product::Linear, input, weight};
  if (*w == Dims{k, n})
    return Product{Product::Matmul, input, weight};
  return failure();
}

/// True if the library multiplies these types: those of the sums, or narrower.
static bool hasKnownTypes(linalg::LinalgOp op, const Product &product) {
  Type x = getElementTypeOrSelf(product.input),
       w = getElementTypeOrSelf(product.weight),
       y = getElementTypeOrSelf(op->getResult(0));
  if (x == w && w == y)
    return true;
  // Beside a narrow weight nn.linear has an input of its type alone.
  return y.isF32() && isa<BFloat16Type, Float16Type, Float32Type>(w) &&
         (x == w || (x.isF32() && product.kind != Product::Linear));
}

/// True if nothing else here reads the tensor that `parameter` names, so that
/// read transposed it is not in memory twice.
static bool isReadOnce(ParameterOp parameter) {
  unsigned readers = 0;
  parameter->getParentOfType<func::FuncOp>().walk(
      [&](ParameterOp op) { readers += op.getName() == parameter.getName(); });
  return readers == 1 && parameter->hasOneUse();
}

/// The operation that does nothing but round `value`, if it is its only reader.
static Operation *findRounding(Value value) {
  Operation *reader = value.hasOneUse() ? *value.user_begin() : nullptr;
  if (isa_and_nonnull<arith::TruncFOp>(reader))
    return reader;
  auto op = dyn_cast_or_null<linalg::GenericOp>(reader);
  if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getDpsInputs()[0] != value ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  auto round = yielded.getDefiningOp<arith::TruncFOp>();
  return round && round.getIn() == op.getBody()->getArgument(0) ? reader
                                                                : nullptr;
}

static Value build(OpBuilder &builder, Location loc, const Product &product,
                   Type type) {
  auto parameter = product.weight.getDefiningOp<ParameterOp>();
  if (product.kind == Product::Linear)
    return nn::LinearOp::create(builder, loc, type, product.input,
                                product.weight, Value());
  if (product.kind == Product::Matmul && parameter && isReadOnce(parameter) &&
      getElementTypeOrSelf(product.input) == getElementTypeOrSelf(parameter))
    return nn::LinearOp::create(builder, loc, type, product.input,
                                transposeParameter(parameter), Value());
  return nn::MatmulOp::create(builder, loc, type, product.input, product.weight,
                              product.kind == Product::Transposed);
}

/// The library knows neither offset nor padding row: the ids become relative to
/// the first row, and that of the padding row -1, which no table has.
static void takeOffset(nn::EmbeddingBackwardOp op) {
  if (!op.getOffset() && !op.getPaddingRow())
    return;
  OpBuilder builder(op);
  Value ids = op.getIds(), offset = op.getOffset();
  std::optional<int64_t> padding = op.getPaddingRow();
  auto type = cast<RankedTensorType>(ids.getType());
  nn::Emitter emitter(builder, op.getLoc(), type.getElementType());
  Value relative = emitter.mapEach(type, ids, [&](nn::Scalar &e, ValueRange v) {
    Value id = v[0];
    if (offset) // Kernels are given indices.
      id = e.sub(id, e.cast(offset, id.getType()));
    if (padding)
      id = e.select(e.compare(nn::CmpI::eq, v[0], *padding),
                    e.integer(-1, id.getType()), id);
    return id;
  });
  op.getIdsMutable().assign(relative);
  op.getOffsetMutable().clear();
  op.removePaddingRowAttr();
}

/// The sum of `op` and a tensor is made by the operation itself, where that
/// tensor lies if it is a state.
static void addInto(nn::EmbeddingBackwardOp op) {
  auto sum = op->hasOneUse() ? dyn_cast<arith::AddFOp>(*op->user_begin())
                             : arith::AddFOp();
  if (!sum || op.getInto() || sum->getBlock() != op->getBlock())
    return;
  Value other = sum.getLhs() == op.getResult() ? sum.getRhs() : sum.getLhs();
  op->moveBefore(sum);
  op.getIntoMutable().assign(other);
  // Its result is now the sum's value.
  op->removeAttr(valueIdAttrName);
  if (Attribute number = sum->getAttr(valueIdAttrName))
    op->setAttr(valueIdAttrName, number);
  sum.replaceAllUsesWith(op.getResult());
  sum.erase();
}

namespace {
struct RecogniseLinearPass
    : tp::impl::RecogniseLinearBase<RecogniseLinearPass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops)
      convert(op);
    SmallVector<nn::EmbeddingBackwardOp> tables;
    getOperation().walk(
        [&](nn::EmbeddingBackwardOp op) { tables.push_back(op); });
    llvm::for_each(tables, takeOffset);
    llvm::for_each(tables, addInto);
  }

  void convert(linalg::LinalgOp op) {
    if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
        op->getNumResults() != 1 || !isMultiplyAdd(op) ||
        !isa<RankedTensorType>(op->getResult(0).getType()) ||
        op.hasDynamicShape())
      return;
    FailureOr<Product> found = findProduct(op);
    if (failed(found) || !hasKnownTypes(op, *found))
      return;
    OpBuilder builder(op);
    Operation *end = op;
    Value init = op.getDpsInits()[0];
    // A sum that is only rounded then is made as what it is rounded to.
    if (Operation *round = findRounding(op->getResult(0));
        round && isZero(init) &&
        getElementTypeOrSelf(round->getResult(0)) ==
            getElementTypeOrSelf(found->weight))
      end = round;
    Value product =
        build(builder, op.getLoc(), *found, end->getResult(0).getType());
    if (!isZero(init))
      product = arith::AddFOp::create(builder, op.getLoc(), product, init);
    end->getResult(0).replaceAllUsesWith(product);
    end->erase();
    if (end != op)
      op->erase();
    ++numLinears;
  }
};
} // namespace
