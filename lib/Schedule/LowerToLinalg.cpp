//===- LowerToLinalg.cpp - Everything as linalg.generic -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The row generator reads one form: linalg.generic on tensors. This pass brings
// the per-rank program there. Index-driven operations (pad, concatenation,
// slices) become generics that compute the index they read; where that index
// counts up with the innermost loop, the generator makes vector accesses of it.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Passes.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {
#define GEN_PASS_DEF_LOWERTOLINALG
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::nn;

namespace {

using IndexBody = function_ref<Value(Scalar &, ArrayRef<Value> indices)>;

/// A generic without inputs whose elements are computed from their indices.
Value makeIndexed(OpBuilder &builder, Location loc, RankedTensorType type,
                  IndexBody body) {
  Emitter emitter(builder, loc, type.getElementType());
  return emitter.map(type, {}, [&](Scalar &e, ValueRange) {
    return body(e, e.indices(type.getRank()));
  });
}

Value extract(Scalar &e, Value tensor, ArrayRef<Value> indices) {
  return tensor::ExtractOp::create(e.b, tensor, indices);
}

/// `tensor` at `indices`, or `otherwise` where one of them is outside.
Value readInside(Scalar &e, Value tensor, ArrayRef<Value> indices,
                 ArrayRef<bool> mayBeOutside, Value otherwise) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getNumElements() == 0)
    return otherwise;
  SmallVector<Value> clamped(indices);
  Value inside;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!mayBeOutside[dim])
      continue;
    Value index = indices[dim];
    Value zero = e.integer(0, index.getType());
    Value last = e.integer(type.getDimSize(dim) - 1, index.getType());
    Value low = e.compare(CmpI::sge, index, zero);
    Value both = e.both(low, e.compare(CmpI::sle, index, last));
    inside = inside ? e.both(inside, both) : both;
    clamped[dim] = e.min(e.max(index, zero), last);
  }
  Value element = extract(e, tensor, clamped);
  return inside ? e.select(inside, element, otherwise) : element;
}

Value makeZero(Scalar &e, Type type) {
  return arith::ConstantOp::create(e.b, cast<TypedAttr>(e.b.getZeroAttr(type)));
}

//===----------------------------------------------------------------------===//
// Tensor operations
//===----------------------------------------------------------------------===//

/// A slice that is no view of memory: a copy through an affine map.
FailureOr<Value> convertExtractSlice(tensor::ExtractSliceOp op,
                                     OpBuilder &builder) {
  if (!op.hasUnitStride() &&
      llvm::any_of(op.getStaticStrides(), ShapedType::isDynamic))
    return op.emitOpError("expected static offsets, sizes and strides");
  if (llvm::any_of(op.getStaticOffsets(), ShapedType::isDynamic))
    return op.emitOpError("expected static offsets, sizes and strides");
  auto type = op.getType();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  // linalg takes a plain dimension of a map as saying the operand's size.
  bool beginsWhole = false;
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim)
    beginsWhole |=
        op.getStaticOffsets()[dim] == 0 && op.getStaticStrides()[dim] == 1 &&
        op.getStaticSizes()[dim] != op.getSourceType().getDimSize(dim);
  if (beginsWhole)
    return makeIndexed(
        builder, op.getLoc(), type, [&](Scalar &e, ArrayRef<Value> indices) {
          SmallVector<Value> at;
          unsigned next = 0;
          for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim) {
            Value offset =
                e.integer(op.getStaticOffsets()[dim], e.b.getIndexType());
            if (dropped.test(dim)) {
              at.push_back(offset);
              continue;
            }
            Value index = indices[next++];
            if (op.getStaticStrides()[dim] != 1)
              index = e.mul(index, op.getStaticStrides()[dim]);
            at.push_back(e.add(index, offset));
          }
          return extract(e, op.getSource(), at);
        });
  auto emitter = Emitter::inType(builder, op.getLoc(), type.getElementType());
  nn::Loops exprs;
  unsigned next = 0;
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim) {
    AffineExpr at = emitter.constant(op.getStaticOffsets()[dim]);
    if (!dropped.test(dim))
      at = at + builder.getAffineDimExpr(next++) * op.getStaticStrides()[dim];
    exprs.push_back(at);
  }
  return emitter.map(type, {{op.getSource(), exprs}},
                     [](Scalar &, ValueRange args) { return args[0]; });
}

