//===- UnitDims.cpp - Maps of structured operations without constants -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension of size one that is broadcast is read at the constant 0:
//
//   x[1, 8] by (d0, d1) -> (0, d1)     becomes     x[8] by (d0, d1) -> (d1)
//
// so that each operand's map is a projected permutation, which says over which
// loops its derivative is summed.
//
//===----------------------------------------------------------------------===//

#include "UnitDims.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;

/// The dimensions of an operand of this type and map that are read at 0 alone.
static SmallVector<unsigned> findUnitDims(Type type, AffineMap map) {
  SmallVector<unsigned> dims;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return dims;
  for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(expression);
    if (constant && constant.getValue() == 0 && tensor.getDimSize(dim) == 1)
      dims.push_back(dim);
  }
  return dims;
}

/// Groups of dimensions that join each of `dropped` with a neighbour.
static SmallVector<ReassociationIndices> joinDims(int64_t rank,
                                                  ArrayRef<unsigned> dropped) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices left;
  for (int64_t dim = 0; dim < rank; ++dim) {
    left.push_back(dim);
    if (llvm::is_contained(dropped, dim))
      continue;
    groups.push_back(left);
    left.clear();
  }
  if (!groups.empty())
    llvm::append_range(groups.back(), left);
  return groups;
}

static void dropUnitDims(linalg::GenericOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<Value> operands(op->getOperands());
  SmallVector<SmallVector<ReassociationIndices>> groups(operands.size());
  bool hasChanged = false;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    SmallVector<unsigned> dims = findUnitDims(operand.getType(), maps[i]);
    if (dims.empty())
      continue;
    hasChanged = true;
    auto type = cast<RankedTensorType>(operand.getType());
    groups[i] = joinDims(type.getRank(), dims);
    operand = tensor::CollapseShapeOp::create(builder, loc, operand, groups[i]);
    SmallVector<AffineExpr> kept;
    for (auto [dim, expression] : llvm::enumerate(maps[i].getResults()))
      if (!llvm::is_contained(dims, dim))
        kept.push_back(expression);
    maps[i] = AffineMap::get(maps[i].getNumDims(), 0, kept, op.getContext());
  }
  if (!hasChanged)
    return;
  unsigned numInputs = op.getNumDpsInputs();
  ValueRange inputs = ArrayRef(operands).take_front(numInputs),
             outputs = ArrayRef(operands).drop_front(numInputs);
  auto now =
      linalg::GenericOp::create(builder, loc, TypeRange(outputs), inputs,
                                outputs, maps, op.getIteratorTypesArray());
  now.getRegion().takeBody(op.getRegion());
  now->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Value value = now.getResult(i);
    if (value.getType() != result.getType())
      value = tensor::ExpandShapeOp::create(builder, loc, result.getType(),
                                            value, groups[numInputs + i]);
    result.replaceAllUsesWith(value);
  }
  op.erase();
}

void tp::dropUnitDims(func::FuncOp function) {
  SmallVector<linalg::GenericOp> ops;
  function.walk([&](linalg::GenericOp op) {
    if (op.hasPureTensorSemantics())
      ops.push_back(op);
  });
  for (linalg::GenericOp op : ops)
    ::dropUnitDims(op);
}
