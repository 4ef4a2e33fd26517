//===- Tensors.cpp - Derivatives of tensor operations ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They move elements, so that their derivatives move them back: what was cut
// out is put into zeros, what was put in is cut out.
//
//===----------------------------------------------------------------------===//

#include "Vjp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

using Values = SmallVector<Value>;

namespace {
struct TensorVjp {
  ImplicitLocOpBuilder b;
  const Request &request;
  Value g;

  Contributions build(tensor::ExtractSliceOp op);
  Contributions build(tensor::InsertSliceOp op);
  Contributions build(tensor::ExpandShapeOp op);
  Contributions build(tensor::CollapseShapeOp op);
  Contributions build(tensor::PadOp op);
  Contributions build(tensor::ConcatOp op);
  Contributions build(tensor::SplatOp op);
  Contributions build(tensor::CastOp op);
  Contributions build(tensor::ExtractOp op);
  Contributions build(tensor::FromElementsOp op);
  Contributions build(tensor::EmptyOp op) {
    return Values(op->getNumOperands());
  }

  /// The contribution to the first operand alone.
  Values first(Value value) {
    Values values(request.op->getNumOperands());
    values[0] = value;
    return values;
  }
  Value zeros(Type type) { return makeConstant(b, type, 0); }
  /// The cotangent's type in the shape of `type`: of a parameter it may be
  /// wider than what it is of.
  RankedTensorType getTypeLike(RankedTensorType type) {
    return type.clone(getElementTypeOrSelf(g.getType()));
  }
};
} // namespace

Contributions TensorVjp::build(tensor::ExtractSliceOp op) {
  return first(tensor::InsertSliceOp::create(
      b, g, zeros(getTypeLike(op.getSourceType())), op.getMixedOffsets(),
      op.getMixedSizes(), op.getMixedStrides()));
}

Contributions TensorVjp::build(tensor::InsertSliceOp op) {
  Values values(op->getNumOperands());
  RankedTensorType source = op.getSourceType();
  if (request.wanted[0])
    values[0] = tensor::ExtractSliceOp::create(
        b, source, g, op.getMixedOffsets(), op.getMixedSizes(),
        op.getMixedStrides());
  if (request.wanted[1])
    values[1] =
        tensor::InsertSliceOp::create(b, zeros(source), g, op.getMixedOffsets(),
                                      op.getMixedSizes(), op.getMixedStrides());
  return values;
}

Contributions TensorVjp::build(tensor::ExpandShapeOp op) {
  return first(tensor::CollapseShapeOp::create(
      b, getTypeLike(op.getSrcType()), g, op.getReassociationIndices()));
}

Contributions TensorVjp::build(tensor::CollapseShapeOp op) {
  return first(tensor::ExpandShapeOp::create(b, getTypeLike(op.getSrcType()), g,
                                             op.getReassociationIndices()));
}

Contributions TensorVjp::build(tensor::PadOp op) {
  SmallVector<OpFoldResult> sizes, ones;
  for (int64_t size : op.getSourceType().getShape()) {
    sizes.push_back(b.getIndexAttr(size));
    ones.push_back(b.getIndexAttr(1));
  }
  return first(tensor::ExtractSliceOp::create(
      b, op.getSourceType(), g, op.getMixedLowPad(), sizes, ones));
}

Contributions TensorVjp::build(tensor::ConcatOp op) {
  Values values;
  int64_t dim = op.getDim();
  SmallVector<OpFoldResult> offsets(op.getResultType().getRank(),
                                    b.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(offsets.size(), b.getIndexAttr(1));
  int64_t at = 0;
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<OpFoldResult> sizes;
    for (int64_t size : type.getShape())
      sizes.push_back(b.getIndexAttr(size));
    offsets[dim] = b.getIndexAttr(at);
    at += type.getDimSize(dim);
    values.push_back(
        tensor::ExtractSliceOp::create(b, type, g, offsets, sizes, ones));
  }
  return values;
}

Contributions TensorVjp::build(tensor::CastOp op) {
  return first(tensor::CastOp::create(
      b, getTypeLike(cast<RankedTensorType>(op.getSource().getType())), g));
}

/// The scalar counts as often as there are elements.
Contributions TensorVjp::build(tensor::SplatOp op) {
  auto type = cast<RankedTensorType>(g.getType());
  auto scalar = RankedTensorType::get({}, type.getElementType());
  auto emitter = nn::Emitter::inType(b, b.getLoc(), type.getElementType());
  Value sum = emitter.reduce(scalar, {}, type.getRank(), nn::Combine::Sum,
                             {{g, emitter.loops(type.getRank())}},
                             [](nn::Scalar &, ValueRange v) { return v[0]; });
  return first(tensor::ExtractOp::create(b, sum, ValueRange()));
}

/// The cotangent at the place that was read, zero elsewhere.
Contributions TensorVjp::build(tensor::ExtractOp op) {
  auto type = cast<RankedTensorType>(op.getTensor().getType());
  auto emitter = nn::Emitter::inType(b, b.getLoc(), type.getElementType());
  return first(emitter.map(type, {}, [&](nn::Scalar &e, ValueRange) {
    Value zero = e.number(0), value = g;
    for (auto [dim, index] : llvm::enumerate(op.getIndices()))
      value =
          e.select(e.compare(nn::CmpI::eq, e.index(dim), index), value, zero);
    return value;
  }));
}

Contributions TensorVjp::build(tensor::FromElementsOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Values values;
  for (int64_t i = 0; i < int64_t(op.getNumOperands()); ++i) {
    Values indices;
    int64_t rest = i;
    for (int64_t size : llvm::reverse(type.getShape())) {
      indices.insert(indices.begin(),
                     arith::ConstantIndexOp::create(b, rest % size));
      rest /= size;
    }
    values.push_back(tensor::ExtractOp::create(b, g, indices));
  }
  return values;
}

Contributions tp::differentiate::buildTensorVjp(OpBuilder &builder,
                                                const Request &request) {
  Operation *op = request.op;
  TensorVjp vjp{ImplicitLocOpBuilder(op->getLoc(), builder), request,
                request.cotangents[0]};
  return llvm::TypeSwitch<Operation *, Contributions>(op)
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::PadOp,
            tensor::ConcatOp, tensor::SplatOp, tensor::CastOp,
            tensor::ExtractOp, tensor::FromElementsOp, tensor::EmptyOp>(
          [&](auto typed) { return vjp.build(typed); })
      .Default([](Operation *other) { return refuse(other); });
}