FailureOr<Value> convertInsertSlice(tensor::InsertSliceOp op,
                                    OpBuilder &builder) {
  auto isDynamic = [](int64_t size) { return ShapedType::isDynamic(size); };
  if (llvm::any_of(op.getStaticOffsets(), isDynamic) ||
      llvm::any_of(op.getStaticStrides(), isDynamic))
    return op.emitOpError("expected static offsets and strides");
  auto type = op.getType();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  bool overEmpty = op.getDest().getDefiningOp<tensor::EmptyOp>() != nullptr;
  return makeIndexed(
      builder, op.getLoc(), type, [&](Scalar &e, ArrayRef<Value> indices) {
        Value old = overEmpty ? makeZero(e, type.getElementType())
                              : extract(e, op.getDest(), indices);
        SmallVector<Value> at;
        SmallVector<bool> outside;
        Value isHere;
        auto require = [&](Value left, int64_t right) {
          Value same = e.compare(CmpI::eq, left, right);
          isHere = isHere ? e.both(isHere, same) : same;
        };
        for (int64_t dim = 0; dim < type.getRank(); ++dim) {
          Value moved = e.sub(indices[dim], op.getStaticOffsets()[dim]);
          bool isPart = op.getStaticSizes()[dim] != type.getDimSize(dim);
          int64_t stride = op.getStaticStrides()[dim];
          if (!dropped.test(dim) && isPart && stride != 1) {
            Value by = e.integer(stride, moved.getType());
            require(e.remainder(moved, by), 0);
            // As unsigned numbers, negative ones are beyond the source.
            moved = e.quotient(moved, by);
          }
          if (!dropped.test(dim)) {
            at.push_back(isPart ? moved : indices[dim]);
            outside.push_back(isPart);
          } else if (isPart) {
            require(moved, 0);
          }
        }
        Value value = readInside(e, op.getSource(), at, outside, old);
        return isHere ? e.select(isHere, value, old) : value;
      });
}

FailureOr<Value> convertConcat(tensor::ConcatOp op, OpBuilder &builder) {
  auto type = op.getResultType();
  int64_t dim = op.getDim();
  return makeIndexed(
      builder, op.getLoc(), type, [&](Scalar &e, ArrayRef<Value> indices) {
        Value result = makeZero(e, type.getElementType());
        int64_t offset = 0;
        for (Value part : op.getInputs()) {
          SmallVector<Value> at(indices);
          SmallVector<bool> outside(type.getRank(), false);
          outside[dim] = true;
          at[dim] = e.sub(indices[dim], offset);
          result = readInside(e, part, at, outside, result);
          offset += cast<RankedTensorType>(part.getType()).getDimSize(dim);
        }
        return result;
      });
}

