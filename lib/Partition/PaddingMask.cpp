//===- PaddingMask.cpp - Padding overwritten by position ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See PaddingMask.h. Dimension 1 of 9 columns in parts of 3, filled with 0:
//
//   %j = linalg.index 1         %at = addi %j, %offset
//   %inside = cmpi slt %at, 9   %y = select %inside, %x, 0
//
//===----------------------------------------------------------------------===//

#include "PaddingMask.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/Dialect/NN/IR/Emitter.h"

using namespace mlir;
using namespace tp;

static TypedAttr getMaskValue(OpBuilder &builder, Type type, int64_t value) {
  if (isa<FloatType>(type))
    return builder.getFloatAttr(type, static_cast<double>(value));
  return builder.getIntegerAttr(type, value);
}

linalg::GenericOp tp::buildPaddingMask(OpBuilder &builder, Location loc,
                                       Value local, const Mask &mask,
                                       int64_t size,
                                       FlatSymbolRefAttr meshSymbol,
                                       const Mesh &mesh,
                                       ArrayRef<AxisRef> axes) {
  MLIRContext *context = builder.getContext();
  auto type = cast<RankedTensorType>(local.getType());
  Value position =
      RankOp::create(builder, loc, builder.getIndexType(), meshSymbol,
                     getAxisListAttr(context, mesh, axes));
  Value offset = arith::MulIOp::create(
      builder, loc, position,
      arith::ConstantIndexOp::create(builder, loc, type.getDimSize(mask.dim)));
  Value end = arith::ConstantIndexOp::create(builder, loc, size);
  Value fill = arith::ConstantOp::create(
      builder, loc, getMaskValue(builder, type.getElementType(), mask.value));
  auto emitter = nn::Emitter::inType(builder, loc, type.getElementType());
  Value masked = emitter.mapEach(type, local, [&](nn::Scalar &e, ValueRange v) {
    Value at = e.add(e.index(mask.dim), offset);
    return e.select(e.compare(nn::CmpI::slt, at, end), v[0], fill);
  });
  return masked.getDefiningOp<linalg::GenericOp>();
}

/// The dimension whose padding `generic` overwrites past `end`, if it is a
/// mask.
static std::optional<unsigned> matchMask(linalg::GenericOp generic,
                                         int64_t &end) {
  auto isIdentity = [](AffineMap map) { return map.isIdentity(); };
  if (generic.getNumDpsInputs() != 1 || generic.getNumDpsInits() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(), isIdentity))
    return std::nullopt;
  Block *body = generic.getBody();
  auto select =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
  if (!select || select.getTrueValue() != body->getArgument(0))
    return std::nullopt;
  auto inside = select.getCondition().getDefiningOp<arith::CmpIOp>();
  APInt bound;
  if (!inside || inside.getPredicate() != arith::CmpIPredicate::slt ||
      !matchPattern(inside.getRhs(), m_ConstantInt(&bound)))
    return std::nullopt;
  auto at = inside.getLhs().getDefiningOp<arith::AddIOp>();
  auto index = at ? at.getLhs().getDefiningOp<linalg::IndexOp>() : nullptr;
  // The offset comes from outside; tp-verify-partitioned checks which it is.
  if (!index || at.getRhs().getParentBlock() == body)
    return std::nullopt;
  end = bound.getSExtValue();
  return index.getDim();
}

Value tp::getMaskedValue(Value value, ArrayRef<int64_t> shape) {
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (!generic)
    return nullptr;
  int64_t end = 0;
  std::optional<unsigned> dim = matchMask(generic, end);
  return dim && end >= shape[*dim] ? generic.getDpsInputOperand(0)->get()
                                   : Value();
}