/// The region computes what is put around the source, at any position.
FailureOr<Value> convertPad(tensor::PadOp op, OpBuilder &builder) {
  auto type = op.getType();
  if (!type.hasStaticShape() ||
      llvm::any_of(op.getStaticLow(), ShapedType::isDynamic))
    return op.emitOpError("expected static sizes and padding");
  for (int64_t padding :
       llvm::concat<const int64_t>(op.getStaticLow(), op.getStaticHigh()))
    if (!ShapedType::isDynamic(padding) && padding < 0)
      return op.emitOpError("expected padding of at least 0, got ")
             << padding << "; tensor.extract_slice cuts off";
  return makeIndexed(
      builder, op.getLoc(), type, [&](Scalar &e, ArrayRef<Value> indices) {
        SmallVector<Value> at;
        SmallVector<bool> outside;
        auto source = cast<RankedTensorType>(op.getSource().getType());
        for (int64_t dim = 0; dim < type.getRank(); ++dim) {
          bool isPart = source.getDimSize(dim) != type.getDimSize(dim);
          at.push_back(isPart ? e.sub(indices[dim], op.getStaticLow()[dim])
                              : indices[dim]);
          outside.push_back(isPart);
        }
        // A constant from outside is one more argument unless it is cloned.
        IRMapping mapping;
        Block &region = op.getRegion().front();
        mapping.map(region.getArguments(), indices);
        auto cloneConstant = [&](Value value) {
          auto constant = value.getDefiningOp<arith::ConstantOp>();
          if (constant && !mapping.contains(value))
            e.b.clone(*constant, mapping);
        };
        for (Operation &padding : region.without_terminator()) {
          llvm::for_each(padding.getOperands(), cloneConstant);
          e.b.clone(padding, mapping);
        }
        Value yielded = region.getTerminator()->getOperand(0);
        cloneConstant(yielded);
        return readInside(e, op.getSource(), at, outside,
                          mapping.lookupOrDefault(yielded));
      });
}

//===----------------------------------------------------------------------===//
// Operations of this rank
//===----------------------------------------------------------------------===//

Value convertSlice(SliceOp op, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getType());
  auto source = cast<RankedTensorType>(op.getInput().getType());
  Location loc = op.getLoc();
  Value rank = RankOp::create(builder, loc, builder.getIndexType(),
                              op.getMeshAttr(), op.getAxes());
  int64_t dim = op.getDim();
  Value offset = Scalar(builder, loc, Type()).mul(rank, type.getDimSize(dim));
  // Blocks that cover more than the source end in zeros (8 over 6 ranks are
  // blocks of 2, of which the last two are all padding).
  Mesh mesh = lookupMesh(op, op.getMeshAttr()).getMesh().toMesh();
  AxisList axes =
      *resolveAxes(op.getAxes(), mesh, [&] { return op.emitOpError(); });
  bool padded =
      getShardCount(axes) * type.getDimSize(dim) > source.getDimSize(dim);
  return makeIndexed(builder, loc, type,
                     [&](Scalar &e, ArrayRef<Value> indices) {
                       SmallVector<Value> moved(indices);
                       SmallVector<bool> outside(type.getRank(), false);
                       outside[dim] = padded;
                       moved[dim] = e.add(indices[dim], offset);
                       return readInside(e, op.getInput(), moved, outside,
                                         makeZero(e, type.getElementType()));
                     });
}

/// Positions of the result: those of the indices, then those of the slice,
/// where gathered dimensions are ones or left out.
Value convertGather(tensor::GatherOp op, OpBuilder &builder) {
  RankedTensorType type = op.getResultType();
  RankedTensorType source = op.getSourceType();
  int64_t batch = op.getIndicesType().getRank() - 1;
  bool keepsOnes = type.getRank() - batch == source.getRank();
  return makeIndexed(
      builder, op.getLoc(), type, [&](Scalar &e, ArrayRef<Value> indices) {
        SmallVector<Value> at(source.getRank());
        for (auto [number, dim] : llvm::enumerate(op.getGatherDims())) {
          SmallVector<Value> where(indices.take_front(batch));
          where.push_back(e.integer(number, e.b.getIndexType()));
          at[dim] =
              e.cast(extract(e, op.getIndices(), where), e.b.getIndexType());
        }
        int64_t next = batch;
        for (Value &index : at) {
          if (!index)
            index = indices[next++];
          else if (keepsOnes)
            ++next;
        }
        return extract(e, op.getSource(), at);
      });
}

/// An element of another tensor is looked up by each of the copy.
Value convertSplat(tensor::SplatOp op, OpBuilder &builder) {
  return makeIndexed(
      builder, op.getLoc(), cast<RankedTensorType>(op.getType()),
      [&](Scalar &e, ArrayRef<Value>) {
        auto found = op.getInput().getDefiningOp<tensor::ExtractOp>();
        return found ? e.b.clone(*found)->getResult(0) : op.getInput();
      });
}

Value convertKeepFirst(KeepFirstOp op, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getType());
  // A parameter is loaded that way, where it is: `{i}` is the iteration of the
  // loop around it.
  if (auto parameter = op.getInput().getDefiningOp<ParameterOp>()) {
    Operation *clone = OpBuilder(parameter).clone(*parameter);
    clone->setAttr("tp.partial", op.getAxes());
    return clone->getResult(0);
  }
  Location loc = op.getLoc();
  Value rank = RankOp::create(builder, loc, builder.getIndexType(),
                              op.getMeshAttr(), op.getAxes());
  return makeIndexed(
      builder, loc, type, [&](Scalar &e, ArrayRef<Value> indices) {
        Value element = extract(e, op.getInput(), indices);
        Value isFirst = e.compare(CmpI::eq, rank, 0);
        return e.select(isFirst, element, makeZero(e, type.getElementType()));
      });
}

/// Rotary embedding of whole heads as one pass: with a head seen as two halves,
/// half c of the result is x_c cos + (c ? 1 : -1) x_(1-c) sin. Null if only
/// part of a head is rotated.
Value convertRotary(nn::RotaryOp op, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getType());
  auto table = cast<RankedTensorType>(op.getCos().getType());
  int64_t half = table.getDimSize(1);
  if (type.getDimSize(3) != 2 * half)
    return nullptr;
  Location loc = op.getLoc();
  SmallVector<int64_t> shape(type.getShape().drop_back());
  shape.append({2, half});
  auto halves = RankedTensorType::get(shape, type.getElementType());
  SmallVector<ReassociationIndices> groups{{0}, {1}, {2}, {3, 4}};
  Value input = tensor::ExpandShapeOp::create(builder, loc, halves,
                                              op.getInput(), groups);
  Emitter emitter(builder, loc, builder.getF32Type());
  nn::Loops d = emitter.loops(5);
  nn::Loops swapped{d[0], d[1], d[2], 1 - d[3], d[4]}, angle{d[1], d[4]};
  Value rotated = emitter.map(halves,
                              {{input, d},
                               {input, swapped},
                               {op.getCos(), angle},
                               {op.getSin(), angle}},
                              [](Scalar &e, ValueRange v) {
                                Value isFirst =
                                    e.compare(CmpI::eq, e.index(3), 0);
                                Value sign = e.select(isFirst, e.number(-1), 1);
                                Value straight = e.mul(v[0], v[2]),
                                      crossed = e.mul(v[1], v[3]);
                                return e.add(straight, e.mul(sign, crossed));
                              });
  return tensor::CollapseShapeOp::create(builder, loc, type, rotated, groups);
}

/// A fill by a constant is the constant.
Value convertFill(linalg::FillOp op, OpBuilder &builder) {
  TypedAttr value;
  Operation *definition = op.value().getDefiningOp();
  if (!definition || !matchPattern(op.value(), m_Constant(&value)) ||
      op->getNumResults() != 1)
    return nullptr;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return arith::ConstantOp::create(builder, op.getLoc(),
                                   DenseElementsAttr::get(type, value));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// True if a function of the runtime computes `op`. tp-form-gemms has left only
/// those operations of a GEMM that become row kernels.
bool staysInStep(Operation *op) {
  auto library = dyn_cast<LibraryOpInterface>(op);
  return library && !library.getEpilogues({});
}

struct LowerToLinalgPass : tp::impl::LowerToLinalgBase<LowerToLinalgPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr("tp.kernel"))
      return;
    if (failed(decomposeAll(function)) || failed(generalise(function)) ||
        failed(convertTensorOps(function)))
      signalPassFailure();
  }

  /// Decomposes until only the operations that schedule keeps are left.
  LogicalResult decomposeAll(func::FuncOp function) {
    OpBuilder builder(&getContext());
    for (bool changed = true; changed;) {
      changed = false;
      SmallVector<Operation *> found;
      function.walk([&](Operation *op) {
        if (isa<DecomposeOpInterface>(op) && !staysInStep(op))
          found.push_back(op);
      });
      for (Operation *op : found) {
        builder.setInsertionPoint(op);
        if (auto rotary = dyn_cast<nn::RotaryOp>(op))
          if (Value value = convertRotary(rotary, builder)) {
            noteOrigin(op, value.getDefiningOp()->getPrevNode()->getPrevNode());
            rotary.getResult().replaceAllUsesWith(value);
            op->erase();
            changed = true;
            continue;
          }
        Operation *before = op->getPrevNode();
        FailureOr<SmallVector<Value>> values =
            cast<DecomposeOpInterface>(op).decompose(builder);
        if (failed(values))
          return failure();
        noteOrigin(op, before);
        op->replaceAllUsesWith(*values);
        op->erase();
        changed = true;
      }
    }
    return success();
  }

  /// Marks what was made between `before` and `op` with the name of `op`.
  void noteOrigin(Operation *op, Operation *before) {
    Attribute origin = op->getAttr(originAttrName);
    if (!origin)
      origin = StringAttr::get(&getContext(), op->getName().stripDialect());
    Operation *made = before ? before->getNextNode() : &op->getBlock()->front();
    for (; made != op; made = made->getNextNode())
      if (isa<linalg::LinalgOp, DecomposeOpInterface>(made))
        made->setAttr(originAttrName, origin);
  }

  LogicalResult generalise(func::FuncOp function) {
    SmallVector<linalg::FillOp> fills;
    function.walk([&](linalg::FillOp op) { fills.push_back(op); });
    OpBuilder builder(&getContext());
    for (linalg::FillOp op : fills) {
      builder.setInsertionPoint(op);
      if (Value value = convertFill(op, builder)) {
        op->getResult(0).replaceAllUsesWith(value);
        op->erase();
      }
    }
    SmallVector<linalg::SoftmaxOp> softmaxes;
    function.walk([&](linalg::SoftmaxOp op) { softmaxes.push_back(op); });
    for (linalg::SoftmaxOp op : softmaxes) {
      builder.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> values = op.decomposeOperation(builder);
      if (failed(values))
        return failure();
      op->replaceAllUsesWith(*values);
      op->erase();
    }
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    return applyPatternsGreedily(function, std::move(patterns));
  }

  LogicalResult convertTensorOps(func::FuncOp function) {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    OpBuilder builder(&getContext());
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      FailureOr<Value> value = Value();
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
        if (!isView(op))
          value = convertExtractSlice(slice, builder);
      } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
        value = convertInsertSlice(insert, builder);
      } else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
        value = convertConcat(concat, builder);
      } else if (auto pad = dyn_cast<tensor::PadOp>(op)) {
        value = convertPad(pad, builder);
      } else if (auto slice = dyn_cast<SliceOp>(op)) {
        value = convertSlice(slice, builder);
      } else if (auto keep = dyn_cast<KeepFirstOp>(op)) {
        value = convertKeepFirst(keep, builder);
      } else if (auto gather = dyn_cast<tensor::GatherOp>(op)) {
        value = convertGather(gather, builder);
      } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
        value = convertSplat(splat, builder);
      } else {
        continue;
      }
      if (failed(value))
        return failure();
      if (!*value)
        continue;
      op->getResult(0).replaceAllUsesWith(*value);
      op->erase();
    }
    // Operations that only the removed ones used.
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, function->getRegions());
    return success();
  }
};

} // namespace
